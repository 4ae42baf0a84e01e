"""Inverses by halves agree with NumPy's."""

import jax
import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from nearbayes.gp.inverse import SMALL, inverse_from_root


@pytest.mark.parametrize("n", [1, 2, SMALL, SMALL + 1, 2 * SMALL + 3])
def test_it_is_the_inverse(n):
    rows = np.random.default_rng(n).normal(size=(n, n + 5))
    matrix = rows @ rows.T / n + np.eye(n)
    with jax.enable_x64(True):
        found = np.asarray(inverse_from_root(np.linalg.cholesky(matrix)))
    np.testing.assert_allclose(found, np.linalg.inv(matrix), rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(found, found.T)


def test_nearly_singular_matrices_have_the_digits_that_are_left():
    n = 2 * SMALL + 1
    x = np.linspace(0, 1, n)[:, None]
    matrix = np.exp(-((x - x.T) ** 2)) + 1e-8 * np.eye(n)  # condition number 1e10
    with jax.enable_x64(True):
        found = np.asarray(inverse_from_root(np.linalg.cholesky(matrix)))

    def missed(inverse):
        return np.abs(inverse @ matrix - np.eye(n)).max()

    lapack = cho_solve(cho_factor(matrix), np.eye(n))
    assert missed(found) < 10 * missed(lapack)


def test_single_precision_stays_single():
    assert inverse_from_root(np.eye(3, dtype=np.float32)).dtype == np.float32
