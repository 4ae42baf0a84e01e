"""The AutoGluon experiment, for the runner. Needs the extra `autogluon`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import nearbayes as nb
from experiments.automl.published import ROWS
from experiments.classification.experiment import Classification, scored
from experiments.runner.records import Record, Unit

# As the paper's authors ran it, but without the models that need torch, and with a time limit.
FIT = {
    "presets": ["medium_quality", "optimize_for_deployment"],
    "excluded_model_types": ["NN_TORCH", "FASTAI"],
    "time_limit": 30,
}
RUNS: dict[str, dict[str, Any]] = {
    "base": {"n_draws": 1, "n_refits": 0},
    "bootstrap": {"method": "bootstrap"},
    "martingale": {},
    # fewer imputed labels, for better predictions; too narrow as a posterior
    "martingale, n/4": {"schedule": nb.Schedule.arithmetic(horizon=0.25, block=0.25)},
}
LABEL = "the class"  # not the name of any column


@dataclass(frozen=True)
class AutoML(Classification):
    """The splits of the classification experiment, with AutoGluon as the algorithm."""

    data_sets: tuple[str, ...] = tuple(ROWS)
    measured: tuple[str, ...] = tuple(RUNS)
    n_splits: int = 3
    n_draws: int = 10

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings that the records depend on."""
        return {"n_draws": self.n_draws, **FIT}

    def methods(self, unit: Unit) -> Sequence[str]:
        """All methods; no tuning, because AutoGluon tunes itself."""
        return self.measured

    def measure(self, unit: Unit, method: str, done: Mapping[str, Record]) -> Record:
        """Fit, keep only predictions at the test rows, and score them."""
        from autogluon.tabular import TabularPredictor

        split = self.split(unit)
        run: dict[str, Any] = {"n_draws": self.n_draws, **RUNS[method]}
        with TemporaryDirectory() as folder:  # AutoGluon would create one, although it stays empty
            predictor = TabularPredictor(
                LABEL, problem_type="multiclass", eval_metric="log_loss", path=folder
            )
            model = nb.PosteriorClassifier(
                predictor, random_state=unit.split, on_error="raise", progress=False, **run
            ).fit(
                split.X_train,
                split.y_train,
                tuning_data=(split.X_validation, split.y_validation),
                predict_on=split.X_test,
                **FIT,
            )
        return scored(split.y_test, model.predict_proba(split.X_test))
