"""Raw rows: rows as pandas reads them from a file, for a model that the command line has fitted."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from nearbayes.cli.binary_pieces import plain_columns
from nearbayes.cli.column_kinds import Column
from nearbayes.cli.schema import Schema

__all__ = ["inputs_of"]


def inputs_of(saved: dict[str, Any], rows: Any) -> pd.DataFrame:
    """Inputs of the model from rows with the columns of the file that it was fitted to.

    Parameters
    ----------
    saved : dict
        `Schema.to_json` of the fit.
    rows : frame
        pandas or polars; numbers and truth values may have been read as such, or as text.
    """
    schema = Schema.from_json(saved)
    frame = nw.from_native(rows, eager_only=True).to_pandas()
    schema.check_columns(frame)
    used = {column.name: _as_in_file(frame[column.name], column) for column in schema.used}
    return schema.inputs(plain_columns(pd.DataFrame(used)))


def _as_in_file(values: pd.Series, column: Column) -> pd.Series:
    """Truth values as the file wrote them: pandas reads TRUE and true alike."""
    written = {level.lower(): level for level in column.levels}
    if column.kind != "category" or not {"true", "false"} & written.keys():
        return values
    return values.map(lambda cell: written.get(str(cell).lower(), cell), na_action="ignore")
