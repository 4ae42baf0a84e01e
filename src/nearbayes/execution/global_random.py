"""Global random: detects algorithms that use NumPy's global generator instead of their own."""

from __future__ import annotations

import numpy as np

from nearbayes.telling import warn

__all__ = ["GlobalGeneratorWarning", "Watch", "warn_of_global_generator"]


class GlobalGeneratorWarning(UserWarning):
    """The algorithm uses NumPy's global random generator."""


class Watch:
    """Checks whether NumPy's global generator has changed since the watch was created.

    Comparing states costs almost nothing, so every run is checked. Some estimators use the
    generator without an effect on results (support vector machines of scikit-learn), so a run that
    used it leads to a warning only if a fit, repeated with the same seeds, differs.

    Examples
    --------
    >>> watch = Watch()
    >>> number = np.random.default_rng(0).normal()
    >>> watch.moved()
    False
    """

    def __init__(self) -> None:
        self._before = _state()

    def moved(self) -> bool:
        """Whether the global generator was used."""
        return _state() != self._before


def warn_of_global_generator() -> None:
    """Tell the user that the same `random_state` gives other draws."""
    warn(
        "the algorithm uses NumPy's global random generator, so that the same random_state "
        "gives other draws every time: pass its own generator or random_state to everything "
        "random in its fit.",
        GlobalGeneratorWarning,
    )


def _state() -> tuple[bytes, int, int]:
    """The state, with the normal number that the generator may have cached."""
    found = np.random.get_state(legacy=False)  # noqa: NPY002
    words = found["state"]
    return words["key"].tobytes(), words["pos"], found["has_gauss"]
