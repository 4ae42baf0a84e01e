"""Interrupts: handling of Ctrl-C and SIGTERM while draws are made.

The first signal stops the work, and finished work is kept. While that is collected and written,
further signals are ignored. SIGTERM, sent by schedulers and `kill`, has the same effect.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Stop", "hidden_from_workers", "stoppable"]

SAME_PRESS = 1.0  # seconds within which a second signal counts as the first


class Stop:
    """Whether the user has requested a stop, and whether signals are currently handled.

    Attributes
    ----------
    asked : bool
        Whether Ctrl-C or SIGTERM was received.
    """

    def __init__(self) -> None:
        self.asked = False
        self._shielded = False
        self._last = -SAME_PRESS

    def shield(self) -> None:
        """Ignore further signals until the outermost `stoppable` ends."""
        self.asked = self._shielded = True

    def heard(self, number: int, frame: Any) -> None:
        """Signal handler: raise KeyboardInterrupt unless the work is being stopped already."""
        now = time.monotonic()
        again = now - self._last < SAME_PRESS
        self.asked, self._last = True, now
        if not self._shielded and not again:
            raise KeyboardInterrupt


_active: list[Stop] = []  # the outermost, if any


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Context in which Ctrl-C and SIGTERM raise KeyboardInterrupt until `Stop.shield`.

    Nested contexts share its `Stop`. The user's own handlers are not changed, and Python has no
    signals outside the main thread.

    Examples
    --------
    >>> with stoppable() as stop:
    ...     try:
    ...         signal.raise_signal(signal.SIGTERM)
    ...     except KeyboardInterrupt:
    ...         stop.shield()
    ...     signal.raise_signal(signal.SIGINT)  # not heard any more
    >>> stop.asked
    True
    """
    in_main = threading.current_thread() is threading.main_thread()
    if _active or not in_main:
        yield _active[0] if in_main else Stop()
        return
    stop = Stop()
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.getsignal(number) for number in usual}
    ours = [number for number, handler in usual.items() if before[number] is handler]
    _active.append(stop)
    try:
        for number in ours:
            signal.signal(number, stop.heard)
        yield stop
    finally:
        _active.clear()
        for number in ours:
            signal.signal(number, before[number])


@contextmanager
def hidden_from_workers() -> Iterator[None]:
    """Context in which started processes ignore Ctrl-C: only their parent handles it.

    A terminal sends it to all of them.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
