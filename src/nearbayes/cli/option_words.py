"""Option words: advice that names arguments of Python, for people at a command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["as_options", "in_options"]

OPTIONS = {
    r"calibration='simulation'": "--calibration",
    r"checks='(\w+)'": r"--checks \1",
    r"noise='(\w+)'": r"--noise \1",
    r"n_refits=(\d+)": r"--refits \1",
    r"n_draws=(\d+)": r"--draws \1",
    r"Look at posterior\.failed: draws": "Draws",
    r", or wrap it in sklearn\.calibration\.CalibratedClassifierCV": "",
}


def as_options(words: str) -> str:
    """Arguments in a text as options of `nearbayes fit` and `nearbayes diagnose`.

    Examples
    --------
    >>> as_options("Fit again with noise='residual', or use n_refits=8.")
    'Fit again with --noise residual, or use --refits 8.'
    """
    for argument, option in OPTIONS.items():
        words = re.sub(argument, option, words)
    return words


def in_options(diagnosis: Mapping[str, Any]) -> dict[str, Any]:
    """A diagnosis with its verdict and lines in the words of the command line."""
    lines = [
        {**line, "words": as_options(line["words"]), "advice": as_options(line["advice"])}
        for line in diagnosis["lines"]
    ]
    return {**diagnosis, "verdict": as_options(diagnosis["verdict"]), "lines": lines}
