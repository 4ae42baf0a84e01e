"""Work: a task with the shared data of its items, in the form for all kinds of workers."""

from __future__ import annotations

import os
import pickle
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
import sklearn

from nearbayes.execution.executor import Done, Item, Lost, Task, in_one_line, timed_on_one_thread

__all__ = ["Work"]


@dataclass(frozen=True)
class Work:
    """A task, its shared data, and the settings of the calling process.

    Attributes
    ----------
    task : callable
        ``task(shared, item)``.
    shared : object
    config : dict
        scikit-learn's configuration (metadata routing), which belongs to a thread.
    filters : list
        Filters of warnings.
    process : int
        Id of the calling process.
    """

    task: Task
    shared: Any
    config: dict[str, Any] = field(default_factory=sklearn.get_config)
    filters: list[Any] = field(default_factory=lambda: list(warnings.filters))
    process: int = field(default_factory=os.getpid)

    def outcome(self, item: Item) -> Done | Lost:
        """Process one item; an error is returned as a value, so that executors do not fail."""
        try:
            with self._settings():
                return Done(*timed_on_one_thread(lambda: self.task(self.shared, item)))
        except Exception as error:
            return Lost(in_one_line(error), traceback.format_exc(), self._carried(error))

    @contextmanager
    def _settings(self) -> Iterator[None]:
        with sklearn.config_context(**self.config):
            if os.getpid() == self.process:  # filters belong to the process
                yield
                return
            with warnings.catch_warnings():
                warnings.filters = self.filters
                yield

    def _carried(self, error: Exception) -> Any:
        """The error itself, or from another process its bytes, if it pickles."""
        if os.getpid() == self.process:
            return error
        try:
            pickled = cloudpickle.dumps(error)
            pickle.loads(pickled)
        except Exception:  # for any user's class of errors, its message is kept
            return None
        return pickled
