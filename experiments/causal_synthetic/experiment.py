"""Interventional distributions and means of diffusion models on eight graphs with known truth."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.causal_synthetic.measures import descendants_mmd, noise_floor, outcome_scores
from experiments.causal_synthetic.methods import ITERATIONS, METHODS, posterior_of, sampler_of
from experiments.causal_synthetic.queries import descendant_queries, outcome_queries
from experiments.causal_synthetic.scms import SCMS, SyntheticSCM
from experiments.runner.records import Record, Unit

SIZES = (100, 1_000)
FEWER_TRIALS = {1_000: 2}  # of sizes that take longer
N_VALUES, N_ROWS = 8, 512
DATA_SETS = tuple(f"{name}, n={n}" for n in SIZES for name in SCMS)


@dataclass(frozen=True)
class CausalSynthetic:
    """Every method on every trial of every SCM."""

    data_sets: tuple[str, ...] = DATA_SETS
    measured: tuple[str, ...] = tuple(METHODS)
    n_splits: int = 5
    n_draws: int = 8
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {
            "n_draws": self.n_draws,
            "n_values": N_VALUES,
            "n_rows": N_ROWS,
            "iterations": {str(n): found for n, found in ITERATIONS.items()},
        }

    @property
    def units(self) -> Sequence[Unit]:
        """Trials in turn."""
        return [
            Unit(name, split)
            for split in range(self.n_splits)
            for name in self.data_sets
            if split < FEWER_TRIALS.get(parts_of(name)[1], self.n_splits)
        ]

    def methods(self, unit: Unit) -> Sequence[str]:
        """All methods."""
        return self.measured

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Fit to simulated rows, and compare with the truth under interventions."""
        scm, n = parts_of(unit.data_set)
        started = time.perf_counter()
        rows = scm.sample(n, np.random.default_rng(seed_of(unit)))
        model = posterior_of(method, scm, rows, self.n_draws, unit.split)
        fitted = time.perf_counter() - started
        queries = descendant_queries(scm, N_VALUES)
        own, shared = sampler_of(model, scm), sampler_of(model, scm, shared_noise=True)
        mechanism = model.posterior_.algorithm.mechanisms[0]
        return {
            "mmd": descendants_mmd(scm, own, self.n_draws, queries, unit.split, N_ROWS),
            "floor": noise_floor(scm, queries, unit.split, N_ROWS),
            **_outcomes(scm, shared, unit.split, model.posterior_.inflation),
            "iterations": mechanism.n_iterations,
            "seconds of fitting": round(fitted, 2),
        }

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {seed_of(unit)}"


def parts_of(data_set: str) -> tuple[SyntheticSCM, int]:
    """SCM and number of rows."""
    name, _, n = data_set.partition(", n=")
    return SCMS[name], int(n)


def seed_of(unit: Unit) -> list[int]:
    """Seed of the rows of a trial."""
    name, _, n = unit.data_set.partition(", n=")
    return [19, unit.split, int(n), list(SCMS).index(name)]


def _outcomes(scm: SyntheticSCM, sample: Any, seed: int, inflation: float) -> Record:
    """Scores of the last node, with constants in both units, raw and inflated."""
    found = {}
    for units in ("standard", "raw"):
        queries = outcome_queries(scm, units, N_VALUES)  # type: ignore[arg-type]
        raw = outcome_scores(scm, sample, queries, seed, N_ROWS)
        wide = outcome_scores(scm, sample, queries, seed, N_ROWS, inflation)
        found |= {f"{units}: {name}": value for name, value in raw.items()}
        found |= {f"{units}: inflated {name}": wide[name] for name in ("coverage", "width")}
    return found
