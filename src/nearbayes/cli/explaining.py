"""Explaining: importances of the inputs, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nearbayes.cli.errors import UsageError
from nearbayes.cli.modelfile import ModelFile
from nearbayes.report.heldout import LEVELS, HeldOut
from nearbayes.report.importance import importance

__all__ = ["explain", "rows_to_look_at"]


def rows_to_look_at(made: ModelFile, frame: pd.DataFrame | None) -> tuple[pd.DataFrame, Any]:
    """Inputs and outcomes of the given rows, or of the held-out rows if none are given."""
    rows = made.held_out if frame is None else frame
    if rows is None:
        raise UsageError("the model has no held-out rows: pass a data file with --data.")
    return made.schema.labelled(rows)


def explain(made: ModelFile, frame: pd.DataFrame | None, coverage: float) -> dict[str, Any]:
    """Importances, largest first, with intervals and the probability of being the largest."""
    if coverage not in LEVELS:
        raise UsageError(
            f"--coverage must be one of {', '.join(map(str, LEVELS))}, got {coverage}."
        )
    X, y = rows_to_look_at(made, frame)
    held = HeldOut.unpredicted(made.model, X, y)
    found = importance(held, np.random.default_rng(0))
    if found is None:
        raise UsageError(
            "the model stores only predictions, so importances cannot be computed: fit it again."
        )
    names, bounds = made.schema.input_names, found["intervals"][LEVELS.index(coverage)]
    table = {
        "feature": [names[name] for name in found["name"]],
        "importance": found["mean"],
        "lower": bounds["lower"],
        "upper": bounds["upper"],
        "P(largest)": found["largest"],
    }
    return {"about": found["about"], "table": table}
