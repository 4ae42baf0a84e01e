"""What users do by mistake: each is refused in a sentence, or does what they mean."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

import nearbayes as nb
from nearbayes.cli.app import run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + RNG.normal(size=60)
FEW = {"n_draws": 4, "n_refits": 2, "random_state": 0, "progress": False}
LINEAR = {"models": "linear", **FEW}


@pytest.mark.parametrize("kind", ["uint8", "int8", "int64"])
def test_interventions_on_small_integers_do_not_wrap(kind):
    k = np.random.default_rng(1).integers(0, 100, 100)
    model = nb.causal.SCM([("k", "y")], **LINEAR)
    model.fit(pd.DataFrame({"k": k.astype(kind), "y": 0.1 * k + 0.01 * RNG.normal(size=100)}))
    assert model.effect("y", {"k": lambda v: v - 50}).mean == pytest.approx(-5, rel=0.05)
    assert (model.sample({"k": 300}, n=4)["k"] == 300).all()
    assert model.sample({"k": 3}, n=4)["k"].dtype == kind


def test_a_causal_fit_that_fails_leaves_the_one_before():
    x = X[:, 0]
    model = nb.causal.SCM([("x", "y")], **LINEAR).fit({"x": x, "y": Y})
    before = model.interventional_mean("y").values
    model.set_params(noise="poisson")
    with pytest.raises(ValueError, match="y must be"):
        model.fit({"x": x + 1000, "y": Y - 100})
    np.testing.assert_array_equal(model.interventional_mean("y").values, before)


def test_categories_of_given_are_a_set_and_ranges_may_be_open():
    c = np.repeat(["a", "b", "c"], 40)
    x = np.random.default_rng(2).normal(size=120)
    y = np.where(c == "b", 10 * x, 0) + 0.01 * np.random.default_rng(3).normal(size=120)
    trees = {"models": DecisionTreeRegressor(max_depth=6, random_state=0), **FEW}
    graph = nb.causal.SCM([("c", "y"), ("x", "y")], **trees)
    graph.fit(pd.DataFrame({"c": c, "x": x, "y": y}))
    change = {"x": lambda v: v + 1}
    assert abs(graph.effect("y", change, given={"c": ["c", "a"]}).mean) < 2
    assert graph.effect("y", change, given={"c": "b"}).mean > 4
    every = graph.effect("y", {"c": "b"}, given={"x": (-np.inf, np.inf)}).mean
    assert every == pytest.approx(graph.effect("y", {"c": "b"}).mean)
    with pytest.raises(TypeError, match="given must map"):
        graph.effect("y", change, given=["c"])


def test_decimals_and_objects_are_numbers():
    x = [Decimal(str(round(each, 3))) for each in X[:, 0]]
    for given in (x, np.array(X[:, 0], dtype=object)):
        for data in ({"x": given, "y": Y}, pd.DataFrame({"x": given, "y": Y})):
            assert nb.causal.SCM([("x", "y")], **LINEAR).fit(data).variables_["x"].kind == "number"


def test_an_edge_has_an_order():
    with pytest.raises(ValueError, match="edges \\(cause, effect\\)"):
        nb.causal.SCM([{"x", "y"}], **LINEAR).fit({"x": X[:, 0], "y": Y})


def test_functions_of_do_cannot_change_the_model():
    model = nb.causal.SCM([("x", "y")], **LINEAR).fit({"x": X[:, 0], "y": Y})
    seen = model.seen_["x"].copy()

    def in_place(values):
        values += 1
        return values

    pure = model.outside_data({"x": lambda values: values + 1})
    assert model.outside_data({"x": in_place}) == pure
    np.testing.assert_array_equal(model.seen_["x"], seen)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"x": [[1.0, 5.0], [2.0, 6.0]], "y": [50.0, 60.0]}, "one value per row in 'x'"),
        ({"x": 1.0, "y": 2.0}, "one value per row in 'x'"),
        ({"x": [], "y": []}, "at least 1 row"),
    ],
)
def test_rows_of_a_counterfactual_are_checked(rows, words):
    model = nb.causal.SCM([("x", "y")], **LINEAR).fit({"x": X[:, 0], "y": Y})
    with pytest.raises(ValueError, match=words):
        model.counterfactual(rows, {"x": 0.0})


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.fit(X, -Y),
        lambda model: model.fit(X[::-1], Y),
        lambda model: model.set_params(estimator=Ridge(7.0)).fit(X, Y),
        lambda model: model.set_params(inputs="kde").fit(X, Y),
    ],
    ids=["outcomes", "rows", "estimator", "inputs"],
)
def test_a_warm_start_adds_no_draws_of_something_else(change):
    model = nb.PosteriorRegressor(Ridge(), warm_start=True, **FEW).fit(X, Y)
    model.set_params(n_draws=6)
    with pytest.raises(ValueError, match="warm_start=True adds draws"):
        change(model)
    whole = nb.PosteriorRegressor(Ridge(), **{**FEW, "n_draws": 6}).fit(X, Y)
    model.set_params(estimator=Ridge(), inputs="urn").fit(X, Y)
    np.testing.assert_array_equal(model.posterior_.predict(X), whole.posterior_.predict(X))


def test_a_warm_start_goes_on_from_the_last_fit():
    """A fit without it, in between, leaves nothing of the one before."""
    model = nb.PosteriorRegressor(Ridge(), warm_start=True, **FEW).fit(X, Y)
    model.set_params(warm_start=False).fit(X, -Y)
    model.set_params(warm_start=True, n_draws=6).fit(X, -Y)
    whole = nb.PosteriorRegressor(Ridge(), **{**FEW, "n_draws": 6}).fit(X, -Y)
    np.testing.assert_array_equal(model.posterior_.predict(X), whole.posterior_.predict(X))


def test_a_warm_start_keeps_what_was_kept():
    model = nb.PosteriorRegressor(Ridge(), warm_start=True, **FEW).fit(X, Y)
    with pytest.raises(ValueError, match="models or predictions"):
        model.fit(X, Y, predict_on=X[:5])


def test_outputs_do_not_replace_inputs(tmp_path, capsys):
    data, model = tmp_path / "d.csv", tmp_path / "m.nearbayes"
    pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "y": Y}).to_csv(data, index=False)
    fit = ["fit", str(data), "--target", "y", "--model", "linear", "--draws", "4", "--quiet"]
    assert run([*fit, "-o", str(model)]) == 0
    before = data.read_bytes(), model.read_bytes()
    for command in (
        ["predict", str(model), str(data), "-o", str(data)],
        ["report", str(model), "-o", str(model)],
        ["report", str(model), "--data", str(data), "-o", str(data)],
    ):
        assert run(command) == 2
        assert "is a file that is read" in capsys.readouterr().err
    assert (data.read_bytes(), model.read_bytes()) == before


@pytest.mark.parametrize("place", ["", "s3://", "s3:/bucket/run", "s3:///run"])
def test_places_of_checkpoints_are_checked(place):
    with pytest.raises(ValueError, match="checkpoint must be a folder or an address"):
        nb.PosteriorRegressor(Ridge(), checkpoint=place, **FEW).fit(X, Y)


@pytest.mark.parametrize(
    "limit",
    [
        {"draw_timeout": "60"},
        {"draw_timeout": 1e10},
        {"draw_memory": "8GB"},
        {"draw_timeout": True},
    ],
)
def test_limits_are_numbers(limit):
    name = next(iter(limit))
    with pytest.raises(ValueError, match=f"{name} must be None or a positive number"):
        nb.PosteriorRegressor(Ridge(), **limit, **FEW).fit(X, Y)


def test_links_are_known_and_suit_the_values():
    model = nb.PosteriorRegressor(Ridge(), **FEW).fit(X, Y)

    def far(fitted):
        return fitted.predict(X[:1])[0] - 50

    with pytest.raises(ValueError, match="link must be one of"):
        model.functional(far, link="lgo")
    for link in ("log", "logit"):
        with pytest.raises(ValueError, match=f"link='{link}' is for"):
            model.functional(far, link=link)
    with pytest.raises(ValueError, match="link must be one of"):
        nb.credible_sets.sup_t_band(RNG.normal(size=(50, 3)), link="foo")


def test_joint_sets_have_one_level_and_take_any_units():
    draws = nb.PosteriorRegressor(Ridge(), **{**FEW, "n_draws": 40}).fit(X, Y)
    curve = draws.functional(lambda fitted: fitted.predict(X[:3]))
    with pytest.raises(ValueError, match="coverage must be one number"):
        curve.band([0.5, 0.9])
    plain = RNG.normal(size=(400, 2))
    units = np.array([1e-4, 1e4])
    one, other = nb.credible_sets.ellipsoid(plain), nb.credible_sets.ellipsoid(plain * units)
    np.testing.assert_array_equal(one.contains(plain), other.contains(plain * units))


@pytest.mark.parametrize(
    ("rows", "outcomes"), [(X + 5, Y), (X, Y[::-1]), (np.where(X > 1, np.nan, X), Y)]
)
def test_a_diagnosis_wants_the_rows_of_the_fit(rows, outcomes):
    model = nb.PosteriorRegressor(Ridge(), **{**FEW, "n_draws": 20}).fit(X, Y)
    assert model.diagnose(pd.DataFrame(X).to_numpy(), list(Y)).verdict
    with pytest.raises(ValueError, match="must be the rows of the fit"):
        model.diagnose(rows, outcomes)


@pytest.mark.parametrize(
    "estimator", ["ridge", nb.gp.RandomFeatureGP(), nb.algorithm(np.mean, max)]
)
def test_what_is_no_estimator(estimator):
    with pytest.raises(TypeError, match="estimator must be"):
        nb.PosteriorRegressor(estimator, **FEW).fit(X, Y)
