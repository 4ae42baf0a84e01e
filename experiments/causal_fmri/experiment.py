"""Median absolute error and CRPS of the effect when the cause is set to what was observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.causal_fmri.baselines import METHODS, ONE_SEED
from experiments.causal_fmri.data import FILE, SUBJECTS, Array, load_runs
from experiments.runner.datasets import DEFAULT_FOLDER, file_hash
from experiments.runner.records import Record, Unit
from nearbayes.metrics import crps_samples


@dataclass(frozen=True)
class CausalFMRI:
    """A data set is a subject and a split is a seed; most methods have one split."""

    data_sets: tuple[str, ...] = tuple(map(str, SUBJECTS))
    measured: tuple[str, ...] = tuple(METHODS)
    n_splits: int = 5
    n_draws: int = 1  # for the command line alone: a method knows its own draws
    data_dir: Path = DEFAULT_FOLDER

    @property
    def settings(self) -> Mapping[str, Any]:
        """None: all there is to say is in the methods."""
        return {}

    @property
    def units(self) -> Sequence[Unit]:
        """Seeds in turn; refuse to begin without the data, as each of them would fail."""
        if not (self.data_dir / FILE).is_file():
            raise SystemExit(
                f"{self.data_dir} has no {FILE}, which the experiment reads: give its folder with "
                "--data-dir (the default is relative to the folder that you are in)."
            )
        return [Unit(name, split) for split in range(self.n_splits) for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """All with the first seed, then those that depend much on it."""
        return [name for name in self.measured if unit.split == 0 or name not in ONE_SEED]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Fit at rest, predict under stimulation."""
        runs = load_runs(int(unit.data_set), self.data_dir)
        values = METHODS[method](runs.x_train, runs.y_train, runs.x_test, unit.split)
        return scored(runs.y_test, values)

    def data_hash(self, unit: Unit) -> str:
        """Hash of the file of all subjects."""
        return file_hash(self.data_dir / FILE)


def scored(y: Array, values: Array) -> Record:
    """Scores of equally likely values of y, shape (n_values, n_rows); their median is the point."""
    errors = np.abs(np.median(values, axis=0) - y)
    return {"median_abs_error": float(np.median(errors)), "crps": crps_samples(y, values)}
