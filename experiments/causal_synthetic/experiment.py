"""Interventional distributions and means of diffusion models on eight graphs with known truth."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.causal_synthetic.measures import descendants_mmd, noise_floor, outcome_scores
from experiments.causal_synthetic.methods import (
    ENSEMBLE,
    ITERATIONS,
    MARTINGALE,
    METHODS,
    UNCENTRED,
    posterior_of,
    sampler_of,
)
from experiments.causal_synthetic.queries import descendant_queries, outcome_queries
from experiments.causal_synthetic.scms import SCMS, SyntheticSCM
from experiments.runner.records import Record, Unit

SIZES = (100, 1_000)
FEWER_TRIALS = {1_000: 2, 5_000: 2}  # of sizes that take longer
N_VALUES, N_ROWS = 8, 512
MANY = 5_000  # does a diffusion model come near the truth? Two SCMs and two methods will say
LEFT_OUT = {
    1_000: (UNCENTRED,),
    MANY: tuple(name for name in METHODS if name not in (ENSEMBLE, MARTINGALE)),
}
DATA_SETS = (
    *(f"{name}, n={n}" for n in SIZES for name in SCMS),
    *(f"{name}, n={MANY}" for name in ("chain-nonlin", "y-nonlin")),
)


@dataclass(frozen=True)
class CausalSynthetic:
    """Every method on every trial of every SCM."""

    data_sets: tuple[str, ...] = DATA_SETS
    measured: tuple[str, ...] = tuple(METHODS)
    n_splits: int = 5
    n_draws: int = 16
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
        """All methods with few rows, and fewer with more."""
        left_out = LEFT_OUT.get(parts_of(unit.data_set)[1], ())
        return [name for name in self.measured if name not in left_out]

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Fit to simulated rows, and compare with the truth under interventions."""
        scm, n = parts_of(unit.data_set)
        started = time.perf_counter()
        rows = scm.sample(n, np.random.default_rng(seed_of(unit)))
        given = {"n_iterations": ITERATIONS.get(n), **METHODS[method]}
        model = posterior_of(scm, rows, self.n_draws, unit.split, given)
        fitted = time.perf_counter() - started
        return {
            **scores_of(model, scm, self.n_draws, unit.split),
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


def scores_of(model: Any, scm: SyntheticSCM, n_draws: int, seed: int) -> Record:
    """All scores of a fitted model, beside the noise floor."""
    queries = descendant_queries(scm, N_VALUES)
    own, shared = sampler_of(model, scm), sampler_of(model, scm, shared_noise=True)
    return {
        "mmd": descendants_mmd(scm, own, n_draws, queries, seed, N_ROWS),
        "floor": noise_floor(scm, queries, seed, N_ROWS),
        **_outcomes(scm, shared, seed, model.posterior_.inflation),
        "iterations": model.posterior_.algorithm.mechanisms[0].n_iterations,
    }


def _outcomes(scm: SyntheticSCM, sample: Any, seed: int, inflation: float) -> Record:
    """Scores of the last node, with constants in both units, raw and inflated."""
    found = {}
    for units in ("standard", "raw"):
        queries = outcome_queries(scm, units, N_VALUES)  # type: ignore[arg-type]
        scores = outcome_scores(scm, sample, queries, seed, N_ROWS, inflation)
        found |= {f"{units}: {name}": value for name, value in scores.items()}
    return found
