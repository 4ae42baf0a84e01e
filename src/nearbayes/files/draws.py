"""Draws: records of fitted models and their noise; equal parts are stored once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

from nearbayes.core.lifting import KeptPredictions
from nearbayes.files.arrays import (
    NotSaveable,
    column_of,
    labels_of,
    labels_record,
    stack_of,
    stack_record,
)
from nearbayes.files.container import Members
from nearbayes.files.draws_on_disk import DrawsOnDisk
from nearbayes.files.formats import load_model, save_model
from nearbayes.files.manifest import Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.fits.left_out import LeftOut
from nearbayes.predictives.noise import (
    FunctionNoise,
    GaussianNoise,
    HeteroscedasticNoise,
    Noise,
    OwnNoise,
    ResidualNoise,
)
from nearbayes.predictives.positive import PositivePredictive, PowerNoise
from nearbayes.predictives.predictive import CategoricalPredictive, Empirical, Normal

__all__ = [
    "Models",
    "estimator_of",
    "estimator_record",
    "estimators_of",
    "estimators_record",
    "kept_of",
    "kept_record",
    "noises_of",
    "noises_record",
]

MOST_MODELS = 100_000  # models per posterior, because repeated short records take no space
NOISES: dict[str, type] = {
    "gaussian": GaussianNoise,
    "residual": ResidualNoise,
    "heteroscedastic": HeteroscedasticNoise,
    "power": PowerNoise,
    "estimator": OwnNoise,
}
PREDICTIVES: dict[str, type] = {
    "categorical": CategoricalPredictive,
    "normal": Normal,
    "empirical": Empirical,
    "positive": PositivePredictive,
}


class Models:
    """Records of estimators; each is serialised only once, even if the file is written again."""

    def __init__(self, trusted: Collection[str] = ()) -> None:
        self._trusted = trusted
        self._done: dict[int, tuple[Any, dict[str, Any], Members]] = {}

    def record(self, model: Any, members: Members) -> dict[str, Any]:
        """Record of a model; its files are added to `members`."""
        if id(model) not in self._done:
            own = Members()
            self._done[id(model)] = (model, save_model(model, own, self._trusted), own)
        _, record, own = self._done[id(model)]
        members.files.update(own.files)
        return record


def noises_record(noises: Sequence[Noise], models: Models, members: Members) -> dict[str, Any]:
    """Record of several noise models of one kind."""
    kind = _kind(noises[0], NOISES)
    if kind is None:
        what = (
            "noise is a function"
            if isinstance(noises[0], FunctionNoise)
            else (f"noise has the type {type(noises[0]).__name__}")
        )
        raise NotSaveable(
            f"{what}, which cannot be saved: choose the noise by name, for example "
            "noise='residual'."
        )
    names = [each.name for each in fields(NOISES[kind]) if each.name != "log_square"]
    record: dict[str, Any] = {
        "kind": kind,
        "size": len(noises),
        "fields": stack_record(noises, names, members),
    }
    if kind == "heteroscedastic":
        records = [models.record(each.log_square, members) for each in noises]  # type: ignore[attr-defined]
        if any(each != records[0] for each in records):
            raise NotSaveable(
                "draws with a heteroscedastic noise model of their own cannot be saved."
            )
        record["log_square"] = records[0]
    return record


def noises_of(record: Record, size: int, read: Reader, trusted: Collection[str] = ()) -> list[Any]:
    """Inverse of `noises_record`."""
    kind = record.text("kind", tuple(NOISES))
    record.whole("size", size, size)
    shared = {}
    if kind == "heteroscedastic":
        shared["log_square"] = load_model(record.get("log_square"), read, trusted)
    return stack_of(record.get("fields"), NOISES[kind], size, read, **shared)


def kept_record(draws: Sequence[KeptPredictions], members: Members) -> dict[str, Any]:
    """Record of kept predictions: arrays with the draw axis first."""
    if any(each.predictive is None for each in draws):
        raise NotSaveable(
            "predictions without a distribution of y cannot be saved: save the numbers with "
            "np.save(path, posterior.predict(X))."
        )
    kind = _kind(draws[0].predictive, PREDICTIVES)
    if kind is None:
        raise NotSaveable(
            f"predictions of the type {type(draws[0].predictive).__name__} cannot be saved: choose "
            "the noise by name, for example noise='residual'."
        )
    names = [each.name for each in fields(PREDICTIVES[kind])]
    return {
        "kind": kind,
        "prediction": stack_record(draws, ["prediction"], members)["prediction"],
        "fields": stack_record([each.predictive for each in draws], names, members),
        "classes": [labels_record(each.classes_) for each in draws],
    }


def kept_of(record: Record, size: int, read: Reader) -> list[KeptPredictions]:
    """Inverse of `kept_record`."""
    kind = PREDICTIVES[record.text("kind", tuple(PREDICTIVES))]
    predictives = stack_of(record.get("fields"), kind, size, read)
    classes = [labels_of(each, read) for each in record.many("classes")]
    if len(classes) != size:
        raise FileRefused(f"it must have classes of {size} draws, got {len(classes)}.")
    predictions = column_of(record.get("prediction"), size, read)
    return [
        KeptPredictions(*parts) for parts in zip(predictions, predictives, classes, strict=True)
    ]


def estimator_record(
    estimator: Any, models: Models, members: Members, *, optional: bool = False
) -> dict[str, Any]:
    """The user's estimator, unfitted; if it is `optional` and cannot be saved, only its type."""
    if isinstance(estimator, LeftOut):
        return {"left_out": estimator.what}
    try:
        return models.record(estimator, members)
    except NotSaveable:
        if not optional:
            raise
        return {"left_out": type(estimator).__name__}


def estimator_of(record: Record, read: Reader, trusted: Collection[str] = ()) -> Any:
    """Undo `estimator_record`, if the record has an estimator."""
    if "estimator" not in record:
        return None
    estimator = record.record("estimator")
    if "left_out" in estimator:
        return LeftOut("estimator", estimator.text("left_out"))
    return load_model(estimator.entries, read, trusted)


def estimators_record(
    estimators: Sequence[Any], models: Models, members: Members
) -> list[dict[str, Any]]:
    """Records of fitted estimators."""
    return [models.record(each, members) for each in estimators]


def estimators_of(records: list[Any], read: Reader, trusted: Collection[str] = ()) -> Sequence[Any]:
    """Inverse of `estimators_record`; equal records become one object, unless they stay on disk."""
    if len(records) > MOST_MODELS:
        raise FileRefused(f"it has {len(records)} models, more than {MOST_MODELS}.")
    if read.on_disk:
        one = read.for_one_draw
        return DrawsOnDisk(
            lambda place: load_model(records[place], one(), trusted), range(len(records))
        )
    return [load_model(record, read, trusted) for record in records]


def _kind(value: Any, kinds: dict[str, type]) -> str | None:
    return next((name for name, kind in kinds.items() if type(value) is kind), None)
