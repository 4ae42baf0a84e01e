"""AutoGluon: copies of a configured `TabularPredictor`, each fitted in its own folder.

AutoGluon is imported only when it is used. Fitted predictors are stored on disk; see `folders`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearbayes.core.data import Counts, Data
from nearbayes.core.schedule import Schedule
from nearbayes.fits.autogluon_seeds import own_randomness, small_seed
from nearbayes.fits.estimator_fit import EstimatorFit, boosted_schedule
from nearbayes.fits.folders import ModelFolder, RunFolder
from nearbayes.fits.targets import class_codes
from nearbayes.tables.table import Table, describe, is_frame

__all__ = ["AutoGluonFit", "FittedPredictor"]

Array = NDArray[np.float64]

CLASSIFICATION = ("binary", "multiclass")
USUAL_VERBOSITY = 2  # default of TabularPredictor
# Small models on one thread, unless arguments of `fit` say otherwise.
DEFAULTS = {"num_cpus": 1, "num_gpus": 0, "keep_only_best": True, "save_space": True}
# Start of AutoGluon's error messages when a fit ends without a model.
NO_MODEL = ("No models were trained", "Not enough time")


@dataclass(frozen=True)
class AutoGluonFit(EstimatorFit):
    """The user's `TabularPredictor`, and the arguments of its `fit`.

    Every fit uses a new copy of the predictor with its own seed and temporary folder. `time_limit`
    applies to each fit. By default a draw has two: its first fit, because AutoGluon is random, and
    one refit. A regressor needs ten more for the noise. Pass `tuning_data` to choose models and
    ensemble weights on real rows at every refit; otherwise AutoGluon holds out both real and
    imputed rows. The same seed gives the same draws, unless the time limit stops a fit early.
    Seeds set in `hyperparameters` are kept.

    Only the best model of a fit and its parts are kept on disk, without training data;
    ``keep_only_best=False`` and ``save_space=False`` keep the rest. ``fit(X, y, predict_on=X_new)``
    keeps only predictions.

    Intervals are calibrated only with ``calibration="simulation"``, because this needs up to 140
    more fits and may take hours.

    Examples
    --------
    >>> from autogluon.tabular import TabularPredictor  # doctest: +SKIP
    >>> predictor = TabularPredictor(label="class", eval_metric="log_loss")  # doctest: +SKIP
    >>> model = nb.PosteriorClassifier(predictor, n_draws=10, random_state=0)  # doctest: +SKIP
    >>> model = model.fit(X, y, presets="medium_quality", time_limit=60)  # doctest: +SKIP
    >>> model.predict_interval(X_new)  # doctest: +SKIP
    """

    run: RunFolder = field(default_factory=RunFolder, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.estimator.is_fit:
            raise ValueError(
                "estimator must be an unfitted TabularPredictor, got a fitted one: create a new "
                "one with the same settings."
            )
        if self.estimator.problem_type == "quantile":
            raise ValueError(
                "estimator must not have problem_type='quantile', which gives no distribution to "
                "sample from: use problem_type='regression' and predict_quantiles."
            )
        if "train_data" in self.params:
            raise TypeError("train_data must not be passed to fit: pass X and y instead.")
        if self.params.get("tuning_data") is not None:
            _check_labelled(self.params["tuning_data"], self.label)

    @property
    def label(self) -> Any:
        """Name of the target column."""
        return self.estimator.label

    @property
    def counts(self) -> Counts:
        """Repeated rows, because leaf sizes, folds and held-out shares do not count weights."""
        return False

    @property
    def randomised(self) -> bool:
        """Always True: splits, forests and boosting are random."""
        return True

    @property
    def calibrate(self) -> bool:
        """False, because calibration would take hours; the user can request it."""
        return False

    @property
    def has_class_weights(self) -> bool:
        """False: the effect of AutoGluon's `sample_weight` is not corrected."""
        return False

    @property
    def variance_power(self) -> float | None:
        """None: each model has its own loss."""
        return None

    @property
    def packages(self) -> tuple[str, ...]:
        """Package to record in the provenance."""
        return ("autogluon.tabular",)

    @property
    def schedule(self) -> Callable[[int | None], Schedule]:
        """The default schedule for a number of refits."""
        return one_block

    @property
    def is_boosted(self) -> bool:
        """True: boosted trees make up most of AutoGluon's ensembles."""
        return True

    def for_table(self, table: Table) -> Self:
        """Check X, and that `tuning_data` has its columns."""
        columns = set(as_pandas(table).columns)
        if self.label in columns:
            raise ValueError(
                f"X must not have the column {self.label!r}, the label of the TabularPredictor: "
                "remove it."
            )
        missing = [] if self.tuning_rows is None else sorted(columns - {*self.tuning_rows}, key=str)
        if missing:
            raise ValueError(f"tuning_data must have all columns of X, but lacks {missing}.")
        return self

    def for_classes(self, classes: NDArray[Any]) -> tuple[Self, NDArray[Any]]:
        """Check that `tuning_data` has no other classes."""
        if self.tuning_rows is not None:
            class_codes(self.tuning_rows[self.label], classes, "tuning_data")
        return self, classes

    def with_outcomes(self, outcomes: Callable[[Table, NDArray[Any]], NDArray[Any]]) -> Self:
        """`tuning_data` with other outcomes."""
        rows = self.tuning_rows
        if rows is None:
            return self
        y = outcomes(rows.drop(columns=self.label), rows[self.label].to_numpy())
        again = _labelled(rows.drop(columns=self.label), y, self.label)
        return replace(self, params={**self.params, "tuning_data": again})

    @cached_property
    def tuning_rows(self) -> Any:
        """`tuning_data` as a pandas frame with the label, or None."""
        given = self.params.get("tuning_data")
        if isinstance(given, tuple):
            return _labelled(given[0], given[1], self.label)
        return None if given is None else as_pandas(given)

    def fit(self, data: Data, seed: int, labels: NDArray[Any] | None = None) -> FittedPredictor:
        """Fit a new copy in its own folder, which is removed if the fit fails."""
        rows = data.repeat() if data.count is not None else data
        y = rows.y if labels is None else labels[rows.y]
        problem_type = self._problem_type(labels)
        folder = ModelFolder(self.run)
        try:
            with own_randomness(seed, self._verbosity):
                predictor = self._fresh(folder, problem_type, seed)
                self._train(predictor, _labelled(rows.x, y, self.label), seed)
            classes = None if labels is None else _classes(predictor, labels)
        except BaseException:
            folder.remove()
            raise
        return FittedPredictor(predictor, folder, classes)

    def _fresh(self, folder: ModelFolder, problem_type: str, seed: int) -> Any:
        """Make an unfitted copy, with private names because AutoGluon has no public way."""
        predictor = copy.deepcopy(self.estimator)
        learner = predictor._learner
        learner.set_contexts(str(folder.path))
        learner.path_context_og = str(folder.path)
        learner.problem_type = problem_type
        learner.random_state = small_seed(seed)  # splits training and validation rows
        learner.threshold = 1  # by default AutoGluon drops classes of fewer than 10 rows
        return predictor

    def _train(self, predictor: Any, frame: Any, seed: int) -> None:
        """Call AutoGluon's `fit`; raise an error if it fitted no model."""
        failure: Exception | None = None
        try:
            tuning = self._tuning(frame, predictor.problem_type)
            predictor.fit(frame, tuning_data=tuning, **self._settings(seed))
        except Exception as error:
            if not str(error).startswith(NO_MODEL):
                raise
            failure = error
        if failure is None and predictor.model_names():
            return
        limit = self.params.get("time_limit")
        advice = (
            "find the reason with fit(X, y, verbosity=2)"
            if limit is None
            else "increase time_limit, or find the reason with fit(X, y, verbosity=2)"
        )
        raise RuntimeError(
            f"AutoGluon fitted no model with time_limit={limit!r}: {advice}."
        ) from failure

    def _settings(self, seed: int) -> dict[str, Any]:
        """Arguments of AutoGluon's `fit`; copies, because it changes them."""
        given = {name: value for name, value in self.params.items() if name != "tuning_data"}
        settings = copy.deepcopy({**DEFAULTS, "verbosity": self._verbosity, **given})
        of_folds = settings.get("ag_args_ensemble") or {}
        settings["ag_args_ensemble"] = {**of_folds, "model_random_seed": small_seed(seed)}
        return settings

    def _tuning(self, frame: Any, problem_type: str) -> Any:
        """Real validation rows whose classes occur in the training rows."""
        rows = self.tuning_rows
        if rows is None or problem_type not in CLASSIFICATION:
            return rows
        return rows[rows[self.label].isin(frame[self.label].unique())]

    @property
    def _verbosity(self) -> int:
        own = self.estimator.verbosity
        return int(self.params.get("verbosity", 0 if own == USUAL_VERBOSITY else own))

    def _problem_type(self, labels: NDArray[Any] | None) -> str:
        """Problem type; set here because AutoGluon might infer another one from a sample of y."""
        told = self.estimator.problem_type
        if labels is None:
            possible: tuple[str, ...] = ("regression",)
        else:
            possible = CLASSIFICATION if len(labels) == 2 else ("multiclass",)
        if told is not None and told not in possible:
            task = "numbers" if labels is None else f"{len(labels)} classes"
            raise ValueError(
                f"estimator must have problem_type={possible[0]!r} or None for y with {task}, "
                f"got {told!r}."
            )
        return told or possible[0]


def one_block(n_refits: int | None) -> Schedule:
    """One block of n, the paper's choice for AutoGluon: a refit costs too much for more."""
    return boosted_schedule(1 if n_refits is None else n_refits)


class FittedPredictor:
    """One draw: a fitted `TabularPredictor` and its temporary folder.

    The folder is removed with this object. Copies and pickles have their own folder.

    Attributes
    ----------
    classes_ : array of shape (n_classes,) or None
        Classes in the order of `predict_proba`; None for regression.
    """

    def __init__(
        self, predictor: Any, folder: ModelFolder, classes: NDArray[Any] | None = None
    ) -> None:
        self.classes_ = classes
        self._folder = folder
        self._predictor = predictor

    @property
    def predictor(self) -> Any:
        """The `TabularPredictor`; it works as long as this object exists."""
        if self._predictor is None:
            from autogluon.tabular import TabularPredictor

            self._predictor = TabularPredictor.load(str(self._folder.path))
        return self._predictor

    @property
    def size_on_disk(self) -> int:
        """Size of the folder in bytes."""
        return self._folder.size

    def predict(self, X: Table) -> NDArray[Any]:
        """Predicted outcomes or labels, shape (n_rows,)."""
        return np.asarray(self.predictor.predict(as_pandas(X), as_pandas=False))

    def predict_proba(self, X: Table) -> Array:
        """Class probabilities, shape (n_rows, n_classes)."""
        probabilities = self.predictor.predict_proba(as_pandas(X), as_pandas=False)
        return np.asarray(probabilities, dtype=np.float64)

    def __getstate__(self) -> dict[str, Any]:
        # the predictor knows the path of its folder, and a copy has another folder
        return {**vars(self), "_predictor": None}


def as_pandas(table: Table) -> Any:
    """A table as a pandas frame with the same dtypes; columns of an array are "0", "1", ...

    Examples
    --------
    >>> as_pandas(np.array([[1.0, 2.0]])).columns.tolist()
    ['0', '1']
    """
    import narwhals.stable.v2 as nw
    import pandas as pd

    if sparse.issparse(table):
        raise TypeError("X must be dense for AutoGluon, got a sparse matrix: use X.toarray().")
    if is_frame(table):
        frame = nw.from_native(table, eager_only=True).to_pandas()
        return frame.reset_index(drop=True)  # AutoGluon needs a unique index
    return pd.DataFrame(table, columns=[str(j) for j in range(table.shape[1])]).infer_objects()


def _labelled(x: Table, y: Any, label: Any) -> Any:
    """Inputs and outcomes in one frame, as AutoGluon expects them."""
    frame = as_pandas(x)
    frame[label] = np.asarray(y)
    return frame


def _check_labelled(tuning: Any, label: Any) -> None:
    """Check that `tuning_data` is a frame with the label, or a pair (X, y)."""
    if isinstance(tuning, tuple):
        if len(tuning) != 2 or len(tuning[0]) != len(tuning[1]):
            raise ValueError("tuning_data must be a frame, or a pair (X, y) of equal length.")
        return
    if not is_frame(tuning):
        raise TypeError(
            f"tuning_data must be a data frame with the column {label!r}, or a pair (X, y), got "
            f"{type(tuning).__name__}."
        )
    if label not in tuning.columns:
        raise ValueError(
            f"tuning_data must have the label column {label!r}, got {describe(tuning)}: add the "
            "outcomes."
        )


def _classes(predictor: Any, labels: NDArray[Any]) -> NDArray[Any]:
    """Classes in the predictor's order; raise an error if it dropped any."""
    known, mapped = predictor.class_labels, predictor.class_labels_internal_map
    dropped = [label for label in known if label not in mapped]
    if dropped:
        raise ValueError(
            f"AutoGluon dropped the classes {dropped}, which are too rare for its folds: use "
            "TabularPredictor(..., eval_metric='log_loss') to keep them, or add rows of them."
        )
    return np.asarray(known, dtype=labels.dtype)


def example() -> tuple[Any, Data]:
    """A predictor of two classes, and data for it."""
    from autogluon.tabular import TabularPredictor

    X = np.random.default_rng(7).normal(size=(90, 3))
    return TabularPredictor(label="y"), Data.of(X, X[:, 0] > 0.5 * X[:, 1])
