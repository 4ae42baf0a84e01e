"""Shared by tests of pictures: no screen, no figures left open, small fitted models."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression, Ridge

import nearbayes as nb

mpl.use("Agg")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] - X[:, 1] + 0.5 * RNG.normal(size=60)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.figure().add_subplot()


@pytest.fixture(scope="session")
def table():
    return X


@pytest.fixture(scope="session")
def outcomes():
    return Y


@pytest.fixture(scope="session")
def regressor():
    return nb.PosteriorRegressor(Ridge(), n_draws=15, random_state=0).fit(X, Y)


@pytest.fixture(scope="session")
def two_classes():
    labels = np.where(Y > 0, "yes", "no")
    return nb.PosteriorClassifier(LogisticRegression(), n_draws=15, random_state=0).fit(X, labels)


@pytest.fixture(scope="session")
def three_classes():
    labels = np.digitize(Y, [-0.7, 0.7])
    return nb.PosteriorClassifier(LogisticRegression(), n_draws=8, random_state=0).fit(X, labels)


@pytest.fixture(scope="session")
def calibrated():
    model = nb.PosteriorClassifier(
        LogisticRegression(), n_draws=4, n_refits=2, calibration="simulation", random_state=0
    )
    return model.fit(X, np.where(Y > 0, "yes", "no"))
