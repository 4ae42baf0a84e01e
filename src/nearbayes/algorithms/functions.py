"""Functions: any pair of fit and sample as an algorithm, for black boxes, services, command lines.

`examples/command_line.py` wraps a command-line program this way.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.data import Data, Rows
from nearbayes.core.protocols import Algorithm, Model, Rng, Traits
from nearbayes.core.schedule import captured
from nearbayes.tables.table import Table

__all__ = ["FunctionAlgorithm", "algorithm"]


def algorithm(
    fit: Callable[..., Model],
    sample: Callable[..., Any],
    *,
    predict: Callable[[Model, Table], Any] | None = None,
    randomised: bool = False,
    fully_bayesian: bool = False,
) -> FunctionAlgorithm:
    """Make an algorithm from two functions.

    Parameters
    ----------
    fit : callable
        ``fit(x, y)`` returns a model; ``fit(z)`` for data without inputs. With `randomised` it also
        gets the keyword `rng`.
    sample : callable
        ``sample(model, x, rng)`` returns one y per row of x; ``sample(model, size, rng)`` returns
        `size` observations for data without inputs. `rng` is a `numpy.random.Generator`.
    predict : callable, optional
        ``predict(model, x)``, so that the posterior can predict.
    randomised : bool
        Whether `fit` is random.
    fully_bayesian : bool
        Whether `fit` is a sampler that returns one draw from the posterior of its rows. It also
        gets `rng`. Its martingale posterior is that posterior for any schedule (remark in section
        4), so draws are not inflated; see `examples/sampler_as_algorithm.py`.

    Examples
    --------
    The posterior of a median, under a normal model with unit variance:

    >>> import nearbayes as nb
    >>> median = nb.algorithm(
    ...     fit=lambda z: np.median(z), sample=lambda m, size, rng: rng.normal(m, 1.0, size))
    >>> z = np.random.default_rng(0).normal(size=50)
    >>> posterior = nb.martingale_posterior(median, z, n_draws=20, random_state=0)
    >>> posterior.apply(float).values.shape
    (20,)
    """
    for name, function in (("fit", fit), ("sample", sample), ("predict", predict)):
        if not callable(function) and (name != "predict" or function is not None):
            raise TypeError(f"{name} must be a function, got {function!r}.")
    for name, flag in (("randomised", randomised), ("fully_bayesian", fully_bayesian)):
        if not isinstance(flag, bool | np.bool_):
            raise TypeError(f"{name} must be True or False, got {flag!r}.")
    if (randomised or fully_bayesian) and not _takes_rng(fit):
        why = "fully_bayesian" if fully_bayesian else "randomised"
        raise TypeError(
            f"fit must take the keyword rng with {why}=True, got a function without it: add the "
            "parameter rng and draw all random numbers from it."
        )
    return FunctionAlgorithm(fit, sample, predict, randomised or fully_bayesian, fully_bayesian)


def _takes_rng(function: Callable[..., Any]) -> bool:
    """Tell whether a function can be called with the keyword rng; one that does not say, may."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some compiled functions
        return True
    named = {each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY}
    return "rng" in named or any(each.kind is each.VAR_KEYWORD for each in parameters)


@dataclass(frozen=True)
class FunctionAlgorithm(Algorithm):
    """The algorithm returned by `algorithm`: every refit is a fit on real and imputed rows."""

    fit_function: Callable[..., Model]
    sample_function: Callable[..., Any]
    predict_function: Callable[[Model, Table], Any] | None = None
    randomised: bool = False
    fully_bayesian: bool = False

    @property
    def traits(self) -> Traits:
        """Plain repeated rows; random if declared by the user."""
        share = _everything if self.fully_bayesian else captured
        return Traits(randomised=self.randomised, captured=share)

    def fit(self, data: Data, rng: Rng) -> Model:
        """Call the user's fit."""
        rows = data if data.count is None else data.repeat()
        arguments = (rows.y,) if rows.table is None else (rows.x, rows.y)
        return self.fit_function(*arguments, **({"rng": rng} if self.randomised else {}))

    def sample(self, model: Model, x: Rows, rng: Rng) -> NDArray[Any]:
        """Call the user's sample and check the number of values."""
        y = np.asarray(self.sample_function(model, len(x) if x.table is None else x.values, rng))
        if y.shape[:1] != (len(x),):
            raise ValueError(f"sample must return {len(x)} values, got shape {y.shape}.")
        return y

    def predict(self, model: Model, x: Table) -> NDArray[np.float64]:
        """Call the user's predict."""
        if self.predict_function is None:
            raise TypeError(
                "this algorithm has no predict: pass predict= to nearbayes.algorithm, "
                "or use posterior.apply(function)."
            )
        return np.asarray(self.predict_function(model, x))


def _everything(n: float, blocks: Sequence[int]) -> float:
    """The first fit of a sampler already has the full spread of the posterior."""
    return 1.0


def example() -> tuple[FunctionAlgorithm, Data]:
    """The mean of normal outcomes, and data for it."""
    rng = np.random.default_rng(7)
    return FunctionAlgorithm(_mean, _around), Data.of(rng.normal(size=(60, 3)), rng.normal(size=60))


def _mean(x: Table, y: NDArray[Any]) -> float:
    return float(np.mean(y))


def _around(model: float, x: Table, rng: Rng) -> NDArray[np.float64]:
    return rng.normal(model, 1.0, len(x))
