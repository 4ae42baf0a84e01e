"""Regimes of training: in which of them is a martingale posterior better than an ensemble.

The paper finds it best by MMD on all SCMs, with base models whose MMD is 2 to 7 times ours, and
does not say how many draws it has. Here there are many draws, or models are trained longer, or are
larger and trained faster, so that they learn their rows by heart.

Command line: ``python -m experiments.causal_synthetic.regimes run``, then ``tables``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.causal_synthetic.experiment import N_ROWS, N_VALUES, scores_of
from experiments.causal_synthetic.measures import descendants_mmd
from experiments.causal_synthetic.methods import (
    BOOTSTRAP,
    ENSEMBLE,
    MARTINGALE,
    METHODS,
    sampler_of,
)
from experiments.causal_synthetic.methods import posterior_of as fitted
from experiments.causal_synthetic.queries import descendant_queries
from experiments.causal_synthetic.report import COVERAGE
from experiments.causal_synthetic.scms import SCMS, Array, Do, SyntheticSCM
from experiments.runner.command_line import run_or_report
from experiments.runner.records import Record, Records, Unit
from experiments.runner.reports import save_report
from experiments.runner.tables import markdown, standard_error

N = 100
SCM_NAMES = ("chain-na", "triangle-nonlin", "diamond-nonlin")  # largest gains in the paper
DRAWS = (8, 16, 32, 64)
REGIMES: dict[str, dict[str, Any]] = {
    "many draws": {"n_iterations": 800, "n_draws": 64},
    "long": {"n_iterations": 8_000, "n_draws": 8},
    "wide and fast": {
        "n_iterations": 2_000,
        "n_draws": 8,
        "width": 128,
        "depth": 3,
        "learning_rate": 5e-3,
    },
}


@dataclass(frozen=True)
class CausalRegimes:
    """A data set is an SCM and a regime; trials have other rows than the main experiment."""

    data_sets: tuple[str, ...] = tuple(f"{name}, {kind}" for kind in REGIMES for name in SCM_NAMES)
    measured: tuple[str, ...] = (ENSEMBLE, BOOTSTRAP, MARTINGALE)
    n_splits: int = 3
    n_draws: int = 0  # for the command line alone: regimes have their own
    data_dir: Path = Path()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"regimes": REGIMES}

    @property
    def units(self) -> Sequence[Unit]:
        """Trials in turn."""
        return [Unit(name, split) for split in range(self.n_splits) for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """All methods."""
        return self.measured

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Fit as the regime says, and compare with the truth under interventions."""
        name, _, kind = unit.data_set.partition(", ")
        scm, started = SCMS[name], time.perf_counter()
        rows = scm.sample(N, np.random.default_rng(seed_of(unit)))
        given = {**REGIMES[kind], **METHODS[method]}
        n_draws = given.pop("n_draws")
        model = fitted(scm, rows, n_draws, unit.split, given)
        seconds = round(time.perf_counter() - started, 2)
        return {
            **scores_of(model, scm, n_draws, unit.split),
            **mmd_by_draws(model, scm, n_draws, unit.split),
            "seconds of fitting": seconds,
        }

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {seed_of(unit)}"


def seed_of(unit: Unit) -> list[int]:
    """Seed of the rows of a trial, the same in all regimes."""
    return [1_991, unit.split, list(SCMS).index(unit.data_set.partition(", ")[0])]


def mmd_by_draws(model: Any, scm: SyntheticSCM, n_draws: int, seed: int) -> Record:
    """MMD of mixtures of some of the draws, averaged over disjoint groups of them."""
    queries, sample = descendant_queries(scm, N_VALUES), sampler_of(model, scm)

    def some(first: int, size: int, do: Do, n: int, rng: np.random.Generator) -> Array:
        return sample(do, n, rng)[first : first + size]

    found = {}
    for size in DRAWS:
        firsts = range(0, n_draws - size + 1, size)
        groups = [
            descendants_mmd(scm, partial(some, first, size), size, queries, seed, N_ROWS)
            for first in firsts
        ]
        if groups:
            found[f"mmd of {size}"] = float(np.mean(groups))
    return found


def write_report(records: Records, folder: Path) -> None:
    """Write ratios to the ensemble by regime and number of draws, MMD and coverage."""
    frame = records.frame()
    frame[["scm", "regime"]] = frame["data_set"].str.split(", ", n=1, expand=True)
    frame["mmd"] *= 100
    known = [name for name in REGIMES if name in set(frame["regime"])]
    settings = [f"`{name}`: {REGIMES[name]}" for name in known]

    def means(values: str) -> str:
        wide = frame.pivot_table(index="regime", columns="method", values=values)
        return markdown(wide.loc[known])

    parts = [
        "# Where is a martingale posterior better than an ensemble? Results",
        "Made by `python -m experiments.causal_synthetic.regimes tables`: "
        f"{len(frame)} measurements, commits {', '.join(sorted(frame['commit'].unique()))}; "
        f"n = {N}, {frame['split'].nunique()} trials of {', '.join(SCM_NAMES)}. What is not given "
        f"is default. {'; '.join(settings)}.",
        "## Log ratio of MMD to that of as many members of an ensemble",
        "The error of a mean of K honest draws is (1 + 1/K) times that of the posterior mean; "
        "members of an ensemble differ too little for that to show.",
        markdown(_ratios(frame).set_index(["regime", "draws"])),
        "## MMD x 100 of all draws",
        means("mmd"),
        "## Coverage of 90 % intervals of the last node's mean",
        means(COVERAGE),
        "## MMD x 100 by SCM",
        markdown(frame.pivot_table(index=["regime", "scm"], columns="method", values="mmd")),
    ]
    save_report(folder, parts, frame)


def _ratios(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard error over SCMs and trials, as text."""
    rows = []
    for regime, part in frame.groupby("regime", sort=False):
        for size in DRAWS:
            name = f"mmd of {size}"
            if name not in part or part[name].isna().all():
                continue
            wide = part.pivot_table(index=["scm", "split"], columns="method", values=name)
            ratios = np.log(wide.div(wide[ENSEMBLE], axis=0)).drop(columns=ENSEMBLE)
            shown = {
                method: f"{each.mean():+.3f} ± {standard_error(each.dropna()):.3f}"
                for method, each in ratios.items()
            }
            rows.append({"regime": regime, "draws": size, **shown})
    return pd.DataFrame(rows)


if __name__ == "__main__":
    results = Path(__file__).parent / "results" / "regimes"
    sys.exit(run_or_report(__doc__, CausalRegimes(), results, write_report))
