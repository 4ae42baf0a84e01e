"""Diffusion models on a graph: a posterior's cost, as a multiple of the plain ensemble's.

Run: ``.venv/bin/python -m benchmarks.causal`` (a few minutes). Three nodes in a chain, 100 rows, 8
draws, 6n rows imputed in blocks of n/4. Compiling is not timed.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.measuring import seconds_in_turn, show

import nearbayes as nb
from nearbayes.causal import diffusion_mechanism
from nearbayes.causal.diffusion_training import first_fits, refits

N, N_DRAWS, ITERATIONS = 100, 8, 800
EDGES = [("x1", "x2"), ("x2", "x3")]
MOST = 8.0


def main() -> None:
    data = rows()
    tasks = {method: partial(fitted, method, data) for method in ("ensemble", "martingale")}
    for task in tasks.values():
        task()  # compiles
    found = seconds_in_turn(tasks)
    ratio = found["martingale"] / found["ensemble"]
    show("seconds, martingale / ensemble", ratio, f"at most {MOST:g}")
    steps = {method: steps_of(task) for method, task in tasks.items()}
    ratio = steps["martingale"] / steps["ensemble"]
    show("steps, martingale / ensemble", ratio, f"at most {MOST:g}")


def rows() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x1 = rng.normal(size=N)
    x2 = np.exp(x1 / 2) + rng.normal(size=N) / 4
    return {"x1": x1, "x2": x2, "x3": (x2 - 5) ** 3 / 15 + rng.normal(size=N)}


def fitted(method: Any, data: dict[str, Any]) -> nb.causal.DiffusionSCM:
    model = nb.causal.DiffusionSCM(
        EDGES,
        method=method,
        n_draws=N_DRAWS,
        n_iterations=ITERATIONS,
        random_state=0,
        progress=False,
    )
    return model.fit(data)


def steps_of(task: Any) -> int:
    """Optimiser steps of a run, first fits and refits, of one chunk of draws."""
    taken = []

    def counting(train: Any) -> Any:
        def counted(*args: Any) -> Any:
            taken.append(args[-1] if train is refits else args[5])
            return train(*args)

        return counted

    with (
        patch.object(diffusion_mechanism, "first_fits", counting(first_fits)),
        patch.object(diffusion_mechanism, "refits", counting(refits)),
    ):
        task()
    return sum(taken)


if __name__ == "__main__":
    main()
