"""Published numbers: tables of the paper (App. D.5, 30 trials).

Its MMD is from 100 rows with a bandwidth of model and truth together: about .01 for a perfect
model. Its coverage is with constants in raw units.
"""

from __future__ import annotations

import pandas as pd

from experiments.causal_synthetic.methods import BOOTSTRAP, ENSEMBLE, MARTINGALE

SCM_NAMES = (
    "chain-na",
    "chain-nonlin",
    "diamond-na",
    "diamond-nonlin",
    "triangle-na",
    "triangle-nonlin",
    "y-na",
    "y-nonlin",
)
MMD = {  # x 100
    100: {
        ENSEMBLE: (27.4, 6.72, 11.87, 15.4, 25.28, 18.55, 9.42, 6.54),
        BOOTSTRAP: (30.3, 6.83, 12.81, 19.88, 28.21, 23.09, 11.54, 6.76),
        "parametric bootstrap": (31.75, 8.4, 13.84, 18.86, 29.59, 20.77, 10.35, 7.36),
        "ntkgp": (47.8, 11.96, 31.45, 51.96, 38.92, 42.52, 19.97, 22.1),
        MARTINGALE: (19.94, 6.31, 8.74, 9.64, 16.35, 10.02, 8.14, 6.56),
    },
    1_000: {
        ENSEMBLE: (7.45, 2.42, 2.85, 3.49, 4.84, 3.13, 2.84, 2.4),
        BOOTSTRAP: (8.58, 2.31, 3.15, 3.67, 5.8, 3.08, 3.05, 2.31),
        "parametric bootstrap": (9.28, 2.63, 3.52, 4.02, 5.98, 3.42, 3.35, 2.62),
        "ntkgp": (21.55, 2.83, 8.03, 11.64, 12.42, 6.13, 5.39, 3.85),
        MARTINGALE: (6.25, 2.58, 2.78, 3.22, 4.23, 2.79, 2.98, 2.27),
    },
}
COVERAGE = {
    100: {
        ENSEMBLE: (0.388, 0.334, 0.231, 0.244, 0.181, 0.271, 0.304, 0.345),
        BOOTSTRAP: (0.861, 0.806, 0.762, 0.572, 0.511, 0.638, 0.801, 0.798),
        "parametric bootstrap": (0.96, 0.731, 0.762, 0.637, 0.506, 0.64, 0.75, 0.806),
        "ntkgp": (0.388, 0.412, 0.256, 0.152, 0.151, 0.158, 0.182, 0.265),
        MARTINGALE: (0.966, 0.865, 0.934, 0.915, 0.796, 0.93, 0.833, 0.804),
    },
    1_000: {
        ENSEMBLE: (0.633, 0.712, 0.522, 0.347, 0.331, 0.408, 0.716, 0.679),
        BOOTSTRAP: (0.963, 0.989, 0.848, 0.662, 0.624, 0.758, 0.935, 0.937),
        "parametric bootstrap": (0.87, 0.901, 0.908, 0.746, 0.701, 0.878, 0.958, 0.947),
        "ntkgp": (0.654, 0.709, 0.539, 0.254, 0.159, 0.377, 0.683, 0.687),
        MARTINGALE: (0.927, 0.884, 0.927, 0.838, 0.67, 0.891, 0.876, 0.89),
    },
}


def published(tables: dict[int, dict[str, tuple[float, ...]]], n: int) -> pd.DataFrame:
    """A table with SCMs as rows and methods as columns; empty for sizes that are not published."""
    return pd.DataFrame(tables.get(n, {}), index=pd.Index(SCM_NAMES, name="scm"))
