"""Methods for networks: posteriors of the same regressor, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import nearbayes as nb
from nearbayes.core.data import Data

ENSEMBLE, BOOTSTRAP = "ensemble", "bootstrap"
MARTINGALE, GAUSS_NEWTON = "martingale", "martingale, gauss-newton"
NOISY = "anchored, noise on y"
METHODS = (
    *(ENSEMBLE, BOOTSTRAP, "parametric_bootstrap", "anchored", NOISY, "ntkgp"),
    *(MARTINGALE, GAUSS_NEWTON),
)


class NoisyPosterior(nb.PosteriorRegressor):  # type: ignore[misc]
    """The anchored ensemble with noise added to y, an option of the algorithm alone."""

    def _fit_posterior(self, algorithm: Any, data: Data, predict_on: Any = None) -> None:
        super()._fit_posterior(replace(algorithm, noisy_outcomes=True), data, predict_on)


def posterior_regressor(
    method: str, n_draws: int, seed: int, network: dict[str, Any] | None = None
) -> nb.PosteriorRegressor:
    """The posterior of a method, not fitted and not calibrated.

    Parameters
    ----------
    method : str
        One of METHODS.
    n_draws, seed : int
    network : dict, optional
        Settings of the network that are not the default ones.
    """
    refit_by = "gauss-newton" if method == GAUSS_NEWTON else "proximal"
    kind = NoisyPosterior if method == NOISY else nb.PosteriorRegressor
    return kind(
        nb.neural.MLPRegressor(refit_by=refit_by, **(network or {})),
        method=method.partition(",")[0],
        n_draws=n_draws,
        calibration=None,
        n_jobs=1,
        random_state=seed,
        on_error="raise",
        progress=False,
    )
