"""Kept: what is left of a draw that is kept as its predictions at given rows alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.tables import Table, TablePrint, describe, same_rows

__all__ = ["KeptPredictions"]


@dataclass(frozen=True)
class KeptPredictions:
    """A draw's predictions at the rows of `predict_on`; the model itself is gone.

    Attributes
    ----------
    prediction : array of shape (n_rows,), (n_rows, n_outputs) or (n_rows, n_classes)
    predictive : Predictive
        Distribution of y at each row.
    classes_ : array of shape (n_classes,), optional
        Classes that the model had seen.
    """

    prediction: NDArray[np.float64]
    predictive: Any
    classes_: NDArray[Any] | None = None

    @staticmethod
    def check_rows(asked: Table, known: Table | TablePrint | None) -> None:
        """Refuse rows other than those that predictions were kept for."""
        if known is None or not same_rows(asked, known):
            got = "another" if known is None else describe(known)
            raise ValueError(
                f"X must be the table given as predict_on ({got}), as nothing but predictions "
                f"there was kept, got {describe(asked)}: fit with predict_on=X, or without "
                "predict_on."
            )
