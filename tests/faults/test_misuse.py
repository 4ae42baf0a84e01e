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


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--method", "ntkgp"], "--method ntkgp needs draws of a prior, as --model mlp has"),
        (["--executor", "foo"], "--executor must be None, one of serial"),
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(tmp_path, capsys, option, said):
    data = tmp_path / "data.csv"
    pd.DataFrame({"x": X[:, 0], "y": Y}).to_csv(data, index=False)
    arguments = ["fit", str(data), "--target", "y", "--model", "linear", "-o", str(tmp_path / "m")]
    assert run([*arguments, *option]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("executor", [3, ["serial"], object()])
def test_an_executor_that_is_none_is_said_without_dask(executor):
    with pytest.raises(TypeError, match="executor must be a name, an address or a Dask client"):
        nb.martingale_posterior(
            nb.SequentialMLE(nb.families.Bernoulli()), [1, 0], executor=executor
        )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"finish_after": "a"}, "finish_after must be None or a positive, finite number"),
        ({"finish_after": True}, "finish_after must be None or a positive, finite number"),
        ({"step_size": 0.1}, "step_size must be a function or None"),
    ],
)
def test_settings_of_gradient_martingales(given, said):
    with pytest.raises((TypeError, ValueError), match=said):
        nb.GradientMartingale(lambda theta, z: 0.0, lambda theta, key: 0.0, np.zeros(1), **given)


@pytest.mark.parametrize("start", ["abc", None])
def test_a_start_that_is_no_array(start):
    density = nb.GradientMartingale(lambda theta, z: 0.0, lambda theta, key: 0.0, start)
    with pytest.raises(ValueError, match="start must be an array of numbers"):
        nb.martingale_posterior(density, X[:, 0], n_draws=2)


@pytest.mark.parametrize(("d", "beta"), [("a", 1.0), (2.5, 1.0), (0, 1.0), (3, "b"), (3, np.nan)])
def test_an_inverse_problem_needs_numbers(d, beta):
    with pytest.raises(ValueError, match=r"must be a (whole|finite) number"):
        nb.LinearGaussian.decaying(d, beta)
    with pytest.raises(ValueError, match="alpha must be a finite number"):
        nb.LinearGaussian([1.0], alpha="x")


def test_points_of_another_size_are_not_in_a_set():
    draws = nb.martingale_posterior(nb.LinearGaussian([1.0, 0.5]), X[:, :2], n_draws=50)
    with pytest.raises(ValueError, match="points must have 2 entries"):
        draws.apply(lambda theta: theta).ellipsoid().contains(np.zeros(3))


def test_when_all_draws_fail_the_message_is_a_sentence_and_the_place_is_its_cause():
    def fail(z):
        if len(z) > 60:
            raise ArithmeticError("no")
        return 0.0

    failing = nb.algorithm(fail, lambda model, size, rng: np.zeros(size))
    with pytest.raises(RuntimeError, match="all 2 draws failed; the first said") as found:
        nb.martingale_posterior(failing, Y, n_draws=2, random_state=0)
    assert "\n" not in str(found.value)
    assert "in fail" in str(found.value.__cause__)


def test_questions_to_a_causal_model_that_cannot_be_meant():
    k = np.random.default_rng(1).integers(0, 5, 60)
    frame = pd.DataFrame({"x": X[:, 0], "k": k, "y": Y})
    model = nb.causal.SCM([("x", "y"), ("k", "y")], **LINEAR).fit(frame)
    assert model.effect("y", None).mean == 0  # nothing against nothing
    with pytest.raises(ValueError, match=r"outcome is .* which is not a node"):
        model.effect(["y"], {"x": 1.0})
    with pytest.raises(ValueError, match="do must have a whole number for 'k'"):
        model.effect("y", {"k": 2.7})
    with pytest.raises(ValueError, match="models must be 'auto'"):
        nb.causal.SCM([("x", "y")], models=None).fit(frame)
    with pytest.raises(ValueError, match="columns of the same name"):
        nb.causal.SCM([("x", "y")], **LINEAR).fit(pd.concat([frame, frame[["x"]]], axis=1))
