"""Finishing: after how many imputed rows the rest of an infinite path is added at once.

For algorithms that know the law of what is left of a path. A path that is finished misses nothing
of the posterior's variance (Fong and Yiu, 2024).
"""

from __future__ import annotations

import math

from nearbayes.core.schedule import Schedule, is_number, is_whole, usual_schedule

__all__ = ["FinishAfter", "check_finish_after", "finishing_schedule", "reaches", "rows_to_finish"]

REFITS = 4  # by default; one would do, but diagnostics look at the steps

FinishAfter = int | float | None


def check_finish_after(value: object) -> None:
    """Refuse what is neither None nor a positive, finite number of rows."""
    if value is not None and not (is_number(value) and 0 < value < math.inf):  # type: ignore[operator]
        raise ValueError(
            f"finish_after must be None or a positive, finite number, got {value!r}: an integer is "
            "a number of imputed rows, a float a multiple of n."
        )


def rows_to_finish(finish_after: int | float, n: float) -> int:
    """Imputed rows after which the rest is added, at least one; a float is a multiple of n.

    Half a row does not count, as in blocks of `Schedule.arithmetic`, which end there.

    Examples
    --------
    >>> rows_to_finish(50, 20), rows_to_finish(0.5, 20)
    (50, 10)
    """
    whole = is_whole(finish_after)
    return int(finish_after) if whole else max(1, math.ceil(finish_after * n - 0.5))


def reaches(finish_after: FinishAfter, n: float, imputed: float) -> bool:
    """Tell whether so many imputed rows are enough for the rest to be added."""
    return finish_after is not None and imputed >= rows_to_finish(finish_after, n)


def finishing_schedule(finish_after: FinishAfter, n_refits: int | None) -> Schedule:
    """Equal blocks up to where paths are finished; the usual schedule if they are not."""
    if finish_after is None:
        return usual_schedule(n_refits)
    refits = REFITS if n_refits is None else max(n_refits, 1)
    whole = is_whole(finish_after)
    block = -(-finish_after // refits) if whole else finish_after / refits
    return Schedule.arithmetic(horizon=finish_after, block=block)
