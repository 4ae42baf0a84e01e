"""Finishing: after how many imputed rows the rest of an infinite path is added at once.

For algorithms that know the law of what is left of a path. A path that is finished misses nothing
of the posterior's variance (Fong and Yiu, 2024).
"""

from __future__ import annotations

import math

from nearbayes.core.schedule import Schedule, is_number, is_whole

__all__ = ["FinishAfter", "check_finish_after", "reaches", "rows_to_finish", "schedule_to"]

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

    Examples
    --------
    >>> rows_to_finish(50, 20), rows_to_finish(0.5, 20)
    (50, 10)
    """
    return int(finish_after) if is_whole(finish_after) else max(1, round(finish_after * n))


def reaches(finish_after: FinishAfter, n: float, imputed: float) -> bool:
    """Tell whether so many imputed rows are enough for the rest to be added."""
    return finish_after is not None and imputed >= rows_to_finish(finish_after, n)


def schedule_to(finish_after: int | float, refits: int) -> Schedule:
    """Equal blocks up to where paths are finished."""
    whole = is_whole(finish_after)
    block = -(-finish_after // refits) if whole else finish_after / refits
    return Schedule.arithmetic(horizon=finish_after, block=block)
