"""Outputs: checks before the work that a file can be written, and words for when it cannot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import W_OK, access
from pathlib import Path
from typing import Literal

from nearbayes.cli.errors import UsageError

__all__ = ["ReportFormat", "check_apart", "check_output", "report_path", "writing"]

ReportFormat = Literal["html", "md"]
TEXTS = (".md", ".markdown")


def check_apart(path: Path, *inputs: Path | None) -> None:
    """Refuse to write over a file that is read."""
    for each in inputs:
        if each is not None and each.exists() and path.exists() and path.samefile(each):
            raise UsageError(f"--output {path} is a file that is read: choose another path.")


def check_output(path: Path) -> None:
    """Refuse a path that is a folder, is in a missing folder, or is not writable."""
    if path.is_dir():
        raise UsageError(f"--output {path} is a folder: give a file name.")
    if not path.parent.is_dir():
        raise UsageError(f"--output {path} is in a folder that does not exist: create it first.")
    place = Path(os.path.realpath(path))
    # a file is written beside the old one, then put in its place
    needed = [place.parent] if place.is_file() or not place.exists() else []
    needed += [place] if place.exists() else []
    if not all(access(each, W_OK) for each in needed):
        raise UsageError(f"--output {path} is not writable: choose another path.")


def report_path(output: Path | None, kind: ReportFormat | None) -> Path:
    """Path of a report: its suffix says whether it is a page or text.

    Examples
    --------
    >>> report_path(None, None).name, report_path(None, "md").name
    ('report.html', 'report.md')
    """
    if output is None:
        return Path(f"report.{kind or 'html'}")
    if kind is not None and (output.suffix.lower() in TEXTS) != (kind == "md"):
        raise UsageError(
            f"--format {kind} needs an --output that ends in .{kind}, got {output.name}."
        )
    return output


@contextmanager
def writing(path: Path, more: str = "") -> Iterator[None]:
    """Say in one sentence why a file could not be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror or error}): free space or choose another "
            f"path; a file that was there is as it was{more}."
        ) from error
