"""Edges: the causal graph that --graph gives, as text or as a file."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from nearbayes.causal.graph import CausalGraph
from nearbayes.cli.errors import UsageError

__all__ = ["graph_of"]

ARROW = re.compile(r"->|→")
COMMENT = "#"


def graph_of(text: str) -> CausalGraph:
    """Read edges such as "age->dose, dose->outcome", or the file of that name.

    In a file there is one edge, or one chain of edges, per line; lines that start with "#" are
    comments, and names may hold commas.

    Examples
    --------
    >>> graph_of("age -> dose -> outcome, age -> outcome").edges
    (('age', 'dose'), ('age', 'outcome'), ('dose', 'outcome'))
    """
    path = Path(text)
    if _is_file(path):
        parts = _lines_of(path)
    elif ARROW.search(text):
        parts = re.split(r"[,;\n]", text)
    else:
        raise UsageError(_no_edges(text))
    edges = [edge for part in parts if part.strip() for edge in _chain(part)]
    try:
        return CausalGraph.of(edges)
    except ValueError as error:  # no edges, or a cycle
        raise UsageError(f"--graph: {error}") from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # edges can be too long for a name
        return False


def _lines_of(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--graph {path} cannot be read as text: {error}") from error
    return [line for line in lines if not line.lstrip().startswith(COMMENT)]


def _chain(part: str) -> list[tuple[str, str]]:
    """Edges of "a -> b -> c"."""
    names = [name.strip() for name in ARROW.split(part)]
    if len(names) < 2 or not all(names):
        raise UsageError(
            f"--graph must have edges such as 'dose->outcome', got {part.strip()[:60]!r}."
        )
    return list(pairwise(names))


def _no_edges(text: str) -> str:
    if text.rstrip().endswith("-"):
        return (
            f"--graph is {text[:60]!r}, as the shell took '>' for the name of a file: put quotes "
            "around the edges."
        )
    return (
        f"--graph must be edges such as 'age->dose, dose->outcome', or a file with one edge per "
        f"line, got {text[:60]!r}, which is neither."
    )
