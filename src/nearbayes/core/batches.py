"""Batches: Algorithm 1 for families where all draws advance in one program.

With `n_jobs`, draws that have inputs of their own are parted among threads, each of which advances
its part so: compiled programs run side by side.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import joblib
import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from nearbayes.core.data import Block, Data, Rows, finite
from nearbayes.core.executor import one_thread
from nearbayes.core.posterior import Posterior, Provenance, installed_versions
from nearbayes.core.protocols import (
    BatchedAlgorithm,
    BatchedPaths,
    Finishes,
    Inputs,
    Model,
    Prepares,
    Rng,
)
from nearbayes.core.run import Run
from nearbayes.core.seeds import Seeds

__all__ = ["batched_posterior", "paths_posterior"]


def batched_posterior(
    algorithm: BatchedAlgorithm, data: Data, blocks: Sequence[int], run: Run
) -> Posterior:
    """Make all draws in one program; only the models are kept between refits."""
    _refuse_resume(run)
    started = time.perf_counter()
    seeds = Seeds(run.random_state)
    rng = seeds.shared()
    models = algorithm.fit_batch(data, run.n_draws, rng)
    first, first_seconds = models[0], time.perf_counter() - started
    total = data.n
    for size in blocks:
        total += size
        x = Rows.without_inputs(size)
        new = Block(x, algorithm.sample_batch(models, x, rng), total)
        models = algorithm.refit_batch(data, new, models, rng)
    provenance = _provenance(seeds, data, run, first_seconds, time.perf_counter() - started)
    return Posterior(algorithm, models, first, provenance)


def paths_posterior(
    algorithm: BatchedPaths, data: Data, inputs: Inputs, blocks: Sequence[int], run: Run
) -> Posterior:
    """Make all draws in one program for each of `n_jobs` threads, along inputs of their own."""
    _refuse_resume(run)
    started = time.perf_counter()
    seeds = Seeds(run.random_state)
    if isinstance(algorithm, Prepares):
        algorithm, data = algorithm.prepare(data, seeds.shared())  # type: ignore[assignment]
    rngs = [seeds.draw(k) for k in range(run.n_draws)]
    with one_thread():
        models = algorithm.fit_paths(data, [seeds.first_fit(k) for k in range(run.n_draws)])
        first, first_seconds = models[0], time.perf_counter() - started
        parts = Parallel(n_jobs=run.n_jobs, require="sharedmem")(
            delayed(_advanced)(algorithm, data, models[part], inputs, blocks, rngs[part])
            for part in _parts(run)
        )
    spent = (first_seconds / run.n_draws, time.perf_counter() - started)
    provenance = replace(
        _provenance(seeds, data, run, *spent),
        finished=tuple(range(run.n_draws)),
        versions=installed_versions(*getattr(algorithm, "packages", ())),
    )
    draws = [_kept(algorithm, part[k]) for part in parts for k in range(len(part))]
    return Posterior(algorithm, draws, first, provenance)


def _parts(run: Run) -> list[slice]:
    """Draws of each thread, as equal in number as can be: every number is compiled for."""
    n_parts = min(joblib.effective_n_jobs(run.n_jobs), run.n_draws)
    ends = np.linspace(0, run.n_draws, n_parts + 1).round().astype(int).tolist()
    return [slice(*ends[k : k + 2]) for k in range(n_parts)]


def _advanced(
    algorithm: BatchedPaths,
    data: Data,
    models: Sequence[Model],
    inputs: Inputs,
    blocks: Sequence[int],
    rngs: Sequence[Rng],
) -> Sequence[Model]:
    """Impute, refit, repeat (Algorithm 1, step 2), for all draws at once."""
    grown = [data] * len(rngs)
    for size in blocks:
        x = [inputs.sample(each, size, rng) for each, rng in zip(grown, rngs, strict=True)]
        y = finite(algorithm.sample_paths(models, x, rngs))
        total = grown[0].size + size
        new = [Block(rows, outcomes, total) for rows, outcomes in zip(x, y, strict=True)]
        grown = [
            each.extend(block, algorithm.accepts_counts)
            for each, block in zip(grown, new, strict=True)
        ]
        models = algorithm.refit_paths(grown, new, models, rngs)
    return models


def _provenance(seeds: Seeds, data: Data, run: Run, first: float, total: float) -> Provenance:
    """Where draws that were made together came from; seconds of a first fit, and of all."""
    seconds = {"first_fit": first, "per_draw": total / run.n_draws, "total": total}
    return Provenance("martingale", seeds.entropy, data.n, run.n_draws, seconds=seconds)


def _kept(algorithm: BatchedPaths, model: Model) -> Model:
    return algorithm.finish(model) if isinstance(algorithm, Finishes) else model


def _refuse_resume(run: Run) -> None:
    if run.resume is not None:
        raise ValueError("resume is for draws made one by one; these are made at once: leave it.")
