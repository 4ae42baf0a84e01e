"""Outputs: checks before the work that a file can be written."""

from __future__ import annotations

from os import W_OK, access
from pathlib import Path

from nearbayes.cli.errors import UsageError

__all__ = ["check_output"]


def check_output(path: Path) -> None:
    """Refuse a path that is a folder, is in a missing folder, or is not writable."""
    if path.is_dir():
        raise UsageError(f"--output {path} is a folder: give a file name.")
    if not path.parent.is_dir():
        raise UsageError(f"--output {path} is in a folder that does not exist: create it first.")
    if not access(path if path.exists() else path.parent, W_OK):
        raise UsageError(f"--output {path} is not writable: choose another path.")
