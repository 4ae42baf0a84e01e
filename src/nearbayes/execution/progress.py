"""Progress: a bar on the terminal, with a cost estimate before the work starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

__all__ = ["followed_by", "in_words", "show_progress"]

WORTH_A_BAR = 2.0  # seconds; a bar is useless for shorter work


# What follows the current work: its name, and its time as a multiple of the current one.
_later: ContextVar[tuple[str, float]] = ContextVar("followed_by", default=("", 0.0))


@contextmanager
def followed_by(what: str, times: float) -> Iterator[None]:
    """Context in which progress bars include later work that takes `times` as long."""
    token = _later.set((what, times))
    try:
        yield
    finally:
        _later.reset(token)


class _TimeLeft(ProgressColumn):
    """Time left for this work and for the work after it."""

    def __init__(self, times: float) -> None:
        super().__init__()
        self.times = times

    def render(self, task: Task) -> Text:
        if task.time_remaining is None:
            return Text("-:--:-- left")
        whole = task.time_remaining + (task.elapsed or 0.0)
        left = timedelta(seconds=round(task.time_remaining + self.times * whole))
        return Text(f"{left} left")


@contextmanager
def show_progress(
    n_tasks: int, estimate: float, wanted: bool | None, what: str = "draws"
) -> Iterator[Callable[..., None]]:
    """Show a bar while work is done; yields the function to call with the number of tasks done.

    Parameters
    ----------
    n_tasks : int
    estimate : float
        Expected seconds of the work; infinity if unknown.
    wanted : bool or None
        None shows the bar on a terminal, except for short work.
    what : str
        Name of the tasks.
    """
    console, (next_work, times) = Console(stderr=True), _later.get()
    if wanted is False or (wanted is None and not (console.is_terminal and estimate > WORTH_A_BAR)):
        yield lambda n=1: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        _TimeLeft(times),
    )
    with Progress(*columns, console=console, transient=console.is_terminal) as bar:
        whole = f", with {next_work} {in_words((1 + times) * estimate)}" if times else ""
        known = f" (estimated {in_words(estimate)}{whole})" if math.isfinite(estimate) else ""
        task = bar.add_task(f"{what}{known}", total=n_tasks)
        with followed_by("", 0.0):  # nested work
            yield lambda n=1: bar.advance(task, n)


def in_words(seconds: float) -> str:
    """A duration in a few words.

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
