r"""Gradient martingales: any JAX log density with a sampler, as an algorithm.

Online gradient ascent on observations sampled from the model is a martingale (eq. gd-martingale);
natural gradient with steps 1 / (j + 1) (eq. natgd-martingale, App. C) has the covariance
:math:`I^{-1} / n` of the posterior of a well-specified model with n rows. Sequential MLE of an
exponential family is natural gradient in its mean parameter.

This file does not import JAX, which is imported with the first fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearbayes.algorithms.finishing import (
    FinishAfter,
    check_finish_after,
    finishing_schedule,
    reaches,
    rows_to_finish,
)
from nearbayes.core.data import Blocks, Data, Repeated, Rows
from nearbayes.core.protocols import ChunkAlgorithm, DrawsFailedError, Rng, Traits
from nearbayes.core.schedule import is_whole
from nearbayes.core.seeds import Streams
from nearbayes.gradients.input_rows import (
    PIECE,
    arrays_of,
    inputs_of_piece,
    shuffled,
    values_of,
)
from nearbayes.gradients.steps import StepSize, share_reached, sizes, variance_left
from nearbayes.tables.table import Table

if TYPE_CHECKING:
    from nearbayes.gradients.densities import Density

__all__ = ["GradientMartingale"]

Array = NDArray[np.float64]
Keys = NDArray[np.uint32]
NUMBERS, SMALLEST_CHUNK, LARGEST_CHUNK = 2_000_000, 8, 100  # of all matrices of a chunk
PREDICTED_AT_ONCE = 16
LEAST_SAMPLES = 1_000
PER_PARAMETER = {"hessian": 100, "scores": 200}  # outcomes by default: spread within 2 %
FEWEST_PER_PARAMETER = {"hessian": 50, "scores": 100}  # that are accepted: within 4 %
SINGULAR = 1e-12  # smallest eigenvalue of the information with a unit diagonal
KINDS = ("hessian", "scores", "empirical")
LOST = (
    "a gradient step led to parameters that are not finite: log_density or its gradient is not "
    "finite there, or the Fisher information is not positive definite; try parameters without "
    "bounds (the log of a scale), or smaller steps."
)


@dataclass(frozen=True, eq=False)
class GradientMartingale(ChunkAlgorithm):
    r"""Online or natural gradient of a log density, on observations sampled from the model.

    .. math:: \theta_{j+1} = \theta_j + \eta_j P \nabla_\theta \log p_{\theta_j}(\hat z_{j+1}),
              \quad \hat z_{j+1} \sim p_{\theta_j}

    with :math:`P = I(\theta_j)^{-1}` (natural, eq. natgd-martingale) or :math:`P = 1` (plain, eq.
    gd-martingale). Natural steps of size 1 / (j + 1) have the covariance :math:`I^{-1} / n` of the
    posterior. Others are martingales with another spread: plain steps have :math:`I / n`, which is
    not a posterior unless I = 1, and other sizes have :math:`I^{-1} \sum_j \eta_j^2`. The first fit
    is maximum likelihood. Rows of a block are used one by one, in one compiled program for all
    draws of a chunk, so a block of 100 rows is 100 steps. Needs JAX: ``pip install
    'nearbayes[jax]'``.

    Parameters
    ----------
    log_density : callable
        ``log_density(theta, z)`` of one observation, or ``log_density(theta, x, y)`` for data with
        inputs; a number, by functions of JAX. Observations are floats, inputs rows of numbers.
    sampler : callable
        ``sampler(theta, key)`` returns one observation, ``sampler(theta, x, key)`` one outcome at a
        row x; `key` is for `jax.random`.
    start : array, or any JAX structure of arrays (dict, tuple, ...)
        Start of the search for the maximum likelihood; draws have the same structure.
    gradient : "natural" or "plain"
    information : "hessian", "scores", "empirical" or callable
        Fisher information of one observation: minus the expected Hessian or the expected product
        of scores, both at simulated outcomes; the product of scores at the real ones and the first
        fit, which holds for the whole path; or a function
        ``information(theta)``, ``information(theta, x)`` with inputs, of shape (d, d). With inputs
        it is averaged over the real rows.
    refresh : "block" or "row"
        When the information is recomputed: for every block, or (slower) for every row.
    step_size : callable, optional
        ``step_size(j)`` after j rows, for an array of j; default 1 / (j + 1), the paper's.
    finish_after : int or float, optional
        Stop after this many steps (a float: times n), and add the rest of the path from its limit,
        :math:`N(0, I(\theta)^{-1} / M)` for M rows, real and imputed (Fong and Yiu, 2024). The full
        variance is then captured. Without it, a draw takes about 10 n steps: with more than some
        10,000 rows, pass a number such as 1,000.
    n_samples : int, optional
        Smallest number of simulated outcomes for one evaluation of the information; default 1,000,
        or 100 per parameter (200 for "scores") if that is more. With inputs, every real row gets at
        least one, or 100,000 random rows if there are more.
    predict_function : callable, optional
        ``predict_function(theta, x)`` at a row x, so that the posterior can predict.
    fit_function : callable, optional
        ``fit_function(z)`` or ``fit_function(X, y)`` returns the first fit, instead of maximum
        likelihood, for example a penalised fit.

    Examples
    --------
    A normal distribution with unknown mean and log standard deviation:

    >>> import jax, nearbayes as nb
    >>> normal = nb.GradientMartingale(
    ...     lambda theta, z: jax.scipy.stats.norm.logpdf(z, theta[0], jax.numpy.exp(theta[1])),
    ...     lambda theta, key: theta[0] + jax.numpy.exp(theta[1]) * jax.random.normal(key),
    ...     start=np.zeros(2))
    >>> z = np.random.default_rng(0).normal(3.0, 2.0, size=100)
    >>> posterior = nb.martingale_posterior(normal, z, n_draws=1000, random_state=0)
    >>> mean = posterior.apply(lambda theta: theta[0])
    >>> bool(abs(mean.std / (z.std() / 10) - 1) < 0.1)
    True
    """

    log_density: Callable[..., Any]
    sampler: Callable[..., Any]
    start: Any
    gradient: Literal["natural", "plain"] = "natural"
    information: Literal["hessian", "scores", "empirical"] | Callable[..., Any] = "hessian"
    refresh: Literal["block", "row"] = "block"
    step_size: StepSize | None = None
    finish_after: FinishAfter = None
    n_samples: int | None = None
    predict_function: Callable[[Any, Any], Any] | None = None
    fit_function: Callable[..., Any] | None = None
    # of prepared data
    _empirical: Array | None = field(default=None, init=False, repr=False)
    _columns: int | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("log_density", "sampler"):
            if not callable(getattr(self, name)):
                raise TypeError(f"{name} must be a function, got {getattr(self, name)!r}.")
        for name in ("step_size", "predict_function", "fit_function"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise TypeError(f"{name} must be a function or None, got {getattr(self, name)!r}.")
        _check_choice("gradient", self.gradient, ("natural", "plain"))
        _check_choice("refresh", self.refresh, ("block", "row"))
        if not callable(self.information):
            _check_choice("information", self.information, KINDS, "a function, ")
        if self.n_samples is not None and (not is_whole(self.n_samples) or self.n_samples < 1):
            raise ValueError(
                f"n_samples must be None or a whole number, 1 or more, got {self.n_samples!r}."
            )
        check_finish_after(self.finish_after)

    @property
    def traits(self) -> Traits:
        """Rows are not kept; `finish_after` adds the rest of the path."""
        size = self._flat_start.size
        return Traits(
            chunk=min(max(NUMBERS // size**2, SMALLEST_CHUNK), LARGEST_CHUNK),
            keeps_rows=False,
            runs_in="threads",
            schedule=partial(finishing_schedule, self.finish_after),
            captured=partial(_captured, self.step_size, self.finish_after),
            packages=("jax",),
        )

    @property
    def _flat_start(self) -> Array:
        return np.asarray(_jax("densities").flattened(self.start)[0])

    def _density(self, data: Data) -> Density:
        _, structure = _jax("densities").flattened(self.start)
        found: Density = _jax("densities").Density(
            self.log_density, self.sampler, structure, data.table is not None
        )
        return found

    def prepare(self, data: Data, rng: Rng) -> tuple[GradientMartingale, Data]:
        """Check the outputs of the user's functions at the start and for the real rows."""
        try:
            outcomes = np.asarray(data.y, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"GradientMartingale needs numbers as outcomes, got {data.y.dtype}: encode them "
                "as numbers."
            ) from None
        numeric = replace(data, y=outcomes)
        self._check_n_samples(numeric)
        density, rows = self._density(data), arrays_of(numeric)
        _jax("checking").check_functions(density, self.information, self._flat_start, *rows)
        prepared = replace(self)
        object.__setattr__(prepared, "_columns", rows[0].shape[1])
        if self.information == "empirical" and not self._is_unused:
            object.__setattr__(prepared, "_empirical", self._empirical_information(numeric))
        return prepared, numeric

    def _empirical_information(self, data: Data) -> Array:
        """Mean product of real scores at the first fit, the only place where it is information.

        At the parameters of a draw it would hold the distance to the first fit, too.
        """
        program = _jax("walking").information_program(self._density(data), "empirical")
        theta, rows = self._first_fit(data)[None], self._all_rows(data)
        with _float64():
            found = program(theta, rows, np.zeros((1, 2), dtype=np.uint32))
        return np.asarray(found[0])

    def fit(self, data: Sequence[Data], streams: Streams) -> Array:
        """Maximum likelihood of each draw's rows, shape (n_draws, n_parameters)."""
        if not isinstance(data, Repeated):
            return self._fitted(dict(enumerate(data)))
        try:
            first = self._first_fit(data[0])
            self._check_information(first, data[0], streams)
        except Exception as error:  # shared by all draws, as they have the same rows
            raise DrawsFailedError(dict.fromkeys(range(len(data)), error)) from error
        return np.tile(first, (len(data), 1))

    def _first_fit(self, data: Data) -> Array:
        """Maximum likelihood, or the result of the user's function."""
        if self.fit_function is not None:
            rows = data.repeat() if data.count is not None else data
            given = (rows.y,) if rows.table is None else (rows.x, rows.y)
            fitted = self.fit_function(*given)
            found = np.asarray(_jax("densities").flattened(fitted, "what fit_function gives")[0])
            if found.shape != self._flat_start.shape:
                raise ValueError(
                    f"fit_function must give {self._flat_start.size} parameters, like start, got "
                    f"{found.size}."
                )
            if not np.isfinite(found).all():
                raise ValueError("fit_function must give finite parameters, got NaN or infinity.")
            return found
        program = _jax("newton").maximum_program(self._density(data))
        with _float64():
            theta, converged, curved = program(self._flat_start, *arrays_of(data), data.counts)
        if not converged and not curved:
            raise ValueError(
                "the search for the maximum likelihood from start did not settle, as log_density "
                "is nowhere concave in some parameter: its Hessian says nothing where it has kinks "
                "(absolute values), so give fit_function, and information='scores'."
            )
        if not converged:
            raise ValueError(
                "the search for the maximum likelihood from start did not converge: the likelihood "
                "may have no maximum (separated classes, too few rows); try another start, or pass "
                "fit_function."
            )
        return np.asarray(theta)

    def _fitted(self, data: dict[int, Data]) -> Array:
        """First fits to the rows of each draw; failures are reported by draw."""
        found: dict[int, Array] = {}
        errors: dict[int, Exception] = {}
        for place, each in data.items():
            try:
                found[place] = self._first_fit(each)
            except ValueError as error:
                errors[place] = error
        if errors:
            raise DrawsFailedError(errors)
        return np.stack([found[place] for place in data])

    @property
    def _refresh(self) -> Literal["block", "row"]:
        """When the matrix of a step is recomputed; a known matrix is not."""
        return self.refresh if self._empirical is None else "block"

    def _check_information(self, theta: Array, data: Data, streams: Streams) -> None:
        if self._is_unused:
            return
        walking = _jax("walking")
        keys = streams.chunk.integers(2**32, size=(1, 2), dtype=np.uint32)
        program = walking.information_program(self._density(data), self.information)
        with _float64():
            found = np.asarray(program(theta[None], self._rows(data), keys))[0]
        smallest = _jax("information").smallest_share(found)
        if not smallest > SINGULAR:
            raise ValueError(
                "the Fisher information at the first fit is singular or not finite (smallest "
                f"eigenvalue {smallest:.3g}, of the matrix with a unit diagonal): leave out "
                "parameters that the others determine (or that separated classes leave open), or "
                "use gradient='plain'."
            )

    def sample(self, models: Array, x: Sequence[Rows], streams: Streams) -> Keys:
        """A key per draw, shape (n_draws, 2): rows are sampled one by one in `refit`."""
        lost = np.flatnonzero(~np.isfinite(models).all(axis=1))
        if len(lost):
            raise DrawsFailedError({int(place): ValueError(LOST) for place in lost})
        return streams.chunk.integers(2**32, size=(len(models), 2), dtype=np.uint32)

    def refit(self, data: Sequence[Data], new: Blocks, models: Array, streams: Streams) -> Array:
        """Take every draw along the rows of its block (eq. natgd-martingale)."""
        keys = np.asarray(new.y, dtype=np.uint32)
        if new.size == new.total:  # no real rows: a parametric bootstrap
            return self._refitted(new, models, keys, data[0])
        before, n = new.total - new.size, data[0].n
        last = new.total
        if self.finish_after is not None:
            last = n + rows_to_finish(self.finish_after, n)
        n_steps = int(np.clip(round(last - before), 0, new.size))
        with _float64():
            moved = self._walked(data[0], new, models, keys, n_steps, streams)
            if before < last <= new.total and self.finish_after is not None:
                moved = self._finished(data[0], moved, keys, last, streams)
        lost = np.flatnonzero(~np.isfinite(moved).all(axis=1))
        if len(lost):
            raise DrawsFailedError({int(place): ValueError(LOST) for place in lost})
        return moved

    def _walked(
        self, data: Data, new: Blocks, models: Array, keys: Keys, n_steps: int, streams: Streams
    ) -> Array:
        """Gradient steps with the first rows of a block, in pieces with few different shapes."""
        walking = _jax("walking")
        program = walking.walking_program(
            self._density(data), self.information, self.gradient, self._refresh
        )
        rows, before = self._rows(data), new.total - new.size
        places = shuffled(new.x, streams.chunk)
        theta, matrix = models, self._matrix(data, rows, models, keys)
        for first in range(0, n_steps, PIECE):
            taken = min(PIECE, n_steps - first)
            table, index = inputs_of_piece(new.x, places, slice(first, first + taken))
            steps = np.zeros(PIECE)
            steps[:taken] = sizes(self.step_size, before + first, taken)
            theta = program(theta, matrix, keys, rows, table, index, steps, first, taken)
        return np.asarray(theta)

    def _matrix(self, data: Data, rows: Any, models: Array, keys: Keys) -> Any:
        """The matrix P of a block for every draw; computed once where all draws are alike."""
        if self.gradient == "plain" or self._refresh == "row":
            return np.zeros((len(models), 0, 0))
        program = _jax("walking").inverse_program(self._density(data), self.information)
        alike = callable(self.information) and (models == models[0]).all()  # as at the first fit
        if alike or self._empirical is not None:
            return np.repeat(
                np.asarray(program(models[:1], rows, keys[:1], 0)), len(models), axis=0
            )
        return program(models, rows, keys, 0)

    def _finished(
        self, data: Data, models: Array, keys: Keys, total: float, streams: Streams
    ) -> Array:
        """Add the rest of the path after `total` rows."""
        program = _jax("walking").finishing_program(
            self._density(data), self.information, self.gradient
        )
        noise = streams.chunk.standard_normal(models.shape)
        left = variance_left(self.step_size, total)
        return np.asarray(program(models, keys, self._rows(data), noise, left))

    def _refitted(self, new: Blocks, models: Array, keys: Keys, data: Data) -> Array:
        """Maximum likelihood of rows that were all sampled from the models."""
        jax = _jax("walking").jax
        program = _jax("walking").sampling_program(self._density(data))
        made: dict[int, Data] = {}
        with _float64():
            for place, (theta, rows) in enumerate(zip(models, new.x, strict=True)):
                table = None if rows.table is None else rows.values
                row_keys = jax.random.split(keys[place], len(rows))
                outcomes = np.asarray(program(theta, values_of(table, len(rows)), row_keys))
                made[place] = Data(table, None, outcomes)
        return self._fitted(made)

    def _rows(self, data: Data) -> Any:
        """What the information is made of: rows, or a matrix that is known."""
        if self._empirical is None:
            return self._all_rows(data)
        none = np.zeros(0)
        return _jax("information").RowsOfInformation(none, none, none, self._empirical)

    def _all_rows(self, data: Data) -> Any:
        size = self._flat_start.size
        kind = "" if callable(self.information) else self.information
        n_samples = self.n_samples or max(LEAST_SAMPLES, PER_PARAMETER.get(kind, 0) * size)
        return _jax("information").rows_of_information(self.information, data, n_samples, size)

    def _check_n_samples(self, data: Data) -> None:
        """Refuse so few simulated outcomes that the inverse of their mean is far too large.

        The inverse of a mean of m products of scores widens standard deviations of d parameters by
        about (1 - d / m) ** -1.5.
        """
        kind = "" if callable(self.information) else self.information
        if self.n_samples is None or kind not in FEWEST_PER_PARAMETER or self._is_unused:
            return
        least = FEWEST_PER_PARAMETER[kind] * self._flat_start.size
        made = self.n_samples if data.table is None else max(self.n_samples, len(data.y))
        if made < least:
            raise ValueError(
                f"n_samples must be {least} or more for {self._flat_start.size} parameters, as the "
                f"spread of draws is too wide with fewer, got {self.n_samples}: leave it out, or "
                "give the information as a function."
            )

    @property
    def _is_unused(self) -> bool:
        """Whether no step needs the information."""
        return self.gradient == "plain" and self.finish_after is None

    def reveal(self, model: Array) -> Any:
        """Parameters in the structure of `start`."""
        return _jax("densities").flattened(self.start)[1].unravelled(np.asarray(model))

    def predict(self, models: Sequence[Array] | Array, x: Table) -> Array:
        """Predictions of every draw, shape (n_draws, n_rows, ...)."""
        if self.predict_function is None:
            raise TypeError(
                "this GradientMartingale has no predict_function: pass one, or use "
                "posterior.apply(function)."
            )
        thetas, rows = np.asarray(models), values_of(x, 0)
        if self._columns is not None and rows.shape[1] != self._columns:
            raise ValueError(
                f"X must have the {self._columns} columns of the data of the fit, got "
                f"{rows.shape[1]}."
            )
        density = self._density(Data(x, None, np.zeros(len(rows))))
        program = _jax("walking").prediction_program(density, self.predict_function)
        # chunks of one size, so that predictions of a draw do not depend on the number of others
        padded = np.pad(thetas, ((0, -len(thetas) % PREDICTED_AT_ONCE), (0, 0)), mode="edge")
        parts = padded.reshape(-1, PREDICTED_AT_ONCE, thetas.shape[1])
        with _float64():
            found = np.concatenate([np.asarray(program(part, rows)) for part in parts])
        return found[: len(thetas)]


def _jax(module: str) -> Any:
    """A module of this subpackage that needs JAX."""
    try:
        return import_module(f"nearbayes.gradients.{module}")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"GradientMartingale needs {error.name}: pip install 'nearbayes[jax]'.", name=error.name
        ) from error


def _float64() -> Any:
    return import_module("nearbayes.compiled.precision").computing_in("float64")


def _captured(
    step_size: StepSize | None, finish_after: FinishAfter, n: float, blocks: Sequence[int]
) -> float:
    """Share of the variance that single steps reach; all of it if the path is finished."""
    if reaches(finish_after, n, sum(blocks)):
        return 1.0
    return min(1.0, share_reached(step_size, n, sum(blocks)))


def _check_choice(name: str, value: Any, known: tuple[str, ...], other: str = "") -> None:
    if value not in known:
        raise ValueError(f"{name} must be {other}{' or '.join(map(repr, known))}, got {value!r}.")


def example() -> tuple[GradientMartingale, Data]:
    """Logistic regression, and data for it."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    y = rng.binomial(1, 1 / (1 + np.exp(-X[:, 0])))
    examples = _jax("logistic_example")
    algorithm = GradientMartingale(
        examples.log_density, examples.sampler, np.zeros(3), predict_function=examples.probability
    )
    return algorithm, Data.of(X, y)
