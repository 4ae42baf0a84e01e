"""Gives every table to the command line, and writes docs/tried.md.

python -m experiments.tried run          # 65 tables, about 20 minutes on one core
python -m experiments.tried run --only cars   # some of them
python -m experiments.tried tables       # docs/tried.md from the records
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from experiments.runner.checkout import ROOT, Checkout
from experiments.tried.page import page
from experiments.tried.sources import file_of
from experiments.tried.tables import TABLES, Table
from nearbayes.cli.app import run

RECORDS = Path(__file__).parent / "results" / "records.jsonl"
PAGE = ROOT / "docs" / "tried.md"
READING = ("--no-header",)  # options of `fit` that say how the file is read, for `predict` as well
CACHE = Path.home() / ".cache" / "nearbayes-tried"


def main() -> None:
    """Run or write, as the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m experiments.tried")
    parser.add_argument("what", choices=("run", "tables"))
    parser.add_argument("--only", nargs="+", default=[], help="names of tables; default: all")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for the packages")
    parser.add_argument("--allow-changes", action="store_true", help="measure a changed checkout")
    given = parser.parse_args()
    if given.what == "run":
        if not given.allow_changes:
            Checkout().refuse_changes()
        _run([table for table in TABLES if not given.only or table.name in given.only], given.cache)
    PAGE.write_text(page(TABLES, _records()), encoding="utf-8")


def _run(tables: list[Table], cache: Path) -> None:
    commit = Checkout().commit
    RECORDS.parent.mkdir(exist_ok=True)
    done = {name for name, record in _records().items() if record["commit"] == commit}
    for table in tables:
        if table.name in done and not commit.endswith("+"):
            continue
        record = {"table": table.name, "commit": commit, **_tried(table, cache)}
        with RECORDS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(f"{table.name}: {record.get('refused') or record['seconds']}", flush=True)


def _tried(table: Table, cache: Path) -> dict[str, Any]:
    """What the command line does with one table: fit, predict the same file, explain."""
    data = file_of(table, cache)
    folder = cache / "models"
    folder.mkdir(exist_ok=True)
    model, predictions = folder / "tried.nearbayes", folder / "tried.csv"
    model.unlink(missing_ok=True)
    started = time.perf_counter()
    fit = ["fit", str(data), "--target", table.target, "-o", str(model), "--quick", *table.options]
    reading = [option for option in table.options if option in READING]
    done: dict[str, Any] = {"file": data.name}
    for name, command in {
        "fit": fit,
        "predict": ["predict", str(model), str(data), "-o", str(predictions), *reading],
        "explain": ["explain", str(model)],
    }.items():
        code, found, said = _called(command)
        if code:
            return done | {"refused": said.replace(str(data), data.name), "at": name, "code": code}
        done[name] = found
    return done | {"seconds": round(time.perf_counter() - started, 1)}


def _called(command: list[str]) -> tuple[int, dict[str, Any], str]:
    """Exit code of a command, what it prints for machines, and its last words for people."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([*command, "--json"])
    found = json.loads(out.getvalue()) if code == 0 else {}
    return code, found, err.getvalue().strip().removeprefix("nearbayes: ")


def _records() -> dict[str, dict[str, Any]]:
    """The last record of each table."""
    if not RECORDS.exists():
        return {}
    lines = RECORDS.read_text(encoding="utf-8").splitlines()
    return {record["table"]: record for record in map(json.loads, lines)}


if __name__ == "__main__":
    main()
