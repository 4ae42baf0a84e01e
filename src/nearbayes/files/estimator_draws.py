"""Draws of estimators as records: classifiers, regressors with their noise, densities."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from nearbayes.algorithms.estimators import (
    ClassifierAlgorithm,
    DensityAlgorithm,
    NoisyRegressor,
    RegressorAlgorithm,
)
from nearbayes.core.data import Data
from nearbayes.core.protocols import Traits
from nearbayes.files.arrays import NotSaveable, labels_of, labels_record
from nearbayes.files.container import Members
from nearbayes.files.draws import (
    Models,
    estimator_of,
    estimator_record,
    estimators_of,
    estimators_record,
    noises_of,
    noises_record,
)
from nearbayes.files.draws_on_disk import DrawsOnDisk
from nearbayes.files.manifest import Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.fits.estimator_fit import EstimatorFit
from nearbayes.tables.table import Table, check_categories

__all__ = ["LoadedFit", "dump_draws", "load_draws"]

KINDS = ("ClassifierAlgorithm", "RegressorAlgorithm", "DensityAlgorithm")


@dataclass(frozen=True)
class LoadedFit(EstimatorFit):
    """The estimator of a loaded posterior: checks rows to predict, but cannot refit.

    Attributes
    ----------
    categories : mapping
        Values of categorical columns in training, by column.
    """

    categories: dict[str, set[Any]] = field(default_factory=dict)

    @property
    def traits(self) -> Traits:
        """Default traits, because there is nothing to fit."""
        return Traits()

    @property
    def fits(self) -> bool:
        """No."""
        return False

    def check_inputs(self, table: Table) -> None:
        """Reject unseen categories, if the model did."""
        check_categories(table, self.categories)

    def fit(self, data: Data, seed: int, labels: Any = None) -> NoReturn:
        """Refuse: rows, evaluation sets and arguments of `fit` are not in the file."""
        raise RuntimeError(
            "this posterior was loaded from a file, which has what predicts but not what "
            "refits: fit again with model.fit(X, y)."
        )


def dump_draws(
    algorithm: Any, drawn: Sequence[Any] | None, models: Models, members: Members
) -> dict[str, Any]:
    """A record of the algorithm and of its models; None if only predictions are kept.

    Parameters
    ----------
    algorithm : ClassifierAlgorithm, RegressorAlgorithm or DensityAlgorithm
    drawn : sequence of models, or None
    models : Models
        Turns estimators into records.
    members : Members
        Arrays and models are added to it.
    """
    fitting = algorithm.fitting
    categories = getattr(fitting, "categories", {})
    record: dict[str, Any] = {
        "estimator": estimator_record(fitting.estimator, models, members, optional=drawn is None),
        "categories": {name: _category_list(name, each) for name, each in categories.items()},
        "kind": type(algorithm).__name__,
    }
    if isinstance(algorithm, ClassifierAlgorithm):
        record["classes"] = labels_record(algorithm.classes)
        record["labels"] = labels_record(algorithm.labels)
    if isinstance(algorithm, RegressorAlgorithm):
        noises = [algorithm.learned, *(each.noise for each in drawn or ())]
        record["noise"] = noises_record(noises, models, members)
        record["noise_name"] = algorithm.noise if isinstance(algorithm.noise, str) else "auto"
    if drawn is not None:
        shown = [algorithm.reveal(each) for each in drawn]
        record["models"] = estimators_record(shown, models, members)
    return record


def load_draws(
    record: Record, size: int | None, read: Reader, trusted: Collection[str] = ()
) -> tuple[Any, Sequence[Any] | None]:
    """Undo `dump_draws`: the algorithm and `size` models, or None for kept predictions."""
    categories = record.record("categories")
    known = {name: set(categories.many(name)) for name in categories.entries}
    fitting = LoadedFit(estimator_of(record, read, trusted), categories=known)
    models: Any = None
    if size is not None:
        models = estimators_of(_as_many(record.many("models"), size), read, trusted)
    kind = record.text("kind", KINDS)
    if kind == "ClassifierAlgorithm":
        return _classifier(record, fitting, read), models
    if kind == "DensityAlgorithm":
        return DensityAlgorithm(fitting), models
    n_noises = 1 + (0 if models is None else len(models))
    learned, *noises = noises_of(record.record("noise"), n_noises, read, trusted)
    drawn = None if models is None else _with_noise(models, noises)
    return RegressorAlgorithm(fitting, record.text("noise_name"), learned), drawn  # type: ignore[arg-type]


def _with_noise(models: Sequence[Any], noises: Sequence[Any]) -> Sequence[NoisyRegressor]:
    if isinstance(models, DrawsOnDisk):
        places = range(len(models))
        return DrawsOnDisk(lambda place: NoisyRegressor(models[place], noises[place]), places)
    return [NoisyRegressor(*pair) for pair in zip(models, noises, strict=True)]


def _classifier(record: Record, fitting: LoadedFit, read: Reader) -> ClassifierAlgorithm:
    classes, labels = (labels_of(record.get(name), read) for name in ("classes", "labels"))
    if classes is None or labels is None or classes.shape != labels.shape:
        raise FileRefused("its classes and labels do not fit each other.")
    return ClassifierAlgorithm(fitting, classes, labels)


def _as_many(records: list[Any], size: int) -> list[Any]:
    if len(records) != size:
        raise FileRefused(f"it has {len(records)} models, not {size}.")
    return records


def _category_list(column: str, values: set[Any]) -> list[Any]:
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    if not all(isinstance(value, str | bool | int | float) for value in plain):
        odd = next(value for value in plain if not isinstance(value, str | bool | int | float))
        raise NotSaveable(
            f"categories of column {column!r} are of type {type(odd).__name__}, which a safe file "
            "cannot hold: make them strings or numbers before fit."
        )
    return sorted(plain, key=lambda value: (type(value).__name__, value))
