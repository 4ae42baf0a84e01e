"""Methods for networks: posteriors of the same regressor, by name."""

from __future__ import annotations

from typing import Any

import nearbayes as nb

ENSEMBLE, BOOTSTRAP = "ensemble", "bootstrap"
MARTINGALE, GAUSS_NEWTON = "martingale", "martingale, gauss-newton"
NOISY = "anchored, noise on y"
METHODS = (
    *(ENSEMBLE, BOOTSTRAP, "parametric_bootstrap", "anchored", NOISY, "ntkgp"),
    *(MARTINGALE, GAUSS_NEWTON),
)


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
    settings = {"refit_by": refit_by, "noisy_outcomes": method == NOISY, **(network or {})}
    return nb.PosteriorRegressor(
        nb.neural.MLPRegressor(**settings),
        method=method.partition(",")[0],
        n_draws=n_draws,
        calibration=None,
        n_jobs=1,
        random_state=seed,
        on_error="raise",
        progress=False,
    )
