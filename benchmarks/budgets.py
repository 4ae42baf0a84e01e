"""Time budgets of the command line: asked and taken, calibration included, for every model.

python -m benchmarks.budgets              # 30 s for each of 14 fits: eight minutes on an idle core
python -m benchmarks.budgets --cars FILE  # --model gp on the cars of vega_datasets, 50 draws

A fit that needs less than its budget ends sooner.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
from benchmarks.measuring import show
from benchmarks.quick import houses

MODELS = ("blend", "hist", "xgboost", "lightgbm", "forest", "linear", "gp", "mlp")
N_ROWS, N_COLUMNS = 1_000, 20
BUDGET = 30
GOAL = "at most 1.1"


def main() -> None:
    """Fit every model within the budget, or a Gaussian process to the cars."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cars", type=Path)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--budget", type=int, default=BUDGET)
    given = parser.parse_args()
    if given.cars is not None:
        seconds, _ = fitted(cars(given.cars), "Miles_per_Gallon", "--model", "gp", "--draws", "50")
        show("cars, 406 rows, --model gp, 50 draws: seconds of the whole command", seconds, "60")
        return
    X, price = houses(N_ROWS)
    frame = X.iloc[:, :N_COLUMNS].join(X.iloc[:, -N_COLUMNS:])
    for target, values in (("price", price), ("dear", price > pd.Series(price).median())):
        for model in given.models:
            told(frame.assign(**{target: values}), target, model, given.budget)


def told(frame: pd.DataFrame, target: str, model: str, budget: int) -> None:
    """Print the time taken over the time asked, and what it was used for."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "houses.csv"
        frame.to_csv(data, index=False)
        seconds, found = fitted(data, target, "--model", model, "--time-budget", f"{budget}s")
    made = f"{found['draws']} of {found['draws_asked']} draws of {found['refits']} refits"
    sets = "calibrated" if found["calibration"] else "not calibrated"
    show(f"{target}, {model}: {made}, {sets}; {seconds:.0f} s of {budget}", seconds / budget, GOAL)


def fitted(data: Path, target: str, *options: str) -> tuple[float, dict[str, Any]]:
    """Seconds of the whole command in a process of its own, and its result."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "m.nearbayes")
        command = [sys.executable, "-m", "nearbayes.cli", "fit", str(data), "--target", target]
        started = time.perf_counter()
        done = subprocess.run(
            [*command, "-o", model, *options, "--json"], capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - started
    if done.returncode:
        sys.exit(done.stderr)
    return seconds, json.loads(done.stdout)


def cars(path: Path) -> Path:
    """The cars as CSV; vega_datasets has them as JSON."""
    if path.suffix == ".json":
        frame, path = pd.read_json(path), Path(tempfile.mkdtemp()) / "cars.csv"
        frame.to_csv(path, index=False)
    return path


if __name__ == "__main__":
    main()
