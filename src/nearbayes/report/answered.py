"""Answered: the most likely class of each row, its interval, and whether it is doubtful."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nearbayes.report.heldout import HeldOut

__all__ = ["LEVEL", "Answered"]

Array = NDArray[np.float64]

LEVEL = 0.9
OTHER = 0.05  # share of draws with another answer from which a row is doubtful


class Answered:
    """Answers, intervals of their probabilities, and which answers are doubtful."""

    def __init__(self, held: HeldOut) -> None:
        self.held = held
        self.rows = np.arange(held.n)
        self.answered = held.mean.argmax(axis=1)

    @cached_property
    def bounds(self) -> Array:
        """Intervals of all class probabilities, shape (n_rows, n_classes, 2)."""
        return self.held.posterior.of_predictions(self.held.draws).interval(LEVEL)

    @cached_property
    def doubtful(self) -> NDArray[np.bool_]:
        """Rows whose interval leaves open which class is more likely."""
        if len(self.held.classes) == 2:
            return np.asarray(self.bounds[self.rows, self.answered, 0] < 0.5)
        others = self.held.spread.argmax(axis=2) != self.answered
        return np.asarray(others.mean(axis=0) > OTHER)

    def of(self, k: int | None) -> tuple[Array, Array]:
        """Probability and bounds of class k, or of each row's answer."""
        chosen = self.answered if k is None else np.full(self.held.n, k)
        return self.held.mean[self.rows, chosen], self.bounds[self.rows, chosen]
