"""Run: measure every method on every replication; can be stopped and resumed at any time.

An experiment lists what to measure and measures one method at a time; the runner does the rest.
Replications are taken in turn (all data sets of the first split, then the second, ...), so that a
run stopped early has about the same number of splits for every data set.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from joblib import Parallel, delayed

from experiments.runner.checkout import Checkout
from experiments.runner.provenance import Origin
from experiments.runner.records import Record, Records, Unit

THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Experiment(Protocol):
    """What an experiment tells the runner. A dataclass that pickles."""

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

    def data_hash(self, unit: Unit) -> str:
        """Hash of the data that a replication is drawn from, or the seed that simulates it."""


@dataclass(frozen=True)
class Runner:
    """Runs one experiment into one folder.

    Attributes
    ----------
    experiment : Experiment
    folder : Path
        Gets ``records.jsonl``, ``settings.json``, ``environments.json``, ``full_settings.json``
        and, if anything fails, ``errors.jsonl``.
    n_jobs : int
        Processes; each takes one replication at a time and runs on one thread.
    checkout : Checkout
        Where the code is.
    """

    experiment: Experiment
    folder: Path
    n_jobs: int = 1
    checkout: Checkout = field(default_factory=Checkout)

    @property
    def records(self) -> Records:
        """The records of the experiment."""
        return Records(self.folder / "records.jsonl")

    def run(self) -> int:
        """Measure what is missing; return the number of failed measurements."""
        self._check_settings()
        os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))
        units = [unit for unit in self.experiment.units if self._missing(unit)]
        if not units:
            return 0
        origin = Origin.begin(self.folder, self._full_settings(), self.checkout)
        failures, started = 0, time.perf_counter()
        workers = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")
        taken = workers(delayed(self._take)(unit, origin) for unit in units)
        for number, failed in enumerate(taken, 1):
            failures += failed
            left = (time.perf_counter() - started) / number * (len(units) - number)
            _say(f"{number} of {len(units)} replications, about {left / 60:.0f} minutes left")
        return failures

    def _missing(self, unit: Unit) -> list[str]:
        done = self.records.of(unit)
        return [method for method in self.experiment.methods(unit) if method not in done]

    def _take(self, unit: Unit, origin: Origin) -> int:
        """Measure what is missing of one replication; a failure costs no other method."""
        failures = 0
        for method in self._missing(unit):
            started = time.perf_counter()
            key = {"data_set": unit.data_set, "split": unit.split, "method": method}
            try:
                measured = self.experiment.measure(unit, method, self.records.of(unit))
                seconds = round(time.perf_counter() - started, 3)
                data = self.experiment.data_hash(unit)
            except Exception:
                failures += 1
                errors = Records(self.folder / "errors.jsonl")
                errors.append({**key, "error": traceback.format_exc(), **origin.stamp()})
                _say(f"{unit.data_set}, split {unit.split}, {method} failed: see {errors.path}")
                continue
            about = {"seconds": seconds, "data": data, **origin.stamp()}
            self.records.append({**key, **measured, **about})
        return failures

    def _full_settings(self) -> dict[str, Any]:
        """All that a run is given; not the folder of the data, whose content is hashed."""
        given = asdict(self.experiment)
        given.pop("data_dir", None)
        kind = type(self.experiment).__name__
        return {"experiment": kind, **given, **self.experiment.settings, "n_jobs": self.n_jobs}

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


def _say(text: str) -> None:
    print(f"{datetime.now():%H:%M:%S} {text}", file=sys.stderr, flush=True)
