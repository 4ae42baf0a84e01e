"""Posterior: draws and their provenance, as a record, and back.

The file format of each family writes its draws; see the registry.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from nearbayes.core.lifting import KeptPredictions
from nearbayes.core.posterior import FailedDraw, Posterior, Provenance
from nearbayes.draws.calibration import Calibration
from nearbayes.files.arrays import NotSaveable, array_bytes, array_of
from nearbayes.files.container import Members
from nearbayes.files.draws import Models, kept_of, kept_record
from nearbayes.files.manifest import Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.files.trace_record import trace_of, trace_record
from nearbayes.registry import family_named, family_of
from nearbayes.tables.table import Table, TablePrint

__all__ = ["posterior_of", "posterior_record"]

MOST_DRAWS = 10_000_000
DRAW_BYTES = 500  # bytes of Python objects per draw, even if all share one array
LINKS = ("identity", "log", "logit")


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
    family = family_of(posterior.algorithm)
    if family is None or family.files is None:
        raise NotSaveable(
            f"draws of {type(posterior.algorithm).__name__} cannot be saved, as no family in "
            "nearbayes.registry says how: register one, or save the values that you need, "
            "np.save(path, posterior.apply(function).values)."
        )
    kept, first = posterior.kept_at, posterior.first
    if kept is not None and not isinstance(first, KeptPredictions):
        (first,) = posterior.chunks.finish([first])
    chosen = [first, *(posterior.models[i] for i in draws)]
    dump = family.resolved("files").dump_draws
    return {
        "n_draws": len(draws),
        "provenance": asdict(_of_chosen(posterior.provenance, draws)),
        "failed": [asdict(each) for each in posterior.failed],
        "family": family.name,
        "kept_at": None if kept is None else asdict(_print_of(kept)),
        "kept": None if kept is None else kept_record(chosen, members),
        "calibration": _calibration_record(posterior.calibration, members),
        "trace": trace_record(posterior.trace, members),
        "draws": dump(posterior.algorithm, chosen if kept is None else None, models, members),
    }


def posterior_of(record: Record, read: Reader, trusted: Collection[str] = ()) -> Posterior:
    """Undo `posterior_record`."""
    size, kept_at = 1 + record.whole("n_draws", 1, MOST_DRAWS), _kept_at(record)
    read.charge(DRAW_BYTES * size, "draws")
    family = family_named(record.text("family"))
    if family is None or family.files is None:
        raise FileRefused(f"its draws are of the unknown family {record.text('family')[:40]!r}.")
    load = family.resolved("files").load_draws
    wanted = size if kept_at is None else None
    algorithm, models = load(record.record("draws"), wanted, read, trusted)
    if kept_at is not None:
        models = kept_of(record.record("kept"), size, read)
    return Posterior(
        algorithm,
        models[1:],
        models[0],
        _provenance_of(record.record("provenance")),
        tuple(_failed_of(each) for each in record.records("failed")),
        kept_at,
        _calibration_of(record, read),
        trace=trace_of(record, read),
    )


def _of_chosen(provenance: Provenance, draws: Sequence[int]) -> Provenance:
    """Provenance with the numbers of the chosen draws, if these are known."""
    known = provenance.finished
    return replace(provenance, finished=tuple(known[i] for i in draws) if known else ())


def _print_of(table: Table | TablePrint) -> TablePrint:
    return table if isinstance(table, TablePrint) else TablePrint.of(table)


def _kept_at(record: Record) -> TablePrint | None:
    """The table of kept predictions, if any."""
    if "kept_at" not in record:
        return None
    kept = record.record("kept_at")
    return TablePrint(kept.text("digest"), kept.text("words"))


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


def _calibration_record(calibration: Calibration | None, members: Members) -> Any:
    if calibration is None:
        return None
    ratios = [members.add("arrays", array_bytes(each), "npy") for each in calibration.ratios]
    plain = {k: v for k, v in vars(calibration).items() if k not in ("ratios", "pooled")}
    return {**plain, "ratios": ratios, "pooled": np.asarray(calibration.pooled).tolist()}


def _calibration_of(posterior: Record, read: Reader) -> Calibration | None:
    if "calibration" not in posterior:
        return None
    record = posterior.record("calibration")
    ratios = tuple(array_of(read(name), "f") for name in record.many("ratios"))
    if not ratios or any(each.ndim != 1 or not len(each) for each in ratios):
        raise FileRefused("its calibration has no ratios.")
    return Calibration(
        ratios,
        record.text("link", LINKS),  # type: ignore[arg-type]
        record.whole("n_draws", 2),
        record.number("inflation", 1.0),
        record.number("seconds"),
        _pooled_of(record.get("pooled")),
        record.number("start", 0.0, 1.0),
        record.text("truth"),
    )


def _pooled_of(value: Any) -> Any:
    """One variance, or one for each output."""
    several = value if isinstance(value, list) else [value]
    right = all(isinstance(each, int | float) and 0 <= each < np.inf for each in several)
    if not right or not several:
        raise FileRefused("its calibration has a pooled variance that is none.")
    return np.asarray(value, dtype=np.float64)
