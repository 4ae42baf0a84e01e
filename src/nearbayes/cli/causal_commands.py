"""Causal commands: the work of ``nearbayes causal``, and what it prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import nearbayes as nb
from nearbayes import report as report_of
from nearbayes.causal.causal_model import CausalModel
from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.variables import variables_of
from nearbayes.cli.choices import CausalModelName, Method
from nearbayes.cli.console import Speaker
from nearbayes.cli.errors import Stopped, UsageError
from nearbayes.cli.node_columns import new_rows, nodes_of, treated
from nearbayes.cli.outputs import check_output, writing
from nearbayes.cli.questions import Condition, Intervention, check_outcome
from nearbayes.cli.table_writing import check_table_output, write_table
from nearbayes.draws.functional import Functional
from nearbayes.execution.progress import in_words
from nearbayes.files import FileRefused, describe
from nearbayes.files.causal_file import CAUSAL_KINDS

__all__ = [
    "CausalOptions",
    "counterfactual",
    "fit",
    "query",
    "report",
    "stop_if_stopped",
]

FEWEST_ROWS = 20
Result = dict[str, Any]


@dataclass(frozen=True)
class CausalOptions:
    """Options of a fit; None lets the library choose."""

    model: CausalModelName = "blend"
    draws: int | None = None
    refits: int | None = None
    method: Method = "martingale"
    categories: tuple[str, ...] = ()
    drop_missing: bool = False
    seed: int = 0
    jobs: int = 1

    def causal_model(self, graph: CausalGraph, progress: bool | None) -> CausalModel:
        """The model to fit."""
        settings: dict[str, Any] = {
            "method": self.method,
            "n_refits": self.refits,
            "random_state": self.seed,
            "n_jobs": self.jobs,
            "progress": progress,
        }
        if self.draws is not None:
            settings["n_draws"] = self.draws
        if self.model != "diffusion":
            models = "linear" if self.model == "linear" else "auto"
            return nb.causal.SCM(graph, models=models, **settings)
        if any(find_spec(name) is None for name in ("jax", "equinox", "optax")):
            raise UsageError(
                "--model diffusion needs the package jax: pip install 'nearbayes[jax]'."
            )
        return nb.causal.DiffusionSCM(graph, **settings)


def fit(
    frame: pd.DataFrame, graph: CausalGraph, options: CausalOptions, output: Path, speaker: Speaker
) -> Result:
    """Show how the nodes are read, fit, write the model and print a summary."""
    _check_model_output(output)
    rows = nodes_of(frame, graph, options.categories, options.drop_missing)
    dropped = len(frame) - len(rows)
    if len(rows) < FEWEST_ROWS:
        left = f" after {dropped} with missing values are left out" if dropped else ""
        raise UsageError(f"at least {FEWEST_ROWS} rows are needed, got {len(rows)}{left}.")
    try:
        variables = variables_of(rows, graph)
    except ValueError as error:  # constant columns, values of extreme size
        raise UsageError(str(error)) from error
    note = f"; {dropped} rows with missing values left out" if dropped else ""
    speaker.table(f"{len(rows)} rows{note}", treated(graph, variables))
    model = options.causal_model(graph, speaker.progress).fit(rows)
    with writing(output):
        model.save(output)
    found = _summary(model, output, dropped)
    for line in _summary_lines(model, found):
        speaker.say(line)
    return found


def stop_if_stopped(found: Result) -> None:
    """Raise `Stopped` if the user interrupted the fit."""
    if found["stopped"]:
        raise Stopped(
            f"interrupted: {found['draws']} of {found['draws_asked']} draws are in "
            f"{found['model']}, which can be used as it is."
        )


def _check_model_output(path: Path) -> None:
    """Refuse a path that cannot be written, or whose file is no causal model."""
    check_output(path)
    if not path.exists():
        return
    try:
        kind = describe(path).manifest.get("kind")
    except FileRefused:
        kind = None
    if kind not in CAUSAL_KINDS:
        raise UsageError(
            f"--output {path} exists but was not written by nearbayes causal fit: choose another "
            "file."
        )


def _summary(model: CausalModel, path: Path, dropped: int) -> Result:
    source = model.posterior_.provenance
    return {
        "model": str(path),
        "bytes": path.stat().st_size,
        "nodes": list(model.graph_.nodes),
        "edges": [list(edge) for edge in model.graph_.edges],
        "rows": len(model.rows_),
        "rows_left_out": dropped,
        "draws": len(model.posterior_),
        "draws_asked": source.n_draws,
        "refits": len(source.blocks),
        "seed": source.seed,
        "seconds": source.seconds,
        "stopped": source.interrupted,
    }


def _summary_lines(model: CausalModel, found: Result) -> list[str]:
    took = in_words(found["seconds"]["total"])
    return [
        *model.posterior_.summary().splitlines(),
        f"{found['model']} ({found['bytes'] / 1e6:.2f} MB, draws took {took})",
        f"next: nearbayes causal report {found['model']}",
    ]


def read_causal(path: Path) -> CausalModel:
    """Read the causal model in a file."""
    if not path.is_file():
        raise UsageError(f"{path} does not exist: create it with nearbayes causal fit.")
    try:
        kind = describe(path).manifest.get("kind")
        if kind not in CAUSAL_KINDS:
            raise UsageError(
                f"{path} holds a {kind}, not a causal model: create one with nearbayes causal fit."
            )
        return nb.load(path)  # type: ignore[no-any-return]
    except FileRefused as error:
        raise UsageError(str(error)) from error


def query(
    path: Path,
    outcome: str,
    do: Sequence[str],
    versus: Sequence[str],
    given: Sequence[str],
    coverage: float,
    speaker: Speaker,
) -> Result:
    """Show the mean of a node under one or two interventions, and their difference."""
    _check_coverage(coverage)
    model = read_causal(path)
    done = Intervention.read(do, model, "--do")
    other = Intervention.read(versus, model, "--versus")
    among = Condition.read(given, model)
    notes = check_outcome(outcome, model, done)
    if outcome in other.do:
        raise UsageError(f"--outcome {outcome} is what --versus changes: ask for another node.")
    notes += [*done.notes(model), *other.notes(model)]
    table = _answers(model, outcome, done, other, among, coverage)
    title = f"{outcome} if {done.words}, versus {other.words or 'nothing is done'}"
    title += f", among rows with {among.words}" if among.words else ""
    speaker.table(f"{title}; {coverage:.0%} intervals", table)
    for note in notes:
        speaker.say(f"note: {note}")
    speaker.say("this holds if the graph is right and no cause of two of its nodes is missing.")
    return {
        "outcome": outcome,
        "do": done.words,
        "versus": other.words or None,
        "given": among.words or None,
        "coverage": coverage,
        "table": table,
        "notes": notes,
    }


def _answers(
    model: CausalModel,
    outcome: str,
    done: Intervention,
    other: Intervention,
    among: Condition,
    coverage: float,
) -> dict[str, list[Any]]:
    """One row per quantity; the means of both sides only if all rows are looked at."""
    found: dict[str, Functional] = {}
    if not among.given:
        found[f"if {done.words}"] = model.interventional_mean(outcome, done.do)
        found[f"if {other.words or 'nothing is done'}"] = model.interventional_mean(
            outcome, other.do
        )
    try:
        found["difference in"] = model.effect(outcome, done.do, other.do, given=among.given)
    except ValueError as error:
        if not among.given:  # all else was checked before
            raise
        raise UsageError(f"--given: {error}") from error
    parts = [_quantities(name, each, model, outcome, coverage) for name, each in found.items()]
    return {key: [row[key] for part in parts for row in part] for key in parts[0][0]}


def _quantities(
    name: str, found: Functional, model: CausalModel, outcome: str, coverage: float
) -> list[dict[str, Any]]:
    """Mean and interval; of categories, one row for the probability of each."""
    variable = model.variables_[outcome]
    labels = [f"mean of {outcome}"]
    if variable.kind == "category":
        labels = [f"P({outcome} = {each})" for each in variable.categories]
    means = np.atleast_1d(found.mean)
    bounds = found.interval(coverage).reshape(-1, 2)
    return [
        {
            "quantity": f"{each} {name}" if name.startswith("if ") else f"{name} {each}",
            "estimate": float(means[k]),
            "lower": float(bounds[k, 0]),
            "upper": float(bounds[k, 1]),
        }
        for k, each in enumerate(labels)
    ]


def counterfactual(
    path: Path,
    frame: pd.DataFrame,
    outcome: str,
    do: Sequence[str],
    coverage: float,
    output: Path,
    speaker: Speaker,
) -> Result:
    """Write what a node would have been in the rows of a file."""
    _check_coverage(coverage)
    check_table_output(output)
    model = read_causal(path)
    done = Intervention.read(do, model, "--do")
    notes = [*check_outcome(outcome, model, done), *done.notes(model)]
    rows = new_rows(frame, model.variables_)
    values = model.counterfactual(rows, done.do)[outcome]
    table = pd.DataFrame({"observed": rows[outcome], **_instead(model, outcome, values, coverage)})
    write_table(table, output)
    for note in notes:
        speaker.say(f"note: {note}")
    speaker.say(f"{outcome} of {len(table)} rows, had {done.words} held, written to {output}")
    return {
        "rows": len(table),
        "output": str(output),
        "columns": list(table.columns),
        "notes": notes,
    }


def _instead(model: CausalModel, outcome: str, values: Any, coverage: float) -> dict[str, Any]:
    """Counterfactual values, shape (n_draws, n_rows), as columns of a table."""
    variable = model.variables_[outcome]
    if variable.kind == "category":
        shares = {each: (values == each).mean(axis=0) for each in variable.categories}
        likeliest = np.argmax(list(shares.values()), axis=0)
        columns = {"counterfactual": [str(variable.categories[k]) for k in likeliest]}
        return {**columns, **{f"P({each})": share for each, share in shares.items()}}
    found = Functional(np.asarray(values, dtype=float), model.posterior_.inflation)
    bounds = found.interval(coverage)
    return {"counterfactual": found.mean, "lower": bounds[:, 0], "upper": bounds[:, 1]}


def report(path: Path, output: Path, title: str | None, speaker: Speaker) -> Result:
    """Write the page about a causal model."""
    check_output(output)
    model = read_causal(path)
    contents = report_of.causal_contents(model, title=title)
    with writing(output):
        page = report_of.write(contents, output)
    size = page.stat().st_size
    speaker.say(f"report written to {page} ({size / 1e6:.2f} MB)")
    return {"output": str(page), "bytes": size}


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise UsageError(f"--coverage must be between 0 and 1, got {coverage}.")
