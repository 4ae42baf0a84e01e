"""Errors of the command line: one sentence for the user, and an exit code for machines."""

from __future__ import annotations

__all__ = ["FAILED", "MISUSED", "Stopped", "UsageError"]

FAILED, MISUSED = 1, 2  # exit codes: the work failed; what was given cannot be worked with


class UsageError(Exception):
    """The file, column or option given cannot be worked with; the message says what to do."""


class Stopped(Exception):  # noqa: N818 - the user's own doing is no error
    """The user pressed Ctrl-C; what was finished is kept."""
