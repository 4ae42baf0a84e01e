"""Saving: a fitted posterior estimator as one safe file."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nearbayes.core.inputs import KDE, Uniform, Urn
from nearbayes.estimators.known import KnownClassifier, KnownRegressor
from nearbayes.files.arrays import NotSaveable, array_bytes, labels_record, plain_record
from nearbayes.files.container import Members
from nearbayes.files.draws import Models, estimator_record, estimators_record
from nearbayes.files.posterior_file import header
from nearbayes.files.posterior_record import posterior_record
from nearbayes.files.run_records import schedule_record, seed_record
from nearbayes.files.thinning import write_draws
from nearbayes.fits.left_out import LeftOut

__all__ = ["OF_ONE_MACHINE", "save"]

# Never written to a file or read from one: a checkpoint contains pickles.
OF_ONE_MACHINE = ("checkpoint", "executor")


def save(
    model: Any,
    path: str | os.PathLike[str],
    thin: int | None = None,
    max_megabytes: float | None = None,
    attachments: Mapping[str, bytes] | None = None,
    trusted: Collection[str] = (),
    simulated: bool = False,
) -> Path:
    """Write a fitted model; see `PosteriorEstimator.save`."""
    return write_draws(
        path,
        len(model.posterior_),
        partial(_manifest, model, simulated),
        thin=thin,
        max_megabytes=max_megabytes,
        attachments=attachments,
        trusted=trusted,
    )


def _manifest(
    model: Any, simulated: bool, draws: list[int], models: Models, members: Members
) -> dict[str, Any]:
    posterior = posterior_record(model.posterior_, draws, models, members)
    sets = model.posterior_.truths if simulated else None
    return {
        **header(model.posterior_, type(model).__name__),
        "inputs": _inputs_record(model),
        "params": _params_record(model, models, members),
        "posterior": posterior,
        "simulated": _simulated_record(sets, models, members),
        "schedule": schedule_record(getattr(model, "schedule_", None)),
        "schedule_scores": getattr(model, "schedule_scores_", None),
        "row_prints": _prints_record(getattr(model, "row_prints_", None), members),
        "noise_factor": getattr(model, "noise_factor_", None),
        "conformal": _conformal_record(getattr(model, "conformal_", None), members),
    }


def _prints_record(prints: Any, members: Members) -> Any:
    if prints is None:
        return None
    return {
        "kept": members.add("arrays", array_bytes(prints.kept), "npy"),
        "alike": prints.alike,
    }


def _inputs_record(model: Any) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", None)
    return {"n_features": model.n_features_in_, "feature_names": labels_record(names)}


def _params_record(model: Any, models: Models, members: Members) -> dict[str, Any]:
    params, kept = model.get_params(deep=False), model.posterior_.kept_at is not None
    special = {
        "estimator": None
        if model.estimator is None
        else estimator_record(model.estimator, models, members, optional=kept),
        "inputs": _source_record(params["inputs"], members),
        "random_state": seed_record(model),
        "schedule": schedule_record(params["schedule"]),
    }
    rest = {
        name: plain_record(value, members, name)
        for name, value in params.items()
        if name not in special and name not in OF_ONE_MACHINE
    }
    return {**special, **rest}


def _source_record(inputs: Any, members: Members) -> Any:
    """Where imputed rows come from; only a fit needs it, so only numbers are written."""
    if inputs is None or isinstance(inputs, str):
        return inputs
    if type(inputs) in (Urn, KDE, Uniform):
        values = {
            name: value if isinstance(value, str) else np.asarray(value, dtype=np.float64).tolist()
            for name, value in vars(inputs).items()
        }
        return {"kind": type(inputs).__name__, "values": plain_record(values, members, "inputs")}
    what = inputs.what if isinstance(inputs, LeftOut) else type(inputs).__name__
    return {"left_out": what}


def _simulated_record(sets: Any, models: Models, members: Members) -> Any:
    """Draws of simulated data sets and their truth, if they were kept."""
    if sets is None:
        return None
    return {
        "draws": [estimators_record(each, models, members) for each in sets.draws],
        "learned": None if sets.learned is None else models.record(sets.learned, members),
        "truth": _truth_record(sets.truth, models, members),
    }


def _truth_record(truth: Any, models: Models, members: Members) -> dict[str, Any]:
    """A reference by its trees; otherwise the truth is a fitted estimator."""
    if not isinstance(truth, KnownClassifier | KnownRegressor):
        return {"fitted": models.record(truth, members)}
    reference: Any = truth.reference
    return {
        "trees": models.record(reference.trees, members),
        "columns": list(reference.bias),
        "bias": estimators_record(list(reference.bias.values()), models, members),
    }


def _conformal_record(layer: Any, members: Members) -> Any:
    """Our conformal layer contains only scores of held-out rows."""
    if layer is None:
        return None
    if not isinstance(layer.alphas, np.ndarray) or layer.mondrian or not layer.normalized:
        raise NotSaveable("conformal_ was not made by conformalize: call conformalize again.")
    return {"alphas": members.add("arrays", array_bytes(layer.alphas), "npy")}
