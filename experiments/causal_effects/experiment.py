"""Average effects of every cause on the last node, at n = 500."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.causal_effects.methods import (
    DOWHY,
    ITERATIONS,
    METHODS,
    Contrast,
    installed,
)
from experiments.causal_synthetic.scms import SCMS, SyntheticSCM
from experiments.runner.records import Record, Unit

# One of every graph, chosen before any was measured.
DATA_SETS = ("chain-nonlin", "triangle-nonlin", "diamond-na", "y-na")
N_ROWS, N_TRUTH = 500, 1_000_000
LOW, HIGH = 0.25, 0.75  # quantiles between which a cause is changed


@dataclass(frozen=True)
class CausalEffects:
    """A split is a replication."""

    data_sets: tuple[str, ...] = DATA_SETS
    measured: tuple[str, ...] = tuple(METHODS)
    n_splits: int = 20
    n_draws: int = 16  # for the command line alone: a method knows its own draws
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_rows": N_ROWS, "iterations": ITERATIONS}

    @property
    def units(self) -> Sequence[Unit]:
        """Replications in turn."""
        return [Unit(name, split) for split in range(self.n_splits) for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """All that are installed."""
        return [name for name in self.measured if name != DOWHY or installed()]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Intervals of all contrasts, beside the truth."""
        scm = SCMS[unit.data_set]
        rows = scm.sample(N_ROWS, np.random.default_rng(seed_of(unit)))
        contrasts = contrasts_of(scm)
        truth = np.array([true_effect(scm, each) for each in contrasts])
        started = time.perf_counter()
        bounds = METHODS[method](scm, rows, contrasts, unit.split)
        return {
            "covered": ((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).tolist(),
            "width": (bounds[:, 1] - bounds[:, 0]).tolist(),
            "error": (bounds.mean(axis=1) - truth).tolist(),
            "truth": truth.tolist(),
            "seconds of method": round(time.perf_counter() - started, 2),
        }

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {seed_of(unit)}"


def seed_of(unit: Unit) -> list[int]:
    """Seed of the rows of a replication."""
    return [1_919, unit.split, DATA_SETS.index(unit.data_set)]


def contrasts_of(scm: SyntheticSCM) -> list[Contrast]:
    """Every cause of the last node, direct or not, between two of its quantiles."""
    last = scm.nodes[-1]
    causes = [node for node in scm.nodes if last in scm.descendants(node)]
    return [
        Contrast(node, *np.quantile(scm.observed[:, scm.column(node)], [LOW, HIGH]).tolist(), last)
        for node in causes
    ]


def true_effect(scm: SyntheticSCM, contrast: Contrast) -> float:
    """The effect by simulation, with the same noise on both sides."""
    return _true_effect(scm.name, contrast)


@cache
def _true_effect(name: str, contrast: Contrast) -> float:
    scm = SCMS[name]
    column = scm.column(contrast.outcome)
    means = [
        scm.sample(N_TRUTH, np.random.default_rng(7), {contrast.cause: value})[:, column].mean()
        for value in (contrast.high, contrast.low)
    ]
    return float(means[0] - means[1])
