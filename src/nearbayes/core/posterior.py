"""Posterior: the draws, with what is needed to use them and to say where they came from."""

from __future__ import annotations

import html
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearbayes.core.lifting import as_chunks
from nearbayes.core.protocols import ChunkAlgorithm
from nearbayes.draws.calibration import Calibration
from nearbayes.draws.credible import Link, check_link, start_of
from nearbayes.draws.functional import Functional, KnownTruths, Spread, named_values_of
from nearbayes.draws.inference_data import Coordinates
from nearbayes.draws.path_trace import Trace
from nearbayes.execution.progress import in_words
from nearbayes.registry import resolved
from nearbayes.tables.table import Table, TablePrint, as_table

__all__ = ["FailedDraw", "Posterior", "Provenance", "installed_versions"]


@dataclass(frozen=True)
class FailedDraw:
    """A draw that failed: which one, what was said, and where."""

    index: int
    error: str
    traceback: str


def installed_versions(*packages: str) -> dict[str, str]:
    """Versions of Python and of the packages that the draws depend on.

    Examples
    --------
    >>> sorted(installed_versions())
    ['joblib', 'nearbayes', 'numpy', 'python', 'scikit-learn', 'scipy']
    """
    names = ("nearbayes", "numpy", "scipy", "scikit-learn", "joblib", *packages)
    return {"python": platform.python_version()} | {name: _installed(name) for name in names}


@cache  # reading the metadata of five packages takes as long as a short run
def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # a module of a distribution with another name
        return getattr(sys.modules.get(package), "__version__", "unknown")


@dataclass(frozen=True)
class Provenance:
    """Where draws came from: enough to make them again.

    Attributes
    ----------
    method : str
        "martingale", "bootstrap", "parametric_bootstrap" or "ensemble".
    seed : int
        Pass it as `random_state` to make the same draws again.
    n : float
        Number of real rows, sample weights included.
    n_draws : int
        Draws asked for; finished ones are counted by ``len(posterior)``.
    schedule : str
    blocks : tuple of int
        Rows imputed before each refit, as used.
    captured, inflation : float
        See `nearbayes.Schedule`.
    seconds : dict
        "first_fit", "total" and "per_draw" (median).
    interrupted : bool
    finished : tuple of int
        Numbers of the draws that are there; see `Run.resume`.
    versions : dict
    """

    method: str
    seed: int
    n: float
    n_draws: int
    schedule: str = "none"
    blocks: tuple[int, ...] = ()
    captured: float = 0.0
    inflation: float = 1.0
    seconds: dict[str, float] = field(default_factory=dict)
    interrupted: bool = False
    finished: tuple[int, ...] = ()
    versions: dict[str, str] = field(default_factory=installed_versions)

    @property
    def origin(self) -> dict[str, str | float]:
        """The same in a few words and numbers, for files of other libraries.

        The seed is text, as it may be too large for the integers of such a file.
        """
        return {
            "inference_library": "nearbayes",
            "inference_library_version": self.versions["nearbayes"],
            "method": self.method,
            "seed": str(self.seed),
            "n": self.n,
            "schedule": self.schedule,
            "captured": self.captured,
        }


@dataclass(frozen=True, eq=False)
class Posterior:
    r"""Draws from a martingale posterior, or from a baseline (the paper's :math:`\hat p_{mp}`).

    Draws are independent: their Monte Carlo error is sd / sqrt(K), and there is no R-hat or
    effective sample size to look at.

    Attributes
    ----------
    algorithm : Algorithm
    models : sequence
        The final model of each finished draw, as the algorithm keeps it.
    first : object
        The first fit: the model without uncertainty.
    provenance : Provenance
    failed : tuple of FailedDraw
    kept_at : table, optional
        Where draws can predict, if nothing else is kept of them.
    calibration : Calibration, optional
        What simulated data sets say about intervals of predictions.
    truths : KnownTruths, optional
        The simulated data sets themselves, to calibrate other quantities.
    trace : Trace, optional
        A few quantities along the paths of the first draws, for `diagnose`.

    Examples
    --------
    >>> import nearbayes as nb
    >>> z = np.random.default_rng(0).normal(size=100)
    >>> posterior = nb.martingale_posterior(
    ...     nb.SequentialMLE(nb.families.Gaussian(1.0)), z, n_draws=500, random_state=0)
    >>> mean = posterior.apply(lambda theta: theta[0])
    >>> bool(abs(mean.std - 0.1) < 0.02)
    True
    """

    algorithm: Any
    models: Sequence[Any]
    first: Any
    provenance: Provenance
    failed: tuple[FailedDraw, ...] = ()
    kept_at: Table | TablePrint | None = None
    calibration: Calibration | None = None
    truths: KnownTruths | None = None
    trace: Trace | None = None

    def __len__(self) -> int:
        return len(self.models)

    @property
    def chunks(self) -> ChunkAlgorithm:
        """The algorithm with verbs for many draws at once."""
        return as_chunks(self.algorithm, self.kept_at)

    @property
    def draws(self) -> Sequence[Any]:
        """The draws as the user knows them: fitted estimators, parameter vectors, ..."""
        reveal = self.chunks.reveal
        on_disk = getattr(self.models, "mapped", None)  # they are made when they are asked for
        return [reveal(model) for model in self.models] if on_disk is None else on_disk(reveal)

    @property
    def inflation(self) -> float:
        """Factor for standard deviations that makes up for a truncated schedule (App. C)."""
        return self.provenance.inflation

    @property
    def spread(self) -> Spread:
        """How intervals of predictions are spread by default: see `Functional.spread`."""
        if self.calibration is not None:
            return "calibrated"
        return "raw" if self.inflation == 1 else "inflated"

    @property
    def link(self) -> Link:
        """Scale on which predictions are spread, such as the log-odds of probabilities."""
        return self.chunks.traits.link

    @property
    def start(self) -> float:
        """Half an observation: what the log-odds of probabilities are started with."""
        return 0.5 / self.provenance.n

    def predict(self, X: Table) -> NDArray[np.float64]:
        """Predict with every draw, as it is.

        The draws differ less than intervals say; ``predictions(X).adjusted()`` gives them spread
        as far as intervals reach.

        Returns
        -------
        array of shape (n_draws, n_rows), (n_draws, n_rows, n_outputs) or, for class
        probabilities, (n_draws, n_rows, n_classes)
        """
        return self.predictions(X).values

    def predictions(self, X: Table) -> Functional:
        """Predictions of every draw, as a functional with mean, sd and intervals."""
        values = self.chunks.predict(self.models, as_table(X))
        return replace(self.of_predictions(values), coordinates=self._coordinates(values))

    def of_predictions(self, values: NDArray[np.float64]) -> Functional:
        """Draws of predictions, or of means of them, shape (n_draws, ...), as a functional."""
        return Functional(
            values,
            self.inflation,
            self.link,
            self.provenance.origin,
            start=self.start,
            calibration=self.calibration,
        )

    def predictives(self, X: Table) -> list[Any]:
        """Distribution of y at each row, one per draw; see `nearbayes.predictives`."""
        return self.chunks.predictives(self.models, as_table(X))

    def _coordinates(self, values: NDArray[np.float64]) -> Coordinates:
        """Name and labels of the axes of predictions: rows, then classes or outputs."""
        rows = {"row": range(values.shape[1])}
        if values.ndim == 2:
            return rows
        classes = self.chunks.traits.classes
        if classes is None:
            return {**rows, "output": range(values.shape[2])}
        return {**rows, "class": np.asarray(classes).tolist()}

    def apply(self, function: Callable[[Any], Any], *, link: Link = "identity") -> Functional:
        """Draws of any functional of the model: importances, coefficients, thresholds, ...

        If simulated data sets were kept (`truths`), its intervals are calibrated on them; that
        takes the function of some 70 further models.

        Parameters
        ----------
        function : callable
            Takes one draw (the fitted estimator, or the parameter vector), returns a number, an
            array of fixed shape, or a dictionary of these; a dictionary becomes one vector, whose
            entries have the names of its keys.
        link : "identity", "log" or "logit"
            Scale on which draws are spread: "log" for positive quantities, "logit" for
            probabilities.
        """
        if self.kept_at is not None:
            raise ValueError(
                "functionals need models, but only predictions of the draws were kept: fit without "
                "predict_on."
            )
        (values, names), origin = named_values_of(function, self.draws), self.provenance.origin
        check_link(link, values)
        labels = None if names is None else {"entry": names}
        start = start_of(link, values, self.start)
        found = Functional(values, self.inflation, link, origin, labels, start=start)
        return found if self.truths is None else self.truths.calibrated(function, found)

    def interval(
        self, X: Table, coverage: float | Sequence[float] = 0.9, *, spread: Spread | None = None
    ) -> NDArray[np.float64]:
        """Credible interval of the prediction (not of a new y).

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        coverage : float or sequence of float
        spread : "raw", "inflated" or "calibrated", optional
            By default the property `spread`, the best that is known: calibrated by simulation, or
            inflated for truncation.

        Returns
        -------
        array of shape (n_rows, 2), (n_rows, 2, n_levels), or with the outputs or classes after
        the rows
        """
        return self.predictions(X).interval(coverage, spread=spread)

    def summary(self) -> str:
        """Say in a few lines what was done and what came of it."""
        return "\n".join(f"{label}: {words}" for label, words in self._told())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
            f"<td style='text-align:left'>{html.escape(words)}</td></tr>"
            for label, words in self._told()
        )
        return f"<table><caption>nearbayes posterior</caption><tbody>{rows}</tbody></table>"

    def _told(self) -> Iterator[tuple[str, str]]:
        """The lines of the summary: label and words."""
        source, seconds = self.provenance, self.provenance.seconds
        rows = f"{source.n:.1f}".removesuffix(".0")
        method = source.method.replace("_", " ")
        yield (
            "draws",
            f"{len(self)} of {source.n_draws} {method} draws from {rows} rows (seed {source.seed})",
        )
        if source.blocks:
            yield (
                "each draw",
                f"{len(source.blocks)} refits on {sum(source.blocks)} imputed rows "
                f"({source.schedule}); draws show {source.captured:.0%} of the variance of the "
                f"posterior, so intervals are widened by the factor {source.inflation:.2f}",
            )
        if self.calibration is not None:
            yield "intervals", f"calibrated on {self.calibration.words(len(self))}"
        if "total" in seconds:
            yield "time", self._time()
        for failure in self.failed:
            yield f"draw {failure.index} failed", failure.error
        if source.interrupted:
            yield "interrupted", "the draws finished by then were kept"

    def _time(self) -> str:
        seconds = self.provenance.seconds
        words = (
            f"{in_words(seconds['total'])} for the draws (first fit "
            f"{in_words(seconds['first_fit'])}, one draw {in_words(seconds['per_draw'])})"
        )
        if self.calibration is not None and self.calibration.seconds > 0:
            words += f", {in_words(self.calibration.seconds)} for calibration (all processes)"
        return words

    def diagnose(self, data: Any = None, **options: Any) -> Any:
        """Say whether these draws can be trusted, and if not, why not and what to do.

        Parameters
        ----------
        data : (X, y) or Data, optional
            The rows that the posterior was drawn from, for questions that need them.
        **options : checks, precision, at, draw, random_state
            See `nearbayes.diagnostics.diagnose`.

        Returns
        -------
        Diagnosis
            A table when printed; ``.verdict``, ``.warns``, ``.to_frame()`` and lines by name.
        """
        return resolved("nearbayes.diagnostics:diagnose")(self, data, **options)

    def save(self, path: Any, **options: Any) -> Path:
        """Save the draws as one file, which `nearbayes.load` reads without running code.

        Parameters
        ----------
        path : path
        **options : thin, max_megabytes, trusted
            As in `nearbayes.PosteriorClassifier.save`.
        """
        save = resolved("nearbayes.files.posterior_file:save_posterior")
        return save(self, path, **options)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<Posterior: {len(self)} {self.provenance.method} draws>"
