"""Reports: what an experiment has to say, and at the end where its numbers come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.runner.provenance import ENVIRONMENTS, FULL_SETTINGS
from experiments.runner.tables import markdown

STAMP = ("commit", "environment", "settings", "data")
UNKNOWN = "not recorded"


def save_report(folder: Path, parts: Sequence[str], records: pd.DataFrame) -> None:
    """Write ``report.md``: the parts, then the provenance of the records they are made of."""
    text = "\n\n".join([*parts, provenance(records)])
    (folder / "report.md").write_text(text + "\n")


def provenance(records: pd.DataFrame) -> str:
    """Commits, environments and settings of records with their counts, and what is not known."""
    stamps = records.reindex(columns=list(STAMP)).astype(object)
    n, old = len(stamps), int(stamps["environment"].isna().sum())
    changed = int(stamps["commit"].str.endswith("+").sum())
    parts = [
        "## Provenance",
        markdown(_counts(stamps)),
        "Measured on a changed tree (commit with a `+`), so that nobody can measure exactly that "
        f"again: {changed} of {n} records.",
        "Measured before environment, full settings and a hash of the data were recorded: "
        f"{old} of {n} records.",
    ]
    if old < n:
        parts.append(f"Keys are those of `{ENVIRONMENTS}` and `{FULL_SETTINGS}`.")
    return "\n\n".join(parts)


def _counts(stamps: pd.DataFrame) -> pd.DataFrame:
    """Records by commit and keys; of hashes of the data, how many there are."""
    groups = stamps.fillna(dict.fromkeys(STAMP[:-1], UNKNOWN)).groupby(list(STAMP[:-1]))
    table = groups["data"].agg([("data", _hashes), ("records", "size")])
    return table.reset_index().set_index("commit")


def _hashes(data: pd.Series) -> str:
    return f"{data.nunique()} hashes" if data.notna().any() else UNKNOWN
