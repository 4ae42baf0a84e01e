"""Refusal: the only error that an untrusted file can cause."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["FileRefused", "refusing"]


class FileRefused(ValueError):  # noqa: N818 - the name says what is wrong
    """A file that is damaged, malicious or too new; none of its content was executed."""


@contextlib.contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turn any error while reading a file into `FileRefused`."""
    try:
        yield
    except FileRefused as refused:
        if str(refused).startswith(str(path)):
            raise
        raise FileRefused(f"{path} is refused: {refused}") from refused.__cause__
    except ImportError:
        raise  # a missing library is not the fault of the file
    except Exception as error:
        raise FileRefused(
            f"{path} is damaged or not a nearbayes file: {type(error).__name__}: "
            f"{str(error)[:200]}."
        ) from error
