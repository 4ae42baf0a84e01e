"""Axes: values as percent of a picture, which then fits any screen without a script."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearbayes.report.rounding import plain

__all__ = ["Axis"]


@dataclass(frozen=True)
class Axis:
    """A range of values that fills a picture.

    Examples
    --------
    >>> axis = Axis(0.0, 50.0)
    >>> axis.at(10.0), [tick["text"] for tick in axis.ticks(3)]
    (20.0, ['0', '20', '40'])
    """

    low: float
    high: float

    @classmethod
    def around(cls, values: Any, margin: float = 0.03) -> Axis:
        """The range of finite values, with some room at both ends."""
        finite = np.asarray(values, dtype=np.float64)
        finite = finite[np.isfinite(finite)]
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
        room = margin * (high - low) or 0.5 * abs(low) or 0.5
        return cls(float(low - room), float(high + room))

    def at(self, value: float) -> float:
        """Place of a value, in percent."""
        place = 100 * (float(value) - self.low) / (self.high - self.low)
        return round(min(100.0, max(0.0, place)), 2)

    def ticks(self, wanted: int = 4) -> list[dict[str, Any]]:
        """Round values on the axis, about as many as wanted, with their places."""
        rough = (self.high - self.low) / max(1, wanted)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(k * power for k in (1, 2, 5, 10) if k * power >= 0.999 * rough)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [{"at": self.at(k * step), "text": plain(k * step)} for k in range(first, last + 1)]
