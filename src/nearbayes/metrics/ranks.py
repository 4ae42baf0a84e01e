"""Rank tables: methods compared over data sets by pairwise Wilcoxon signed-rank tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from nearbayes.metrics.checks import vector


@dataclass(frozen=True, eq=False)
class RankTable:
    """Methods compared over the same data sets; made by :func:`rank_table`.

    Attributes
    ----------
    methods : tuple of str
        Names of the methods, the order of every array below.
    mean_score : ndarray, shape (n_methods,)
        Mean score over data sets.
    average_rank : ndarray, shape (n_methods,)
        Mean over data sets of the rank within the data set; 1 is best, ties share their mean.
    p_value : ndarray, shape (n_methods, n_methods)
        One-sided p-value that the row's method is better than the column's; 1 on the diagonal.
    n_pairs : ndarray of int, shape (n_methods, n_methods)
        Number of data sets on which the two methods differ, which the test uses.
    significance_rank : ndarray of int, shape (n_methods,)
        One plus the number of methods significantly better than this one.
    n_datasets : int
        Number of data sets.
    alpha : float
        Level of each test.
    alternative : {"less", "greater"}
        Whether a better score is a smaller or a larger one.
    """

    methods: tuple[str, ...]
    mean_score: NDArray[np.float64]
    average_rank: NDArray[np.float64]
    p_value: NDArray[np.float64]
    n_pairs: NDArray[np.intp]
    significance_rank: NDArray[np.intp]
    n_datasets: int
    alpha: float
    alternative: Literal["less", "greater"]

    def __str__(self) -> str:
        rows = [("method", "mean score", "average rank", "significance rank")]
        rows += [
            (name, f"{score:.4g}", f"{average:.2f}", f"{rank}")
            for name, score, average, rank in zip(
                self.methods,
                self.mean_score,
                self.average_rank,
                self.significance_rank,
                strict=True,
            )
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([name.ljust(widths[0]), *map(str.rjust, cells, widths[1:])])
            for name, *cells in rows
        ]
        better = "lower" if self.alternative == "less" else "higher"
        lines.append(
            f"{self.n_datasets} data sets, {better} is better; "
            f"one-sided Wilcoxon signed-rank tests at level {self.alpha:g}"
        )
        return "\n".join(lines)


def rank_table(
    scores: Mapping[str, ArrayLike],
    names: Sequence[str] | None = None,
    alternative: Literal["less", "greater"] = "less",
    alpha: float = 0.05,
) -> RankTable:
    """Compare methods by their scores on the same data sets.

    Each ordered pair of methods gets a one-sided Wilcoxon signed-rank test of its differences
    over data sets. Data sets with a difference of zero are left out of that pair's test, as in
    Wilcoxon's paper; ``n_pairs`` counts the others. If none is left, the p-value is 1. P-values
    are not corrected for the number of pairs.

    Parameters
    ----------
    scores : mapping of str to array_like, shape (n_datasets,)
        Scores of each method, the data sets in the same order for all.
    names : sequence of str, optional
        Methods to compare, in the order to report them; all of ``scores`` if not given.
    alternative : {"less", "greater"}, default "less"
        "less" if lower scores are better, "greater" if higher ones are.
    alpha : float, default 0.05
        Level of each test behind ``significance_rank``.

    Returns
    -------
    RankTable

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR.

    Examples
    --------
    >>> forest = [0.31, 0.45, 0.28, 0.90, 0.62, 0.51]
    >>> bayes = [0.30, 0.43, 0.25, 0.86, 0.57, 0.45]
    >>> print(rank_table({"forest": forest, "bayes": bayes}))
    method  mean score  average rank  significance rank
    forest      0.5117          2.00                  2
    bayes       0.4767          1.00                  1
    6 data sets, lower is better; one-sided Wilcoxon signed-rank tests at level 0.05
    """
    _check_options(alternative, alpha)
    methods, table = _table(scores, names)
    losses = table if alternative == "less" else -table
    differences = losses[:, np.newaxis] - losses
    p_value = np.array([[_p_less(pair) for pair in row] for row in differences])
    return RankTable(
        methods=methods,
        mean_score=table.mean(axis=1),
        average_rank=stats.rankdata(losses, axis=0).mean(axis=1),
        p_value=p_value,
        n_pairs=np.count_nonzero(differences, axis=2),
        significance_rank=1 + np.count_nonzero(p_value < alpha, axis=0),
        n_datasets=table.shape[1],
        alpha=alpha,
        alternative=alternative,
    )


def _check_options(alternative: str, alpha: float) -> None:
    if alternative not in ("less", "greater"):
        raise ValueError(f"alternative must be 'less' or 'greater': got {alternative!r}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1: got {alpha}")


def _table(
    scores: Mapping[str, ArrayLike], names: Sequence[str] | None
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the methods and their scores, shape (n_methods, n_datasets)."""
    methods = tuple(scores) if names is None else tuple(names)
    missing = [name for name in methods if name not in scores]
    if missing:
        raise ValueError(f"names must be keys of scores: got {missing}, not in {list(scores)}")
    if len(set(methods)) < max(2, len(methods)):
        raise ValueError(f"names must be at least two different methods: got {list(methods)}")
    columns = [vector(f"scores[{name!r}]", scores[name]) for name in methods]
    for name, column in zip(methods, columns, strict=True):
        if column.size != columns[0].size:
            raise ValueError(
                "scores must hold one score per data set for every method: got "
                f"{columns[0].size} for {methods[0]!r} and {column.size} for {name!r}"
            )
    return methods, np.stack(columns)


def _p_less(differences: NDArray[np.float64]) -> float:
    # Zeros are removed here because SciPy would drop its exact test, or warn.
    nonzero = differences[differences != 0]
    if nonzero.size == 0:
        return 1.0
    return float(stats.wilcoxon(nonzero, alternative="less").pvalue)
