"""A class that is predicted far too rarely is warned of, and no other."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import nearbayes as nb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
RARE = np.where(np.arange(400) < 6, "rare", "usual")
RUN = {"n_draws": 3, "n_refits": 1, "calibration": None, "random_state": 0, "progress": False}


def raised(estimator, y):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        nb.PosteriorClassifier(estimator, **RUN).fit(X, y)
    return [each for each in found if each.category is nb.RareClassWarning]


class NeverRare(KNeighborsClassifier):
    """Learns rows by heart: new rows have a class with too few neighbours next to never."""

    def predict_proba(self, X):
        return super().predict_proba(X) ** 8


def test_a_class_learned_by_heart_is_warned_of_at_the_line_of_the_user():
    (found,) = raised(NeverRare(20), RARE)
    text = str(found.message)
    assert "class 'rare' cannot be trusted: it has 6 rows" in text
    assert "NeverRare predicts it 0." in text
    assert "use a simpler estimator" in text
    assert found.filename == __file__
    assert issubclass(nb.RareClassWarning, UserWarning)


def test_a_rare_class_of_a_linear_model_is_not():
    assert raised(LogisticRegression(), RARE) == []


@pytest.mark.parametrize("rows", [6, 19, 20])
def test_few_rows_of_a_rare_class_are_warned_of_for_flexible_learners(rows):
    y = np.where(np.arange(800) < rows, "rare", "usual")
    table = np.random.default_rng(1).normal(size=(800, 4))
    table[:rows] += 3  # easy to find
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        nb.PosteriorClassifier(DecisionTreeClassifier(max_depth=2), **RUN).fit(table, y)
    texts = [str(each.message) for each in found if each.category is nb.RareClassWarning]
    assert len(texts) == (rows < 20)
    assert all("too few for DecisionTreeClassifier" in text for text in texts)


def test_frequent_classes_are_not():
    assert raised(NeverRare(20), np.where(X[:, 0] > 0, "rare", "usual")) == []


def test_few_rows_are_warned_of_where_early_stopping_looks_at_no_folds():
    stopped = XGBClassifier(n_estimators=20, early_stopping_rounds=2)
    with pytest.warns(nb.RareClassWarning, match="too few for XGBClassifier"):
        nb.PosteriorClassifier(stopped, **RUN).fit(
            X, 1 * (RARE == "rare"), eval_set=[(X, RARE == "rare")]
        )
