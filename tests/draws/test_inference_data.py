"""The same tests run with ArviZ 0.23 and with ArviZ 1."""

import builtins

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import nearbayes as nb
from nearbayes.draws.functional import Functional
from nearbayes.draws.inference_data import as_coordinates

mpl.use("Agg")
az = pytest.importorskip("arviz")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = X[:, 0] + 0.3 * RNG.normal(size=40)
LABELS = np.where(Y > 0, "yes", "no")
RUN = {"n_draws": 25, "random_state": 2**80 + 1}


@pytest.fixture(scope="module")
def regression():
    return nb.martingale_posterior(nb.RegressorAlgorithm.of(LinearRegression()), (X, Y), **RUN)


def test_draws_of_a_vector_are_one_chain_with_named_entries(regression):
    slopes = regression.apply(lambda m: m.coef_)
    draws = slopes.to_arviz(["age", "bmi"], variable="slope")["posterior"]["slope"]
    assert draws.dims == ("chain", "draw", "entry")
    np.testing.assert_array_equal(draws.values[0], slopes.adjusted())
    np.testing.assert_array_equal(draws.sel(entry="bmi").values[0], slopes.adjusted()[:, 1])


def test_attributes_say_where_the_draws_came_from(regression):
    attributes = regression.apply(lambda m: m.coef_).to_arviz()["posterior"].attrs
    assert attributes["method"] == "martingale"
    assert attributes["seed"] == str(2**80 + 1)
    assert attributes["n"] == 40
    assert attributes["inference_library"] == "nearbayes"
    assert attributes["captured"] == regression.provenance.captured
    assert attributes["inflation"] == regression.inflation
    assert attributes["spread"] == "inflated"
    assert "r_hat and ess mean nothing" in attributes["draws"]


def test_raw_draws_are_one_argument_away(regression):
    slopes = regression.apply(lambda m: m.coef_)
    group = slopes.to_arviz(spread="raw")["posterior"]
    np.testing.assert_array_equal(group["value"].values[0], slopes.values)
    assert group.attrs["spread"] == "raw"


def test_summary_and_plot_take_a_number_and_a_vector(regression):
    for function in (lambda m: m.intercept_, lambda m: m.coef_):
        quantity = regression.apply(function)
        data = quantity.to_arviz()
        table = az.summary(data, kind="stats", round_to=6)
        np.testing.assert_allclose(table["mean"].astype(float), quantity.mean, atol=1e-5)
        np.testing.assert_allclose(table["sd"].astype(float), quantity.std, atol=1e-5)
        az.plot_forest(data)
        mpl.pyplot.close("all")


def test_predictions_have_rows_and_classes():
    algorithm = nb.ClassifierAlgorithm.of(LogisticRegression())
    posterior = nb.martingale_posterior(algorithm, (X, LABELS), **RUN)
    predictions = posterior.predictions(X[:3])
    p = predictions.to_arviz(variable="p")["posterior"]["p"]
    assert p.dims == ("chain", "draw", "row", "class")
    np.testing.assert_array_equal(
        p.sel({"class": "yes"}).values[0], predictions.adjusted()[:, :, 1]
    )
    renamed = predictions.to_arviz({"patient": ["a", "b", "c"], "ill": [False, True]})
    assert renamed["posterior"]["value"].dims[2:] == ("patient", "ill")


def test_predictions_of_several_outputs():
    algorithm = nb.RegressorAlgorithm.of(LinearRegression())
    run = {**RUN, "n_draws": 4}
    posterior = nb.martingale_posterior(algorithm, (X, np.column_stack([Y, -Y])), **run)
    draws = posterior.predictions(X[:3]).to_arviz()["posterior"]["value"]
    assert draws.dims[2:] == ("row", "output")
    assert draws.shape == (1, 4, 3, 2)


def test_predictions_of_one_output(regression):
    draws = regression.predictions(X[:3]).to_arviz()["posterior"]["value"]
    assert draws.dims == ("chain", "draw", "row")


def test_bad_names():
    with pytest.raises(ValueError, match=r"quantity of shape \(3,\), got \(2,\) labels"):
        Functional(np.zeros((5, 3))).to_arviz(["a", "b"])
    with pytest.raises(ValueError, match=r"quantity of shape \(\), got \(1,\) labels"):
        Functional(np.zeros(5)).to_arviz(["a"])
    with pytest.raises(
        TypeError, match="names must be a list of labels, got 'slope': use variable"
    ):
        Functional(np.zeros(5)).to_arviz("slope")
    with pytest.raises(ValueError, match=r"shape \(2, 2\), got \(2,\) labels"):
        as_coordinates({"row": [1, 2]}, None, (2, 2))


def test_missing_arviz_is_named_with_its_install_command(monkeypatch):
    plain_import = builtins.__import__

    def without_arviz(name, *args, **kwargs):
        if name == "arviz":
            raise ImportError(name)
        return plain_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_arviz)
    with pytest.raises(ImportError, match=r"pip install 'nearbayes\[arviz\]'"):
        Functional(np.zeros(5)).to_arviz()
