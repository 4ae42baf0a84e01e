"""Speed of this commit against an earlier one, side by side and in turn.

Run: ``.venv/bin/python -m benchmarks.before_after --before COMMIT`` (ten minutes, idle machine).

Every case is a small program that runs in a process of its own, once with the code of each commit
in every round; what it prints is its time without imports and compilation. The ratio is that of the
best rounds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measuring import show

ROOT = Path(__file__).parents[1]
TIMING = """
import time, warnings
import numpy as np
import nearbayes as nb
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)

def best(task, repeats):
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        task()
        times.append(time.perf_counter() - started)
    print(min(times))
"""
GAUSSIAN = """
z = rng.normal(size=(100, 10))
mle = nb.SequentialMLE(nb.families.Gaussian(np.ones(10)))
run = dict(n_draws=10_000, schedule=nb.Schedule.optimal(1_000), random_state=0, n_jobs={jobs})
best(lambda: nb.martingale_posterior(mle, z, **run), 2)
"""
OVERHEAD = """
X, y = rng.normal(size=(200, 5)), rng.normal(size=200)
spent = 0.0

def fit(x, y):
    global spent
    started = time.perf_counter()
    model = float(np.mean(y))
    spent += time.perf_counter() - started
    return model

def sample(model, x, rng):
    global spent
    started = time.perf_counter()
    outcome = rng.normal(model, 1.0, len(x))
    spent += time.perf_counter() - started
    return outcome

overheads = []
for _ in range(7):
    spent, started = 0.0, time.perf_counter()
    nb.martingale_posterior(
        nb.algorithm(fit, sample), (X, y), n_draws=50, random_state=0, progress=False)
    overheads.append((time.perf_counter() - started - spent) / (50 * 8))
print(min(overheads))
"""
XGBOOST = """
from xgboost import XGBClassifier
X = rng.normal(size=({n}, 20))
y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(size={n}) > 0).astype(int)
algorithm = nb.ClassifierAlgorithm.of(XGBClassifier(n_estimators=50, max_depth=4))
run = dict(n_draws={draws}, random_state=0, progress=False, n_jobs={jobs})
best(lambda: nb.martingale_posterior(algorithm, (X, y), **run), 1)
"""
RANDOM_FEATURES = """
X = np.sort(rng.uniform(0, 6, size=(200, 1)), axis=0)
y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=200)
run = dict(n_draws=100, random_state=0, schedule=nb.Schedule.arithmetic(horizon=6.0, block=0.05))
draw = lambda: nb.martingale_posterior(nb.gp.RandomFeatureGP(noise=0.3), (X, y), **run)
posterior = draw()
{what}
"""
EMPIRICAL_BAYES = """
from nearbayes{room}.gp.empirical_bayes import EmpiricalBayesAlgorithm
X = rng.normal(size=(75, 6))
y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=75)
process = nb.gp.EmpiricalBayesGP(initial="random", variance=1.0)
if "scale_penalty" in process.get_params():  # the objective that both commits have
    process.set_params(scale_penalty=0.0)
algorithm = EmpiricalBayesAlgorithm(process)
run = dict(n_draws=16, random_state=0, schedule=nb.Schedule.arithmetic(horizon=4.0, block=0.25),
           inputs="{inputs}", n_jobs={jobs})
draw = lambda: nb.martingale_posterior(algorithm, (X, y), **run)
draw()
best(draw, 2)
"""
NEW_ROWS = "posterior.predict(rng.uniform(0, 6, size=(10_000, 1)))"
# The usual number of draws: what is learned once, before the draws, must not weigh more than usual.
SIZES = [(2_000, 100, 1), (20_000, 50, 1), (2_000, 100, 2)]
CASES: dict[str, tuple[str, str]] = {
    "engine overhead per refit": (OVERHEAD, "overhead at most 0.15 ms"),
    "Gaussian family, 10,000 draws, 1,000 refits": (GAUSSIAN.format(jobs=1), "at most 1.05"),
    "Gaussian family on 2 threads": (GAUSSIAN.format(jobs=2), "at most 0.625 (1.6 times faster)"),
    **{
        f"XGBoost, n = {n:,}, {draws} draws, {jobs} jobs": (
            XGBOOST.format(n=n, draws=draws, jobs=jobs),
            "at most 1.05",
        )
        for n, draws, jobs in SIZES
    },
    "random-feature process, 100 draws": (
        RANDOM_FEATURES.format(what="best(draw, 2)"),
        "at most 1.05",
    ),
    "random-feature process, 100 draws predict 10,000 rows": (
        RANDOM_FEATURES.format(what=f"best(lambda: {NEW_ROWS}, 3)"),
        "at most 0.2 (5 times faster)",
    ),
    **{
        f"empirical Bayes process, n = 75, {inputs}, {jobs} jobs": (
            EMPIRICAL_BAYES.replace("{inputs}", inputs).replace("{jobs}", str(jobs)),
            "at most 1.05",
        )
        for inputs in ("urn", "kde")
        for jobs in (1, 2)
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default="4491534", help="commit to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose name has this text in it")
    options = parser.parse_args()
    with _worktree(options.before) as before:
        for name, (program, goal) in CASES.items():
            if options.only not in name:
                continue
            times = [
                (_seconds(program, before), _seconds(program, ROOT)) for _ in range(options.rounds)
            ]
            then, now = (min(each) for each in zip(*times, strict=True))
            what = f"{name}: {1000 * now:.4g} ms, before {1000 * then:.4g} ms; now / before"
            show(what, now / then, goal)


@contextmanager
def _worktree(commit: str) -> Iterator[Path]:
    """The code of another commit, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run(
            [*git, "add", "--detach", str(path), commit], check=True, capture_output=True
        )
        try:
            yield path
        finally:
            subprocess.run([*git, "remove", "--force", str(path)], check=True)


def _seconds(program: str, tree: Path) -> float:
    """Run a program with the code of a tree, one thread for linear algebra."""
    room = "" if (tree / "src" / "nearbayes" / "gp").is_dir() else ".algorithms"
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", TIMING + program.replace("{room}", room)],
        env={**os.environ, **limits, "PYTHONPATH": str(tree / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{tree}: {done.stderr}")
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    main()
