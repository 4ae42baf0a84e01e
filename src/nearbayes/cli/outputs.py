"""Outputs: whether a file can be written, found out before the work and not after it."""

from __future__ import annotations

from os import W_OK, access
from pathlib import Path

from nearbayes.cli.errors import UsageError

__all__ = ["check_output"]


def check_output(path: Path) -> None:
    """Refuse a path that is a folder, is in no folder, or may not be written."""
    if path.is_dir():
        raise UsageError(f"--output {path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise UsageError(f"--output {path} is in a folder that is not there: make it first.")
    if not access(path if path.exists() else path.parent, W_OK):
        raise UsageError(f"--output {path} may not be written: choose another place.")
