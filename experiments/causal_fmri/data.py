"""Data: activity of two brain areas of 14 subjects, at rest and under electrical stimulation.

Cause: Heschl's gyrus (column 44 of 48 of the atlas, counted from 0). Effect: the anterior cingulate
gyrus (column 28). The protocol is that of Khemakhem et al. (2021), "Causal autoregressive flows":
their code takes each file's first line, which is data, for a header, so the first time point of a
run is dropped; every run is standardised by itself.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.runner.datasets import DEFAULT_FOLDER

Array = NDArray[np.float64]
FILE = Path("es_fmri") / "es_fmri_two_rois.parquet"
CAUSE, EFFECT = "heschl", "cingulate_ant"
SUBJECTS = (292, 294, 302, 303, 307, 316, 320, 352, 357, 372, 376, 399, 400, 403)


class Runs(NamedTuple):
    """Standardised series of one subject: at rest for training, under stimulation for testing."""

    x_train: Array
    y_train: Array
    x_test: Array
    y_test: Array


def load_runs(subject: int, folder: Path = DEFAULT_FOLDER) -> Runs:
    """The two runs of a subject.

    Parameters
    ----------
    subject : int
        One of SUBJECTS.
    folder : Path
        Has FILE, with columns subject, run, t, role ("rest", "stim" or other), heschl and
        cingulate_ant.
    """
    frame = _frame(folder / FILE)
    rows = frame[(frame["subject"].astype(int) == subject) & (frame["t"] > 0)]
    series = []
    for role in ("rest", "stim"):
        run = rows[rows["role"] == role]
        if run["run"].nunique() != 1:
            raise ValueError(
                f"subject {subject} must have one run with the role {role!r} in {folder / FILE}: "
                f"got {run['run'].nunique()}."
            )
        series += [_standardised(run.sort_values("t")[name].to_numpy()) for name in (CAUSE, EFFECT)]
    return Runs(*series)


@cache
def _frame(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path)


def _standardised(values: Array) -> Array:
    return np.asarray((values - values.mean()) / values.std())
