"""Errors of the command line: a sentence for the user, and an exit code."""

from __future__ import annotations

__all__ = ["FAILED", "MISUSED", "Stopped", "UsageError", "missing"]

NEEDED = {"typer", "pandas", "jinja2", "skops", "pyarrow"}
FAILED, MISUSED = 1, 2  # exit codes: failure; wrong usage


class UsageError(Exception):
    """The given file, column or option cannot be used; the message says what to do."""


class Stopped(Exception):  # noqa: N818 - stopping on purpose is not an error
    """The user pressed Ctrl-C; finished draws are kept."""


def missing(error: BaseException) -> str:
    """What to install, if an error says that a package of the command line is missing."""
    if isinstance(error, ModuleNotFoundError) and error.name in NEEDED:
        return f"the command line needs {error.name}: pip install 'nearbayes[cli]'"
    return ""
