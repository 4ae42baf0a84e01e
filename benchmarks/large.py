"""Many rows: memory and time of draws against one plain fit, and predictions that stream.

``python -m benchmarks.large fit --rows 1000000`` and ``python -m benchmarks.large predict --rows
10000000``; without ``--rows``, a tenth and a hundredth of that.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.measuring import show
from benchmarks.peak_memory import Peak, peak_of

N_COLUMNS = 20


def table(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Inputs, and labels of two classes that depend on five of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3] - (X[:, 4] > 0.5)
    return X, (score + rng.logistic(size=n_rows) > 0).astype(np.int64)


def plain(folder: Path, options: argparse.Namespace) -> None:
    """One plain fit on one thread, in a process of its own."""
    from xgboost import XGBClassifier

    X, y = (np.load(folder / f"{name}.npy") for name in "Xy")
    started = time.perf_counter()
    XGBClassifier(n_estimators=options.trees, n_jobs=1).fit(X, y)
    print(json.dumps({"fit": time.perf_counter() - started}))


def draws(folder: Path, options: argparse.Namespace) -> None:
    """The draws, in a process of its own and its workers."""
    from xgboost import XGBClassifier

    import nearbayes as nb

    X, y = (np.load(folder / f"{name}.npy") for name in "Xy")
    model = nb.PosteriorClassifier(
        XGBClassifier(n_estimators=options.trees),
        n_draws=options.draws,
        n_refits=options.refits,
        calibration=None if options.calibration == "none" else options.calibration,
        n_jobs=options.jobs,
        executor=options.executor,
        random_state=0,
        progress=False,
    )
    started = time.perf_counter()
    model.fit(X, y)
    print(json.dumps({"fit": time.perf_counter() - started, "draws": len(model.posterior_)}))


def _child(name: str, folder: Path, options: argparse.Namespace) -> tuple[Peak, dict[str, Any]]:
    """A measurement in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.large", name, "--folder", str(folder)]
    for key in ("draws", "refits", "trees", "jobs", "executor", "calibration"):
        command += [f"--{key}", str(getattr(options, key))]
    peak = peak_of(command)
    return peak, json.loads(peak.output)


def fit(folder: Path, options: argparse.Namespace) -> None:
    """Peak memory and time of the draws, as ratios to one plain fit."""
    for name, values in zip("Xy", table(options.rows or 100_000, 0), strict=True):
        np.save(folder / f"{name}.npy", values)
    one, alone = _child("plain", folder, options)
    all_of_them, drawn = _child("draws", folder, options)
    print(f"plain fit: {alone['fit']:.1f} s on one thread, {one.megabytes:.0f} MB")
    print(f"{drawn['draws']} draws: {drawn['fit']:.1f} s, {all_of_them.megabytes:.0f} MB")
    print(f"at the peak, by process and shared: {all_of_them.parts} MB")
    show("peak memory of all processes / plain fit", all_of_them.megabytes / one.megabytes, "< 3")
    usual = options.refits * options.draws * alone["fit"] / options.jobs
    show("time / (refits x draws x plain fit / processes)", drawn["fit"] / usual, "<= 1.25")


def predict(folder: Path, options: argparse.Namespace) -> None:
    """Peak memory of predictions by all draws, from a file and into a file, piece by piece."""
    program, model = [sys.executable, "-m", "nearbayes.cli"], folder / "model.nearbayes"
    train, new, found = (folder / f"{name}.parquet" for name in ("train", "new", "found"))
    write_rows(train, 2_000, with_labels=True)
    n_rows = options.rows or 100_000
    write_rows(new, n_rows, with_labels=False)
    fit = ["fit", train, "--target", "y", "--model", "xgboost", "--no-calibration", "--quiet"]
    peak_of([*program, *map(str, fit), "--draws", str(options.draws), "--output", str(model)])
    peak = peak_of([*program, "predict", str(model), str(new), "-o", str(found), "--quiet"])
    print(f"{n_rows:,} rows by {options.draws} draws: {peak.seconds:.0f} s, {peak.parts} MB")
    assert pq.read_metadata(found).num_rows == n_rows
    show("peak memory of predictions, GB", peak.megabytes / 1000, "< 2")


def write_rows(path: Path, n_rows: int, with_labels: bool) -> None:
    """Write simulated rows to a Parquet file, 100,000 at a time."""
    writer = None
    for seed, start in enumerate(range(0, n_rows, 100_000)):
        X, y = table(min(100_000, n_rows - start), seed)
        columns = {f"x{k}": pa.array(X[:, k].astype(np.float32)) for k in range(N_COLUMNS)}
        rows = pa.table({**columns, "y": pa.array(y)} if with_labels else columns)
        writer = writer or pq.ParquetWriter(path, rows.schema)
        writer.write_table(rows)
    assert writer is not None
    writer.close()


def main() -> None:
    """Run the measurement that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("fit", "plain", "draws", "predict"))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--draws", type=int, default=16)
    parser.add_argument("--refits", type=int, default=4)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--executor", default="processes")
    parser.add_argument("--calibration", default="none")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        globals()[options.what](options.folder or Path(made), options)


if __name__ == "__main__":
    main()
