"""Trace: record of quantities along the paths of the first draws, for diagnoses after loading."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearbayes.draws.path_trace import MOST_DRAWS, Trace
from nearbayes.files.arrays import array_bytes, array_of
from nearbayes.files.container import Members
from nearbayes.files.manifest import Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.methods.tracing import MOST_ENTRIES, MOST_STEPS

__all__ = ["trace_of", "trace_record"]


def trace_record(trace: Trace | None, members: Members) -> dict[str, str] | None:
    """Names of the arrays of a trace; single precision is enough for diagnoses."""
    if trace is None:
        return None
    values = trace.values.astype(np.float32)
    return {
        "n_rows": members.add("arrays", array_bytes(trace.n_rows), "npy"),
        "values": members.add("arrays", array_bytes(values), "npy"),
    }


def trace_of(posterior: Record, read: Reader) -> Trace | None:
    """Undo `trace_record`; None for older files."""
    if "trace" not in posterior:
        return None
    record = posterior.record("trace")
    n_rows, values = (array_of(read(record.text(name)), "f") for name in ("n_rows", "values"))
    most = (MOST_DRAWS, MOST_STEPS, MOST_ENTRIES)
    fits = values.ndim == 3 and all(0 < n <= m for n, m in zip(values.shape, most, strict=True))
    grows = n_rows.ndim == 1 and bool((n_rows > 0).all() and (np.diff(n_rows) > 0).all())
    if not fits or not grows or values.shape[1] != len(n_rows):
        raise FileRefused(f"its trace has rows {n_rows.shape} for values {values.shape}.")
    return Trace(_double(n_rows), _double(values))


def _double(values: Any) -> Any:
    return np.asarray(values, dtype=np.float64)
