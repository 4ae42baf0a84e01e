"""No interval excludes its own prediction or has no width, whatever the learner and the classes."""

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from scipy.stats import entropy
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from xgboost import XGBClassifier

import nearbayes as nb

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 4))
RARE = (np.argsort(np.argsort(X[:, 0] + 0.5 * RNG.normal(size=300))) >= 291).astype(int)
COMMON = (X[:, 0] + X[:, 1] + RNG.logistic(size=300) > 0).astype(int)
SURE = (X[:, 0] > 0).astype(int)  # probabilities near 0 and 1
LEARNERS = {
    "knn": KNeighborsClassifier(15),
    "forest": RandomForestClassifier(10),
    "boosting": HistGradientBoostingClassifier(max_iter=30),
    "xgboost": XGBClassifier(n_estimators=30),
    "lightgbm": LGBMClassifier(n_estimators=30, verbosity=-1),
    "logistic": LogisticRegression(),
    "balanced": LogisticRegression(class_weight="balanced"),
    "weighted": XGBClassifier(n_estimators=30, scale_pos_weight=7),
}


# nearest neighbours see a rare class too rarely, which is another story
@pytest.mark.filterwarnings("ignore::nearbayes.estimators.rare.RareClassWarning")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("y", [RARE, COMMON, SURE], ids=["rare", "common", "sure"])
def test_intervals_hold_their_prediction_and_have_a_width(learner, y):
    model = nb.PosteriorClassifier(LEARNERS[learner], n_draws=8, n_refits=2, random_state=0)
    model.fit(X, y)
    p, draws = model.predict_proba(X), model.posterior_.predict(X)
    differ = np.ptp(draws, axis=0) > 1e-12
    for spread in (None, "inflated", "raw"):
        bounds = model.predict_interval(X, [0.1, 0.5, 0.9, 0.99], spread=spread)
        assert (bounds[..., 0, :] <= p[..., None]).all()
        assert (bounds[..., 1, :] >= p[..., None]).all()
        widths = bounds[..., 1, :] - bounds[..., 0, :]
        assert (widths[differ] > 0).all()
        assert (np.diff(widths, axis=-1) >= -1e-12).all()


@pytest.mark.parametrize("learner", ["balanced", "weighted"])
def test_class_weights_do_not_make_labels_drift(learner):
    y = (X[:, 0] + RNG.logistic(size=300) > 1.8).astype(int)
    model = nb.PosteriorClassifier(LEARNERS[learner], n_draws=16, random_state=0).fit(X, y)
    base = model.posterior_.chunks.predict([model.posterior_.first], X)[0][:, 1]
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(base.mean(), rel=0.2)
    bounds = model.predict_interval(X)[:, 1]
    assert np.mean((bounds[:, 0] <= base) & (base <= bounds[:, 1])) > 0.9


def test_uncertainty_and_intervals_tell_one_story():
    model = nb.PosteriorClassifier(LEARNERS["xgboost"], n_draws=12, random_state=0).fit(X, COMMON)
    draws = model.posterior_.predict(X)
    spread = model.calibration_.spread(draws)
    spread /= spread.sum(axis=2, keepdims=True)
    total = entropy(spread.mean(axis=0), axis=1)
    found = model.predict_uncertainty(X)
    np.testing.assert_allclose(found.epistemic, total - entropy(spread, axis=2).mean(axis=0))
    raw = entropy(draws.mean(axis=0), axis=1) - entropy(draws, axis=2).mean(axis=0)
    assert found.epistemic.mean() > 1.2 * raw.mean()  # spread as far as intervals reach
