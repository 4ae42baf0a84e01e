"""Untrusted JSON, accepted only if it is unambiguous.

Python uses the last of two equal keys, other readers the first, and some distinguish keys that are
equal in Python, so the checked value may not be the used one. So duplicate keys and encodings other
than UTF-8 are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nearbayes.files.refusal import FileRefused

__all__ = ["parsed_json"]


def parsed_json(data: bytes, what: str, *, constants: bool = False) -> Any:
    r"""Parse JSON.

    Parameters
    ----------
    data : bytes
    what : str
        Name of the text, for the error message.
    constants : bool
        Whether NaN and Infinity are numbers.

    Examples
    --------
    >>> parsed_json(b'{"a": [1, 2]}', "a model")
    {'a': [1, 2]}
    >>> parsed_json(rb'{"a": 1, "\u0061": 2}', "a model")
    Traceback (most recent call last):
    nearbayes.files.refusal.FileRefused: a model has the key 'a' twice.
    """
    constant = float if constants else _refuser(what)
    try:
        text = data.decode("utf-8")
        return json.loads(text, object_pairs_hook=_unique(what), parse_constant=constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, FileRefused):
            raise
        raise FileRefused(f"{what} is not valid JSON in UTF-8 ({str(error)[:100]}).") from error


def _unique(what: str) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise FileRefused(f"{what} has the key {twice[:40]!r} twice.")
        return found

    return made


def _refuser(what: str) -> Callable[[str], Any]:
    def refused(constant: str) -> Any:
        raise FileRefused(f"{what} has the invalid number {constant}.")

    return refused
