"""Demo: writes data that ships with scikit-learn to CSV files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from nearbayes.files.atomic import replacing

__all__ = ["write_demo_data"]

NEW_ROWS = 20


def write_demo_data(folder: Path) -> tuple[Path, Path]:
    """Write the breast cancer data as two CSV files: training rows, and new rows to predict."""
    folder.mkdir(parents=True, exist_ok=True)
    source = load_breast_cancer()
    frame = pd.DataFrame(source.data, columns=source.feature_names)
    frame["tumour"] = source.target_names[source.target]
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))]
    data, new = folder / "tumours.csv", folder / "new_tumours.csv"
    for path, rows in (
        (data, frame.iloc[NEW_ROWS:]),
        (new, frame.iloc[:NEW_ROWS].drop(columns="tumour")),
    ):
        with replacing(path) as draft:
            rows.to_csv(draft, index=False)
    return data, new
