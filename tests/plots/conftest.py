"""Shared by tests of pictures: no screen, no figures left open."""

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.figure().add_subplot()
