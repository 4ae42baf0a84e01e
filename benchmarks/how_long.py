"""How long a fit takes: the table in the README.

Run: ``python -m benchmarks.how_long`` on an idle machine (four minutes on two cores).
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process per core, one thread per process
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import joblib
import numpy as np
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import nearbayes as nb

COLUMNS = 10


class Case(NamedTuple):
    """A fit of the table: a name, an estimator, rows and draws."""

    name: str
    estimator: Callable[[], Any]
    n: int
    n_draws: int
    is_classifier: bool = False


def xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1)


def lightgbm() -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=100, verbosity=-1)


CASES = (
    Case("`LogisticRegression`", lambda: LogisticRegression(max_iter=500), 2_000, 50, True),
    Case("the default (boosted trees and a smooth part)", lambda: None, 500, 50),
    Case("`HistGradientBoostingClassifier`", HistGradientBoostingClassifier, 500, 50, True),
    Case("XGBoost, 100 trees", xgboost, 2_000, 50, True),
    Case("XGBoost, 100 trees", xgboost, 20_000, 20, True),
    Case("LightGBM, 100 trees", lightgbm, 5_000, 50),
    Case("`RandomForestRegressor`, 100 trees", lambda: RandomForestRegressor(100), 500, 20),
    Case("`nb.gp.EmpiricalBayesGP`", lambda: nb.gp.EmpiricalBayesGP(), 200, 16),
    Case("`nb.neural.MLPRegressor`", lambda: nb.neural.MLPRegressor(), 1_000, 16),
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", type=int, nargs="*", help="numbers of rows of the table")
    options.add_argument("--jobs", type=int, default=joblib.cpu_count())
    asked = options.parse_args()
    joblib.Parallel(n_jobs=asked.jobs)(joblib.delayed(abs)(k) for k in range(8))  # start workers
    print(f"{asked.jobs} processes, {COLUMNS} columns, seconds\n")
    print("| model | rows | draws | one plain fit | draws alone | with calibrated intervals |")
    print("|---|---|---|---|---|---|", flush=True)
    for case in [CASES[k] for k in asked.only] if asked.only else CASES:
        print(measured(case, asked.jobs), flush=True)


def measured(case: Case, jobs: int) -> str:
    """A row of the table: the plain fit, the draws, and the whole with calibration."""
    X, y = data(case)
    kind: Any = nb.PosteriorClassifier if case.is_classifier else nb.PosteriorRegressor
    model = kind(case.estimator(), n_draws=case.n_draws, n_jobs=jobs, random_state=0)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    whole, seconds = time.perf_counter() - started, model.posterior_.provenance.seconds
    calibrated = "not needed" if model.calibration_ is None else shown(whole)
    draws = shown(seconds["total"] if model.calibration_ is not None else whole)
    cells = [case.name, f"{case.n:,}", case.n_draws, shown(seconds["first_fit"]), draws, calibrated]
    return f"| {' | '.join(map(str, cells))} |"


def data(case: Case) -> tuple[Any, Any]:
    """Rows of a problem with some noise."""
    if case.is_classifier:
        X, y = make_classification(case.n, COLUMNS, n_informative=6, flip_y=0.1, random_state=0)
        return X, y
    X, y = make_friedman1(case.n, COLUMNS, noise=2.0, random_state=0)
    return X, np.asarray(y)


def shown(seconds: float) -> str:
    return (
        f"{seconds:.2f}" if seconds < 1 else f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"
    )


if __name__ == "__main__":
    main()
