"""Structural causal models: right where the answer is known, and one sentence for bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor, Ridge

import nearbayes as nb

RNG = np.random.default_rng(0)
N = 200
A = RNG.normal(size=N)
B = RNG.choice(["low", "high"], N)
C = 1.5 * A + (B == "high") + 0.5 * RNG.normal(size=N)
D = -C + 0.3 * RNG.normal(size=N)
FRAME = pd.DataFrame({"a": A, "b": B, "c": C, "d": D, "other": 1})
EDGES = [("a", "c"), ("b", "c"), ("c", "d")]
RUN = {"random_state": 0, "progress": False}


@pytest.fixture(scope="module")
def linear():
    return nb.causal.SCM(EDGES, models="linear", n_draws=100, **RUN).fit(FRAME)


def test_effects_of_a_linear_model_are_those_of_regression(linear):
    design = np.column_stack([np.ones(N), A, B == "high"])
    beta, rss, *_ = np.linalg.lstsq(design, C, rcond=None)
    covariance = rss[0] / (N - 3) * np.linalg.inv(design.T @ design)
    found = linear.effect("c", do={"a": 1.0}, versus={"a": 0.0})
    error = np.sqrt(covariance[1, 1])
    # 4 Monte Carlo errors of mean and sd of 100 draws
    assert found.mean == pytest.approx(beta[1], abs=4 * error / 10)
    assert found.std == pytest.approx(error, rel=4 / np.sqrt(200))


def test_effects_go_along_the_graph(linear):
    through = linear.effect("d", do={"b": "high"}, versus={"b": "low"})
    low, high = through.interval(0.99)
    assert low < -1 < high < 0
    none = linear.effect("c", do={"d": 5.0})
    np.testing.assert_allclose(none.values, 0.0)


def test_an_intervention_cuts_the_parents(linear):
    samples = linear.sample(do={"c": 2.0}, n=64)
    assert (samples["c"] == 2.0).all()
    assert samples["d"].mean() == pytest.approx(-2.0, abs=0.1)


def test_soft_interventions_change_the_values_that_would_have_been(linear):
    up = linear.effect("d", do={"c": lambda c: c + 1})
    assert up.mean == pytest.approx(-1.0, abs=0.1)


def test_samples_have_the_columns_and_types_of_the_data(linear):
    frame = linear.sample(n=5).to_frame()
    assert list(frame.columns) == ["draw", "a", "b", "c", "d"]
    assert len(frame) == 500
    assert set(frame["b"]) == {"low", "high"}
    assert set(frame["a"]) <= set(A)  # roots are resampled


def test_distribution_functions_and_quantiles_agree(linear):
    quantiles = linear.interventional_quantiles("d", [0.1, 0.5, 0.9], do={"a": 0.0})
    assert quantiles.values.shape == (100, 3)
    assert (np.diff(quantiles.values, axis=1) > 0).all()
    at = linear.interventional_cdf("d", quantiles.mean, do={"a": 0.0})
    np.testing.assert_allclose(at.mean, [0.1, 0.5, 0.9], atol=0.03)
    bounds = at.interval()
    assert ((bounds >= 0) & (bounds <= 1)).all()


def test_probabilities_of_categories():
    frame = pd.DataFrame({"x": A, "y": np.where(A + RNG.normal(size=N) > 0, "yes", "no")})
    model = nb.causal.SCM([("x", "y")], models="linear", n_draws=20, **RUN).fit(frame)
    found = model.interventional_mean("y", do={"x": 2.0})
    assert found.coordinates == {"y": ["no", "yes"]}
    np.testing.assert_allclose(found.values.sum(axis=1), 1)
    assert found.mean[1] > 0.8
    assert model.effect("y", do={"x": 1.0}, versus={"x": -1.0}).mean.shape == (2,)


def test_effects_given_covariates(linear):
    data = FRAME.assign(c=np.where(B == "high", 3.0, 1.0) * A + 0.2 * RNG.normal(size=N))
    trees = nb.causal.SCM(EDGES[:2], n_draws=8, n_refits=2, **RUN).fit(data)
    ask = {"outcome": "c", "do": {"a": 0.5}, "versus": {"a": -0.5}}
    high, low = (trees.effect(**ask, given={"b": value}) for value in ("high", "low"))
    assert high.mean == pytest.approx(3, abs=0.7)
    assert low.mean == pytest.approx(1, abs=0.7)
    inside = linear.effect("d", do={"c": 1.0}, versus={"c": 0.0}, given={"a": (0.0, 1.0)})
    assert inside.mean == pytest.approx(-1, abs=0.1)


def test_counterfactuals_keep_the_noise_of_a_row(linear):
    same = linear.counterfactual(FRAME[:10], do={"a": lambda a: a})
    np.testing.assert_allclose(same["d"], np.tile(D[:10], (100, 1)), atol=1e-8)
    up = linear.counterfactual(FRAME[:10], do={"a": lambda a: a + 1})
    np.testing.assert_allclose(np.mean(up["c"] - C[:10]), 1.5, atol=0.1)
    assert (up["b"] == B[:10]).all()


def test_frames_of_other_libraries_and_mappings():
    given = {name: FRAME[name].to_numpy() for name in "abcd"}
    models = [
        nb.causal.SCM(EDGES, models="linear", n_draws=4, **RUN).fit(each)
        for each in (FRAME, pl.DataFrame(FRAME), given)
    ]
    means = [each.interventional_mean("d", do={"a": 1.0}).values for each in models]
    np.testing.assert_array_equal(means[0], means[1])
    np.testing.assert_array_equal(means[0], means[2])


def test_an_estimator_for_every_node_and_clones():
    model = nb.causal.SCM(EDGES, models={"c": Ridge(), "d": Ridge()}, n_draws=3, **RUN)
    assert clone(model).fit(FRAME).interventional_mean("d").values.shape == (3,)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"a": np.nan}, "NaN or infinity in 'a'"),
        ({"a": 1.0}, "only one value in 'a'"),
        ({"b": "low"}, "only one value in 'b'"),
        ({"b": [None, *B[1:]]}, "missing values in 'b'"),
    ],
)
def test_bad_data_are_refused_in_one_sentence(change, words):
    model = nb.causal.SCM(EDGES, models="linear", **RUN)
    with pytest.raises(ValueError, match=words) as caught:
        model.fit(FRAME.assign(**change))
    assert "\n" not in str(caught.value)


def test_bad_tables_are_refused_in_one_sentence():
    model = nb.causal.SCM(EDGES, models="linear", **RUN)
    with pytest.raises(ValueError, match="no column 'd', which is a node"):
        model.fit(FRAME.drop(columns="d"))
    with pytest.raises(ValueError, match="at least 2 rows, got 1"):
        model.fit(FRAME[:1])
    with pytest.raises(TypeError, match="must be a data frame"):
        model.fit(FRAME[["a", "c"]].to_numpy())
    with pytest.raises(ValueError, match="not fitted"):
        model.sample()


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m: m.sample(do={"z": 1}), "'z', which is not a node: choose 'a', 'b', 'c', 'd'"),
        (lambda m: m.sample(do={"a": "much"}), "must have a number for 'a', got 'much'"),
        (lambda m: m.sample(do={"b": "middle"}), "'middle' for 'b', whose values are"),
        (lambda m: m.sample(do={"a": [1, 2]}), "one value for 'a'"),
        (lambda m: m.sample(do={"a": np.inf}), "must have a finite number for 'a', got inf"),
        (lambda m: m.sample(do={"a": lambda a: a * np.nan}), "got NaN or infinity for so"),
        (lambda m: m.sample(do="a"), "must map nodes to values"),
        (lambda m: m.sample(do={"a": lambda a: a[:, :2]}), "must return one value for each"),
        (lambda m: m.sample(n=0), "n must be a whole number of rows"),
        (lambda m: m.interventional_mean("d", n=1000), "n must be a power of 2"),
        (lambda m: m.interventional_mean("z"), "outcome is 'z', which is not a node"),
        (lambda m: m.interventional_cdf("b", 0), "has categories, which have no order"),
        (lambda m: m.interventional_quantiles("d", [2.0]), "levels must lie between 0 and 1"),
        (
            lambda m: m.effect("d", {"a": 1.0}, given={"c": (0, 1)}),
            "which the intervention changes",
        ),
        (lambda m: m.effect("d", {"c": 1.0}, given={"a": 0.3}), "must have a range"),
        (lambda m: m.effect("d", {"c": 1.0}, given={"a": (90, 99)}), "given has no rows"),
        (lambda m: m.counterfactual({"a": [1.0]}, {"a": 0.0}), "rows has no column 'b'"),
    ],
)
def test_bad_questions_are_refused_in_one_sentence(linear, ask, words):
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        ask(linear)
    assert "\n" not in str(caught.value)


def test_bad_settings_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match="method must be one of"):
        nb.causal.SCM(EDGES, method="magic").fit(FRAME)
    with pytest.raises(ValueError, match="models must be 'auto', 'linear'"):
        nb.causal.SCM(EDGES, models="magic").fit(FRAME)
    with pytest.raises(ValueError, match="'a', a root"):
        nb.causal.SCM(EDGES, models={"a": Ridge()}).fit(FRAME)


@pytest.mark.parametrize(
    "estimator",
    [nb.neural.MLPRegressor((8,), n_passes=20), nb.gp.EmpiricalBayesGP(), Ridge()],
    ids=["network", "process", "ridge"],
)
def test_any_regressor_of_the_library_is_a_mechanism(estimator):
    model = nb.causal.SCM([("a", "c")], models=estimator, n_draws=3, n_refits=1, **RUN).fit(FRAME)
    assert model.effect("c", {"a": 1.0}, {"a": -1.0}).mean == pytest.approx(3, abs=1)


@pytest.mark.parametrize("values", [pd.Categorical([0, 1] * 100), np.array([True, False] * 100)])
def test_declared_categories_stay_categories(values):
    frame = FRAME.assign(b=values)
    model = nb.causal.SCM(EDGES, models="linear", n_draws=3, **RUN).fit(frame)
    assert model.variables_["b"].kind == "category"
    assert set(model.sample(n=20).to_frame()["b"]) <= set(values)


def test_integers_are_rounded_and_within_the_data():
    frame = FRAME.assign(d=(np.rint(np.clip(3 + D, 0, 9))).astype(np.uint8))
    model = nb.causal.SCM(EDGES, models="linear", n_draws=5, **RUN).fit(frame)
    samples = model.sample(n=200)
    assert samples["d"].max() <= frame["d"].max()
    assert samples["d"].mean() == pytest.approx(samples.rows[..., -1].mean())


@pytest.mark.parametrize("noise", ["auto", "residual"])
def test_effects_on_integers_are_those_on_numbers(noise):
    rng = np.random.default_rng(3)
    x = rng.normal(size=800)
    values = np.rint(0.3 * x + rng.normal(scale=1.5, size=800)).astype(int)
    model = nb.causal.SCM([("x", "y")], models="linear", noise=noise, n_draws=40, **RUN)
    effect = model.fit(pd.DataFrame({"x": x, "y": values})).effect("y", {"x": 1.0}, {"x": 0.0})
    slope = np.polyfit(x, values, 1)[0]
    # mean of 40 draws, and the noise of imputed rows: four standard errors of the slope's half
    assert effect.mean == pytest.approx(slope, abs=4 * 1.5 / np.sqrt(800) / 2)
    low, high = effect.interval()
    assert (high - low) / 3.29 == pytest.approx(1.5 / np.sqrt(800), rel=0.5)


def test_counts_with_a_distribution_of_counts():
    rng = np.random.default_rng(4)
    x = rng.normal(size=400)
    frame = pd.DataFrame({"x": x, "y": rng.poisson(np.exp(1 + 0.5 * x))})
    model = nb.causal.SCM(
        [("x", "y")], noise="poisson", models=PoissonRegressor(alpha=0), n_draws=8, **RUN
    )
    effect = model.fit(frame).effect("y", {"x": 1.0}, {"x": 0.0})
    assert effect.mean == pytest.approx(np.exp(1.5) - np.exp(1), abs=0.5)
    same = model.counterfactual(frame.head(20), do={})
    np.testing.assert_array_equal(same["y"][0], frame["y"].head(20))


def test_intervals_of_probabilities_are_probabilities():
    frame = FRAME.assign(b=np.where(A > 0, "high", "low"))
    model = nb.causal.SCM([("a", "b")], models="linear", n_draws=8, **RUN).fit(frame)
    bounds = model.interventional_mean("b", do={"a": 2.0}).interval()
    assert bounds.min() >= 0
    assert bounds.max() <= 1


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pd.DataFrame({0: A, 1: C}), "columns named by text, got 0"),
        (FRAME.assign(b=[1, *B[1:]]), "values of different types in 'b'"),
        (FRAME.assign(b=pd.array([pd.NA, *B[1:]], dtype="string")), "missing values in 'b'"),
        (FRAME.assign(a=A * 1e200), "values of extreme size in 'a'"),
    ],
)
def test_odd_columns_are_refused_in_one_sentence(table, words):
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        nb.causal.SCM(EDGES, models="linear", **RUN).fit(table)
    assert "\n" not in str(caught.value)


def test_counterfactuals_of_an_additive_model_add():
    x = RNG.normal(size=300)
    data = {"x": x, "y": x + 0.5 * RNG.normal(size=300)}
    settings = {"width": 32, "n_iterations": 1500, "learning_rate": 3e-3, "method": "ensemble"}
    model = nb.causal.DiffusionSCM([("x", "y")], n_draws=8, **settings, **RUN).fit(data)
    rows = {name: values[:50] for name, values in data.items()}
    up = model.counterfactual(rows, do={"x": lambda x: x + 0.5})
    moved = up["y"].mean(axis=0) - rows["y"]
    assert moved.mean() == pytest.approx(0.5, abs=0.1)
    assert moved.std() < 0.25  # the noise of a row is kept: fresh noise would have sd .7
