"""Works for a long time and looks whether anything grows: ``make soak`` (20 minutes).

Again and again, with other data every time: fits in processes and threads with calibration,
predictions, intervals, files that are written and read, reports, runs that are stopped and go on
from their checkpoints, draws that are ended for their time. Memory of this process and of its
workers, threads, open files, child processes, shared memory and temporary files must stay what they
were after the first fifth of the time.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gc
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nearbayes as nb
from nearbayes.execution.memory import own_memory

ROWS = 120
MOST_GROWTH = 1.05  # of memory, from the first fifth to the last
MOST_BYTES = 30e6  # or so much
EVERY = 60.0  # seconds between two lines of output
OPTIONS: dict[str, Any] = {"n_draws": 6, "n_refits": 2, "progress": False}


def table(rng: np.random.Generator) -> tuple[Any, Any]:
    X = rng.normal(size=(ROWS, 3))
    return X, X[:, 0] + 0.5 * rng.normal(size=ROWS)


def classified(rng: np.random.Generator, folder: Path) -> None:
    """Boosted trees in processes, with calibration; a file and a report."""
    X, y = table(rng)
    learner = HistGradientBoostingClassifier(max_iter=10)
    options = {**OPTIONS, "n_jobs": 2, "random_state": int(rng.integers(1000))}
    model = nb.PosteriorClassifier(learner, **options).fit(X, y > 0)
    model.predict_proba(X)
    model.predict_interval(X)
    again = nb.load(model.save(folder / "model.nearbayes"))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    again.report(X, y > 0, path=folder / "report.html")


def stopped_and_resumed(rng: np.random.Generator, folder: Path) -> None:
    """A run of which a part is there already."""
    X, y = table(rng)
    learner = make_pipeline(StandardScaler(), Ridge())
    options = {**OPTIONS, "random_state": 0, "checkpoint": folder / "run"}
    few = nb.PosteriorRegressor(learner, **{**options, "n_draws": 3}).fit(X, y)
    more = nb.PosteriorRegressor(learner, **options, n_jobs=2).fit(X, y)
    assert np.array_equal(more.posterior_.predict(X)[:3], few.posterior_.predict(X))


def in_threads(rng: np.random.Generator, folder: Path) -> None:
    """Compiled and closed-form families."""
    X, y = table(rng)
    options = {"schedule": nb.Schedule.optimal(2), "random_state": 0, "progress": False}
    process = nb.gp.RandomFeatureGP(n_features=20)
    found = nb.martingale_posterior(process, (X, y), n_draws=8, executor="threads", **options)
    found.predict(X)
    family = nb.SequentialMLE(nb.families.Gaussian())
    nb.martingale_posterior(family, y, n_draws=6_000, n_jobs=2, **options)


def slow_at_times(data: Any) -> float:
    if np.abs(data).max() > 3.5:  # imputed numbers are at times
        time.sleep(60)
    return float(np.mean(data))


def ended_for_their_time(rng: np.random.Generator, folder: Path) -> None:
    """Draws whose workers are ended."""
    hanging = nb.algorithm(slow_at_times, lambda mean, n, rng: rng.normal(mean, 1.0, n))
    data = np.clip(rng.normal(size=200), -3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nb.DrawWarning)
        nb.martingale_posterior(
            hanging, data, n_draws=4, schedule=nb.Schedule.optimal(2), n_jobs=2, draw_timeout=1.0,
            random_state=int(rng.integers(1000)), progress=False,
        )  # fmt: skip


WORK: list[Callable[[np.random.Generator, Path], None]] = [
    classified,
    stopped_and_resumed,
    in_threads,
    ended_for_their_time,
]


def used() -> dict[str, float]:
    """What this process holds at the moment, and its children."""
    gc.collect()
    own = int(Path("/proc/self/status").read_text().split("RssAnon:")[1].split()[0]) * 1024
    children = [
        child
        for each in Path("/proc/self/task").glob("*/children")
        for child in each.read_text().split()
    ]
    names = [each.name for each in Path("/dev/shm").iterdir()]
    return {
        "MB": own / 1e6,
        "MB of workers": sum(map(own_memory, children)) / 1e6,
        "workers": len(children),
        "threads": threading.active_count(),
        "files": len(os.listdir("/proc/self/fd")),
        "shared": sum(name.startswith(("nearbayes-", "loky-")) for name in names),
        "temporary": len(os.listdir(tempfile.gettempdir())),
    }


def faults(early: dict[str, float], late: dict[str, float]) -> list[str]:
    """What has grown; `early` and `late` are the largest of some moments."""
    found = []
    for name, before in early.items():
        most = before if "MB" not in name else max(before * MOST_GROWTH, before + MOST_BYTES / 1e6)
        if late[name] > most:
            found.append(f"{name} grew from {before:.0f} to {late[name]:.0f}")
    return found


def largest(moments: list[dict[str, float]]) -> dict[str, float]:
    return {name: max(each[name] for each in moments) for name in moments[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    seconds = 60 * parser.parse_args().minutes
    # of this run alone, as other programs have temporary files, too
    tempfile.tempdir = place = tempfile.mkdtemp(prefix="soak-")
    os.environ["TMPDIR"] = place
    rng, started, said = np.random.default_rng(0), time.monotonic(), -EVERY
    moments: list[tuple[float, dict[str, float]]] = []
    while time.monotonic() - started < seconds:
        for work in WORK:
            with tempfile.TemporaryDirectory() as folder:
                work(rng, Path(folder))
        now = time.monotonic() - started
        moments.append((now, used()))
        if now - said >= min(EVERY, seconds / 10):
            said = now
            shown = ", ".join(f"{name} {value:.0f}" for name, value in moments[-1][1].items())
            print(f"{now:6.0f} s, {len(moments)} rounds: {shown}", flush=True)
    early = [each for at, each in moments if at < max(seconds / 5, moments[0][0] + 1)]
    late = [each for at, each in moments if at > 4 * seconds / 5]
    found = faults(largest(early), largest(late or [moments[-1][1]]))
    shutil.rmtree(place, ignore_errors=True)
    print("; ".join(found) or f"nothing has grown in {len(moments)} rounds")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
