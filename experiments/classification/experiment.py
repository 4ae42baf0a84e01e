"""The classification experiment, for the runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.classification import methods
from experiments.runner.datasets import (
    DEFAULT_FOLDER,
    Split,
    data_hash,
    load,
    split_in_three,
)
from experiments.runner.records import Record, Unit
from nearbayes.metrics import accuracy, brier, expected_calibration_error, log_score

DATA_SETS = (
    "MiceProtein",
    "analcatdata_authorship",
    "analcatdata_dmft",
    "balance-scale",
    "banknote-authentication",
    "blood-transfusion-service-center",
    "breast-w",
    "car",
    "climate-model-simulation-crashes",
    "cmc",
    "credit-approval",
    "credit-g",
    "cylinder-bands",
    "diabetes",
    "dresses-sales",
    "eucalyptus",
    "ilpd",
    "kc2",
    "mfeat-fourier",
    "mfeat-karhunen",
    "mfeat-morphological",
    "mfeat-zernike",
    "pc1",
    "pc3",
    "pc4",
    "qsar-biodeg",
    "steel-plates-fault",
    "tic-tac-toe",
    "vehicle",
    "wdbc",
)
FIRST_SPLIT = 5  # the paper's splits are 5 to 14
TUNING = "tuning"


@dataclass(frozen=True)
class Classification:
    """Boosted trees, their posteriors and their peers on small classification problems.

    Attributes
    ----------
    data_sets, measured : tuple of str
        Data sets, and methods to measure.
    n_splits, n_draws : int
    data_dir : Path
    """

    data_sets: tuple[str, ...] = DATA_SETS
    measured: tuple[str, ...] = (
        "base",
        *methods.POSTERIORS,
        *methods.STOCHASTIC,
        *methods.PEERS,
    )
    n_splits: int = 5
    n_draws: int = 50
    data_dir: Path = DEFAULT_FOLDER

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws}

    @property
    def units(self) -> Sequence[Unit]:
        """Splits in turn, with the paper's numbers."""
        seeds = range(FIRST_SPLIT, FIRST_SPLIT + self.n_splits)
        return [Unit(name, seed) for seed in seeds for name in self.data_sets]

    def methods(self, unit: Unit) -> Sequence[str]:
        """Tuning first, then all methods; BART only for two classes."""
        two_classes = load(unit.data_set, self.data_dir)[1].nunique() == 2
        return (TUNING, *(name for name in self.measured if name != "bart" or two_classes))

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Choose hyperparameters, or predict the test rows and score the predictions."""
        split = self.split(unit)
        if method == TUNING:
            return methods.choose_hyperparameters(split)
        seed = unit.split
        if method in methods.PEERS:
            from experiments.classification.peers import PREDICT  # needs the experiments extra

            probabilities = PREDICT[method](split, seed)
        elif method == "base":
            probabilities = methods.base(split, done[TUNING])
        else:
            probabilities = methods.posterior(method, split, done[TUNING], self.n_draws, seed)
        return scored(split.y_test, probabilities)

    def data_hash(self, unit: Unit) -> str:
        """Hash of the data set's file."""
        return data_hash(unit.data_set, self.data_dir)

    def split(self, unit: Unit) -> Split:
        """Rows of a replication, with classes 0, 1, ..."""
        inputs, outcome = load(unit.data_set, self.data_dir)
        codes = np.unique(outcome.astype(str), return_inverse=True)[1]
        return split_in_three(inputs, codes, unit.split)


def scored(y: NDArray[np.intp], probabilities: NDArray[np.float64]) -> Record:
    """Scores of class probabilities."""
    return {
        "nll": log_score(y, probabilities),
        "accuracy": accuracy(y, probabilities),
        "brier": brier(y, probabilities),
        "ece": expected_calibration_error(y, probabilities),
    }
