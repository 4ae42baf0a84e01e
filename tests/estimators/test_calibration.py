"""Calibration by simulation: factors, intervals, what it costs, and what happens when it fails."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier, XGBRegressor

import nearbayes as nb
import nearbayes.estimators.calibration as calibration_module
from nearbayes.core.engine import DrawWarning
from nearbayes.draws.calibration import Calibration, ratios
from nearbayes.draws.credible import reach_of
from nearbayes.estimators.calibration import simulation_plan
from nearbayes.estimators.truth import FirstFit
from nearbayes.fits.adapters import fitting_of

RNG = np.random.default_rng(5)
X = RNG.normal(size=(120, 3))
P = expit(1.5 * X[:, 0])
Y = (RNG.random(120) < P).astype(int)
Z = X[:, 0] + RNG.normal(size=120)
SMALL = {"n_estimators": 15, "max_depth": 2, "learning_rate": 0.3}
FEW = {"n_draws": 6, "random_state": 0}


def test_factor_is_the_quantile_over_all_sets_and_points():
    calibration = Calibration((np.arange(1.0, 6.0), np.arange(6.0, 11.0)))
    assert calibration.factor(0.5) == 5.5
    assert calibration.error(0.5) == pytest.approx(np.std([3.0, 8.0], ddof=1) / np.sqrt(2))


def test_factor_of_many_draws_is_smaller_than_that_of_few():
    calibration = Calibration((np.arange(1.0, 101.0),), n_draws=5)
    shrunk = calibration.factor(0.9, n_draws=1000) / calibration.factor(0.9)
    assert shrunk == pytest.approx(np.sqrt(reach_of(0.9, 1000) / reach_of(0.9, 5)))
    assert calibration.factor(0.9, n_draws=5) == calibration.factor(0.9)


def test_sets_that_are_easy_by_chance_have_a_floor():
    calibration = Calibration((np.full(50, 0.1),), n_draws=10, inflation=1.5)
    floor = np.sqrt(1.5) * reach_of(0.9, 1000)
    assert calibration.factor(0.9, n_draws=1000) == pytest.approx(floor)


def test_normal_draws_around_a_truth_need_the_normal_factor():
    """A posterior that is right is left as it is, within 4 errors of its simulated sets."""
    rng = np.random.default_rng(0)
    n_sets, n_draws, n_points = 200, 12, 50
    truth = rng.normal(size=(n_sets, n_points))
    mean = truth + rng.normal(size=truth.shape)
    draws = mean[:, None] + rng.normal(size=(n_sets, n_draws, n_points))
    error = np.abs(truth - draws.mean(axis=1))
    found = [ratios(*pair, 1.0) for pair in zip(error, draws.var(axis=1, ddof=1), strict=True)]
    # The mean of 12 draws is itself off by sd / sqrt(12). With a fifth of the variance pooled,
    # ratios have lighter tails than Student's t, so that a little less than its factor is right.
    normal = 1.645 * np.sqrt(1 + 1 / n_draws)
    seen = np.quantile(np.concatenate(found), 0.9)
    assert normal - 0.02 < seen < reach_of(0.9, n_draws)
    assert Calibration(tuple(found), n_draws=n_draws).factor(0.9) == reach_of(0.9, n_draws)


def test_intervals_of_several_levels_are_nested_and_shaped():
    model = nb.PosteriorClassifier(XGBClassifier(**SMALL), **FEW).fit(X, Y)
    both = model.predict_interval(X, [0.5, 0.9])
    assert both.shape == (120, 2, 2, 2)
    np.testing.assert_array_equal(both[..., 1], model.predict_interval(X, 0.9))
    assert (both[:, :, 0, 1] <= both[:, :, 0, 0]).all()
    assert (both[:, :, 1, 1] >= both[:, :, 1, 0]).all()
    assert ((both >= 0) & (both <= 1)).all()
    np.testing.assert_allclose(both[:, 0, 0], 1 - both[:, 1, 1])


def test_raw_intervals_are_one_argument_away():
    calibrated = nb.PosteriorClassifier(XGBClassifier(**SMALL), **FEW).fit(X, Y)
    plain = nb.PosteriorClassifier(XGBClassifier(**SMALL), calibration=None, **FEW).fit(X, Y)
    assert plain.calibration_ is None
    np.testing.assert_array_equal(
        calibrated.predict_interval(X, spread="raw"), plain.predict_interval(X, spread="raw")
    )
    np.testing.assert_array_equal(calibrated.predict_proba(X), plain.predict_proba(X))
    assert (calibrated.predict_interval(X) != plain.predict_interval(X)).any()


@pytest.mark.parametrize(
    ("estimator", "flexible"),
    [
        (XGBClassifier(), True),
        (DecisionTreeClassifier(), True),
        (RandomForestRegressor(), True),
        (Lasso(), True),
        (PoissonRegressor(), True),
        (PoissonRegressor(alpha=0), False),
        (LinearRegression(), False),
        (make_pipeline(StandardScaler(), LogisticRegression()), False),
        (make_pipeline(StandardScaler(), RandomForestRegressor()), True),
    ],
)
def test_who_is_calibrated_by_default(estimator, flexible):
    assert fitting_of(estimator, {}).traits.calibrate is flexible


def test_linear_models_are_calibrated_on_request():
    default = nb.PosteriorRegressor(LinearRegression(), **FEW).fit(X, Z)
    asked = nb.PosteriorRegressor(LinearRegression(), calibration="simulation", **FEW).fit(X, Z)
    assert default.calibration_ is None
    assert len(asked.calibration_.ratios) == 2


@pytest.mark.parametrize("method", ["martingale", "bootstrap", "parametric_bootstrap"])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_every_method(method, kind):
    face, trees, y = {
        "classes": (nb.PosteriorClassifier, XGBClassifier, Y),
        "numbers": (nb.PosteriorRegressor, XGBRegressor, Z),
    }[kind]
    model = face(trees(**SMALL), method=method, **FEW).fit(X, y)
    assert 0 < model.calibration_.factor(0.9) < 100
    assert "6 draws each" in str(model.calibration_)


def test_a_random_ensemble_is_calibrated_and_one_of_equal_fits_is_not():
    run = {"method": "ensemble", **FEW}
    random = nb.PosteriorRegressor(RandomForestRegressor(5), **run).fit(X, Z)
    with pytest.warns(DrawWarning, match="has equal draws"):
        equal = nb.PosteriorRegressor(XGBRegressor(**SMALL), **run).fit(X, Z)
    assert random.calibration_ is not None
    assert equal.calibration_ is None


def test_same_seed_same_calibration_for_any_number_of_jobs():
    model = nb.PosteriorClassifier(XGBClassifier(**SMALL), **FEW, n_jobs=2).fit(X, Y)
    again = nb.PosteriorClassifier(XGBClassifier(**SMALL), **FEW).fit(X, Y)
    np.testing.assert_array_equal(model.predict_interval(X), again.predict_interval(X))


def test_cost_is_at_most_twice_the_draws():
    for n_draws in (10, 20, 50, 100, 1_000):
        sets, draws = simulation_plan(n_draws)
        assert sets * draws <= 2 * n_draws


def test_evaluation_sets_are_simulated_too():
    """Early stopping on real outcomes would stop where the real truth says, not the simulated."""
    trees = XGBClassifier(**{**SMALL, "n_estimators": 200}, early_stopping_rounds=5)
    model = nb.PosteriorClassifier(trees, **FEW).fit(X[:90], Y[:90], eval_set=[(X[90:], Y[90:])])
    algorithm = model.posterior_.algorithm
    data = nb.core.data.Data.of(X[:90], Y[:90])
    again, simulated = algorithm.simulate(lambda x: np.arange(len(x)) % 2, data)
    assert simulated.y.tolist() == [0, 1] * 45
    (x, y), *_ = again.fitting.params["eval_set"]
    np.testing.assert_array_equal(x, X[90:])
    assert y.tolist() == [0, 1] * 15
    assert model.calibration_ is not None


def test_labels_of_any_kind_and_three_classes():
    labels = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = nb.PosteriorClassifier(XGBClassifier(**SMALL), **FEW).fit(X, labels)
    assert model.predict_interval(X).shape == (120, 3, 2)
    assert model.calibration_ is not None


def test_several_outputs():
    both = np.stack([Z, -100 * Z], axis=1)
    model = nb.PosteriorRegressor(RandomForestRegressor(5), **FEW).fit(X, both)
    assert model.predict_interval(X, kind="credible").shape == (120, 2, 2)


@pytest.mark.filterwarnings("ignore::nearbayes.estimators.rare.RareClassWarning")
def test_one_row_of_a_class():
    """Simulated sets may lose the class, and fits know it all the same."""
    rare = np.where(np.arange(120) == 7, 2, Y)
    model = nb.PosteriorClassifier(XGBClassifier(**SMALL), **FEW).fit(X, rare)
    bounds = model.predict_interval(X)
    assert model.calibration_ is not None
    assert np.isfinite(bounds).all()


class Certain(ClassifierMixin, BaseEstimator):
    """Draws differ, but data simulated from its fit has one class only."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.share_ = np.mean(y == self.classes_[-1])
        return self

    def predict_proba(self, X):
        certain = 1e-9 * (1 + self.share_)
        return np.tile([1 - certain, certain], (len(X), 1))


@pytest.fixture
def from_the_first_fit(monkeypatch):
    """Simulate from the learner's own fit, as for tables that the reference does not take."""
    monkeypatch.setattr(
        calibration_module, "likely_truth", lambda chunks, first, *_: FirstFit(chunks, first)
    )


@pytest.mark.filterwarnings("ignore::nearbayes.estimators.rare.RareClassWarning")
@pytest.mark.usefixtures("from_the_first_fit")
def test_draws_are_kept_if_no_set_can_be_simulated():
    model = nb.PosteriorClassifier(Certain(), method="bootstrap", **FEW)
    with pytest.warns(DrawWarning, match="not calibrated.*one class only.*calibration=None"):
        model.fit(X, Y)
    assert model.calibration_ is None
    assert len(model.estimators_) == 6
    assert np.isfinite(model.predict_interval(X)).all()


@pytest.mark.usefixtures("from_the_first_fit")
def test_the_first_failure_is_raised_on_request():
    with pytest.raises(ValueError, match="one class only"):
        nb.PosteriorClassifier(Certain(), method="bootstrap", on_error="raise", **FEW).fit(X, Y)


@pytest.mark.parametrize("coverage", [0, 1, 90])
def test_coverage_out_of_range(coverage):
    model = nb.PosteriorClassifier(XGBClassifier(**SMALL), **FEW).fit(X, Y)
    with pytest.raises(ValueError, match="coverage must lie strictly between 0 and 1"):
        model.predict_interval(X, coverage)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_one_row_per_class(n_classes):
    """Next to nothing is known, and intervals say so without failing."""
    x, y = RNG.normal(size=(n_classes, 2)), np.arange(n_classes)
    model = nb.PosteriorClassifier(XGBClassifier(**SMALL), **FEW).fit(x, y)
    bounds = model.predict_interval(x)
    assert ((bounds >= 0) & (bounds <= 1)).all()
    assert (bounds[..., 0] <= bounds[..., 1]).all()


@pytest.mark.parametrize("noise", ["gaussian", "residual", "heteroscedastic"])
def test_heavy_ties(noise):
    """Nine outcomes of ten are the same number."""
    tied = np.where(RNG.random(120) < 0.9, 0.0, np.round(3 * X[:, 0]))
    model = nb.PosteriorRegressor(XGBRegressor(**SMALL), noise=noise, **FEW).fit(X, tied)
    for kind in ("credible", "predictive"):
        bounds = model.predict_interval(X, kind=kind)
        assert np.isfinite(bounds).all()
        assert (bounds[:, 0] <= bounds[:, 1]).all()
