"""EmpiricalBayesGP: errors of f with several penalties on short length scales.

Root mean squared error over the standard deviation of y, on the seven regression truths of
``experiments/coverage``, n = 150, 6 data sets each.
Run: ``python -m benchmarks.scale_penalty`` (a minute).
"""

from __future__ import annotations

import numpy as np
from experiments.coverage.truths import TRUTHS, Truth

import nearbayes as nb

PENALTIES = (0.0, 0.3, 1.0, 3.0)
N_ROWS, N_POINTS, N_DATA_SETS = 150, 1_000, 6


def main() -> None:
    print("penalty", *PENALTIES, sep="\t")
    for name, truth in TRUTHS.items():
        if name.startswith("number"):
            found = np.mean([errors(truth, seed) for seed in range(N_DATA_SETS)], axis=0)
            print(name, *(f"{each:.3f}" for each in found), sep="\t", flush=True)


def errors(truth: Truth, seed: int) -> list[float]:
    """Error of the fit with each penalty, for one data set."""
    rng = np.random.default_rng([5, seed])
    X, points = truth.inputs(N_ROWS, rng), truth.inputs(N_POINTS, rng)
    y, f = truth.outcomes(X, rng), truth.function(points)
    fits = (nb.gp.EmpiricalBayesGP(scale_penalty=each).fit(X, y) for each in PENALTIES)
    return [float(np.sqrt(np.mean((fit.predict(points) - f) ** 2)) / y.std()) for fit in fits]


if __name__ == "__main__":
    main()
