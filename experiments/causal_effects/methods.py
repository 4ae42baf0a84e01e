"""Methods: an interval of an average effect, by name, from rows and a graph.

A method is a function ``(scm, rows, contrasts, seed)`` that gives an array of shape
(n_contrasts, 2) of 90 % intervals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import nearbayes as nb
from experiments.causal_synthetic.scms import Array, SyntheticSCM

LEVEL = 0.9
ITERATIONS = 1_000
N_DRAWS, N_DIFFUSION_DRAWS = 16, 8
DOWHY = "dowhy"
DOWHY_RESAMPLES, DOWHY_SAMPLES = 20, 1_000


class Contrast(NamedTuple):
    """E(outcome | do(cause = high)) - E(outcome | do(cause = low))."""

    cause: str
    low: float
    high: float
    outcome: str


def by_model(
    make: Callable[..., Any],
    scm: SyntheticSCM,
    rows: Array,
    contrasts: Sequence[Contrast],
    seed: int,
) -> Array:
    """Intervals by a causal model of the library."""
    model = make(scm.edges, random_state=seed, progress=False)
    model.fit(pd.DataFrame(rows, columns=list(scm.nodes)))
    found = [
        model.effect(each.outcome, {each.cause: each.high}, {each.cause: each.low})
        for each in contrasts
    ]
    return np.stack([each.interval(LEVEL) for each in found])


def by_dowhy(scm: SyntheticSCM, rows: Array, contrasts: Sequence[Contrast], seed: int) -> Array:
    """Intervals by DoWhy's graphical causal models: mechanisms and bootstrap as it has them."""
    import networkx as nx
    from dowhy import gcm
    from dowhy.gcm.util import general

    gcm.config.disable_progress_bars()
    general.set_random_seed(seed)
    frame = pd.DataFrame(rows, columns=list(scm.nodes))

    def effects() -> Any:
        model = gcm.InvertibleStructuralCausalModel(nx.DiGraph(list(scm.edges)))
        gcm.auto.assign_causal_mechanisms(model, frame)
        sampled = frame.sample(len(frame), replace=True)
        gcm.fit(model, sampled)
        return np.array([_dowhy_effect(gcm, model, each) for each in contrasts])

    _, intervals = gcm.confidence_intervals(
        effects, confidence_level=LEVEL, num_bootstrap_resamples=DOWHY_RESAMPLES
    )
    return np.asarray(intervals).reshape(len(contrasts), 2)


def _dowhy_effect(gcm: Any, model: Any, contrast: Contrast) -> float:
    means = [
        gcm.interventional_samples(
            model, {contrast.cause: lambda _, v=value: v}, num_samples_to_draw=DOWHY_SAMPLES
        )[contrast.outcome].mean()
        for value in (contrast.high, contrast.low)
    ]
    return float(means[0] - means[1])


METHODS: dict[str, Callable[[SyntheticSCM, Array, Sequence[Contrast], int], Array]] = {
    **{
        f"diffusion, {method}": partial(
            by_model,
            partial(
                nb.causal.DiffusionSCM,
                n_iterations=ITERATIONS,
                n_draws=N_DIFFUSION_DRAWS,
                method=method,
            ),
        )
        for method in ("martingale", "bootstrap", "ensemble")
    },
    "trees, martingale": partial(by_model, partial(nb.causal.SCM, n_draws=N_DRAWS)),
    "linear, martingale": partial(
        by_model, partial(nb.causal.SCM, models="linear", n_draws=N_DRAWS)
    ),
    DOWHY: by_dowhy,
}


@cache
def installed() -> bool:
    """Whether DoWhy is there; says so once if it is not."""
    found = find_spec("dowhy") is not None
    if not found:
        print(f"{DOWHY} is skipped, as it is not installed: pip install dowhy.", file=sys.stderr)
    return found
