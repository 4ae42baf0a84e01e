import numpy as np
import pytest
from scipy.stats import binom

import nearbayes as nb
from nearbayes.metrics import coverage


def points(axes, label):
    (line,) = [line for line in axes.lines if line.get_label() == label]
    return line.get_xydata()


def test_bins_of_two_classes(ax, two_classes, table, outcomes):
    y = np.where(outcomes > 0, "yes", "no")
    assert nb.plots.reliability(two_classes, table, y, n_bins=5, coverage=0.8, ax=ax) is ax
    p = two_classes.predict_proba(table)[:, 1]
    bins = np.argsort(p).reshape(5, 12)
    said, seen = p[bins].mean(axis=1), (y == "yes")[bins].mean(axis=1)
    np.testing.assert_allclose(points(ax, "bins"), np.column_stack([said, seen]))
    band, bars = ax.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.round(9)}
    low, high = binom.interval(0.8, 12, said)
    assert set(zip(said.round(9), (low / 12).round(9), strict=True)) <= corners
    assert set(zip(said.round(9), (high / 12).round(9), strict=True)) <= corners
    by_bin = two_classes.posterior_.predict(table)[:, :, 1][:, bins].mean(axis=2)
    interval = two_classes.posterior_.of_predictions(by_bin).interval(0.8)
    np.testing.assert_allclose([bar[:, 0] for bar in bars.get_segments()], interval)


def test_calibrated_models_have_calibrated_bars(ax, calibrated, table, outcomes):
    y = np.where(outcomes > 0, "yes", "no")
    nb.plots.reliability(calibrated, table[:1], y[:1], n_bins=1, coverage=0.8, ax=ax)
    (bar,) = ax.collections[1].get_segments()
    np.testing.assert_allclose(bar[:, 0], calibrated.predict_interval(table[:1], 0.8)[0, 1])


def test_the_first_class_on_request(ax, two_classes, table, outcomes):
    y = np.where(outcomes > 0, "yes", "no")
    nb.plots.reliability(two_classes, table, y, target="no", n_bins=1, ax=ax)
    ((said, seen),) = points(ax, "bins")
    assert said == pytest.approx(two_classes.predict_proba(table)[:, 0].mean())
    assert seen == pytest.approx((y == "no").mean())
    assert "class no" in ax.get_xlabel()


def test_of_several_classes_the_likeliest(ax, three_classes, table, outcomes):
    y = np.digitize(outcomes, [-0.7, 0.7])
    nb.plots.reliability(three_classes, table, y, n_bins=1, ax=ax)
    ((said, seen),) = points(ax, "bins")
    assert said == pytest.approx(three_classes.predict_proba(table).max(axis=1).mean())
    assert seen == pytest.approx(three_classes.score(table, y))


def test_levels_of_a_regression(ax, regressor, table, outcomes):
    assert nb.plots.reliability(regressor, table, outcomes, ax=ax) is ax
    levels, covered = points(ax, "predictive intervals").T
    intervals = regressor.predict_interval(table, levels.tolist())
    np.testing.assert_allclose(covered, coverage(outcomes, intervals))
    assert levels[[0, -1]].tolist() == [0.05, 0.95]
    high = ax.collections[0].get_paths()[0].vertices[:, 1].max()
    assert high == pytest.approx(binom.interval(0.9, 60, 0.95)[1] / 60)


def test_bad_arguments(two_classes, regressor, table, outcomes):
    y = np.where(outcomes > 0, "yes", "no")
    with pytest.raises(ValueError, match="y must have one value for each row of X, got 5 for 60"):
        nb.plots.reliability(two_classes, table, y[:5])
    with pytest.raises(ValueError, match="y must hold classes seen during fit"):
        nb.plots.reliability(two_classes, table, np.full(60, "maybe"))
    with pytest.raises(ValueError, match=r"target must be one of \['no', 'yes'\], got 1"):
        nb.plots.reliability(two_classes, table, y, target=1)
    with pytest.raises(ValueError, match="target must be None for a regressor, got 0"):
        nb.plots.reliability(regressor, table, outcomes, target=0)
    with pytest.raises(ValueError, match="y must have one output, got 2"):
        nb.plots.reliability(regressor, table, np.column_stack([outcomes, outcomes]))
    for n_bins in (0, 61, 2.5):
        with pytest.raises(ValueError, match=f"from 1 to the number of rows, 60, got {n_bins}"):
            nb.plots.reliability(two_classes, table, y, n_bins=n_bins)
