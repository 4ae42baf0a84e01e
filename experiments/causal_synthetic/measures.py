"""Measures: how far a model's interventional distributions are from the truth.

A model is a function ``sample(do, n, rng)`` that gives an array of shape (K, n, d): n rows of each
of its K draws. Its prediction is the mixture of the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.stats import energy_distance

from experiments.causal_synthetic.queries import Query
from experiments.causal_synthetic.scms import Array, Do, SyntheticSCM
from nearbayes.draws.credible import centred_interval, reach_of

Sampler = Callable[[Do, int, np.random.Generator], Array]
N_SAMPLES = 512
N_TRUTH = 50_000
LEVEL = 0.9


def squared_mmd(x: Array, y: Array, bandwidth: float) -> float:
    r"""Squared maximum mean discrepancy of two samples (biased V-statistic).

    .. math:: \frac{1}{n^2} \sum_{ij} k(x_i, x_j) + \frac{1}{m^2} \sum_{ij} k(y_i, y_j)
              - \frac{2}{nm} \sum_{ij} k(x_i, y_j), \quad k(a, b) = \exp(-\|a - b\|^2 / h)

    Two samples of one distribution do not have 0: see `noise_floor`.

    Parameters
    ----------
    x, y : arrays of shapes (n, d) and (m, d)
    bandwidth : float
        h, in squared units.

    Examples
    --------
    >>> round(squared_mmd(np.zeros((2, 1)), np.ones((3, 1)), 1.0), 4)  # 2 - 2 / e
    1.2642
    """

    def mean_kernel(a: Array, b: Array) -> float:
        return float(np.exp(-cdist(a, b, "sqeuclidean") / bandwidth).mean())

    return mean_kernel(x, x) + mean_kernel(y, y) - 2 * mean_kernel(x, y)


def median_bandwidth(truth: Array) -> float:
    """Median squared distance between rows; of the truth alone, so all models have one kernel."""
    median = float(np.median(pdist(truth, "sqeuclidean")))
    if median == 0:
        raise ValueError("truth must vary: got rows of which at least half are equal.")
    return median


def cdf_l2(x: Array, y: Array) -> float:
    r"""Integral :math:`\int (F_x - F_y)^2` of the distribution functions of two samples of numbers.

    Exact: the functions are constant between the samples' values. With y from the truth it is how
    much more than the truth's the CRPS of x is.

    Examples
    --------
    >>> round(cdf_l2(np.array([0.0]), np.array([0.0, 2.0])), 6)
    0.5
    """
    return float(energy_distance(x, y)) ** 2 / 2


def mean_intervals(means: Array, factor: float = 1.0) -> Array:
    """90 % intervals of a mean from its K draws, right for few draws where they are normal.

    Mean of the draws, and :math:`t_{.95, K-1} (1 + 1/K)^{1/2}` standard deviations on either side.

    Parameters
    ----------
    means : array of shape (K, n_queries)
        At least two draws.
    factor : float
        Inflation of the draws' spread (App. C).

    Returns
    -------
    array of shape (n_queries, 2)
    """
    if len(means) < 2:
        raise ValueError(f"means must have at least two draws: got {len(means)}.")
    reach = factor * reach_of(LEVEL, len(means))
    return np.asarray(centred_interval(means, [reach], "identity")[..., 0])


def truth_as_model(scm: SyntheticSCM, n_draws: int = 1) -> Sampler:
    """The truth in the place of a model: each draw has noise of its own and nothing else."""

    def sample(do: Do, n: int, rng: np.random.Generator) -> Array:
        rows = [scm.sample(n, rng, do) for _ in range(n_draws)]
        return np.stack(rows)

    return sample


def descendants_mmd(
    scm: SyntheticSCM,
    sample: Sampler,
    n_draws: int,
    queries: Sequence[Query],
    seed: int,
    n_samples: int = N_SAMPLES,
) -> float:
    """Squared MMD of all descendants, averaged over a node's values and then over nodes.

    Parameters
    ----------
    scm : SyntheticSCM
    sample : callable
        The model.
    n_draws : int
        Its draws, so that no more rows are sampled than are compared.
    queries : sequence of Query
        See `descendant_queries`.
    seed : int
        The same seed has the same samples of the truth, whatever the model.
    n_samples : int
        Rows of the truth, and rows of the model over all its draws.
    """
    found: dict[str, list[float]] = {}
    for query, rng_truth, rng_model in _with_generators(queries, seed):
        columns = [scm.column(node) for node in query.outcomes]
        truth = scm.sample(n_samples, rng_truth, query.do)[:, columns]
        model = _mixture(sample, n_draws, query.do, n_samples, rng_model)[:, columns]
        mmd = squared_mmd(model, truth, median_bandwidth(truth))
        found.setdefault(query.varied, []).append(mmd)
    return float(np.mean([np.mean(values) for values in found.values()]))


def noise_floor(
    scm: SyntheticSCM, queries: Sequence[Query], seed: int, n_samples: int = N_SAMPLES
) -> float:
    """`descendants_mmd` of the truth itself: what a perfect model would have."""
    return descendants_mmd(scm, truth_as_model(scm), 1, queries, seed, n_samples)


def outcome_scores(
    scm: SyntheticSCM,
    sample: Sampler,
    queries: Sequence[Query],
    seed: int,
    n_samples: int = N_SAMPLES,
    inflation: float = 1.0,
) -> dict[str, float]:
    """Distribution and mean of one outcome: weighted averages over queries.

    Parameters
    ----------
    scm, sample, seed
        See `descendants_mmd`.
    queries : sequence of Query
        With one outcome each: see `outcome_queries`.
    n_samples : int
        Rows of each draw. Their error adds to the spread of the draws' means: `sampling_share`.
    inflation : float
        Of the draws' spread, for "inflated" intervals (App. C).

    Returns
    -------
    dict
        "cdf_l2" of the mixture of draws; "rmse" of its mean; "coverage" and "width" of 90 %
        intervals of the mean, raw and "inflated"; "sampling_share", how much of the variance of
        the draws' means is the error of `n_samples` rows.
    """
    means, errors, truths, distances = [], [], [], []
    for query, rng_truth, rng_model in _with_generators(queries, seed):
        column = scm.column(query.outcomes[0])
        truth = scm.sample(N_TRUTH, rng_truth, query.do)[:, column]
        model = sample(query.do, n_samples, rng_model)[..., column]
        means.append(model.mean(axis=1))
        errors.append(model.var(axis=1, ddof=1).mean() / n_samples)
        truths.append(truth.mean())
        distances.append(cdf_l2(model.ravel(), truth))
    weights = [query.weight for query in queries]
    by_draw, truth_means = np.transpose(means), np.array(truths)

    def average(values: Array) -> float:
        return float(np.average(values, weights=weights))

    found = {
        "cdf_l2": average(np.array(distances)),
        "rmse": average((by_draw.mean(axis=0) - truth_means) ** 2) ** 0.5,
        "sampling_share": average(np.array(errors)) / average(by_draw.var(axis=0, ddof=1)),
    }
    for name, factor in (("", 1.0), ("inflated ", inflation)):
        low, high = mean_intervals(by_draw, factor).T
        found[f"{name}coverage"] = average((low <= truth_means) & (truth_means <= high))
        found[f"{name}width"] = average(high - low)
    return found


def _with_generators(
    queries: Sequence[Query], seed: int
) -> list[tuple[Query, np.random.Generator, np.random.Generator]]:
    """Each query with generators for the truth and for the model."""
    streams = np.random.default_rng(seed).spawn(2 * len(queries))
    return list(zip(queries, streams[::2], streams[1::2], strict=True))


def _mixture(sample: Sampler, n_draws: int, do: Do, n: int, rng: np.random.Generator) -> Array:
    """Just n rows of all draws together; where n does not divide, some draws have one less."""
    rows = sample(do, -(-n // n_draws), rng)
    if len(rows) != n_draws:
        raise ValueError(f"sample must give {n_draws} draws, as n_draws says: got {len(rows)}.")
    return np.asarray(rng.permutation(rows.reshape(-1, rows.shape[-1]))[:n])
