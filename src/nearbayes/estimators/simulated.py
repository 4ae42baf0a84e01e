"""Simulated: draws of simulated data sets with a known truth, to calibrate any functional."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from nearbayes.core.engine import DrawWarning
from nearbayes.draws.calibration import Calibration
from nearbayes.draws.credible import reach_of
from nearbayes.draws.functional import Functional, values_of
from nearbayes.draws.pivots import Pivots
from nearbayes.telling import warn

__all__ = ["MOST_BYTES", "SimulatedSets", "pickled_size"]

Array = NDArray[np.float64]
MOST_BYTES = 200_000_000  # of all that is kept


@dataclass(frozen=True)
class SimulatedSets:
    """Fitted estimators of every simulated data set, and their truth.

    Attributes
    ----------
    draws : tuple of lists
        The draws of each simulated data set, as users see them.
    truth : object
        The known truth, which predicts like a fitted estimator.
    learned : object, optional
        The user's estimator fitted to many outcomes of the truth, for functionals that the truth
        does not have: importances, coefficients, ...
    calibration : Calibration
        Of predictions.
    """

    draws: tuple[Sequence[Any], ...]
    truth: Any
    learned: Any
    calibration: Calibration

    def calibrated(self, function: Callable[[Any], Any], functional: Functional) -> Functional:
        """The functional with calibrated intervals; unchanged, with a warning, if that fails."""
        values, n_draws = functional.values, len(functional.values)
        if n_draws < 2:
            return functional
        try:
            simulated = np.stack([values_of(function, draws) for draws in self.draws])
            truth = self._at_truth(function, values.shape[1:])
            if simulated.shape[2:] != values.shape[1:]:
                raise ValueError(f"its shape is {simulated.shape[2:]} on simulated data sets.")
        except (ValueError, TypeError) as error:
            warn(
                f"intervals of this functional could not be calibrated on simulated data: {error}",
                DrawWarning,
            )
            return functional
        factor = self.calibration.factor(0.9, n_draws) / reach_of(0.9, n_draws)
        scale = functional.inflation, functional.link, functional.start
        return replace(functional, calibration=Pivots.of(truth, simulated, factor, *scale))

    def _at_truth(self, function: Callable[[Any], Any], shape: tuple[int, ...]) -> Array:
        """The functional at the truth, or at the estimator fitted to many of its outcomes."""
        try:
            return _shaped(values_of(function, [self.truth])[0], shape)
        except (ValueError, TypeError) as error:
            if self.learned is None:
                raise ValueError(f"it has no value at the truth ({error}).") from error
        return _shaped(values_of(function, [self.learned])[0], shape)


def _shaped(value: Array, shape: tuple[int, ...]) -> Array:
    if value.shape != shape:
        raise ValueError(f"its shape is {value.shape} at the truth, {shape} for draws.")
    return value


def pickled_size(objects: Sequence[Any]) -> float:
    """Size of pickled objects in bytes, without keeping the bytes; inf if they cannot be pickled.

    Examples
    --------
    >>> 80_000 < pickled_size([np.zeros(10_000)]) < 81_000
    True
    """
    counter = _Counter()
    try:
        cloudpickle.Pickler(counter, protocol=5).dump(objects)
    except Exception:  # for any error of a user's estimator, its draws are not kept
        return np.inf
    return counter.size


class _Counter:
    """A file that counts the bytes written to it."""

    size = 0

    def write(self, data: Any) -> int:
        """Count bytes."""
        self.size += memoryview(data).nbytes
        return memoryview(data).nbytes
