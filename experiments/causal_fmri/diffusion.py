"""Diffusion models of the effect given the cause, by method of posterior."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import nearbayes as nb
from experiments.causal_fmri.data import Array

CAUSE, EFFECT = "cause", "effect"
N_DRAWS, N_PER_DRAW = 16, 64  # 1,024 values of y for every x


def by_diffusion(method: str, x_train: Array, y_train: Array, x_test: Array, seed: int) -> Array:
    """Samples of all draws, with the library's defaults."""
    model = nb.causal.DiffusionSCM(
        [(CAUSE, EFFECT)],
        method=method,  # type: ignore[arg-type]
        n_draws=N_DRAWS,
        random_state=seed,
        progress=False,
    ).fit({CAUSE: x_train, EFFECT: y_train})
    tiled = np.tile(x_test, N_PER_DRAW)
    samples = model.sample({CAUSE: lambda x: np.broadcast_to(tiled, x.shape)}, len(tiled), seed)
    return np.asarray(samples[EFFECT]).reshape(-1, len(x_test))


DIFFUSION: dict[str, Callable[[Array, Array, Array, int], Array]] = {
    f"diffusion, {method}": partial(by_diffusion, method)
    for method in ("ensemble", "bootstrap", "parametric_bootstrap", "ntkgp", "martingale")
}
