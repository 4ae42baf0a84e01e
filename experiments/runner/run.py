"""Run: measure every method on every replication; can be stopped and resumed at any time.

An experiment lists what to measure and measures one method at a time; the runner does the rest.
Replications are taken in turn (all data sets of the first split, then the second, ...), so that a
run stopped early has about the same number of splits for every data set.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from joblib import Parallel, delayed

from experiments.runner.records import Record, Records, Unit

THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Experiment(Protocol):
    """Interface of an experiment; it must be picklable."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that a record depends on, apart from its key; stored with the records."""

    @property
    def units(self) -> Sequence[Unit]:
        """The replications, in the order to run them."""

    def methods(self, unit: Unit) -> Sequence[str]:
        """Methods to measure, in order; later ones may use records of earlier ones."""

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Measure one method; `done` has the records of this replication so far."""


@dataclass(frozen=True)
class Runner:
    """Runs one experiment into one folder.

    Attributes
    ----------
    experiment : Experiment
    folder : Path
        Gets ``records.jsonl``, ``settings.json`` and, if anything fails, ``errors.jsonl``.
    n_jobs : int
        Processes; each takes one replication at a time and runs on one thread.
    """

    experiment: Experiment
    folder: Path
    n_jobs: int = 1

    @property
    def records(self) -> Records:
        """The records of the experiment."""
        return Records(self.folder / "records.jsonl")

    def run(self) -> int:
        """Measure what is missing; return the number of failed measurements."""
        self._check_settings()
        os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))
        units = [unit for unit in self.experiment.units if self._missing(unit)]
        failures, started = 0, time.perf_counter()
        workers = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")
        for number, failed in enumerate(workers(delayed(self._take)(unit) for unit in units), 1):
            failures += failed
            left = (time.perf_counter() - started) / number * (len(units) - number)
            _say(f"{number} of {len(units)} replications, about {left / 60:.0f} minutes left")
        return failures

    def _missing(self, unit: Unit) -> list[str]:
        done = self.records.of(unit)
        return [method for method in self.experiment.methods(unit) if method not in done]

    def _take(self, unit: Unit) -> int:
        """Measure what is missing of one replication; a failure does not affect other methods."""
        failures = 0
        for method in self._missing(unit):
            started = time.perf_counter()
            key = {"data_set": unit.data_set, "split": unit.split, "method": method}
            try:
                measured = self.experiment.measure(unit, method, self.records.of(unit))
            except Exception:
                failures += 1
                errors = Records(self.folder / "errors.jsonl")
                errors.append({**key, "error": traceback.format_exc(), **_stamp()})
                _say(f"{unit.data_set}, split {unit.split}, {method} failed: see {errors.path}")
                continue
            seconds = round(time.perf_counter() - started, 3)
            self.records.append({**key, **measured, "seconds": seconds, **_stamp()})
        return failures

    def _check_settings(self) -> None:
        """Refuse to mix records of different settings in one folder."""
        path, settings = self.folder / "settings.json", dict(self.experiment.settings)
        if path.exists() and (known := json.loads(path.read_text())) != settings:
            raise SystemExit(
                f"{path} has the settings {known}, but this run has {settings}: "
                "use the same settings, or another --results folder."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings, indent=1) + "\n")


def _stamp() -> Record:
    return {"commit": commit(), "finished": datetime.now(UTC).isoformat(timespec="seconds")}


@cache
def commit() -> str:
    """The current commit, with a plus sign if files other than results have changed."""
    root = Path(__file__).parents[2]
    head = _git("rev-parse", "--short=12", "HEAD", folder=root)
    code = ("--untracked-files=no", "--", ".", ":(exclude,glob)experiments/*/results/**")
    changed = _git("status", "--porcelain", *code, folder=root)
    return head + ("+" if changed else "")


def _git(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _say(text: str) -> None:
    print(f"{datetime.now():%H:%M:%S} {text}", file=sys.stderr, flush=True)
