"""AutoGluon: a configured `TabularPredictor`, fitted afresh in a folder of its own.

AutoGluon is imported only where it is used. A predictor lives on disk; see `folders` for how long.
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
from nearbayes.core.tables import Table, describe, is_frame
from nearbayes.fits.autogluon_seeds import own_randomness, small_seed
from nearbayes.fits.estimator_fit import EstimatorFit, boosted_schedule
from nearbayes.fits.folders import ModelFolder, RunFolder
from nearbayes.fits.targets import class_codes

__all__ = ["AutoGluonFit", "FittedPredictor"]

Array = NDArray[np.float64]

CLASSIFICATION = ("binary", "multiclass")
USUAL_VERBOSITY = 2  # of a TabularPredictor whose user did not choose one
# Small, quiet and on one thread, unless the user says otherwise in `fit`.
DEFAULTS = {"num_cpus": 1, "num_gpus": 0, "keep_only_best": True, "save_space": True}
# What AutoGluon says, or raises, when a fit ends without a model.
NO_MODEL = ("No models were trained", "Not enough time")


@dataclass(frozen=True)
class AutoGluonFit(EstimatorFit):
    """A `TabularPredictor` as the user configured it, and the arguments of its `fit`.

    Every fit is a fresh copy of the predictor with its own seed and its own temporary folder.
    `time_limit` holds for each fit, of which a draw has two by default: its first fit, as
    AutoGluon is random, and one refit. A regressor needs ten more, for the noise. Give
    `tuning_data` to have models and ensemble weights chosen on real rows at every refit; without
    it, AutoGluon sets aside real and imputed rows alike. The same seed gives the same draws unless
    the time limit cuts fits short. A seed that `hyperparameters` give a model stays as it is.

    Only the best model of a fit and what it is made of stay on disk, without training data;
    ``keep_only_best=False`` and ``save_space=False`` keep the rest. ``fit(X, y, predict_on=X_new)``
    keeps predictions alone.

    Intervals are calibrated by simulation only with ``calibration="simulation"``: that is up to
    140 fits more, which is hours.

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
                "estimator is a TabularPredictor that is already fitted: give a new "
                "TabularPredictor with the same settings."
            )
        if self.estimator.problem_type == "quantile":
            raise ValueError(
                "estimator has problem_type='quantile', which is no distribution to draw from: use "
                "problem_type='regression', whose posterior has quantiles (predict_quantiles)."
            )
        if "train_data" in self.params:
            raise TypeError("train_data cannot be given to fit: it is made of X and y.")
        if self.params.get("tuning_data") is not None:
            _check_labelled(self.params["tuning_data"], self.label)

    @property
    def label(self) -> Any:
        """Name of the column of outcomes."""
        return self.estimator.label

    @property
    def counts(self) -> Counts:
        """Repeated rows: weights are no rows to leaf sizes, folds and held-out shares."""
        return False

    @property
    def randomised(self) -> bool:
        """Always: splits, forests and boosting are random."""
        return True

    @property
    def calibrate(self) -> bool:
        """Said to be no, as calibration by itself would take hours; the user can ask for it."""
        return False

    @property
    def variance_power(self) -> float | None:
        """None: the loss is each model's own affair."""
        return None

    @property
    def packages(self) -> tuple[str, ...]:
        """Distribution of AutoGluon's tables."""
        return ("autogluon.tabular",)

    @property
    def schedule(self) -> Callable[[int | None], Schedule]:
        """The default schedule for a number of refits."""
        return one_block

    @property
    def is_boosted(self) -> bool:
        """Yes: boosted trees make up most of AutoGluon's ensembles."""
        return True

    def for_table(self, table: Table) -> Self:
        """Check X, and that `tuning_data` has its columns."""
        columns = set(as_pandas(table).columns)
        if self.label in columns:
            raise ValueError(
                f"X has the column {self.label!r}, which is the label of the TabularPredictor: "
                "leave it out of X."
            )
        missing = [] if self.tuning_rows is None else sorted(columns - {*self.tuning_rows}, key=str)
        if missing:
            raise ValueError(f"tuning_data lacks columns of X: {missing}. Add them.")
        return self

    def for_classes(self, classes: NDArray[Any]) -> tuple[Self, NDArray[Any]]:
        """Check that `tuning_data` has these classes alone."""
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
        """Fit a fresh copy in a folder of its own, which is removed if that fails."""
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
        """An unfitted copy. AutoGluon has no public way to make one: private names here."""
        predictor = copy.deepcopy(self.estimator)
        learner = predictor._learner
        learner.set_contexts(str(folder.path))
        learner.path_context_og = str(folder.path)
        learner.problem_type = problem_type
        learner.random_state = small_seed(seed)  # of the split into training and validation rows
        learner.threshold = 1  # by default AutoGluon drops classes of fewer than 10 rows
        return predictor

    def _train(self, predictor: Any, frame: Any, seed: int) -> None:
        """Call AutoGluon's `fit`, and say in a sentence when nothing came of it."""
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
            "see why with fit(X, y, verbosity=2)"
            if limit is None
            else "give each fit a longer time_limit, or see why with fit(X, y, verbosity=2)"
        )
        raise RuntimeError(
            f"AutoGluon fitted no model with time_limit={limit!r}: {advice}."
        ) from failure

    def _settings(self, seed: int) -> dict[str, Any]:
        """Arguments of AutoGluon's `fit`, copied as it writes into them."""
        given = {name: value for name, value in self.params.items() if name != "tuning_data"}
        settings = copy.deepcopy({**DEFAULTS, "verbosity": self._verbosity, **given})
        of_folds = settings.get("ag_args_ensemble") or {}
        settings["ag_args_ensemble"] = {**of_folds, "model_random_seed": small_seed(seed)}
        return settings

    def _tuning(self, frame: Any, problem_type: str) -> Any:
        """Validation rows, real ones always, of classes that the training rows have, too."""
        rows = self.tuning_rows
        if rows is None or problem_type not in CLASSIFICATION:
            return rows
        return rows[rows[self.label].isin(frame[self.label].unique())]

    @property
    def _verbosity(self) -> int:
        own = self.estimator.verbosity
        return int(self.params.get("verbosity", 0 if own == USUAL_VERBOSITY else own))

    def _problem_type(self, labels: NDArray[Any] | None) -> str:
        """What AutoGluon is to do, which it is not left to guess from a sample of y."""
        told = self.estimator.problem_type
        if labels is None:
            possible: tuple[str, ...] = ("regression",)
        else:
            possible = CLASSIFICATION if len(labels) == 2 else ("multiclass",)
        if told is not None and told not in possible:
            task = "numbers" if labels is None else f"{len(labels)} classes"
            raise ValueError(
                f"estimator has problem_type={told!r}, but y holds {task}: use "
                f"problem_type={possible[0]!r}, or leave it out."
            )
        return told or possible[0]


def one_block(n_refits: int | None) -> Schedule:
    """One block of n, the paper's choice for AutoGluon: a refit costs too much for more."""
    return boosted_schedule(1 if n_refits is None else n_refits)


class FittedPredictor:
    """One draw: a fitted `TabularPredictor` and the temporary folder it lives in.

    The folder is removed with this object. A copy, and a pickle, has a folder of its own.

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
        """The `TabularPredictor`; it works as long as this object is there."""
        if self._predictor is None:
            from autogluon.tabular import TabularPredictor

            self._predictor = TabularPredictor.load(str(self._folder.path))
        return self._predictor

    @property
    def size_on_disk(self) -> int:
        """Bytes."""
        return self._folder.size

    def predict(self, X: Table) -> NDArray[Any]:
        """Predicted outcomes or labels, shape (n_rows,)."""
        return np.asarray(self.predictor.predict(as_pandas(X), as_pandas=False))

    def predict_proba(self, X: Table) -> Array:
        """Class probabilities, shape (n_rows, n_classes)."""
        probabilities = self.predictor.predict_proba(as_pandas(X), as_pandas=False)
        return np.asarray(probabilities, dtype=np.float64)

    def __getstate__(self) -> dict[str, Any]:
        # it knows the path of its folder, and a copy has another
        return {**vars(self), "_predictor": None}


def as_pandas(table: Table) -> Any:
    """A table as a pandas frame, dtypes kept; columns of an array are called "0", "1", ...

    Examples
    --------
    >>> as_pandas(np.array([[1.0, 2.0]])).columns.tolist()
    ['0', '1']
    """
    import narwhals.stable.v2 as nw
    import pandas as pd

    if sparse.issparse(table):
        raise TypeError("AutoGluon takes no sparse matrix as X: use X.toarray().")
    if is_frame(table):
        frame = nw.from_native(table, eager_only=True).to_pandas()
        return frame.reset_index(drop=True)  # AutoGluon wants no index twice
    return pd.DataFrame(table, columns=[str(j) for j in range(table.shape[1])]).infer_objects()


def _labelled(x: Table, y: Any, label: Any) -> Any:
    """Inputs and outcomes in one frame, as AutoGluon wants them."""
    frame = as_pandas(x)
    frame[label] = np.asarray(y)
    return frame


def _check_labelled(tuning: Any, label: Any) -> None:
    """Check that `tuning_data` is a frame with the label, or a pair (X, y)."""
    if isinstance(tuning, tuple):
        if len(tuning) != 2 or len(tuning[0]) != len(tuning[1]):
            raise ValueError("tuning_data must be a pair (X, y) of the same length, or a frame.")
        return
    if not is_frame(tuning):
        raise TypeError(
            f"tuning_data must be a data frame with the column {label!r}, or a pair (X, y), got "
            f"{type(tuning).__name__}: read it into a frame."
        )
    if label not in tuning.columns:
        raise ValueError(
            f"tuning_data must have the label {label!r} as a column, got {describe(tuning)}: add "
            "the outcomes."
        )


def _classes(predictor: Any, labels: NDArray[Any]) -> NDArray[Any]:
    """Classes in the predictor's order; refuse a model that knows fewer than it was given."""
    known, mapped = predictor.class_labels, predictor.class_labels_internal_map
    dropped = [label for label in known if label not in mapped]
    if dropped:
        raise ValueError(
            f"AutoGluon dropped the classes {dropped}, too rare for its folds: use "
            "TabularPredictor(..., eval_metric='log_loss'), which keeps them, or add rows of them."
        )
    return np.asarray(known, dtype=labels.dtype)


def example() -> tuple[Any, Data]:
    """A predictor of two classes, and data for it."""
    from autogluon.tabular import TabularPredictor

    X = np.random.default_rng(7).normal(size=(90, 3))
    return TabularPredictor(label="y"), Data.of(X, X[:, 0] > 0.5 * X[:, 1])
