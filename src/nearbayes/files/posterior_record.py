"""Posterior: converts draws and their provenance to a record and back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NoReturn

from nearbayes.algorithms.estimators import (
    ClassifierAlgorithm,
    NoisyRegressor,
    RegressorAlgorithm,
)
from nearbayes.algorithms.kept import KeptPredictions
from nearbayes.core.data import Data
from nearbayes.core.executor import FailedDraw
from nearbayes.core.posterior import Posterior, Provenance
from nearbayes.core.tables import Table, TablePrint, check_categories
from nearbayes.files.arrays import NotSaveable, Read, labels_of, labels_record
from nearbayes.files.container import FileRefused, Members
from nearbayes.files.draws import (
    Models,
    estimators_of,
    estimators_record,
    kept_of,
    kept_record,
    noises_of,
    noises_record,
)
from nearbayes.files.manifest import Record
from nearbayes.fits.estimator_fit import EstimatorFit

__all__ = ["LoadedFit", "posterior_of", "posterior_record"]

MOST_DRAWS = 10_000_000


@dataclass(frozen=True)
class LoadedFit(EstimatorFit):
    """Estimator of a loaded posterior; it can predict, but not refit.

    Attributes
    ----------
    categories : mapping
        Categories seen in training, by column.
    """

    categories: dict[str, set[Any]] = field(default_factory=dict)

    def check_inputs(self, table: Table) -> None:
        """Refuse categories not seen in training, if the model requires it."""
        check_categories(table, self.categories)

    def fit(self, data: Data, seed: int, labels: Any = None) -> NoReturn:
        """Raise an error: rows, evaluation sets and arguments of `fit` are not in the file."""
        raise RuntimeError(
            "this posterior was loaded from a file, which does not hold the training rows, so it "
            "cannot be refitted: fit again with model.fit(X, y)."
        )


def posterior_record(
    posterior: Posterior, draws: Sequence[int], models: Models, members: Members
) -> dict[str, Any]:
    """Record of the posterior with the chosen draws.

    Parameters
    ----------
    posterior : Posterior
    draws : sequence of int
        Positions of the draws to keep.
    models : Models
        Makes records of estimators.
    members : Members
        Arrays and models are added to it.
    """
    chosen = [posterior.first, *(posterior.models[i] for i in draws)]
    record: dict[str, Any] = {
        "n_draws": len(draws),
        "provenance": asdict(_of_chosen(posterior.provenance, draws)),
        "failed": [asdict(each) for each in posterior.failed],
        "algorithm": _algorithm_record(posterior.algorithm),
    }
    noises = []
    if isinstance(posterior.algorithm, RegressorAlgorithm):
        noises.append(posterior.algorithm.learned)
    if isinstance(posterior.first, KeptPredictions):
        record["kept"] = kept_record(chosen, members)
    elif isinstance(posterior.first, NoisyRegressor):
        record["models"] = estimators_record([each.estimator for each in chosen], models, members)
        noises += [each.noise for each in chosen]
    else:
        shown = [_estimator_of(posterior.algorithm, each) for each in chosen]
        record["models"] = estimators_record(shown, models, members)
    if noises:
        record["noise"] = noises_record(noises, models, members)  # type: ignore[arg-type]
    return record


def _of_chosen(provenance: Provenance, draws: Sequence[int]) -> Provenance:
    """Provenance with the numbers of the chosen draws, if these are known."""
    known = provenance.finished
    return replace(provenance, finished=tuple(known[i] for i in draws) if known else ())


def posterior_of(
    record: Record, estimator: Any, read: Read, trusted: Collection[str] = ()
) -> Posterior:
    """Inverse of `posterior_record`; `estimator` is the user's unfitted estimator."""
    size = 1 + record.whole("n_draws", 1, MOST_DRAWS)
    models = (
        kept_of(record.record("kept"), size, read)
        if "kept" in record
        else estimators_of(_as_many(record.many("models"), size), read, trusted)
    )
    learned = None
    if "noise" in record:
        n_noises = 1 if "kept" in record else 1 + size
        learned, *noises = noises_of(record.record("noise"), n_noises, read, trusted)
        pairs = zip(models, noises, strict=True) if noises else ()
        models = [NoisyRegressor(*pair) for pair in pairs] or models
    about = record.record("algorithm")
    if "process_rows" in about:
        from nearbayes.files import gp_format

        n_rows = about.whole("process_rows", 1)
        algorithm, models = gp_format.drawn(estimator, models, n_rows, _keep_at(about))
    else:
        algorithm = _algorithm_of(about, estimator, learned)
    first, *draws = models
    return Posterior(
        algorithm,
        draws,
        first,
        _provenance_of(record.record("provenance")),
        tuple(_failed_of(each) for each in record.records("failed")),
    )


def _as_many(records: list[Any], size: int) -> list[Any]:
    if len(records) != size:
        raise FileRefused(f"it must have {size} models, got {len(records)}.")
    return records


def _algorithm_record(algorithm: Any) -> dict[str, Any]:
    if not isinstance(algorithm, ClassifierAlgorithm | RegressorAlgorithm) and not _is_process(
        algorithm
    ):
        raise NotSaveable(f"draws of {type(algorithm).__name__} cannot be saved.")
    categories = getattr(getattr(algorithm, "fitting", None), "categories", {})
    known = {name: _category_list(name, values) for name, values in categories.items()}
    kept = None if algorithm.keep_at is None else asdict(_print_of(algorithm.keep_at))
    record: dict[str, Any] = {"categories": known, "keep_at": kept}
    if isinstance(algorithm, ClassifierAlgorithm):
        record["classes"] = labels_record(algorithm.classes)
        record["labels"] = labels_record(algorithm.labels)
        return record
    if _is_process(algorithm):
        return {**record, "process_rows": algorithm.n_rows}
    return {**record, "noise": algorithm.noise if isinstance(algorithm.noise, str) else "auto"}


def _print_of(table: Table | TablePrint) -> TablePrint:
    return table if isinstance(table, TablePrint) else TablePrint.of(table)


def _category_list(column: str, values: set[Any]) -> list[Any]:
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    if not all(isinstance(value, str | bool | int | float) for value in plain):
        odd = next(value for value in plain if not isinstance(value, str | bool | int | float))
        raise NotSaveable(
            f"categories of column {column!r} have the type {type(odd).__name__}, which cannot be "
            "saved: convert them to strings or numbers before fit."
        )
    return sorted(plain, key=lambda value: (type(value).__name__, value))


def _algorithm_of(record: Record, estimator: Any, learned: Any) -> Any:
    categories = record.record("categories")
    fitting = LoadedFit(
        estimator, categories={name: set(categories.many(name)) for name in categories.entries}
    )
    keep_at = _keep_at(record)
    if learned is not None:
        return RegressorAlgorithm(fitting, record.text("noise"), learned, keep_at)  # type: ignore[arg-type]
    classes, labels = labels_of(record.get("classes")), labels_of(record.get("labels"))
    if classes is None or labels is None or classes.shape != labels.shape:
        raise FileRefused("its classes and labels must have the same length.")
    return ClassifierAlgorithm(fitting, classes, labels, keep_at)


def _keep_at(record: Record) -> TablePrint | None:
    """Fingerprint of the table that predictions were kept for, or None."""
    if "keep_at" not in record:
        return None
    kept = record.record("keep_at")
    return TablePrint(kept.text("digest"), kept.text("words"))


def _is_process(algorithm: Any) -> bool:
    """Whether it is our Gaussian process; checked by name to avoid importing JAX."""
    return type(algorithm).__name__ == "EmpiricalBayesAlgorithm"


def _estimator_of(algorithm: Any, model: Any) -> Any:
    """The estimator to store for a draw, as users see it."""
    return algorithm.reveal(model) if _is_process(algorithm) else model


def _provenance_of(record: Record) -> Provenance:
    known = {each.name for each in fields(Provenance)}
    if set(record.entries) != known:
        raise FileRefused(f"its provenance must have the entries {', '.join(sorted(known))}.")
    blocks = Record(dict(enumerate(record.many("blocks"))), "blocks")
    finished = Record(dict(enumerate(record.many("finished"))), "finished")
    return Provenance(
        method=record.text("method"),
        seed=record.whole("seed", 0, 2**256),
        n=record.number("n"),
        n_draws=record.whole("n_draws", 1, MOST_DRAWS),
        schedule=record.text("schedule"),
        blocks=tuple(blocks.whole(i) for i in blocks.entries),
        captured=record.number("captured", 0.0, 1.0),
        inflation=record.number("inflation", 1.0),
        seconds=record.numbers("seconds"),
        interrupted=record.flag("interrupted"),
        finished=tuple(finished.whole(i) for i in finished.entries),
        versions=record.texts("versions"),
    )


def _failed_of(record: Record) -> FailedDraw:
    return FailedDraw(record.whole("index"), record.text("error"), record.text("traceback"))
