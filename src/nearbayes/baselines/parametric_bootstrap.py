"""Parametric bootstrap: refit on n rows imputed from the first fit, real rows discarded.

Section 4 of the paper: Algorithm 1 with Δn = N = n, without the original data set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nearbayes.core.data import Block, Data, Rows, as_data
from nearbayes.core.engine import FirstFit, checked_inputs, draw_posterior
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Algorithm, Inputs, Model, Rng
from nearbayes.core.run import Run

__all__ = ["parametric_bootstrap"]


def parametric_bootstrap(
    algorithm: Algorithm, data: Any, *, inputs: Inputs | str | None = None, **run: Any
) -> Posterior:
    """Draw by the parametric bootstrap: each draw is fitted to n rows imputed from the first fit.

    Parameters
    ----------
    algorithm : Algorithm
    data : Data, pair (X, y), or array of observations
    inputs : Inputs or str, optional
        Where imputed x come from; default a Polya urn over the real inputs.
    **run : n_draws, random_state, n_jobs, on_error, progress
        As in `nearbayes.martingale_posterior`.
    """
    observed = as_data(data)
    sampler = checked_inputs(inputs, observed)
    prepared = observed if sampler is None else sampler.prepare(observed)
    path = _ParametricBootstrapPath(sampler)
    return draw_posterior(algorithm, prepared, path, Run(**run), method="parametric_bootstrap")


@dataclass(frozen=True)
class _ParametricBootstrapPath:
    inputs: Inputs | None

    def __call__(self, algorithm: Algorithm, data: Data, first: FirstFit, rng: Rng) -> Model:
        size = round(data.n)
        x = (
            Rows.without_inputs(size)
            if self.inputs is None
            else self.inputs.sample(data, size, rng)
        )
        y = algorithm.sample(first(), x, rng)
        return algorithm.fit(data.replaced_by(Block(x, y, size), algorithm.accepts_counts), rng)
