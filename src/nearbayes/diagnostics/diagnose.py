"""Diagnose: ask all questions about a posterior, the cheap ones unless more are asked for."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nearbayes.core.data import as_data
from nearbayes.core.posterior import Posterior
from nearbayes.diagnostics import (
    drift,
    efficiency,
    enough_draws,
    excess_error,
    forecast,
    given_tasks,
    horizon,
    imputed_noise,
    posterior_ranks,
    stability,
)
from nearbayes.diagnostics.diagnosis import NOT_ASKED, Diagnosis, Line
from nearbayes.diagnostics.redrawing import Draw, same_method
from nearbayes.diagnostics.refitting import CannotTellError, Case
from nearbayes.execution.executor import in_one_line
from nearbayes.methods.tracing import predicts

__all__ = ["CHECKS", "Checks", "diagnose"]

Checks = Literal["default", "all"] | Sequence[str]
FEWEST_DRAWS = 8
OF_DRAWS = (drift.NAME, horizon.NAME, enough_draws.NAME)
OF_ROWS = (imputed_noise.NAME, stability.NAME, efficiency.NAME, excess_error.NAME)
LONG = (posterior_ranks.NAME,)
CHECKS = (*OF_DRAWS, *OF_ROWS, forecast.NAME, *LONG)


def diagnose(
    posterior: Posterior,
    data: Any = None,
    *,
    checks: Checks = "default",
    precision: float = 0.1,
    at: Sequence[float] | float = forecast.USUAL_ROWS,
    draw: Draw | None = None,
    algorithm: Any = None,
    tasks: Sequence[tuple[Any, Any, Any]] | None = None,
    random_state: Any = None,
) -> Diagnosis:
    """Say whether draws can be trusted, and if not, why not and what to do.

    Parameters
    ----------
    posterior : Posterior
    data : (X, y) or Data, optional
        The rows that the posterior was drawn from; without them, only questions that the draws
        answer alone are asked.
    checks : "default", "all" or names of lines
        "default" takes some 40 fits, most of them to a part of the rows. "all" also draws 20
        posteriors of simulated data sets, which takes several times as long as the posterior did.
    precision : float
        Wanted relative error of the width of an interval.
    at : float, int or sequence of them
        Where to forecast: floats are multiples of n, integers are rows.
    draw : callable, optional
        ``draw(algorithm, data, n_draws=..., random_state=..., progress=False)`` draws a posterior
        as this one was drawn; by default the method of its provenance, with urn inputs.
    algorithm : Algorithm, optional
        What fits, for a posterior that was loaded from a file that holds what predicts alone.
    tasks : sequence of (X, y, truth), optional
        Tasks like this one whose truth is known: the mean of y at the rows of X, or the class
        probabilities. The excess error is then that on these tasks, which takes a posterior of 20
        draws for each, and not that on tasks simulated from the draws.
    random_state : None, int, numpy Generator, RandomState or SeedSequence
        By default the seed of the posterior, so that a diagnosis can be repeated.

    Examples
    --------
    >>> import nearbayes as nb
    >>> rng = np.random.default_rng(0)
    >>> coin = nb.SequentialMLE(nb.families.Bernoulli())
    >>> posterior = nb.martingale_posterior(coin, rng.integers(2, size=60), random_state=0)
    >>> found = posterior.diagnose()
    >>> found.warns, found["draws"].status
    (False, 'good')
    """
    started = time.perf_counter()
    asked = _checked(checks)
    _check_precision(precision)
    forecast.rows_of(at, posterior.provenance.n)
    _check_draws(posterior)
    seed = posterior.provenance.seed if random_state is None else random_state
    case = None if data is None else Case.of(posterior, as_data(data), seed, algorithm)
    known = None
    if tasks is not None:
        if case is None:
            raise ValueError("tasks need the rows of the fit: diagnose((X, y), tasks=tasks).")
        known = given_tasks.checked_tasks(tasks, case)
    asking = _Asking(posterior, case, precision, at, draw, known)
    lines = tuple(_asked(asking, name) for name in asked)
    if checks == "default":
        lines += tuple(Line(name, "unknown", NOT_ASKED) for name in LONG)
    return Diagnosis(lines, time.perf_counter() - started)


@dataclass(frozen=True)
class _Asking:
    """What all questions share."""

    posterior: Posterior
    case: Case | None
    precision: float
    at: Sequence[float] | float
    draw: Draw | None
    tasks: list[given_tasks.Task] | None = None

    def line(self, name: str) -> Line:
        """The answer to one question."""
        posterior, case, reason = self.posterior, self.case, self._no_rows()
        of_draws: dict[str, Callable[[], Line]] = {
            drift.NAME: lambda: drift.drift_line(posterior),
            horizon.NAME: lambda: horizon.horizon_line(posterior),
            enough_draws.NAME: lambda: enough_draws.draws_line(posterior, self.precision),
            forecast.NAME: lambda: forecast.forecast_line(
                posterior, None if reason else case, self.at
            ),
        }
        if name in of_draws:
            return of_draws[name]()
        if case is None or reason:
            return Line(name, "unknown", reason)
        of_rows: dict[str, Callable[[Case], Line]] = {
            imputed_noise.NAME: imputed_noise.noise_line,
            stability.NAME: stability.stability_line,
            efficiency.NAME: efficiency.efficiency_line,
            excess_error.NAME: excess_error.excess_line,
        }
        if name == excess_error.NAME and self.tasks is not None:
            return given_tasks.given_line(case, self.tasks, self.redraw)
        if name in of_rows:
            return of_rows[name](case)
        return posterior_ranks.calibration_line(case, self.redraw)

    @property
    def redraw(self) -> Draw:
        """What draws posteriors of other rows."""
        return same_method(self.posterior.provenance) if self.draw is None else self.draw

    def _no_rows(self) -> str:
        """Why questions about rows cannot be asked; empty if they can."""
        if self.case is None:
            return "Needs the rows: diagnose((X, y)), or model.diagnose(X, y)."
        if self.case.data.table is None or not predicts(self.case.algorithm):
            return "Only for algorithms that predict at inputs."
        if len(self.case.data.y) < FEWEST_ROWS:
            return f"At least {FEWEST_ROWS} rows are needed, got {len(self.case.data.y)}."
        return ""


FEWEST_ROWS = 20


def _asked(asking: _Asking, name: str) -> Line:
    """A line; without an answer, and with the reason, if a refit fails."""
    try:
        with warnings.catch_warnings():  # the fit has given them already
            warnings.simplefilter("ignore")
            return asking.line(name)
    except CannotTellError as reason:
        return Line(name, "unknown", str(reason))
    except Exception as error:
        return Line(name, "unknown", f"No answer: {in_one_line(error)}")


def _checked(checks: Checks) -> tuple[str, ...]:
    if isinstance(checks, str) and checks == "default":
        return tuple(name for name in CHECKS if name not in LONG)
    if isinstance(checks, str) and checks == "all":
        return CHECKS
    names: tuple[Any, ...] = (checks,)
    if isinstance(checks, Iterable) and not isinstance(checks, str):
        names = tuple(dict.fromkeys(checks))
    if not names or any(name not in CHECKS for name in names):
        known = ", ".join(map(repr, CHECKS))
        raise ValueError(f"checks must be 'default', 'all' or some of {known}, got {checks!r}.")
    return names


def _check_precision(precision: Any) -> None:
    if not isinstance(precision, int | float | np.number) or not 0 < precision < 1:
        raise ValueError(f"precision must be between 0 and 1, such as 0.1, got {precision!r}.")


def _check_draws(posterior: Posterior) -> None:
    if len(posterior) < FEWEST_DRAWS:
        raise ValueError(
            f"a diagnosis needs at least {FEWEST_DRAWS} draws, got {len(posterior)}: draw again "
            "with a larger n_draws."
        )
