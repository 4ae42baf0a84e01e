"""Draws of Gaussian processes with random features: parameters, frequencies and weights."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from nearbayes.files.arrays import array_bytes, array_of, plain_of, plain_record
from nearbayes.files.container import Members
from nearbayes.files.draws import Models
from nearbayes.files.manifest import Record
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.gp.sequential_map import FeatureModel, RandomFeatureGP

__all__ = ["dump_draws", "load_draws"]


def dump_draws(
    algorithm: RandomFeatureGP,
    drawn: Sequence[FeatureModel] | None,
    models: Models,
    members: Members,
) -> dict[str, Any]:
    """A record of the process and of the weights of its draws."""
    params = {each.name: getattr(algorithm, each.name) for each in fields(algorithm)}
    weights = np.stack([each.weights for each in drawn or ()]) if drawn else np.zeros((0, 0))
    return {
        "params": plain_record(params, members, "a parameter of RandomFeatureGP"),
        "weights": members.add("arrays", array_bytes(weights), "npy"),
    }


def load_draws(
    record: Record, size: int | None, read: Reader, trusted: Collection[str] = ()
) -> tuple[RandomFeatureGP, list[FeatureModel] | None]:
    """Undo `dump_draws`."""
    params = plain_of(record.get("params"), read)
    if set(params) != {each.name for each in fields(RandomFeatureGP)}:
        raise FileRefused("its Gaussian process does not have the parameters that it should have.")
    process = RandomFeatureGP(**params)
    found = process.frequencies
    right = isinstance(found, np.ndarray) and found.dtype == np.float64 and found.ndim == 2
    if not right or 2 * len(found) != process.n_features:  # type: ignore[arg-type]
        raise FileRefused("its frequencies do not fit the number of features.")
    if size is None:
        return process, None
    weights = array_of(read(record.text("weights")), "f")
    if weights.shape != (size, process.n_features) or not np.isfinite(weights).all():
        raise FileRefused(f"its weights have shape {weights.shape}, or are not finite.")
    return process, [FeatureModel(each) for each in weights]
