"""Progress: a bar on the terminal with a cost estimate before the work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["in_words", "show_progress"]

WORTH_A_BAR = 2.0  # seconds; a bar that flashes by tells nobody anything


@contextmanager
def show_progress(
    n_tasks: int, estimate: float, wanted: bool | None, what: str = "draws"
) -> Iterator[Callable[..., None]]:
    """Show a bar while work is done; yields the function to call with the number of tasks done.

    Parameters
    ----------
    n_tasks : int
    estimate : float
        Seconds the work is expected to take; infinity if nobody knows.
    wanted : bool or None
        None shows the bar on a terminal, for work that is worth one.
    what : str
        What the tasks are called.
    """
    console = Console(stderr=True)
    if wanted is False or (wanted is None and not (console.is_terminal and estimate > WORTH_A_BAR)):
        yield lambda n=1: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=console.is_terminal) as bar:
        known = f" (estimated {in_words(estimate)})" if math.isfinite(estimate) else ""
        task = bar.add_task(f"{what}{known}", total=n_tasks)
        yield lambda n=1: bar.advance(task, n)


def in_words(seconds: float) -> str:
    """Say a duration briefly.

    Examples
    --------
    >>> in_words(0.5), in_words(42), in_words(150), in_words(7300)
    ('0.5 s', '42 s', '2 min 30 s', '2 h 1 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
