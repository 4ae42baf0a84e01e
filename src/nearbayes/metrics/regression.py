"""Scores of predictive distributions of a real outcome.

All are losses, lower is better. Draws come first: ``samples``, ``means`` and ``sds`` have shape
(n_draws, n_rows). ``mean=True`` averages over rows; ``mean=False`` returns one score per row.
"""

from types import ModuleType
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from nearbayes.metrics.checks import averaged, broadcast, draws_first, positive, vector

# The mixture formula builds n_draws x n_draws tables per row; this many numbers at a time
# (32 MB a table) keeps memory flat in the number of rows.
_PAIRS_AT_ONCE = 2**22


def _rules() -> ModuleType:
    """scoringrules, imported when a score is computed: its import compiles for two seconds."""
    import scoringrules

    return scoringrules  # type: ignore[no-any-return]


@overload
def crps_samples(
    y: ArrayLike, samples: ArrayLike, *, fair: bool = False, mean: Literal[True] = True
) -> float: ...
@overload
def crps_samples(
    y: ArrayLike, samples: ArrayLike, *, fair: bool = False, mean: Literal[False]
) -> NDArray[np.float64]: ...
def crps_samples(
    y: ArrayLike, samples: ArrayLike, *, fair: bool = False, mean: bool = True
) -> float | NDArray[np.float64]:
    r"""Continuous ranked probability score of the empirical distribution of samples.

    .. math:: S = \frac{1}{m} \sum_j |x_j - y| - \frac{1}{2 m^2} \sum_{j,k} |x_j - x_k|

    Parameters
    ----------
    y : array_like, shape (n_rows,)
        Observed outcomes.
    samples : array_like, shape (n_samples, n_rows)
        Draws from each row's predictive distribution, draws first.
    fair : bool, default False
        Divide the second sum by 2 m (m - 1) instead: an unbiased estimate of the score of the
        distribution the samples came from. It can be negative.
    mean : bool, default True
        Average over rows, or return one score per row.

    Returns
    -------
    float, or ndarray of shape (n_rows,) if ``mean`` is False

    References
    ----------
    Gneiting and Raftery (2007), JASA; Ferro (2014), Fair scores for ensemble forecasts, QJRMS.

    Examples
    --------
    >>> crps_samples([1.0, 5.0], [[0.0, 5.0], [2.0, 5.0]], mean=False)
    array([0.5, 0. ])
    >>> crps_samples([1.0, 5.0], [[0.0, 5.0], [2.0, 5.0]], fair=True)
    0.0
    """
    outcome = vector("y", y)
    draws = draws_first("samples", samples, outcome.size, draws="n_samples")
    plain = _rules().crps_ensemble(outcome, draws.T, estimator="qd", backend="numpy")
    scores = np.asarray(plain, dtype=np.float64)
    if fair:
        m = draws.shape[0]
        if m < 2:
            raise ValueError(f"samples must hold at least two draws for fair=True: got {m}")
        # Rescaling the spread term avoids the m x m table of the library's fair estimator.
        error = np.abs(draws - outcome).mean(axis=0)
        scores = error - (error - scores) * (m / (m - 1))
    return averaged(scores, mean)


@overload
def crps_gaussian(
    y: ArrayLike, means: ArrayLike, sds: ArrayLike, *, mean: Literal[True] = True
) -> float: ...
@overload
def crps_gaussian(
    y: ArrayLike, means: ArrayLike, sds: ArrayLike, *, mean: Literal[False]
) -> NDArray[np.float64]: ...
def crps_gaussian(
    y: ArrayLike, means: ArrayLike, sds: ArrayLike, *, mean: bool = True
) -> float | NDArray[np.float64]:
    r"""Continuous ranked probability score of a Gaussian predictive distribution.

    With :math:`z = (y - \mu) / \sigma`,

    .. math:: S = \sigma \{ z (2 \Phi(z) - 1) + 2 \phi(z) - \pi^{-1/2} \}

    Parameters
    ----------
    y : array_like, shape (n_rows,)
        Observed outcomes.
    means, sds : array_like, shape (n_rows,) or broadcast to it
        Mean and standard deviation of each row's predictive distribution; ``sds`` above zero.
    mean : bool, default True
        Average over rows, or return one score per row.

    Returns
    -------
    float, or ndarray of shape (n_rows,) if ``mean`` is False

    References
    ----------
    Gneiting, Raftery, Westveld and Goldman (2005), Monthly Weather Review.

    Examples
    --------
    >>> round(crps_gaussian([0.0, 1.0], means=[0.0, 1.0], sds=1.0), 4)
    0.2337
    """
    outcome = vector("y", y)
    centre = broadcast("means", means, outcome.shape)
    spread = positive("sds", sds, outcome.shape)
    scores = _rules().crps_normal(outcome, centre, spread, backend="numpy")
    return averaged(np.asarray(scores, dtype=np.float64), mean)


@overload
def crps_gaussian_mixture(
    y: ArrayLike,
    means: ArrayLike,
    sds: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    mean: Literal[True] = True,
) -> float: ...
@overload
def crps_gaussian_mixture(
    y: ArrayLike,
    means: ArrayLike,
    sds: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    mean: Literal[False],
) -> NDArray[np.float64]: ...
def crps_gaussian_mixture(
    y: ArrayLike,
    means: ArrayLike,
    sds: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    mean: bool = True,
) -> float | NDArray[np.float64]:
    r"""Continuous ranked probability score of a mixture of Gaussians, one per draw.

    .. math::
        S = \sum_j w_j A(y - \mu_j, \sigma_j^2)
          - \tfrac12 \sum_{j,k} w_j w_k A(\mu_j - \mu_k, \sigma_j^2 + \sigma_k^2), \quad
        A(d, s^2) = d (2 \Phi(d/s) - 1) + 2 s \phi(d/s)

    Time grows with n_rows * n_draws ** 2; with thousands of draws, sample the mixture and use
    :func:`crps_samples`.

    Parameters
    ----------
    y : array_like, shape (n_rows,)
        Observed outcomes.
    means : array_like, shape (n_draws, n_rows)
        Means, draws first.
    sds : array_like, shape (n_draws, n_rows) or broadcast to it
        Standard deviations above zero; shape (n_rows,) is one per row, (n_draws, 1) one per draw.
    weights : array_like, shape (n_draws,), optional
        Weights of the draws, scaled to sum to one; equal if not given.
    mean : bool, default True
        Average over rows, or return one score per row.

    Returns
    -------
    float, or ndarray of shape (n_rows,) if ``mean`` is False

    References
    ----------
    Grimit, Gneiting, Berrocal and Johnson (2006), QJRMS.

    Examples
    --------
    >>> round(crps_gaussian_mixture([0.0], means=[[-1.0], [1.0]], sds=0.5), 4)
    0.3672
    """
    outcome, centres, spreads, share = _checked_mixture(y, means, sds, weights)
    block = max(1, _PAIRS_AT_ONCE // share.size**2)
    scores = np.empty(outcome.size)
    for start in range(0, outcome.size, block):
        rows = slice(start, start + block)
        scores[rows] = _rules().crps_mixnorm(
            outcome[rows], centres[:, rows].T, spreads[:, rows].T, share, backend="numpy"
        )
    return averaged(scores, mean)


@overload
def nlpd_gaussian_mixture(
    y: ArrayLike,
    means: ArrayLike,
    sds: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    mean: Literal[True] = True,
) -> float: ...
@overload
def nlpd_gaussian_mixture(
    y: ArrayLike,
    means: ArrayLike,
    sds: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    mean: Literal[False],
) -> NDArray[np.float64]: ...
def nlpd_gaussian_mixture(
    y: ArrayLike,
    means: ArrayLike,
    sds: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    mean: bool = True,
) -> float | NDArray[np.float64]:
    r"""Negative log predictive density of a mixture of Gaussians, one per draw, in nats.

    .. math:: S = -\log \sum_j w_j \, \sigma_j^{-1} \phi\bigl((y - \mu_j) / \sigma_j\bigr)

    The sum is computed in logs, so an outcome far from every draw has a finite score.

    Parameters
    ----------
    y, means, sds, weights
        As in :func:`crps_gaussian_mixture`.
    mean : bool, default True
        Average over rows, or return one score per row.

    Returns
    -------
    float, or ndarray of shape (n_rows,) if ``mean`` is False

    References
    ----------
    Good (1952), Rational decisions, JRSS B.

    Examples
    --------
    >>> round(nlpd_gaussian_mixture([0.0], means=[[-1.0], [1.0]], sds=1.0), 4)
    1.4189
    """
    outcome, centres, spreads, share = _checked_mixture(y, means, sds, weights)
    z = (outcome - centres) / spreads
    log_density = -0.5 * (z**2 + np.log(2 * np.pi)) - np.log(spreads)
    scores = -logsumexp(log_density, axis=0, b=share[:, np.newaxis])
    return averaged(np.asarray(scores, dtype=np.float64), mean)


def _checked_mixture(
    y: ArrayLike, means: ArrayLike, sds: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    outcome = vector("y", y)
    centres = draws_first("means", means, outcome.size)
    spreads = positive("sds", sds, centres.shape)
    share = np.ones(len(centres)) if weights is None else vector("weights", weights)
    if share.size != len(centres):
        raise ValueError(
            f"weights must have one value per draw: got {share.size} for {len(centres)} draws"
        )
    if (share < 0).any() or not share.any():
        raise ValueError(
            f"weights must be at least zero and not all zero: got {share.min()} as the smallest"
        )
    return outcome, centres, spreads, share / share.sum()
