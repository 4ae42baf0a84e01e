"""Verdict of a fit: its diagnosis, which goes into the model file and is said in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nearbayes.cli.option_words import as_options
from nearbayes.diagnostics.diagnose import FEWEST_DRAWS
from nearbayes.execution.executor import timed_on_one_thread

__all__ = ["diagnosis_of_fit", "verdict_line"]

FITS = 30  # that the default checks take, in first fits


def diagnosis_of_fit(
    model: Any, X: Any, y: Any, seconds_left: float, say: Callable[[str], None]
) -> dict[str, Any] | None:
    """The diagnosis of a new fit; None where there are too few draws or no time.

    Parameters
    ----------
    model : fitted PosteriorClassifier or PosteriorRegressor
    X, y : table and array
        Training rows.
    seconds_left : float
    say : callable
        Prints a line for the user.
    """
    posterior = model.posterior_
    if len(posterior) < FEWEST_DRAWS:
        return None
    if FITS * posterior.provenance.seconds["first_fit"] > seconds_left:
        say("no time left for a diagnosis: run nearbayes diagnose with the same file")
        return None
    found: dict[str, Any] = timed_on_one_thread(lambda: model.diagnose(X, y))[0].to_dict(
        pictures=True
    )
    return found


def verdict_line(diagnosis: dict[str, Any] | None) -> list[str]:
    """The verdict as a line for people; none where there is no diagnosis."""
    return [] if diagnosis is None else [as_options(f"diagnosis: {diagnosis['verdict']}")]
