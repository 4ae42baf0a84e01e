"""Saving: a fitted posterior estimator as one safe file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from nearbayes.algorithms.kept import KeptPredictions
from nearbayes.core.inputs import KDE, Uniform, Urn
from nearbayes.core.posterior import installed_versions
from nearbayes.core.schedule import Schedule
from nearbayes.estimators.calibration import Calibration
from nearbayes.files.arrays import NotSaveable, array_bytes, labels_record, plain_record
from nearbayes.files.container import MEGABYTE, Members, attachment_name, write
from nearbayes.files.draws import Models
from nearbayes.files.manifest import FORMAT
from nearbayes.files.posterior_record import posterior_record
from nearbayes.fits.left_out import LeftOut

__all__ = ["ThinnedWarning", "evenly", "save"]

FEWEST = 2  # draws: an interval needs a spread


class ThinnedWarning(UserWarning):
    """A file holds fewer draws than the model, to keep within `max_megabytes`."""


def save(
    model: Any,
    path: str | os.PathLike[str],
    thin: int | None = None,
    max_megabytes: float | None = None,
    attachments: Mapping[str, bytes] | None = None,
    trusted: Collection[str] = (),
) -> Path:
    """Write a fitted model; see `PosteriorEstimator.save`."""
    target, have = Path(path), len(model.posterior_)
    n_draws = _checked_thin(thin, have)
    attached = {attachment_name(name): bytes(data) for name, data in (attachments or {}).items()}
    limit = None if max_megabytes is None else max_megabytes * MEGABYTE
    models = Models(trusted)
    size = _write(model, target, n_draws, models, attached, limit)
    wanted = n_draws
    while limit is not None and size > limit:
        if n_draws <= FEWEST:
            raise ValueError(
                f"max_megabytes={max_megabytes:g} is too small: {n_draws} draws take "
                f"{size / MEGABYTE:.2f} MB. Give more, or make the estimator smaller."
            )
        n_draws = max(FEWEST, min(n_draws - 1, int(n_draws * limit / size)))
        size = _write(model, target, n_draws, models, attached, limit)
    if n_draws < wanted:
        warnings.warn(
            f"{n_draws} of {have} draws were saved, to keep within {max_megabytes:g} MB.",
            ThinnedWarning,
            stacklevel=3,
        )
    return target


def _checked_thin(thin: int | None, have: int) -> int:
    if thin is None:
        return have
    if isinstance(thin, bool) or not isinstance(thin, int | np.integer) or thin < FEWEST:
        raise ValueError(f"thin must be a whole number of draws, {FEWEST} or more, got {thin!r}.")
    return min(int(thin), have)


def evenly(n_draws: int, have: int) -> list[int]:
    """Positions of `n_draws` of the draws, from the first to the last.

    Examples
    --------
    >>> evenly(3, 9)
    [0, 4, 8]
    """
    return [int(i) for i in np.linspace(0, have - 1, n_draws).round()]


def _write(
    model: Any,
    path: Path,
    n_draws: int,
    models: Models,
    attached: Mapping[str, bytes],
    limit: float | None,
) -> int:
    members = Members()
    manifest = _manifest(model, evenly(n_draws, len(model.posterior_)), models, members)
    return write(path, manifest, {**members.files, **attached}, limit)


def _manifest(model: Any, draws: list[int], models: Models, members: Members) -> dict[str, Any]:
    versions = model.posterior_.provenance.versions
    # the library as imported: an editable install may say another version
    here = installed_versions(*(name for name in versions if name != "python"))
    posterior = posterior_record(model.posterior_, draws, models, members)
    return {
        "format": FORMAT,
        "nearbayes": here["nearbayes"],
        "versions": here,
        "kind": type(model).__name__,
        "inputs": _inputs_record(model),
        "params": _params_record(model, models, members),
        "posterior": posterior,
        "schedule": _schedule_record(getattr(model, "schedule_", None)),
        "schedule_scores": getattr(model, "schedule_scores_", None),
        "calibration": _calibration_record(model.calibration_, members),
        "noise_factor": getattr(model, "noise_factor_", None),
        "conformal": _conformal_record(getattr(model, "conformal_", None), members),
    }


def _inputs_record(model: Any) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", None)
    return {"n_features": model.n_features_in_, "feature_names": labels_record(names)}


def _params_record(model: Any, models: Models, members: Members) -> dict[str, Any]:
    params = model.get_params(deep=False)
    special = {
        "estimator": _estimator_record(model, models, members),
        "inputs": _source_record(params["inputs"], members),
        "random_state": _seed(model),
        "schedule": _schedule_record(params["schedule"]),
    }
    rest = {
        name: plain_record(value, members, name)
        for name, value in params.items()
        if name not in special
    }
    return {**special, **rest}


def _estimator_record(model: Any, models: Models, members: Members) -> Any:
    """The user's estimator, unfitted; kept predictions can do without."""
    if model.estimator is None:
        return None
    try:
        if isinstance(model.estimator, LeftOut):
            return {"left_out": model.estimator.what}
        return models.record(model.estimator, members)
    except NotSaveable:
        if not isinstance(model.posterior_.first, KeptPredictions):
            raise
        return {"left_out": type(model.estimator).__name__}


def _seed(model: Any) -> Any:
    """A generator has moved on since; the seed that was used makes the same draws again."""
    given = model.random_state
    is_plain = given is None or isinstance(given, int | np.integer)
    return int(model.posterior_.provenance.seed) if not is_plain else given and int(given)


def _source_record(inputs: Any, members: Members) -> Any:
    """Where imputed rows come from; only a fit needs it, so what is no number is left out."""
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


def _schedule_record(schedule: Any) -> Any:
    if not isinstance(schedule, Schedule):
        return schedule
    amounts = asdict(schedule).items()
    return {key: each.item() if isinstance(each, np.generic) else each for key, each in amounts}


def _calibration_record(calibration: Calibration | None, members: Members) -> Any:
    if calibration is None:
        return None
    ratios = [members.add("arrays", array_bytes(each), "npy") for each in calibration.ratios]
    plain = {key: value for key, value in vars(calibration).items() if key != "ratios"}
    return {**plain, "ratios": ratios}


def _conformal_record(layer: Any, members: Members) -> Any:
    """Scores of held-out rows are all that a conformal layer of ours knows."""
    if layer is None:
        return None
    if not isinstance(layer.alphas, np.ndarray) or layer.mondrian or not layer.normalized:
        raise NotSaveable("conformal_ is not what conformalize makes: call conformalize again.")
    return {"alphas": members.add("arrays", array_bytes(layer.alphas), "npy")}
