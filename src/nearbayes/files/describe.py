"""Describe: the contents of a file, without loading its model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearbayes.files.container import Archive
from nearbayes.files.manifest import Record, check_format
from nearbayes.files.reader import megabytes_allowed
from nearbayes.files.refusal import refusing

__all__ = ["Description", "attachments", "describe"]


@dataclass(frozen=True)
class Description:
    """Description of a file.

    Attributes
    ----------
    path : Path
    size : int
        Size of the file in bytes.
    manifest : dict
        As written by `nearbayes.estimators.saving`.
    sizes : dict
        Compressed size of each member in bytes, by name.
    """

    path: Path
    size: int
    manifest: dict[str, Any]
    sizes: dict[str, int]

    def __str__(self) -> str:
        posterior = self.manifest.get("posterior", {})
        return (
            f"{self.path}: {self.manifest.get('kind')} with {posterior.get('n_draws')} draws, "
            f"{self.size / 1e6:.2f} MB, made by nearbayes {self.manifest.get('nearbayes')}"
        )


def describe(path: str | os.PathLike[str], *, max_megabytes: float | None = None) -> Description:
    """Read the manifest and the sizes of a saved model, without loading it.

    Examples
    --------
    >>> import tempfile, nearbayes as nb
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = nb.PosteriorClassifier(GaussianNB(), n_draws=5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = model.fit(*load_iris(return_X_y=True)).save(f"{folder}/iris.nearbayes")
    ...     describe(path).manifest["posterior"]["n_draws"]
    5
    """
    with Archive(path, megabytes_allowed(max_megabytes)) as archive, refusing(archive.path):
        check_format(Record(archive.manifest, "manifest"))
        return Description(
            archive.path, archive.path.stat().st_size, archive.manifest, archive.packed
        )


def attachments(
    path: str | os.PathLike[str], *, max_megabytes: float | None = None
) -> dict[str, bytes]:
    """Attachments of a saved model, by name."""
    with Archive(path, megabytes_allowed(max_megabytes)) as archive:
        attached = [name for name in archive.names if name.startswith("attachments/")]
        return {name.removeprefix("attachments/"): archive.read(name) for name in attached}
