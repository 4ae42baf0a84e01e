"""Labels are imputed from what the data say: over-confidence and class weights are undone."""

import numpy as np
import pytest
from scipy.special import expit

from nearbayes.core.data import Data
from nearbayes.predictives.recalibration import Recalibration, learn_recalibration

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2_000, 1))
P = expit(X[:, 0] - 1)
Y = (RNG.random(2_000) < P).astype(np.intp)


def learned(predict, **options):
    data = Data.of(X, Y)
    return learn_recalibration(
        lambda d, r: None, predict, data, 2, np.random.default_rng(1), **options
    )


def two(p):
    return np.stack([1 - p, p], axis=1)


def test_a_model_that_is_right_is_left_alone():
    found = learned(lambda model, x: two(expit(x[:, 0] - 1)))
    assert found.slope == pytest.approx(1.0, abs=0.12)  # its standard error is about .05
    assert np.abs(found.applied(two(P)) - two(P)).max() < 0.03


@pytest.mark.parametrize("times", [3.0, 0.5])
def test_a_model_that_is_too_sure_or_not_sure_enough_is_corrected(times):
    found = learned(lambda model, x: two(expit(times * (x[:, 0] - 1))))
    assert found.slope == pytest.approx(1 / times, rel=0.12)
    assert np.abs(found.applied(two(expit(times * (X[:, 0] - 1)))) - two(P)).max() < 0.05


def test_shifts_undo_class_weights_without_a_slope():
    weighted = expit(X[:, 0] - 1 + np.log(7))  # what weights of 7 on the ones do
    found = learned(lambda model, x: two(expit(x[:, 0] - 1 + np.log(7))), with_slope=False)
    assert found.slope == 1.0
    imputed = found.applied(two(weighted))[:, 1]
    assert imputed.mean() == pytest.approx((Y.sum() + 0.5) / 2_001, abs=1e-5)
    assert np.abs(imputed - P).max() < 0.03


def test_probabilities_of_zero_keep_half_a_row():
    applied = Recalibration(1.0, np.zeros(3), n=50.0).applied(np.array([[0.0, 0.0, 1.0]]))
    assert (applied > 0).all()
    assert applied.sum() == pytest.approx(1.0)


def test_classes_that_are_seen_once():
    y = np.where(np.arange(2_000) == 5, 2, Y)
    data = Data.of(X, y)
    found = learn_recalibration(
        lambda d, r: None,
        lambda m, x: np.full((len(x), 3), 1 / 3),
        data,
        3,
        np.random.default_rng(0),
    )
    assert np.isfinite(found.shift).all()


def test_large_data_cost_one_fold():
    n, fits = 12_000, []
    rng = np.random.default_rng(5)
    data = Data.of(rng.uniform(size=(n, 1)), rng.integers(2, size=n))

    def fit(data, rng):
        fits.append(len(data.y))

    learn_recalibration(fit, lambda model, x: np.full((len(x), 2), 0.5), data, 2, rng)
    assert fits == [9_600, 12_000]
