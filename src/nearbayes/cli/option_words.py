"""Option words: advice that names arguments of Python, for people at a command line."""

from __future__ import annotations

import re

__all__ = ["as_options"]

OPTIONS = {
    r"calibration='simulation'": "--calibration",
    r"checks='(\w+)'": r"--checks \1",
    r"noise='(\w+)'": r"--noise \1",
    r"n_refits=(\d+)": r"--refits \1",
    r"n_draws=(\d+)": r"--draws \1",
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
