"""Kernels: covariances are those of tinygp, and frequencies have their spectral density."""

import jax
import numpy as np
import pytest

from nearbayes.gp.kernels import (
    CLASSES,
    covariance,
    kernel_of,
    length_scales,
    spectral_frequencies,
)

ROWS = np.random.default_rng(0).normal(size=(7, 3))
SCALES = np.array([0.5, 1.0, 3.0])


@pytest.mark.parametrize("name", CLASSES)
def test_matrix_products_give_the_kernel_of_tinygp(name):
    with jax.enable_x64(True):
        ours = covariance(name, ROWS / SCALES)
        across = covariance(name, ROWS / SCALES, ROWS[:2] / SCALES)
        theirs = kernel_of(name, SCALES)(ROWS, ROWS)
    np.testing.assert_allclose(ours, theirs, atol=1e-7)
    np.testing.assert_allclose(across, theirs[:, :2], atol=1e-7)
    np.testing.assert_allclose(np.diag(ours), 1, atol=1e-9)


@pytest.mark.parametrize("name", CLASSES)
def test_gradients_are_those_of_tinygp_also_at_equal_rows(name):
    rows = np.concatenate([ROWS, ROWS[:2]])

    def total(scales, which):
        matrix = covariance(name, rows / scales) if which else kernel_of(name, scales)(rows, rows)
        return (matrix * np.arange(81.0).reshape(9, 9)).sum()

    with jax.enable_x64(True):
        ours, theirs = (jax.grad(total)(SCALES, which) for which in (True, False))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("name", CLASSES)
def test_mean_of_cosines_is_the_kernel(name):
    frequencies = spectral_frequencies(name, SCALES, 40_000, np.random.default_rng(1))
    gap = ROWS[0] - ROWS[1]
    with jax.enable_x64(True):
        expected = float(kernel_of(name, SCALES)(ROWS[:1], ROWS[1:2])[0, 0])
    cosines = np.cos(frequencies @ gap)
    assert abs(cosines.mean() - expected) < 4 * cosines.std() / 200


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, [1.0, 2.0], [[1.0]]])
def test_bad_length_scales(bad):
    with pytest.raises(ValueError, match="length_scale must be"):
        length_scales(bad, 3)
