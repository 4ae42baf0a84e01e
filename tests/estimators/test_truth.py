"""Truths to simulate from: a reference where trees can be fitted, else the first fit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import nearbayes as nb
from nearbayes.core.data import Data
from nearbayes.core.lifting import as_chunks
from nearbayes.estimators.truth import FirstFit, Reference, likely_truth

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
F = 2 * np.sin(X[:, 0])
Y = F + 0.5 * RNG.normal(size=300)
LABELS = np.array(["a", "b", "c"])[np.digitize(Y, [-0.7, 0.7])]


def truth_of(algorithm, x, y):
    chunks, _ = as_chunks(algorithm).prepare(Data.of(x, y), np.random.default_rng(1))
    return likely_truth(chunks, None, Data.of(x, y), np.random.default_rng(2))


def test_the_reference_of_numbers_is_near_the_function_and_its_noise():
    truth = truth_of(nb.RegressorAlgorithm.of(DecisionTreeRegressor(max_depth=2)), X, Y)
    assert isinstance(truth, Reference)
    assert np.sqrt(np.mean((truth.values(X) - F) ** 2)) < 0.35
    outcomes = np.stack([truth.sample(X, RNG) for _ in range(30)])
    assert outcomes.std(axis=0).mean() == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_reference_of_classes_gives_labels(n_classes):
    labels = LABELS if n_classes == 3 else np.where(Y > 0, "yes", "no")
    truth = truth_of(nb.ClassifierAlgorithm.of(RandomForestClassifier(5)), X, labels)
    values = truth.values(X)
    assert values.shape == (300, n_classes)
    np.testing.assert_allclose(values.sum(axis=1), 1.0)
    assert set(truth.sample(X, RNG)) <= set(labels)
    said = np.unique(labels)[values.argmax(axis=1)]
    assert np.mean(said == labels) > 0.7


def test_frames_with_categories_and_missing_values():
    frame = pd.DataFrame(X.copy(), columns=list("abc"))
    frame["c"] = pd.Categorical(np.where(frame["c"] > 0, "up", "down"))
    frame.loc[::7, "a"] = np.nan
    truth = truth_of(nb.RegressorAlgorithm.of(TreeOfNumbers()), frame, Y)
    assert isinstance(truth, Reference)


class TreeOfNumbers(DecisionTreeRegressor):
    """Takes any frame by leaving out what is no number."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X[["b"]], y, sample_weight)

    def predict(self, X):
        return super().predict(X[["b"]])


def test_linear_models_and_tables_that_trees_do_not_take_have_their_own_fit():
    logistic = nb.ClassifierAlgorithm.of(LogisticRegression())
    assert isinstance(truth_of(logistic, X, LABELS), FirstFit)
    forest = nb.ClassifierAlgorithm.of(RandomForestClassifier(5))
    assert isinstance(truth_of(forest, sparse.csr_matrix(X), LABELS), FirstFit)
