"""Draws of exponential families as records: the family by name, the draws as one array."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from nearbayes.algorithms import families
from nearbayes.algorithms.families import SequentialMLE
from nearbayes.files.arrays import NotSaveable, array_bytes, array_of, plain_of, plain_record
from nearbayes.files.container import Members
from nearbayes.files.draws import Models
from nearbayes.files.manifest import Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused

__all__ = ["dump_draws", "load_draws"]

FAMILIES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        families.Gaussian,
        families.GaussianMeanVariance,
        families.Bernoulli,
        families.Categorical,
        families.Poisson,
        families.Gamma,
    )
}


def dump_draws(
    algorithm: SequentialMLE, drawn: Sequence[Any] | None, models: Models, members: Members
) -> dict[str, Any]:
    """A record of the family and of its draws."""
    family = algorithm.family
    name = type(family).__name__
    if FAMILIES.get(name) is not type(family):
        raise NotSaveable(
            f"family {name} is not one of nearbayes.families, which a safe file can name: save "
            "the values that you need, np.save(path, posterior.apply(function).values)."
        )
    params = {each.name: getattr(family, each.name) for each in fields(family)}  # type: ignore[arg-type]
    return {
        "family": name,
        "params": plain_record(params, members, f"a parameter of {name}"),
        "theta": members.add("arrays", array_bytes(np.stack(drawn or [])), "npy"),
    }


def load_draws(
    record: Record, size: int | None, read: Reader, trusted: Collection[str] = ()
) -> tuple[SequentialMLE, Any]:
    """Undo `dump_draws`."""
    family = FAMILIES[record.text("family", tuple(FAMILIES))](
        **plain_of(record.get("params"), read)
    )
    theta = array_of(read(record.text("theta")), "f")
    if theta.shape != (size, family.n_statistics):
        raise FileRefused(f"its draws have shape {theta.shape}, not {(size, family.n_statistics)}.")
    return SequentialMLE(family), theta
