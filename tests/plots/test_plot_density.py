import numpy as np
import pytest
from scipy.stats import gaussian_kde

import nearbayes as nb
from nearbayes.draws.functional import Functional
from nearbayes.plots.density import density_curve

DRAWS = np.random.default_rng(0).normal(size=(40, 3))


def test_a_number_is_a_density_with_its_interval_shaded(ax):
    slope = Functional(DRAWS[:, 0], inflation=1.5)
    assert nb.plots.posterior(slope, "slope", coverage=0.8, ax=ax) is ax
    curve, mean = ax.lines
    grid, density = curve.get_xydata().T
    np.testing.assert_allclose(density, gaussian_kde(slope.adjusted())(grid))
    assert mean.get_xdata()[0] == pytest.approx(DRAWS[:, 0].mean())
    shaded = ax.collections[0].get_paths()[0].vertices[:, 0]
    np.testing.assert_allclose([shaded.min(), shaded.max()], slope.interval(0.8))
    assert ax.get_xlabel() == "slope"
    assert "80 % credible interval" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_several_entries_are_one_row_each_the_first_on_top(ax):
    slopes = Functional(DRAWS, inflation=1.5)
    nb.plots.posterior(slopes, ["a", "b", "c"], coverage=0.8, ax=ax)
    bars = ax.collections[-1].get_segments()
    np.testing.assert_allclose([bar[:, 0] for bar in bars], slopes.interval(0.8))
    means = ax.lines[-1].get_xydata()
    np.testing.assert_allclose(means, np.column_stack([slopes.mean, [2, 1, 0]]))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b", "c"]
    assert ax.get_yticks().tolist() == [2, 1, 0]
    assert "80 % credible" in ax.get_title()
    assert len(ax.lines) == 3 + 1


def test_new_axes_are_made_if_none_are_given():
    axes = nb.plots.posterior(Functional(DRAWS[:, 0]))
    assert len(axes.lines) == 2
    assert axes.figure.axes == [axes]


def test_a_density_integrates_to_one_and_stays_where_values_can_be():
    grid, density = density_curve(Functional(DRAWS[:, 0], 2.0), [0.1])
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=0.01)
    assert 0.1 in grid
    shares = density_curve(Functional(DRAWS[:, 0].clip(0.01, 0.99), link="logit"))[0]
    assert shares.min() == 0
    assert shares.max() == 1


def test_entries_that_do_not_vary_have_no_density_but_a_mean(ax):
    values = np.column_stack([DRAWS[:, 0], np.full(40, 2.0)])
    nb.plots.posterior(Functional(values), ax=ax)
    assert len(ax.lines) == 1 + 1
    assert ax.lines[-1].get_xdata()[1] == 2.0


@pytest.mark.parametrize(
    ("functional", "names", "error", "message"),
    [
        (DRAWS, None, TypeError, "functional must be a result of posterior.apply"),
        (Functional(DRAWS), ["a"], ValueError, "names must have one name for each of 3 entries"),
        (Functional(DRAWS[:1]), None, ValueError, "must have at least 2 draws, got 1"),
        (Functional(DRAWS[:, :, None]), None, ValueError, r"draws of shape \(3, 1\): return a 1-D"),
        (Functional(np.zeros((5, 21))), None, ValueError, "at most 20 entries, got 21"),
    ],
)
def test_bad_functionals(functional, names, error, message):
    with pytest.raises(error, match=message):
        nb.plots.posterior(functional, names)


def test_bad_coverage():
    with pytest.raises(ValueError, match="coverage must lie strictly between 0 and 1, got 90"):
        nb.plots.posterior(Functional(DRAWS), coverage=90)
