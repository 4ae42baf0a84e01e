import numpy as np
import pytest
from scipy.stats import gaussian_kde

import nearbayes as nb
from nearbayes.methods.martingale import Paths

COIN = nb.SequentialMLE(nb.families.Bernoulli())


def heads(**run):
    return nb.martingale_paths(COIN, [1, 0, 1, 1] * 5, lambda p: p[0], random_state=0, **run)


def test_one_line_per_draw_over_the_rows_seen(ax):
    paths = heads(n_draws=30)
    assert nb.plots.paths(paths, "P(heads)", ax=ax) is ax
    assert len(ax.lines) == 30
    for line, path in zip(ax.lines, paths.values, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([paths.n_rows, path]))
    assert ax.get_ylabel() == "P(heads)"
    assert ax.get_xticks()[0] == 20
    assert ax.get_xticks()[-1] == paths.n_rows[-1]


def test_beside_them_the_ends_and_the_posterior(ax):
    paths = heads(n_draws=30)
    nb.plots.paths(paths, coverage=0.8, ax=ax)
    (side,) = ax.child_axes
    density, grid = side.lines[0].get_xydata().T
    np.testing.assert_allclose(density, gaussian_kde(paths.ends.adjusted())(grid))
    (bar,) = side.collections[1].get_segments()
    np.testing.assert_allclose(bar[:, 1], paths.ends.interval(0.8))
    assert side.get_ylim() == ax.get_ylim()


def test_the_first_200_of_many_draws_are_shown_and_all_count(ax):
    paths = heads(n_draws=300)
    nb.plots.paths(paths, ax=ax)
    assert len(ax.lines) == 200
    (bar,) = ax.child_axes[0].collections[1].get_segments()
    np.testing.assert_allclose(bar[:, 1], paths.ends.interval(0.9))


def test_a_short_horizon(ax):
    nb.plots.paths(heads(n_draws=5, schedule=nb.Schedule.arithmetic(4, 1)), ax=ax)
    assert ax.get_xticks().tolist() == [20, 24]


@pytest.mark.parametrize(
    ("paths", "error", "message"),
    [
        (
            np.zeros((3, 4)),
            TypeError,
            r"must be a result of nearbayes.martingale_paths.* got ndarray",
        ),
        (Paths(np.arange(4.0), np.zeros((3, 4, 2))), ValueError, r"of shape \(2,\): return one"),
        (Paths(np.arange(4.0), np.zeros((1, 4))), ValueError, "got 1 draws with 3 refits"),
        (Paths(np.arange(1.0), np.zeros((3, 1))), ValueError, "got 3 draws with 0 refits"),
    ],
)
def test_bad_paths(paths, error, message):
    with pytest.raises(error, match=message):
        nb.plots.paths(paths)
