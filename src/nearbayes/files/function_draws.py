"""Draws of functions: refused, because a safe file contains no code."""

from __future__ import annotations

from typing import Any, NoReturn

from nearbayes.files.arrays import NotSaveable
from nearbayes.files.refusal import FileRefused

__all__ = ["dump_draws", "load_draws"]


def dump_draws(algorithm: Any, *_: Any) -> NoReturn:
    """Raise an error that says why, and what to do."""
    raise NotSaveable(
        f"draws of {_name(algorithm)} cannot be saved, as a safe file holds no functions: save the "
        "values that you need, np.save(path, posterior.apply(function).values)."
    )


def _name(algorithm: Any) -> str:
    name = type(algorithm).__name__
    return "nearbayes.algorithm(fit, sample)" if name == "FunctionAlgorithm" else name


def load_draws(*_: Any) -> NoReturn:
    """Refuse: no such file was ever written."""
    raise FileRefused("it says that it holds draws of functions, which no file does.")
