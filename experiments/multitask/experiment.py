r"""Multi-task simulation (App. D.2): excess error, Wasserstein distance and coverage.

Sequential MAP (eq. gp-alg-spo) with a learned kernel against the posterior under the true one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import nearbayes as nb
from experiments.multitask.kernel import LearnedKernel, Learner
from experiments.multitask.tasks import (
    GRID,
    NOISE,
    Array,
    Task,
    World,
    expansion,
    process_posterior,
    task,
)
from experiments.runner.records import Record, Unit
from nearbayes.core.data import Data
from nearbayes.core.protocols import Rng, Traits
from nearbayes.metrics import coverage, wasserstein2_gaussian

SCHEDULE = nb.Schedule.arithmetic(horizon=12.0, block=0.05)  # blocks of one row at least
LEVEL = 0.9
METHOD = "learned kernel"


@dataclass(frozen=True)
class Design:
    """What is varied, one thing at a time around the middle, and how kernels are learned."""

    numbers_of_tasks: tuple[int, ...]
    pretraining_rows: tuple[int, ...]
    test_rows: tuple[int, ...]
    middle: tuple[int, int, int]  # m, n_pret, n_test
    learner: Learner
    tasks_per_kernel: int

    @cached_property
    def settings(self) -> dict[str, tuple[int, int]]:
        """Names of (m, n_pret)."""
        m, n_pret, _ = self.middle
        pairs = [(m, each) for each in self.pretraining_rows]
        pairs += [(each, n_pret) for each in self.numbers_of_tasks if each != m]
        return {name_of(*pair): pair for pair in pairs}

    def tested_rows(self, m: int, n_pret: int) -> tuple[int, ...]:
        """Numbers of test rows: all in the middle, one elsewhere."""
        return self.test_rows if (m, n_pret) == self.middle[:2] else self.middle[2:]


REDUCED = Design(
    numbers_of_tasks=(10, 30, 100),
    pretraining_rows=(30, 100, 300, 1_000),
    test_rows=(5, 10, 20, 40),
    middle=(100, 1_000, 20),
    learner=Learner(128, 4, 512, (1e-3, 5e-3), (1_000, 2_000)),
    tasks_per_kernel=10,
)
FULL = Design(
    numbers_of_tasks=(100, 200, 400),
    pretraining_rows=(500, 1_000, 2_000, 4_000),
    test_rows=(5, 10, 20, 40),
    middle=(200, 2_000, 20),
    learner=Learner(256, 4, 2_048, (1e-4, 5e-4, 1e-3, 5e-3), (1_000, 2_000, 4_000)),
    tasks_per_kernel=20,
)


def name_of(m: int, n_pret: int) -> str:
    """Name of a setting in records."""
    return f"m={m}, n_pret={n_pret}"


@dataclass(frozen=True)
class Multitask:
    """A split is one world, one learned kernel and some test tasks."""

    data_sets: tuple[str, ...] = tuple(REDUCED.settings)
    measured: tuple[str, ...] = (METHOD,)
    n_splits: int = 5
    n_draws: int = 200
    data_dir: Path = Path()
    design: ClassVar[Design] = REDUCED

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        learner = self.design.learner
        return {
            "n_draws": self.n_draws,
            "noise": NOISE,
            "width": learner.width,
            "batch": learner.batch,
            "rates": list(learner.rates),
            "iterations": list(learner.iterations),
            "tasks_per_kernel": self.design.tasks_per_kernel,
        }

    @property
    def units(self) -> Sequence[Unit]:
        """Replications in turn."""
        return [Unit(name, split) for split in range(self.n_splits) for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """One method."""
        return self.measured

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Learn a kernel, and use it on test tasks of every size."""
        m, n_pret = self.design.settings[unit.data_set]
        world = World.random(np.random.default_rng([22, unit.split]))
        rng = np.random.default_rng(seed_of(unit, m, n_pret))
        tasks = [task(world, n_pret, rng) for _ in range(m)]
        x, y = np.stack([each.x for each in tasks]), np.stack([each.y for each in tasks])
        kernel = self.design.learner.learned(x, y, unit.split)
        record: Record = {"loss": kernel.loss, "rate": kernel.rate, "iterations": kernel.iterations}
        for n in self.design.tested_rows(m, n_pret):
            test = np.random.default_rng([23, unit.split, n])  # the same tasks for all kernels
            tests = [task(world, n, test) for _ in range(self.design.tasks_per_kernel)]
            found = [tested(world, kernel, each, self.n_draws, k) for k, each in enumerate(tests)]
            record |= {f"n_test={n} {key}": [f[key] for f in found] for key in found[0]}
        return record

    def data_hash(self, unit: Unit) -> str:
        """No data are read: the seed says it all."""
        return f"simulated, seed {seed_of(unit, *self.design.settings[unit.data_set])}"


class FullMultitask(Multitask):
    """The configuration of the paper (m, n_pret and the network)."""

    design: ClassVar[Design] = FULL

    def __init__(
        self,
        data_sets: tuple[str, ...] = tuple(FULL.settings),
        measured: tuple[str, ...] = (METHOD,),
        n_splits: int = 8,
        n_draws: int = 200,
        data_dir: Path = Path(),
    ) -> None:
        super().__init__(data_sets, measured, n_splits, n_draws, data_dir)


def seed_of(unit: Unit, m: int, n_pret: int) -> list[int]:
    """Seed of the tasks that a kernel is learned from."""
    return [24, unit.split, m, n_pret]


@dataclass(frozen=True)
class FeatureGP(nb.gp.RandomFeatureGP):
    """Sequential MAP with features that are given as inputs."""

    at_once: int = 100

    @cached_property
    def traits(self) -> Traits:
        """More draws at once than with hundreds of features."""
        return Traits(randomised=True, chunk=self.at_once, keeps_rows=False, runs_in="threads")

    def prepare(self, data: Data, rng: Rng) -> tuple[FeatureGP, Data]:
        """No frequencies to sample."""
        return self, data

    def _features(self, x: Array) -> Array:
        return x


def tested(
    world: World, kernel: LearnedKernel, each: Task, n_draws: int, seed: int
) -> dict[str, float]:
    """Squared excess error, distance and radius, and coverage, in the norm of the grid.

    The excess error is that of the posterior mean under the learned kernel. Its mean is that of
    its squared distance from the mean of the true posterior (eq. excess-err-defn, as the error of a
    posterior mean is orthogonal to what the data say), which has less noise.
    """
    mean, covariance = process_posterior(expansion(each.true), each.y, expansion(GRID))
    rows = compressed(kernel.features(np.concatenate([each.x, world.evaluated()])))
    train, new = rows[: len(each.y)], rows[len(each.y) :]
    first, own = process_posterior(train, each.y, new)
    posterior = nb.martingale_posterior(
        FeatureGP(noise=NOISE, n_features=rows.shape[1], at_once=min(n_draws, 100)),
        (train, each.y),
        n_draws=n_draws,
        schedule=SCHEDULE,
        random_state=seed,
        progress=False,
    )
    draws = np.asarray(posterior.predict(new))
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    bounds = np.quantile(draws, ends, axis=0).T
    wide = draws.mean(axis=0)[:, None] + SCHEDULE.inflation(len(each.y)) * (
        bounds - draws.mean(axis=0)[:, None]
    )
    distance = wasserstein2_gaussian(draws.mean(axis=0), np.cov(draws.T), mean, covariance)
    return {
        "excess": float(np.mean((first - mean) ** 2)),
        "distance": distance**2 / len(GRID),
        "distance of its posterior": wasserstein2_gaussian(first, own, mean, covariance) ** 2
        / len(GRID),
        "radius": float(np.mean(np.diag(covariance))),
        "coverage": float(coverage(each.on_grid, bounds)),
        "inflated coverage": float(coverage(each.on_grid, wide)),
    }


def compressed(features: Array) -> Array:
    """The same products by as many features as rows, an even number.

    Draws of the prior of many weights and of these have the same law at these rows.
    """
    left, values, _ = np.linalg.svd(features, full_matrices=False)
    kept = left * values
    n_columns = len(features) + len(features) % 2
    return np.pad(kept, ((0, 0), (0, n_columns - kept.shape[1])))
