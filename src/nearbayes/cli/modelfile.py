"""Model files: a saved posterior, with its schema, settings and held-out rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

import nearbayes as nb
from nearbayes.cli.errors import UsageError
from nearbayes.cli.schema import Schema
from nearbayes.files import FileRefused, attachments, describe
from nearbayes.files.causal_file import CAUSAL_KINDS

__all__ = ["ModelFile", "settings_of"]

PLACE = "__place__"  # of a held-out row in its file
ABOUT, HELD_OUT, BAGGING = "about.json", "held_out.csv", "bagging.nearbayes"


@dataclass(frozen=True)
class ModelFile:
    """Model file that `nearbayes fit` writes and the other commands read.

    Attributes
    ----------
    model : PosteriorClassifier or PosteriorRegressor
    schema : Schema
    settings : dict
        Options of the fit and a fingerprint of its data, to tell whether a fit can resume from it;
        "stopped" is True if it was interrupted.
    held_out : DataFrame or None
        Rows of the data file that were not used in the fit.
    bagging : PosteriorClassifier or PosteriorRegressor or None
        Bagging of the same model, stored as predictions at the held-out rows.
    diagnosis : dict or None
        What `Diagnosis.to_dict` gave with the training rows.
    """

    model: Any
    schema: Schema
    settings: dict[str, Any]
    held_out: pd.DataFrame | None = None
    bagging: Any = None
    diagnosis: dict[str, Any] | None = None

    def write(self, path: Path, simulated: bool = True) -> Path:
        """Write everything to one file.

        Without the `simulated` sets, which take seconds to write, `explain` shows intervals that
        are not calibrated, and says so.
        """
        about = {
            "schema": self.schema.to_json(),
            "settings": self.settings,
            "diagnosis": self.diagnosis,
        }
        attached = {ABOUT: json.dumps(about).encode()}
        if self.held_out is not None:
            attached[HELD_OUT] = self.held_out.to_csv(index_label=PLACE).encode()
        if self.bagging is not None:
            with TemporaryDirectory() as folder:
                attached[BAGGING] = self.bagging.save(Path(folder) / BAGGING).read_bytes()
        return Path(self.model.save(path, attachments=attached, simulated=simulated))

    @classmethod
    def read(cls, path: Path) -> ModelFile:
        """Read a file written by `write`."""
        attached = _attached(path)
        try:
            model = nb.load(path)
            bagging = nb.load(BytesIO(attached[BAGGING])) if BAGGING in attached else None
        except FileRefused as error:
            raise UsageError(str(error)) from error
        try:
            about = json.loads(attached[ABOUT])
            schema, settings = Schema.from_json(about["schema"]), dict(about["settings"])
            held_out = _rows_of(attached[HELD_OUT], settings) if HELD_OUT in attached else None
            diagnosis = about.get("diagnosis")
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path} has a damaged schema: fit the model again.") from error
        return cls(model, schema, settings, held_out, bagging, diagnosis)


def settings_of(path: Path) -> dict[str, Any]:
    """Settings in a model file, without loading its model."""
    return dict(json.loads(_attached(path)[ABOUT])["settings"])


def _attached(path: Path) -> Mapping[str, bytes]:
    if not path.is_file():
        raise UsageError(f"{path} does not exist: create it with nearbayes fit.")
    try:
        attached = attachments(path)
        kind = None if ABOUT in attached else describe(path).manifest.get("kind")
    except FileRefused as error:
        raise UsageError(str(error)) from error
    if kind in CAUSAL_KINDS:
        raise UsageError(
            f"{path} holds a causal model: use nearbayes causal query or nearbayes causal report."
        )
    if ABOUT not in attached:
        raise UsageError(
            f"{path} was not written by nearbayes fit and has no schema: load it in Python with "
            "nearbayes.load."
        )
    return attached


def _rows_of(data: bytes, settings: dict[str, Any]) -> pd.DataFrame:
    frame = pd.read_csv(BytesIO(data), dtype=str)
    frame.index = pd.Index([int(place) for place in frame.pop(PLACE)])
    frame.attrs["has_lines"] = bool(settings.get("has_lines"))
    return frame
