"""Schedules: how many rows to impute before each refit, and the share of the variance captured.

App. C of the paper ("Choices of Δn and N"), generalised to unequal blocks.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

__all__ = ["Schedule", "captured", "inflation_of", "usual_schedule"]


def captured(n: float, blocks: Sequence[int]) -> float:
    r"""Share of the posterior variance that a truncated schedule captures.

    With :math:`D_j` rows after block :math:`\Delta_j`, Algorithm 1 reaches the covariance
    :math:`\sum_j (\Delta_j / D_j^2) F^{-1}` (eq. alg1-cov, App. C) where the exact martingale
    posterior has :math:`n^{-1} F^{-1}`, so the share is :math:`n \sum_j \Delta_j / D_j^2`.

    Parameters
    ----------
    n : float
        Number of real rows.
    blocks : sequence of int
        Rows imputed before each refit.

    Examples
    --------
    >>> round(captured(100, [100]), 3), round(captured(100, [25] * 12), 3)
    (0.25, 0.643)
    """
    total, share = float(n), 0.0
    for block in blocks:
        total += block
        share += n * block / total**2
    return share


def inflation_of(share: float) -> float:
    """Correction of standard deviations, ``captured ** -0.5`` (App. C); 1 without any refits.

    Examples
    --------
    >>> inflation_of(captured(100, [100]))
    2.0
    """
    return share**-0.5 if share > 0 else 1.0


@dataclass(frozen=True)
class Schedule:
    """How many rows to impute before each refit.

    Create one with `optimal` or `arithmetic`. Floats mean multiples of n, integers mean rows.

    Examples
    --------
    >>> Schedule.optimal(refits=4).blocks(100)
    (35, 59, 116, 310)
    >>> round(Schedule.optimal(refits=4).captured(100_000), 3)
    0.55
    >>> Schedule.arithmetic(horizon=1.0, block=0.25).blocks(100)
    (25, 25, 25, 25)
    """

    refits: int | None = None
    horizon: float | int | None = None
    block: float | int | None = None

    def __post_init__(self) -> None:
        if self.refits is None and (self.horizon is None or self.block is None):
            raise ValueError(
                "this Schedule has neither refits nor a horizon with blocks: create one with "
                "Schedule.optimal(refits=8) or Schedule.arithmetic(horizon=1.0, block=0.25)."
            )

    @classmethod
    def optimal(cls, refits: int = 8) -> Schedule:
        r"""Blocks that capture the most posterior variance with a given number of refits.

        With s refits left the best share is :math:`c_s = ((1 + c_{s-1}) / 2)^2`, :math:`c_0 = 0`,
        reached by growing the data by the factor :math:`2 / (1 + c_{s-1})`: maximise
        :math:`(g - 1) / g^2 + c_{s-1} / g` over the growth g.

        Parameters
        ----------
        refits : int
            Number of refits, 0 or more.
        """
        if not is_whole(refits) or refits < 0:
            raise ValueError(f"refits must be a whole number, 0 or more, got {refits!r}.")
        return cls(refits=int(refits))

    @classmethod
    def arithmetic(cls, horizon: float | int, block: float | int) -> Schedule:
        """Equal blocks up to the horizon, as in the paper's experiments (N and Δn).

        Parameters
        ----------
        horizon : float or int
            Total number of imputed rows; a float is a multiple of n.
        block : float or int
            Rows imputed before each refit; a float is a multiple of n. The last block is the
            rest of the horizon.
        """
        for name, value in (("horizon", horizon), ("block", block)):
            if not is_number(value) or not math.isfinite(value) or value <= 0:
                raise ValueError(f"{name} must be a positive number, got {value!r}.")
        return cls(horizon=horizon, block=block)

    @classmethod
    def parsed(cls, text: str) -> Schedule:
        """The schedule written by `str`, as in the provenance.

        Examples
        --------
        >>> Schedule.parsed("arithmetic(horizon=1.0, block=25)")
        Schedule(refits=None, horizon=1.0, block=25)
        """
        kind, _, inside = text.removesuffix(")").partition("(")
        pairs = (pair.split("=") for pair in inside.split(", "))
        try:
            given = {name: ast.literal_eval(value) for name, value in pairs}
            if kind == "optimal":
                return cls.optimal(**given)
            return cls.arithmetic(**given)
        except (TypeError, ValueError, SyntaxError):
            raise ValueError(
                f"schedule must have the form of str(Schedule.optimal(refits=8)), got {text!r}."
            ) from None

    def blocks(self, n: float) -> tuple[int, ...]:
        """Whole rows to impute before each refit, at least one each, for n real rows."""
        ends = self._optimal_ends(n) if self.refits is not None else self._arithmetic_ends(n)
        blocks: list[int] = []
        imputed = 0
        for end in ends:
            blocks.append(max(1, round(end) - imputed))
            imputed += blocks[-1]
        return tuple(blocks)

    def captured(self, n: float) -> float:
        """Share of the posterior variance captured with n real rows (see `captured`)."""
        return captured(n, self.blocks(n))

    def inflation(self, n: float) -> float:
        """Factor for standard deviations with n real rows (see `inflation_of`)."""
        return inflation_of(self.captured(n))

    def _optimal_ends(self, n: float) -> list[float]:
        """Rows imputed after each refit of the optimal schedule."""
        assert self.refits is not None
        best = [0.0]  # best[s]: the share captured by s refits
        for _ in range(self.refits - 1):
            best.append(((1 + best[-1]) / 2) ** 2)
        growth, ends = 1.0, []
        for share_left in reversed(best[: self.refits]):
            growth *= 2 / (1 + share_left)
            ends.append(n * (growth - 1))
        return ends

    def _arithmetic_ends(self, n: float) -> list[float]:
        assert self.horizon is not None
        assert self.block is not None
        horizon, block = _in_rows(self.horizon, n), max(1.0, _in_rows(self.block, n))
        steps = max(1, math.ceil((horizon - 0.5) / block))  # half a row is not a block
        return [min(horizon, (step + 1) * block) for step in range(steps)]

    def __str__(self) -> str:
        if self.refits is not None:
            return f"optimal(refits={self.refits})"
        return f"arithmetic(horizon={self.horizon}, block={self.block})"


def usual_schedule(n_refits: int | None) -> Schedule:
    """The optimal schedule, with 8 refits if their number is left open."""
    return Schedule.optimal(8 if n_refits is None else n_refits)


def is_whole(value: object) -> bool:
    """Whether a value is an integer of any kind, but not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether a value is a real number of any kind, but not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _in_rows(amount: float | int, n: float) -> float:
    return float(amount) if is_whole(amount) else float(amount) * n
