"""Schedules and refit policies for XGBoost, measured on small classification problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import nearbayes as nb
from experiments.classification import methods
from experiments.classification.experiment import DATA_SETS, TUNING, Classification, scored
from experiments.refit_policy.policies import ExtendedValidation, FixedRounds, RawWeights
from experiments.runner.records import Record, Unit
from nearbayes.algorithms.estimators import ClassifierAlgorithm

SLOW = ("MiceProtein", "mfeat-fourier", "mfeat-karhunen", "mfeat-zernike")
QUICK_DATA_SETS = tuple(name for name in DATA_SETS if name not in SLOW)
SCHEDULES = {
    "1 block of n": nb.Schedule.arithmetic(horizon=1.0, block=1.0),
    "4 blocks of n/4": nb.Schedule.arithmetic(horizon=1.0, block=0.25),
    "8 blocks of n/8": nb.Schedule.arithmetic(horizon=1.0, block=0.125),
    "optimal, 4 refits": nb.Schedule.optimal(4),
    "optimal, 8 refits": nb.Schedule.optimal(8),
}
DEFAULT = "4 blocks of n/4"
POLICIES = {
    "raw weights": RawWeights,
    "fixed rounds": FixedRounds,
    "extended validation": ExtendedValidation,
}
# Number of bins: XGBoost's default in all fits; or not set, which gives XGBoost's default in the
# first fit and fewer bins in refits. Other methods use 64.
BINS = {"256 bins": 256, "bins not set": None}
BASELINES = ("base", "bootstrap")


@dataclass(frozen=True)
class RefitPolicy(Classification):
    """The splits and hyperparameters of the classification experiment, with other methods."""

    data_sets: tuple[str, ...] = QUICK_DATA_SETS
    measured: tuple[str, ...] = (*BASELINES, *SCHEDULES, *POLICIES, *BINS)
    n_splits: int = 2
    n_draws: int = 16

    def methods(self, unit: Unit) -> Sequence[str]:
        """Tuning first, then all methods."""
        return (TUNING, *self.measured)

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Measure one schedule or policy."""
        if method in (TUNING, *BASELINES):
            return super().measure(unit, method, done)
        split = self.split(unit)
        trees: Any = methods.boosted_trees(done[TUNING])
        if method in BINS:
            trees.set_params(max_bin=BINS[method])
        kind = POLICIES.get(method, ClassifierAlgorithm)
        posterior = nb.martingale_posterior(
            kind.of(trees, eval_set=[(split.X_validation, split.y_validation)]),
            (split.X_train, split.y_train),
            schedule=SCHEDULES.get(method, SCHEDULES[DEFAULT]),
            n_draws=self.n_draws,
            random_state=unit.split,
            on_error="raise",
            progress=False,
        )
        return scored(split.y_test, posterior.predict(split.X_test).mean(axis=0))
