"""Data sets by name: from a folder with a manifest, or from OpenML."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml
from sklearn.model_selection import train_test_split

from experiments.runner.provenance import short_hash

DEFAULT_FOLDER = Path("../shared/data")


class Split(NamedTuple):
    """Rows for training, validation and testing; outcomes are codes or numbers."""

    X_train: pd.DataFrame
    y_train: NDArray[np.generic]
    X_validation: pd.DataFrame
    y_validation: NDArray[np.generic]
    X_test: pd.DataFrame
    y_test: NDArray[np.generic]


@lru_cache(maxsize=2)
def load(name: str, folder: Path = DEFAULT_FOLDER) -> tuple[pd.DataFrame, pd.Series]:
    """Inputs and outcomes of a data set; text columns are categories.

    If the folder does not exist, the data set is fetched from OpenML.
    """
    if not folder.exists():
        inputs, outcome = fetch_openml(name, version=1, return_X_y=True, as_frame=True)
        return inputs, outcome
    entry = _entry(name, folder)
    frame = pd.read_parquet(folder / entry["file"])
    outcome = frame[entry["target"]]
    return frame.drop(columns=[entry["target"], "split"], errors="ignore"), outcome


@cache
def data_hash(name: str, folder: Path = DEFAULT_FOLDER) -> str:
    """Hash of the file of a data set, or of the rows that OpenML gave."""
    if folder.exists():
        return file_hash(folder / _entry(name, folder)["file"])
    inputs, outcome = load(name, folder)
    rows = pd.util.hash_pandas_object(inputs.assign(**{"the outcome": outcome}), index=False)
    return short_hash(rows.to_numpy().tobytes())


@cache
def file_hash(path: Path) -> str:
    """Hash of a file's content."""
    return short_hash(path.read_bytes())


def _entry(name: str, folder: Path) -> dict[str, Any]:
    """What the manifest says of a data set."""
    manifest = json.loads((folder / "datasets.json").read_text())["datasets"]
    for entry in manifest:
        if entry["name"] == name:
            return dict(entry)
    raise KeyError(f"no data set {name!r} in {folder / 'datasets.json'}.")


def split_in_three(inputs: pd.DataFrame, outcome: NDArray[np.generic], seed: int) -> Split:
    """60 % for training, 20 % for validation, 20 % for testing, as in the paper."""
    X_rest, X_test, y_rest, y_test = train_test_split(
        inputs, outcome, test_size=0.2, random_state=seed
    )
    X_train, X_validation, y_train, y_validation = train_test_split(
        X_rest, y_rest, test_size=0.25, random_state=2 * seed + 1
    )
    return Split(X_train, y_train, X_validation, y_validation, X_test, y_test)
