"""Model files: a saved posterior with what the command line needs beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

import nearbayes as nb
from nearbayes.cli.errors import UsageError
from nearbayes.cli.schema import Schema
from nearbayes.io import FileRefused, attachments

__all__ = ["ModelFile"]

ABOUT, HELD_OUT, BAGGING = "about.json", "held_out.csv", "bagging.nearbayes"


@dataclass(frozen=True)
class ModelFile:
    """What `nearbayes fit` writes and the other commands read.

    Attributes
    ----------
    model : PosteriorClassifier or PosteriorRegressor
    schema : Schema
    settings : dict
        Options of the fit and a fingerprint of its data, to tell whether it can go on.
    held_out : DataFrame or None
        Rows of the data file that the fit has not seen, as they were.
    bagging : PosteriorClassifier or PosteriorRegressor or None
        Bagging of the same model, kept as predictions at the held-out rows.
    """

    model: Any
    schema: Schema
    settings: dict[str, Any]
    held_out: pd.DataFrame | None = None
    bagging: Any = None

    def write(self, path: Path) -> Path:
        """Write everything into one file."""
        about = {"schema": self.schema.to_json(), "settings": self.settings}
        attached = {ABOUT: json.dumps(about).encode()}
        if self.held_out is not None:
            attached[HELD_OUT] = self.held_out.to_csv(index=False).encode()
        if self.bagging is not None:
            with TemporaryDirectory() as folder:
                attached[BAGGING] = self.bagging.save(Path(folder) / BAGGING).read_bytes()
        return Path(self.model.save(path, attachments=attached))

    @classmethod
    def read(cls, path: Path) -> ModelFile:
        """Read what `write` wrote."""
        if not path.is_file():
            raise UsageError(f"{path} is not there: make it with nearbayes fit.")
        try:
            attached = attachments(path)
            model = nb.load(path)
        except FileRefused as error:
            raise UsageError(str(error)) from error
        if ABOUT not in attached:
            raise UsageError(
                f"{path} was not written by nearbayes fit, so it does not know its columns: load "
                "it in Python with nearbayes.load."
            )
        about = json.loads(attached[ABOUT])
        held_out = attached.get(HELD_OUT)
        bagging = attached.get(BAGGING)
        return cls(
            model,
            Schema.from_json(about["schema"]),
            about["settings"],
            None if held_out is None else pd.read_csv(BytesIO(held_out), dtype=str),
            None if bagging is None else _loaded(bagging),
        )


def _loaded(data: bytes) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / BAGGING
        path.write_bytes(data)
        return nb.load(path)
