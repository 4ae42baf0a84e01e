"""Posterior files: the draws of any family that can be saved, without an estimator."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

from nearbayes.core.posterior import Posterior, installed_versions
from nearbayes.files.container import Members
from nearbayes.files.draws import Models
from nearbayes.files.manifest import FORMAT
from nearbayes.files.posterior_record import posterior_record
from nearbayes.files.thinning import write_draws

__all__ = ["header", "save_posterior"]


def save_posterior(
    posterior: Posterior,
    path: str | os.PathLike[str],
    *,
    thin: int | None = None,
    max_megabytes: float | None = None,
    trusted: Collection[str] = (),
) -> Path:
    """Write a posterior; see `Posterior.save`."""
    manifest = partial(_manifest, posterior)
    limits = {"thin": thin, "max_megabytes": max_megabytes}
    return write_draws(path, len(posterior), manifest, trusted=trusted, **limits)  # type: ignore[arg-type]


def header(posterior: Posterior, kind: str) -> dict[str, Any]:
    """The first entries of every file: its format, origin and kind."""
    versions = posterior.provenance.versions
    # the imported library: an editable install may report another version
    here = installed_versions(*(name for name in versions if name != "python"))
    return {"format": FORMAT, "nearbayes": here["nearbayes"], "versions": here, "kind": kind}


def _manifest(
    posterior: Posterior, draws: list[int], models: Models, members: Members
) -> dict[str, Any]:
    record = posterior_record(posterior, draws, models, members)
    return {**header(posterior, "Posterior"), "posterior": record}
