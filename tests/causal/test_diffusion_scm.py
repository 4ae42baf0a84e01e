"""Diffusion models on graphs: what they learn, all methods, mixed kinds of columns."""

import numpy as np
import pandas as pd
import pytest

import nearbayes as nb

RNG = np.random.default_rng(0)
N = 150
X = RNG.normal(size=N)
Y = X**2 + 0.2 * RNG.normal(size=N)
FRAME = pd.DataFrame(
    {
        "x": X,
        "y": Y,
        "kind": np.where(X + 0.5 * RNG.normal(size=N) > 0, "up", "down"),
        "count": np.rint(3 + 2 * X).astype(int),
    }
)
SMALL = {"width": 16, "n_iterations": 400, "learning_rate": 5e-3, "n_draws": 8, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    edges = [("x", "y"), ("x", "kind"), ("x", "count")]
    return nb.causal.DiffusionSCM(edges, n_refits=2, progress=False, **SMALL).fit(FRAME)


def test_the_mean_under_an_intervention_is_found(model):
    for value in (-1.0, 0.0, 1.0):
        found = model.interventional_mean("y", do={"x": value})
        assert found.mean == pytest.approx(value**2, abs=0.35)
        assert found.std > 0


def test_categories_and_integers_stay_what_they_are(model):
    samples = model.sample(do={"x": 1.0}, n=32)
    assert set(np.unique(samples["kind"])) <= {"up", "down"}
    assert samples["count"].dtype.kind == "i"
    assert samples["count"].mean() == pytest.approx(5, abs=0.7)
    assert model.interventional_mean("kind", do={"x": 2.0}).mean[1] > 0.8


def test_counterfactuals_without_a_change_are_the_rows(model):
    same = model.counterfactual(FRAME[:6], do={"x": lambda x: x})
    np.testing.assert_allclose(same["y"], np.tile(Y[:6], (8, 1)), atol=1e-5)
    assert (same["kind"] == FRAME["kind"].to_numpy()[:6]).all()
    assert (same["count"] == FRAME["count"].to_numpy()[:6]).all()


@pytest.mark.parametrize("method", ["bootstrap", "parametric_bootstrap", "anchored", "ntkgp"])
def test_every_method_has_draws(method):
    model = nb.causal.DiffusionSCM([("x", "y")], method=method, **{**SMALL, "n_iterations": 20})
    found = model.fit(FRAME).interventional_mean("y", do={"x": 0.5})
    assert found.values.shape == (8,)
    assert found.std > 0


def test_iterations_are_chosen_by_held_out_rows():
    settings = {**SMALL, "n_iterations": None, "most_iterations": 80, "n_refits": 1}
    fitted = nb.causal.DiffusionSCM([("x", "y")], **settings).fit(FRAME)
    chosen = fitted.posterior_.algorithm.mechanisms[0].n_iterations
    assert chosen in range(10, 81, 10)


def test_training_that_diverges_is_reported():
    wild = {**SMALL, "learning_rate": 1e25, "n_iterations": 30}
    with pytest.raises(FloatingPointError, match="diverged"):
        nb.causal.DiffusionSCM([("x", "y")], method="ensemble", **wild).fit(FRAME)


def test_imputed_values_stay_near_the_data():
    model = nb.causal.DiffusionSCM([("x", "y")], n_refits=3, **SMALL).fit(FRAME)
    algorithm = model.posterior_.algorithm
    chunk = algorithm.chunks_of(model.posterior_.models)[0]
    roots = np.full((8, 16, 1), 30.0)  # far from the data
    streams = [np.random.default_rng(k) for k in range(8)]
    rows = algorithm._imagined(chunk, roots, streams)
    spread = np.ptp(Y)
    assert rows[..., 1].max() <= Y.max() + 0.11 * spread
