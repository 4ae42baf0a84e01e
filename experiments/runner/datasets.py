"""Data sets by name: from a folder with a manifest, or from OpenML."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml
from sklearn.model_selection import train_test_split

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
    manifest = json.loads((folder / "datasets.json").read_text())["datasets"]
    entry = next((each for each in manifest if each["name"] == name), None)
    if entry is None:
        raise KeyError(f"name must be a data set of {folder / 'datasets.json'}, got {name!r}.")
    frame = pd.read_parquet(folder / entry["file"])
    outcome = frame[entry["target"]]
    return frame.drop(columns=[entry["target"], "split"], errors="ignore"), outcome


def split_in_three(inputs: pd.DataFrame, outcome: NDArray[np.generic], seed: int) -> Split:
    """60 % for training, 20 % for validation, 20 % for testing, as in the paper."""
    X_rest, X_test, y_rest, y_test = train_test_split(
        inputs, outcome, test_size=0.2, random_state=seed
    )
    X_train, X_validation, y_train, y_validation = train_test_split(
        X_rest, y_rest, test_size=0.25, random_state=2 * seed + 1
    )
    return Split(X_train, y_train, X_validation, y_validation, X_test, y_test)
