"""Columns: rows of a file, as pandas reads them, for models fitted by the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from nearbayes.files.container import Archive
from nearbayes.registry import resolved
from nearbayes.tables.table import is_frame

__all__ = ["ColumnReader", "column_reader"]

ABOUT = "attachments/about.json"  # where the command line records how it read its file


@dataclass(frozen=True)
class ColumnReader:
    """Converts rows of a file to inputs as the command line did for the fit.

    Attributes
    ----------
    schema : dict
        The command line's record of each column.
    """

    schema: dict[str, Any]

    def __call__(self, X: Any, names: Sequence[str]) -> Any:
        """Inputs of the model with the given names; tables that already have them are unchanged."""
        if not is_frame(X) or self._is_read(X, names):
            return X
        return resolved("nearbayes.cli.raw_rows:inputs_of")(self.schema, X)

    def _is_read(self, X: Any, names: Sequence[str]) -> bool:
        frame = nw.from_native(X, eager_only=True)
        text = (nw.String, nw.Object, nw.Boolean)
        return frame.columns == list(names) and not any(
            isinstance(kind, text) for kind in frame.schema.values()
        )


def column_reader(archive: Archive) -> ColumnReader | None:
    """How the command line read the columns, if it fitted the model in a file."""
    if ABOUT not in archive.names:
        return None
    try:
        return ColumnReader(dict(json.loads(archive.read(ABOUT))["schema"]))
    except (ValueError, KeyError, TypeError):  # an attachment of the user's with this name
        return None
