"""Row prints: hashes of the rows of a fit, by which a report recognises them.

Scores on rows that a model was fitted to are too good. A hash of each row and its outcome is enough
to detect such rows, and can be saved with a model, which has no rows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import binom

from nearbayes.tables.table import Table, as_table, is_frame

__all__ = ["RowPrints"]

Hashes = NDArray[np.uint64]

MOST_KEPT = 1 << 14  # the smallest hashes: as good as a random sample of the rows
TOO_ALIKE = 0.9  # with so many equal rows, matches have no meaning
PIECE = 50_000  # rows hashed at a time
CLEAR = 1e-3  # p value of matches by chance
ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class RowPrints:
    """The smallest hashes of the rows of a fit.

    Attributes
    ----------
    kept : array of uint64, shape (n_kept,)
        Sorted; all of them for up to 16,384 rows.
    alike : float
        Share of the rows that equal another row: the probability that a new row matches one by
        chance.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> prints = RowPrints.of(X[:60], X[:60, 0])
    >>> prints.share_of(X[:60], X[:60, 0]), prints.share_of(X[60:], X[60:, 0])
    (1.0, 0.0)
    >>> prints.share_of(X[50:70], X[50:70, 0])
    0.5
    """

    kept: Hashes
    alike: float

    @classmethod
    def of(cls, X: Any, y: Any) -> RowPrints:
        """Hash rows and their outcomes."""
        hashes = np.sort(hashed(X, y))
        _, counts = np.unique(hashes, return_counts=True)
        return cls(hashes[:MOST_KEPT], float(1 - np.sum(counts == 1) / max(len(hashes), 1)))

    def share_of(self, X: Any, y: Any) -> float | None:
        """Estimate which share of these rows was in the fit.

        Equal rows are expected if columns have few values, and are subtracted.

        Returns
        -------
        float or None
            0.0 if no more rows match than chance explains; None if too many rows are equal.
        """
        hashes = hashed(X, y)
        if len(self.kept) == MOST_KEPT:  # other rows may or may not be in the fit
            hashes = hashes[hashes <= self.kept[-1]]
        if not len(hashes) or self.alike > TOO_ALIKE:
            return None
        matches = int(np.isin(hashes, self.kept).sum())
        if binom.sf(matches - 1, len(hashes), self.alike) > CLEAR:
            return 0.0
        share = (matches / len(hashes) - self.alike) / (1 - self.alike)
        return float(np.clip(share, 0.0, 1.0))


def hashed(X: Any, y: Any) -> Hashes:
    """One hash per row of a table and its outcome, the same for equal values in any kind of table.

    Examples
    --------
    >>> dense = np.array([[0.0, 2.0], [3.0, 0.0]])
    >>> same = hashed(dense, ["a", "b"]) == hashed(sparse.csr_array(dense), ["a", "b"])
    >>> bool(same.all())
    True
    """
    return _inputs(as_table(X)) + _mixed(_codes(np.asarray(y).reshape(len(y), -1)[:, 0]), -1)


def _inputs(table: Table) -> Hashes:
    if sparse.issparse(table):
        return _sparse_inputs(sparse.csr_array(table))
    total = np.zeros(table.shape[0], dtype=np.uint64)
    if is_frame(table):
        frame = nw.from_native(table, eager_only=True)
        columns = [frame.get_column(name).to_numpy() for name in frame.columns]
    elif len(table) > PIECE:  # in the order of rows in memory, or in a file
        places = range(0, len(table), PIECE)
        return np.concatenate([_inputs(table[place : place + PIECE]) for place in places])
    else:  # also images and texts
        columns = list(table.reshape(len(table), -1).T)
    for place, values in enumerate(columns):
        codes = _codes(np.asarray(values))
        total += np.where(codes == 0, np.uint64(0), _mixed(codes, place))
    return total


def _sparse_inputs(table: Any) -> Hashes:
    codes = _codes(table.data)
    mixed = np.where(codes == 0, np.uint64(0), _mixed(codes, table.indices))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return np.asarray(sums[table.indptr[1:]] - sums[table.indptr[:-1]])


def _codes(values: NDArray[Any]) -> Hashes:
    """A number for each value; 0 for the number 0."""
    if values.dtype.kind in "biuf":
        floats = values.astype(np.float64) + 0.0  # no -0
        floats[np.isnan(floats)] = np.nan
        return floats.view(np.uint64)
    known: dict[Any, int] = {}
    items = [each if isinstance(each, int | float) else _text(each) for each in values.tolist()]
    for item in items:
        if item not in known:
            known[item] = _code(item)
    return np.array([known[item] for item in items], dtype=np.uint64)


def _text(item: Any) -> Any:
    """Anything except numbers as text; all missing values are equal."""
    # pandas.NA and NaT do not equal anything, not even themselves
    return np.nan if item is None or type(item).__name__ in ("NAType", "NaTType") else str(item)


def _code(item: Any) -> int:
    if isinstance(item, str):
        return int.from_bytes(hashlib.blake2b(item.encode(), digest_size=8).digest(), "little")
    return int(_codes(np.array([float(item)]))[0])


def _mixed(codes: Hashes, place: Any) -> Hashes:
    """Bits of a value and its column, well mixed (the finaliser of SplitMix64)."""
    mixed = codes + ODD * (np.atleast_1d(place).astype(np.int64) + 2).astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
