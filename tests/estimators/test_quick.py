"""A first look: few fits, rough intervals, refined by a warm start."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import nearbayes as nb
from nearbayes.estimators.quick import QUICK_DRAWS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1_000, 2))
Y = X[:, 0] + 0.5 * RNG.normal(size=1_000)
LABELS = np.where(Y > 0, "yes", "no")
FITS: list[int] = []


class CountedTree(DecisionTreeRegressor):
    def fit(self, X, y, sample_weight=None):
        FITS.append(len(X))
        return super().fit(X, y, sample_weight)


class CountedClassifier(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None):
        FITS.append(len(X))
        return super().fit(X, y, sample_weight)


def quick(estimator, y=Y):
    kind = nb.PosteriorClassifier if y is LABELS else nb.PosteriorRegressor
    return kind(estimator, n_draws="quick", random_state=0, progress=False).fit(X, y)


@pytest.mark.parametrize(
    ("tree", "y"),
    [
        (CountedTree(max_depth=3), Y),
        (CountedTree(max_depth=3, splitter="random"), Y),
        (CountedClassifier(max_depth=3), LABELS),
    ],
)
def test_it_takes_less_than_three_times_the_rows_of_a_cross_validation(tree, y):
    FITS.clear()
    model = quick(tree, y)
    assert len(model.posterior_) == QUICK_DRAWS
    assert model.calibration_ is None
    assert sum(FITS) <= 3 * 5 * 0.8 * len(X)


def test_draws_of_a_random_learner_differ():
    forest = quick(RandomForestRegressor(5, min_samples_leaf=5))
    assert (np.ptp(forest.posterior_.predict(X[:20]), axis=0) > 0).all()


def test_intervals_of_y_cover():
    model = quick(DecisionTreeRegressor(max_depth=3))
    low, high = model.predict_interval(X).T
    assert 0.85 <= ((low <= Y) & (high >= Y)).mean() <= 0.98


def test_a_warm_start_keeps_the_draws_adds_to_them_and_calibrates():
    model = quick(DecisionTreeRegressor(max_depth=3))
    first, schedule = model.posterior_.predict(X), str(model.schedule_)
    model.set_params(n_draws=10, warm_start=True).fit(X, Y)
    np.testing.assert_array_equal(model.posterior_.predict(X)[:QUICK_DRAWS], first)
    assert len(model.posterior_) == 10
    assert str(model.schedule_) == schedule
    assert model.calibration_ is not None


def test_what_the_user_sets_is_kept():
    tree = DecisionTreeRegressor(max_depth=3)
    model = nb.PosteriorRegressor(tree, n_draws="quick", n_refits=2, calibration="simulation")
    model.set_params(random_state=0).fit(X[:80], Y[:80])
    assert len(model.posterior_.provenance.blocks) == 2
    assert model.calibration_ is not None


def test_it_is_saved_as_it_is(tmp_path):
    model = quick(DecisionTreeRegressor(max_depth=3))
    loaded = nb.load(model.save(tmp_path / "m.nearbayes"))
    assert loaded.n_draws == "quick"
    np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="n_draws must be a whole number or 'quick', got 'fast'"):
        nb.PosteriorRegressor(DecisionTreeRegressor(), n_draws="fast").fit(X, Y)
