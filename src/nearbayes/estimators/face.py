"""Face: the scikit-learn interface shared by the posterior classifier and regressor."""

from __future__ import annotations

import copy
import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from nearbayes import baselines
from nearbayes.core.data import Data
from nearbayes.core.engine import DrawWarning
from nearbayes.core.lifting import as_chunks
from nearbayes.core.posterior import Posterior
from nearbayes.core.protocols import Inputs, Traits
from nearbayes.core.schedule import Schedule
from nearbayes.diagnostics.diagnose import diagnose
from nearbayes.diagnostics.diagnosis import Diagnosis
from nearbayes.draws.calibration import Calibration
from nearbayes.draws.credible import Link
from nearbayes.draws.functional import Functional
from nearbayes.estimators.calibration import (
    CalibrationError,
    calibrated,
    differ,
    simulation_plan,
)
from nearbayes.estimators.quick import QUICK_DRAWS, is_quick, quick_schedule
from nearbayes.estimators.saving import save
from nearbayes.estimators.simulated import MOST_BYTES
from nearbayes.estimators.tuning import choose_schedule
from nearbayes.execution.digest import digest
from nearbayes.execution.interrupts import stoppable
from nearbayes.execution.progress import followed_by
from nearbayes.execution.stores import within
from nearbayes.fits.estimator_fit import unfitted
from nearbayes.methods.martingale import martingale_posterior
from nearbayes.registry import resolved
from nearbayes.tables.row_prints import RowPrints
from nearbayes.tables.table import Table, as_table
from nearbayes.telling import warn

__all__ = ["Method", "PosteriorEstimator"]

Method = Literal["martingale", "bootstrap", "parametric_bootstrap", "ensemble", "anchored", "ntkgp"]
METHODS = get_args(Method)
SAME_ROWS = 0.9  # with at least this share of the fit's rows, rows are taken to be those


@dataclass(frozen=True)
class Drawing:
    """A method with its settings: draws posteriors of any algorithm and data."""

    method: Method
    inputs: Inputs | str
    schedule: Schedule | None = None

    def __call__(self, algorithm: Any, data: Data, **run: Any) -> Posterior:
        """Draw a posterior."""
        if self.method == "martingale":
            return martingale_posterior(
                algorithm, data, schedule=self.schedule, inputs=self.inputs, **run
            )
        if self.method == "parametric_bootstrap":
            return baselines.parametric_bootstrap(algorithm, data, inputs=self.inputs, **run)
        return getattr(baselines, self.method)(algorithm, data, **run)  # type: ignore[no-any-return]


class PosteriorEstimator(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Shared by `PosteriorClassifier` and `PosteriorRegressor`; not for direct use."""

    @abstractmethod
    def _base_estimator(self) -> Any:
        """The user's estimator, or the default."""

    @abstractmethod
    def _algorithm(self, fit_params: dict[str, Any]) -> Any:
        """The algorithm, before it has seen data."""

    @abstractmethod
    def _checked_target(self, y: Any) -> NDArray[Any]:
        """Outcomes in one array, checked."""

    def _fit_posterior(self, algorithm: Any, data: Data, predict_on: Any = None) -> None:
        """Draw the posterior by the chosen method; keep models, or predictions at given rows."""
        keep_at = None if predict_on is None else self._table(predict_on, reset=False)
        if getattr(getattr(algorithm, "fitting", None), "may_change_inputs", False):
            data = copy.deepcopy(data)  # the user's is not changed
        self.row_prints_ = RowPrints.of(data.x, data.y)
        with stoppable():  # once stopped, further signals do not lose finished work
            self._draw_and_calibrate(algorithm, data, keep_at)

    def _run(self, part: str) -> dict[str, Any]:
        """How a part of the work is done: draws, or simulated data sets."""
        return {
            "n_jobs": self.n_jobs,
            "on_error": self.on_error,
            "progress": self.progress,
            "executor": self.executor,
            "checkpoint": within(self.checkpoint, part),
            "draw_timeout": self.draw_timeout,
            "draw_memory": self.draw_memory,
        }

    def _draw_and_calibrate(self, algorithm: Any, data: Data, keep_at: Table | None) -> None:
        n_draws = QUICK_DRAWS if self._is_quick else self.n_draws
        run = {"n_draws": n_draws, "random_state": self.random_state, **self._run("draws")}
        drawing = self._drawing(algorithm, data, run)
        if self.warm_start:
            self._check_the_same(algorithm, data)
            if hasattr(self, "posterior_"):
                run["resume"] = self.posterior_
        else:
            self.__dict__.pop("_drawn_from", None)
        wanted = self._wants_calibration(algorithm)
        sets, draws = simulation_plan(n_draws) if wanted and n_draws else (0, 0)
        with followed_by("calibration", sets * draws / n_draws) if sets else nullcontext():
            self.posterior_: Posterior = drawing(algorithm, data, predict_on=keep_at, **run)
        interrupted = self.posterior_.provenance.interrupted  # then the user wants to stop
        if wanted and not interrupted and differ(self.posterior_, data, keep_at):
            most_bytes = MOST_BYTES if keep_at is None else 0
            self.posterior_ = self._calibrated(drawing, data, most_bytes=most_bytes)
        if keep_at is not None:  # calibration was the last to need the first fit as a model
            (first,) = self.posterior_.chunks.finish([self.posterior_.first])
            self.posterior_ = replace(self.posterior_, first=first)

    def _check_the_same(self, algorithm: Any, data: Data) -> None:
        """Refuse to add draws of other data, or of another estimator, to the existing ones."""
        estimator = self._base_estimator()
        params = estimator.get_params() if hasattr(estimator, "get_params") else {}
        noise = getattr(self, "noise", None)
        fit_params = getattr(getattr(algorithm, "fitting", None), "params", {})
        named = type(estimator).__qualname__
        asked = digest([data, named, params, dict(fit_params), self.inputs, noise])
        before = self.__dict__.get("_drawn_from", asked)
        if hasattr(self, "posterior_") and before != asked:
            raise ValueError(
                "warm_start=True adds draws to those of an earlier fit, but X and y, the "
                "estimator, its settings or the arguments of fit are not the same: pass the same "
                "ones, or set warm_start=False to start again."
            )
        self._drawn_from = asked

    def _drawing(self, algorithm: Any, data: Data, run: dict[str, Any]) -> Drawing:
        """The chosen method, with its schedule."""
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}.")
        if self.method == "martingale":
            self.schedule_ = self._chosen_schedule(algorithm, data, run)
            return Drawing(self.method, self.inputs, self.schedule_)
        return Drawing(self.method, self.inputs)

    def _wants_calibration(self, algorithm: Any) -> bool:
        """Whether to calibrate intervals: if requested, or if the learner needs it."""
        if self.calibration not in (None, "auto", "simulation"):
            raise ValueError(
                f"calibration must be None, 'auto' or 'simulation', got {self.calibration!r}."
            )
        if self.calibration == "auto":
            return as_chunks(algorithm).traits.calibrate and not self._is_quick
        return self.calibration is not None

    def calibrate(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_sets: int | None = None
    ) -> Self:
        """Calibrate intervals by simulation, after `fit` with ``calibration=None``.

        Parameters
        ----------
        X, y, sample_weight
            As passed to `fit`.
        n_sets : int, optional
            Number of simulated data sets, two or more; each costs as much as 12 draws. By default
            as many as ``fit`` with ``calibration="simulation"`` uses, 6 for 36 draws or more.
        """
        data = Data.of(self._new_table(X), self._checked_target(y), sample_weight)
        if self.posterior_.kept_at is not None:
            raise ValueError(
                "draws of which only predictions are kept cannot be calibrated later: use "
                "fit(X, y, predict_on=...) with calibration='simulation'."
            )
        self.posterior_ = self._calibrated(self._same_drawing(), data, n_sets=n_sets)
        return self

    @property
    def calibration_(self) -> Calibration | None:
        """Calibration of predictions by simulated data sets; None without any."""
        return self.posterior_.calibration

    def functional(
        self,
        function: Callable[[Any], Any],
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        link: Link = "identity",
    ) -> Functional:
        """Posterior of any functional of the model, with calibrated intervals.

        Importances, partial dependences, differences of predictions, ranks, average effects. Its
        intervals are calibrated on the simulated data sets of `calibration_`: the functional at
        their truth is compared with its posterior in each. The truth predicts (`predict`,
        `predict_proba`, `classes_`) like a fitted estimator. If `function` needs more, such as
        `feature_importances_`, its value at the truth is that of the estimator fitted to many
        outcomes of the truth (so scale quantities that grow with the number of rows, such as counts
        of splits).

        Parameters
        ----------
        function : callable
            Takes a fitted estimator, returns a number or an array of fixed shape.
        X, y, sample_weight : optional
            As passed to `fit`, to simulate data sets again: only needed if they were too large to
            keep (200 MB), or after `calibration=None`. A model from a file has those that
            ``save(path, simulated=True)`` wrote.
        link : "identity", "log" or "logit"
            Scale on which draws are spread: "log" for positive quantities, "logit" for
            probabilities.

        Returns
        -------
        Functional
            Its property `spread` names the kind of its intervals: "calibrated", or "inflated" (only
            for the schedule) if there are no simulated data sets.

        Examples
        --------
        >>> import numpy as np
        >>> import nearbayes as nb
        >>> from sklearn.tree import DecisionTreeRegressor
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> tree = DecisionTreeRegressor(max_depth=2)
        >>> model = nb.PosteriorRegressor(tree, n_draws=10, random_state=0).fit(X, X[:, 0])
        >>> slope = model.functional(lambda fitted: np.diff(fitted.predict([[-1, 0], [1, 0]]))[0])
        >>> slope.interval(0.9).shape, slope.spread
        ((2,), 'calibrated')
        """
        check_is_fitted(self, "posterior_")
        if self.posterior_.kept_at is not None:
            return self.posterior_.apply(function)  # which explains why not
        if X is not None:
            data = Data.of(self._new_table(X), self._checked_target(y), sample_weight)
            known = self._calibrated(self._same_drawing(), data, most_bytes=np.inf)
            return known.apply(function, link=link)
        if self.calibration_ is not None and self.posterior_.truths is None:
            warn(
                "intervals of this functional are inflated, not calibrated, as simulated data sets "
                "were too large to keep or are not in the file: pass X and y, as in fit, to "
                "simulate them again, or save with simulated=True.",
                DrawWarning,
            )
        return self.posterior_.apply(function, link=link)

    def diagnose(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        fit_params: dict[str, Any] | None = None,
        **options: Any,
    ) -> Diagnosis:
        """Check whether intervals can be trusted, and if not, why not and what to do.

        Parameters
        ----------
        X, y, sample_weight
            As passed to `fit`.
        fit_params : dict, optional
            Further arguments that were passed to `fit`, which a model loaded from a file lacks.
        **options : checks, precision, at, random_state
            See `nearbayes.diagnostics.diagnose`: ``checks="all"`` includes the checks that take
            long, `at` is the number of rows to forecast for.

        Examples
        --------
        >>> import numpy as np
        >>> import nearbayes as nb
        >>> from sklearn.neighbors import KNeighborsRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(100, 1))
        >>> y = X[:, 0] + rng.normal(size=100)
        >>> model = nb.PosteriorRegressor(KNeighborsRegressor(1), n_draws=20, random_state=0)
        >>> model.fit(X, y).diagnose(X, y)["stability"].status
        'warning'
        """
        data = Data.of(self._new_table(X), self._checked_target(y), sample_weight)
        prints = getattr(self, "row_prints_", None)
        share = None if prints is None else prints.share_of(data.x, data.y)
        if share is not None and share < SAME_ROWS:
            raise ValueError(
                f"X and y must be the rows of the fit, of which {share:.0%} were found in those "
                "given: a diagnosis refits the model to them. For other rows, see report(X, y)."
            )
        given = {"draw": self._same_drawing(), **options}
        fitting = getattr(self.posterior_.algorithm, "fitting", None)
        if fitting is not None and not fitting.fits:
            given = {"algorithm": self._algorithm(fit_params or {}), **given}
        return diagnose(self.posterior_, data, **given)

    def report(
        self, X: Any, y: Any, path: str | os.PathLike[str] | None = None, **options: Any
    ) -> Any:
        """Report in plain words how good and how certain the model is, on rows with known outcomes.

        Parameters
        ----------
        X, y
            Rows that were not used in `fit`; the report says so if they were.
        path : path, optional
            Write a file: a page that works offline (.html), or text for a pull request (.md).
        **options : title, target, baselines, feature_names, row_names, rows_called, facts, ...
            See `nearbayes.report.contents`.

        Returns
        -------
        nearbayes.report.Report
            Displays as a page in a notebook, prints as text; has ``save``, ``to_html``,
            ``to_markdown`` and ``contents``. Pages need jinja2: ``pip install
            'nearbayes[report]'``.
        """
        check_is_fitted(self, "posterior_")
        return resolved("nearbayes.report.document:report")(self, X, y, path, **options)

    def _html_repr(self) -> str:
        """In a notebook: once fitted, the summary of the draws above scikit-learn's diagram."""
        diagram = str(estimator_html_repr(self))
        return (
            f"{self.posterior_._repr_html_()}{diagram}" if hasattr(self, "posterior_") else diagram
        )

    def _same_drawing(self) -> Drawing:
        return Drawing(self.method, self.inputs, getattr(self, "schedule_", None))

    def _calibrated(self, drawing: Drawing, data: Data, **options: Any) -> Posterior:
        """The posterior, calibrated by simulation; draws are kept even if that fails."""
        run = self._run("simulated")
        try:
            return calibrated(self.posterior_, data, drawing, **run, **options)
        except CalibrationError as error:
            warn(
                f"intervals are not calibrated, so they may cover too little: {error} Use "
                "calibration=None to turn calibration off.",
                DrawWarning,
            )
            return replace(self.posterior_, calibration=None, truths=None)

    def _chosen_schedule(self, algorithm: Any, data: Data, run: dict[str, Any]) -> Schedule:
        if self.schedule is None:
            return self._usual_schedule(as_chunks(algorithm).traits)
        if isinstance(self.schedule, Schedule):
            return self.schedule
        if self.schedule == "auto":
            choice = choose_schedule(algorithm, data, self.n_refits, self.inputs, run)
            self.schedule_scores_ = choice.scores
            return choice.schedule
        raise ValueError(
            "schedule must be None, 'auto' or a Schedule, such as Schedule.optimal(refits=8), "
            f"got {self.schedule!r}."
        )

    def _usual_schedule(self, traits: Traits) -> Schedule:
        """The schedule by `n_refits`; if that is None, the schedule of earlier draws, if any."""
        if self.n_refits is None and self.warm_start and hasattr(self, "posterior_"):
            earlier = self.posterior_.provenance
            if earlier.method == "martingale" and earlier.schedule:
                return Schedule.parsed(earlier.schedule)
        if self._is_quick and self.n_refits is None:
            return quick_schedule(traits)
        return traits.schedule(self.n_refits)

    @property
    def _is_quick(self) -> bool:
        return is_quick(self.n_draws)

    def _new_table(self, X: Any) -> Table:
        """Check inputs for prediction against those of `fit`, without converting them."""
        check_is_fitted(self, "posterior_")
        return self._table(X, reset=False)

    def _table(self, X: Any, *, reset: bool) -> Table:
        """Record (`reset`) or check the number and names of columns.

        Texts, shape (n_rows,), and arrays such as images, shape (n_rows, height, width), are also
        passed to the estimator unchanged.
        """
        reader = None if reset else getattr(self, "column_reader_", None)
        table = as_table(X if reader is None else reader(X, self.feature_names_in_))
        if not _has_rows(table):
            raise ValueError(
                f"X must have rows and columns, got shape {table.shape}. Reshape your data: "
                "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
            )
        if len(table.shape) > 1:
            validate_data(self, table, reset=reset, skip_check_array=True)
        elif reset:
            self.n_features_in_ = 1  # one text per row
        return table

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Fit parameters meant for the estimator; all, if it cannot request them."""
        routed = hasattr(self._base_estimator(), "get_metadata_routing")
        if not routed or not get_config()["enable_metadata_routing"]:
            return fit_params
        return dict(process_routing(self, "fit", **fit_params).estimator.fit)

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing: weights to this estimator, the rest to the inner one."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self._base_estimator(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        thin: int | None = None,
        max_megabytes: float | None = None,
        attachments: Mapping[str, bytes] | None = None,
        trusted: Collection[str] = (),
        simulated: bool = False,
    ) -> Path:
        """Save the fitted model as one file, which `nearbayes.load` reads without running code.

        The file contains all that is needed to predict: draws, noise, calibration, parameters and
        provenance, but no rows of data unless the estimator itself keeps them (k-NN, SVM, Gaussian
        processes). It has hashes of the rows, so that a report can recognise rows of the fit.
        XGBoost and LightGBM models are in their own formats, scikit-learn models in that of skops:
        ``pip install 'nearbayes[files]'``.

        Parameters
        ----------
        path : path
            An existing file is replaced atomically.
        thin : int, optional
            Maximum number of draws to keep, evenly spaced; at least 2.
        max_megabytes : float, optional
            Keep as many draws as fit in a file of this size, and warn if not all do.
        attachments : mapping of str to bytes, optional
            Further members of the file, for `nearbayes.files.attachments` to read.
        trusted : collection of str
            Full names of types to allow in addition to `nearbayes.files.allowed`; pass them to
            `load`, too.
        simulated : bool
            Whether to also save the draws of simulated data sets, about 70 further models, so that
            `functional` can be calibrated after `load`. Intervals of predictions do not need
            them.

        Returns
        -------
        Path
            `path`; `nearbayes.files.describe` shows the contents of the file.

        Raises
        ------
        nearbayes.files.NotSaveable
            If the model contains a function, or a type that is not known to be harmless, which a
            safe file cannot contain; a `TypeError`.
        """
        check_is_fitted(self, "posterior_")
        return save(self, path, thin, max_megabytes, attachments, trusted, simulated)

    @property
    def estimators_(self) -> list[Any]:
        """The fitted estimator of every draw."""
        check_is_fitted(self, "posterior_")
        return list(self.posterior_.draws)

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy, even if scikit-learn cannot clone the estimator."""
        bare = copy.copy(self)
        bare.estimator = bare.executor = None  # a client of a cluster cannot be copied
        cloned: Self = super(PosteriorEstimator, bare).__sklearn_clone__()
        cloned.estimator, cloned.executor = unfitted(self.estimator), self.executor
        return cloned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimator = self._base_estimator()
        if not hasattr(estimator, "__sklearn_tags__"):  # AutoGluon, which takes tables of any kind
            tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
            tags.non_deterministic = False
            return tags
        inner = get_tags(estimator)
        tags.input_tags = inner.input_tags
        tags.target_tags.multi_output = inner.target_tags.multi_output
        tags.non_deterministic = inner.non_deterministic
        return tags


def _has_rows(table: Table) -> bool:
    """Whether there are rows for an estimator: true except for a 1-D array of numbers."""
    if len(table.shape) != 1:
        return len(table.shape) > 1
    return table.dtype.kind in "OUT" and all(_is_row(each) for each in table[:1])


def _is_row(item: Any) -> bool:
    """Whether an item of a 1-D array is a row: a text, a dictionary, a sequence."""
    return isinstance(item, str) or not (item is None or np.isscalar(item))
