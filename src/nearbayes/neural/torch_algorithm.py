r"""PyTorch modules as the algorithm: the proximal Bregman refit of any `torch.nn.Module`.

The method is that of `network_algorithm.py` (section 4 and App. C of the paper): AdamW for a number
of passes chosen by left-out real rows, then refits that keep the outputs at old rows, in the
sense of the Bregman divergence of the loss, and fit the new rows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Literal, Self, TypeVar, get_args

import narwhals.stable.v2 as nw
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from torch import Tensor, nn

from nearbayes.core.data import Blocks, Data, Rows
from nearbayes.core.protocols import ChunkAlgorithm, DrawsFailedError, Rng, Traits
from nearbayes.core.schedule import Schedule, is_whole
from nearbayes.core.seeds import Streams
from nearbayes.fits.targets import class_codes
from nearbayes.neural.chunks import (
    CHUNK,
    Batches,
    Examples,
    Fits,
    NetworkModel,
    NetworkModels,
    Optimiser,
    examples_of,
    finished,
    network_schedule,
    shares_of_new,
    trained_once_or_twice,
)
from nearbayes.neural.outcomes import Classes, CountOutcomes, Numbers, Outcomes, UserOutcomes
from nearbayes.neural.stopping import Stopping, chosen_passes, held_out
from nearbayes.neural.torch_losses import (
    TorchLoss,
    check_convex,
    loss_for,
    losses_of,
    outcomes_for,
    slopes_of,
)
from nearbayes.neural.torch_module import StackedModule, on_one_thread, started_anew
from nearbayes.neural.torch_training import Seeds, trained
from nearbayes.tables.table import Table, as_table, is_frame
from nearbayes.telling import warn

__all__ = ["TorchAlgorithm"]

Array = NDArray[Any]
Start = Literal["random", "given"]
Verb = TypeVar("Verb", bound=Callable[..., Any])


def _single(verb: Verb) -> Verb:
    """Run a method on one thread."""

    @wraps(verb)
    def run(*arguments: Any, **options: Any) -> Any:
        with on_one_thread():
            return verb(*arguments, **options)

    return run  # type: ignore[return-value]


class TorchAlgorithm(ChunkAlgorithm):
    """A PyTorch module that is trained with a loss convex in its output.

    X may have any number of axes, rows first: images of shape (n_rows, channels, height, width),
    for example. It is passed to the module unchanged, so scale it as the module needs. The module
    itself is never changed.

    Parameters
    ----------
    module : torch.nn.Module
        ``module(x)`` returns outputs of shape (n_rows, n_outputs) or (n_rows,). Batch norm is not
        accepted. Dropout is on in training and off in predictions. Parameters that require no
        gradient are fixed.
    loss : str, torch loss module or callable
        "squared" or `MSELoss`: the output is the mean of y. "cross_entropy" or `CrossEntropyLoss`:
        outputs are unnormalised log probabilities, one per class, or, for two classes, one output
        (`BCEWithLogitsLoss`). "poisson" or `PoissonNLLLoss`: the output is the log of the mean. Or
        ``loss(output, y)``, the loss of one row, a tensor without axes, convex in `output` of
        shape (n_outputs,); y has shape (n_columns,).
    sample : callable, optional
        With your own loss: ``sample(outputs, rng)`` returns one outcome per row of the array
        `outputs`, shape (n_rows, n_outputs).
    predicted : callable, optional
        With your own loss: ``predicted(outputs)`` returns one prediction per row; default the
        first output.
    classes : array of shape (n_classes,), optional
        Names of the outputs, if y may not contain all of them or their order is not sorted.
    learning_rate, weight_decay : float
        Settings of AdamW.
    batch_size : int, optional
        Approximate number of rows in a minibatch; None uses all rows at every step.
    max_passes : int
        Maximum number of passes over the rows.
    n_passes : int, optional
        Number of passes; by default chosen by left-out real rows (early stopping).
    start : "random" or "given"
        Each draw starts at its own draw of the parameters, by the ``reset_parameters`` of the
        layers, and y is standardised inside; or all start at the parameters of the given module,
        which was already trained, in the units of y.
    schedule : Schedule, optional
        By default four blocks that capture the most variance for numbers and counts, and four
        blocks of n/4 for classes.

    Examples
    --------
    >>> import nearbayes as nb
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(60, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.2 * np.random.default_rng(1).normal(size=60)
    >>> module = nn.Sequential(nn.Linear(1, 16), nn.SiLU(), nn.Linear(16, 1))
    >>> posterior = nb.martingale_posterior(
    ...     TorchAlgorithm(module, n_passes=20), (X, y), n_draws=4, random_state=0)
    >>> posterior.predict(X[:3]).shape
    (4, 3)
    >>> posterior.draws[0](torch.tensor(X[:3], dtype=torch.float32)).shape  # modules, too
    torch.Size([3, 1])
    """

    def __init__(
        self,
        module: nn.Module,
        loss: Any = "squared",
        *,
        sample: Callable[[Array, Rng], ArrayLike] | None = None,
        predicted: Callable[[Array], ArrayLike] | None = None,
        classes: ArrayLike | None = None,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        batch_size: int | None = 64,
        max_passes: int = 1_000,
        n_passes: int | None = None,
        start: Start = "random",
        schedule: Schedule | None = None,
    ) -> None:
        self.outcomes: Outcomes = outcomes_for(loss, sample, predicted)  # type: ignore[arg-type]
        self.stacked = StackedModule(module)
        self.classes = None if classes is None else np.asarray(classes)
        self.optimiser = Optimiser(learning_rate, weight_decay)
        self.batch_size, self.max_passes, self.n_passes = batch_size, max_passes, n_passes
        self.start, self.schedule = start, schedule
        self.row_shape: tuple[int, ...] = ()
        self.n_rows, self.noise = 0, 1.0
        self.stopping: Stopping | None = None
        self._check_settings()

    def _check_settings(self) -> None:
        self.stacked.check_layers()
        rate, decay = self.optimiser.rate, self.optimiser.decay
        if not 0 < rate < np.inf:
            raise ValueError(f"learning_rate must be a positive number, got {rate!r}.")
        if not 0 <= decay < np.inf:
            raise ValueError(f"weight_decay must be 0 or more, got {decay!r}.")
        for name in ("batch_size", "max_passes", "n_passes"):
            value = getattr(self, name)
            optional = value is None and name != "max_passes"
            if not optional and not (is_whole(value) and value >= 1):
                raise ValueError(f"{name} must be a whole number, 1 or more, got {value!r}.")
        if self.start not in get_args(Start):
            raise ValueError(f"start must be 'random' or 'given', got {self.start!r}.")

    def __repr__(self) -> str:
        kind = type(self.outcomes).__name__
        return f"TorchAlgorithm({type(self.stacked.module).__name__}, {kind}, {self.optimiser})"

    def _with(self, **changes: Any) -> Self:
        other = copy.copy(self)
        vars(other).update(changes)
        return other

    @property
    def traits(self) -> Traits:
        """Draws start at random; rows are counted if the loss is affine in y."""
        return Traits(
            counts="means" if self._loss.affine else False,
            randomised=True,
            chunk=CHUNK,
            runs_in="threads",
            link=self.outcomes.link,
            calibrate=True,
            classes=self.classes,
            schedule=partial(network_schedule, self.outcomes, self.schedule),
            packages=("torch",),
        )

    @property
    def _loss(self) -> TorchLoss:
        return loss_for(self.outcomes)

    def decisive_parts(self) -> dict[str, Any]:
        """What determines the draws, for checkpoints: not the random parameters of a new module."""
        if self.start == "given":
            return vars(self)
        module = started_anew(self.stacked.module, seed=0)
        return {**vars(self), "stacked": replace(self.stacked, module=module)}

    # -- learned once ---------------------------------------------------------------------------

    @_single
    def prepare(self, data: Data, rng: Rng) -> tuple[Self, Data]:
        """Check the module; learn units of y, the number of passes and the noise."""
        outcomes, classes, y = self._learned(data)
        table = _as_numbers(data.table)
        stacked = StackedModule.of(self.stacked.module, table)
        stacked, outcomes = _matched(stacked, outcomes)
        statistics = outcomes.statistics(y)
        if isinstance(outcomes, UserOutcomes):
            check_convex(outcomes, stacked.n_outputs, statistics, rng)
        prepared = self._with(
            stacked=stacked,
            outcomes=outcomes,
            classes=classes,
            row_shape=table.shape[1:],
            n_rows=len(y),
        )
        if self.start == "random":
            _warn_of_equal_starts(stacked)
        real = replace(data, y=statistics)
        return prepared._stopped(real, rng), real

    def coded(self, data: Data) -> Data:
        """Outcomes as the statistics that the loss is affine in."""
        classes = self.classes if isinstance(self.outcomes, Classes) else None
        numbers = data.y if classes is None else class_codes(data.y, classes, "y")
        y = np.asarray(numbers, dtype=None if classes is not None else np.float64)
        return replace(data, y=self.outcomes.statistics(y))

    def _learned(self, data: Data) -> tuple[Outcomes, NDArray[Any] | None, Array]:
        """Outcomes with the units of y, the classes, and y as codes or numbers."""
        if isinstance(self.outcomes, Classes):
            seen = np.unique(data.y)
            classes = seen if self.classes is None else self.classes
            if len(seen) < 2:
                raise ValueError(
                    f"y has only one class, {seen.tolist()[0]!r}: there is nothing to learn."
                )
            unknown = np.setdiff1d(seen, classes)
            if len(unknown):
                raise ValueError(
                    f"classes must name every class of y, got none for {unknown.tolist()[0]!r}."
                )
            return Classes(len(classes)), classes, class_codes(data.y, classes, "y")
        if data.y.dtype.kind not in "biuf":
            raise ValueError(
                f"y must be numbers for {type(self._loss).__name__.strip('_')} loss, got type "
                f"{data.y.dtype}: use loss='cross_entropy' for classes."
            )
        y = np.asarray(data.y, dtype=np.float64)
        outcomes = self.outcomes.learned(y, data.counts)
        if self.start == "given" and isinstance(outcomes, Numbers):
            outcomes = replace(
                outcomes, mean=np.zeros_like(outcomes.mean), sd=np.ones_like(outcomes.sd)
            )
        elif self.start == "given" and isinstance(outcomes, CountOutcomes):
            outcomes = replace(outcomes, unit=1.0)
        return outcomes, None, y

    def _stopped(self, data: Data, rng: Rng) -> Self:
        """Choose the number of passes and the noise by left-out rows."""
        seeds = np.stack([rng.integers(2**62, size=CHUNK), np.repeat(rng.integers(2**62), CHUNK)])
        examples, starts = self._examples([data] * CHUNK), self._starts(seeds.T)
        self._check_outputs(starts, examples)

        def train(seen: Examples, fits: Fits, done: int, n_passes: int) -> Fits:
            return self._trained(seen, fits, seeds.T, n_passes, done=done)

        found = chosen_passes(
            train,
            lambda parameters: self.stacked.outputs(parameters, examples.x),
            partial(losses_of, self._loss),
            examples,
            held_out(CHUNK, len(data.y), rng),
            starts,
            self.max_passes if self.n_passes is None else self.n_passes,
        )
        noise = self.outcomes.noise(found.outputs, data.y, data.counts)
        return self._with(stopping=found, noise=noise)

    def _check_outputs(self, starts: Array, examples: Examples) -> None:
        """Reject a module whose outputs are not finite at some rows."""
        outputs = self.stacked.outputs(starts[:1], examples.x[: self.n_rows])
        bad = np.flatnonzero(~np.isfinite(outputs).all(axis=(0, 2)))
        if len(bad):
            raise ValueError(
                f"module returns NaN or infinity at {len(bad)} rows of X, the first of which is "
                f"row {bad[0]}: check the row, or the initial parameters."
            )

    def _starts(self, seeds: Seeds) -> Array:
        if self.start == "given":
            return np.stack([self.stacked.given] * len(seeds))
        return self.stacked.starts(seeds[:, 0])

    def _trained(
        self, examples: Examples, fits: Fits, seeds: Seeds, n_passes: int, **options: Any
    ) -> Fits:
        batches = Batches.of(self.n_rows, self.batch_size)
        return trained(
            self.stacked,
            self._loss,
            self.optimiser,
            batches,
            examples,
            fits,
            seeds,
            n_passes,
            **options,
        )

    @property
    def _passes(self) -> int:
        assert self.stopping is not None
        return self.stopping.n_passes if self.n_passes is None else self.n_passes

    # -- the three methods ----------------------------------------------------------------------

    @_single
    def fit(self, data: Sequence[Data], streams: Streams) -> NetworkModels:
        """First fits: each draw starts at its own parameters."""
        examples, seeds = self._examples(data), _seeds_of(streams)

        def train(seeds: Seeds) -> Fits:
            return self._trained(examples, Fits.begin(self._starts(seeds)), seeds, self._passes)

        fits = trained_once_or_twice(train, seeds, seeds + 1)
        noise = np.full(len(seeds), self.noise)
        return NetworkModels(fits.parameters, noise, fits.step_sizes())

    @_single
    def refit(
        self, data: Sequence[Data], new: Blocks, models: NetworkModels, streams: Streams
    ) -> NetworkModels:
        """Minimise the Bregman divergence at old rows and the loss at new ones."""
        examples, seeds, loss = self._examples(data), _seeds_of(streams), self._loss
        shares, news = shares_of_new(data, new, self.n_rows, loss.affine)
        outputs = self.stacked.outputs(models.parameters, examples.x)
        outputs = np.take_along_axis(outputs, examples.rows[..., None], axis=1)
        slopes = slopes_of(loss, outputs, examples.statistics)
        shift = slopes - shares[..., None] * slopes_of(loss, outputs, news)
        moving = examples._replace(shift=shift)

        def train(seeds: Seeds) -> Fits:
            begin, centre = Fits.begin(models.parameters), models.parameters
            return self._trained(
                moving, begin, seeds, self._passes, centre=centre, divisor=models.divisor
            )

        fits = trained_once_or_twice(train, seeds, seeds + 1)
        return NetworkModels(fits.parameters, self._moved_noise(models, new), models.divisor)

    @_single
    def sample(self, models: NetworkModels, x: Sequence[Rows], streams: Streams) -> Array:
        """Statistics of one outcome per row, shape (n_draws, size, n_statistics)."""
        outputs = self._outputs_of_blocks(models, x)
        triples = zip(outputs, models.noise, streams, strict=True)
        return np.stack([self.outcomes.sample(*each) for each in triples])

    def _outputs_of_blocks(self, models: NetworkModels, x: Sequence[Rows]) -> Array:
        """Outputs at the rows of a block of every draw, shape (n_draws, size, n_outputs)."""
        table = x[0].table
        if all(each.table is table for each in x):
            known = self.stacked.outputs(models.parameters, self._encode(table))
            return np.stack([each[rows.positions] for each, rows in zip(known, x, strict=True)])
        rows = np.stack([self._encode(each.values) for each in x])
        return self.stacked.outputs(models.parameters, rows, own_rows=True)

    def _moved_noise(self, models: NetworkModels, new: Blocks) -> Array:
        outputs = self._outputs_of_blocks(models, new.x)
        share = new.size / new.total
        moved = [
            self.outcomes.moved_noise(float(noise), each, block.y, share)
            for noise, each, block in zip(models.noise, outputs, new, strict=True)
        ]
        return np.array(moved)

    # -- final models, and predictions ----------------------------------------------------------

    def finish(self, models: NetworkModels) -> list[NetworkModel]:
        """Parameters and noise."""
        return finished(models)

    def reveal(self, model: NetworkModel) -> nn.Module:
        """A separate module, in eval mode, with outputs in the units of y."""
        module = self.stacked.with_parameters(model.parameters)
        units = partial(torch.tensor, dtype=self.stacked.dtype)
        if isinstance(self.outcomes, Numbers):
            module = _InUnits(module, units(self.outcomes.mean), units(self.outcomes.sd))
        elif isinstance(self.outcomes, CountOutcomes):
            module = _InUnits(module, units(np.log(self.outcomes.unit)), units(1.0))
        return module.eval()

    def predict(self, models: Sequence[NetworkModel], x: Table) -> Array:
        """Predictions of every draw, in the units of y."""
        return self.outcomes.prediction(self.outputs(models, x))

    def predictives(self, models: Sequence[NetworkModel], x: Table) -> list[Any]:
        """Distribution of y at each row."""
        noises = [float(model.noise) for model in models]
        return list(map(self.outcomes.predictive, self.outputs(models, x), noises))

    @_single
    def outputs(self, models: Sequence[NetworkModel], x: Table) -> Array:
        """Outputs of the modules, in eval mode, shape (n_draws, n_rows, n_outputs)."""
        rows, found = self._encode(as_table(x)), []
        for start in range(0, len(models), CHUNK):
            # always a whole chunk, so that bits do not depend on the number of draws
            places = [min(start + place, len(models) - 1) for place in range(CHUNK)]
            parameters = np.stack([models[place].parameters for place in places])
            found.append(self.stacked.outputs(parameters, rows))
        outputs = np.concatenate(found)[: len(models)]
        bad = ~np.isfinite(outputs).all(axis=(1, 2))
        if bad.any():
            message = "predictions are not finite: check X for extreme values."
            raise DrawsFailedError({int(k): ValueError(message) for k in np.flatnonzero(bad)})
        return outputs

    # -- rows as arrays -------------------------------------------------------------------------

    def _encode(self, table: Table) -> Array:
        values = _as_numbers(table)
        if values.shape[1:] != self.row_shape:
            raise ValueError(
                f"X must have rows of shape {self.row_shape}, as in training, got an array of "
                f"shape {values.shape}."
            )
        return self.stacked.inputs(values)

    def _examples(self, data: Sequence[Data]) -> Examples:
        return examples_of(data, self._encode, self.n_rows, self.outcomes.n_outputs)


class _InUnits(nn.Module):  # type: ignore[misc]
    """A module with outputs in the units of y."""

    def __init__(self, module: nn.Module, shift: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.module = module
        self.register_buffer("shift", shift)
        self.register_buffer("scale", scale)

    def forward(self, x: Tensor) -> Tensor:
        return self.shift + self.scale * self.module(x)


def _seeds_of(streams: Streams) -> Seeds:
    """Seeds of every draw and of the chunk (the same in every row)."""
    own = [rng.integers(2**62) for rng in streams]
    return np.stack([own, np.repeat(streams.chunk.integers(2**62), len(own))], axis=1)


def _as_numbers(table: Table) -> Array:
    """Rows as an array of numbers."""
    if table is None:
        raise ValueError("data must be a pair (X, y) for TorchAlgorithm, got no X.")
    if is_frame(table):
        values = nw.from_native(table, eager_only=True).to_numpy()
    else:
        values = table.toarray() if sparse.issparse(table) else np.asarray(table)
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"X must have numbers for a PyTorch module, got type {values.dtype}: convert "
            "text and categories to numbers first."
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("X contains NaN or infinity: drop those rows or fill them in.")
    return np.asarray(values)


def _matched(stacked: StackedModule, outcomes: Outcomes) -> tuple[StackedModule, Outcomes]:
    """Module and outcomes with the same number of outputs."""
    got = stacked.n_outputs
    if isinstance(outcomes, UserOutcomes):
        return stacked, replace(outcomes, outputs=got)
    if isinstance(outcomes, Classes) and outcomes.n_classes == 2 and got == 1:
        return replace(stacked, one_logit=True), outcomes
    if got == outcomes.n_outputs:
        return stacked, outcomes
    if isinstance(outcomes, Classes):
        raise ValueError(
            f"module must have one output per class, got {got} outputs for {outcomes.n_classes} "
            "classes: change its last layer, or name all classes by classes=."
        )
    raise ValueError(
        f"module must have one output per column of y, got {got} outputs for "
        f"{outcomes.n_outputs}: change its last layer."
    )


def _warn_of_equal_starts(stacked: StackedModule) -> None:
    alike = stacked.alike()
    if alike:
        warn(
            f"all draws start at the same values of {', '.join(alike[:5])}, as no "
            "reset_parameters of the module draws them: write one, or use start='given'.",
            UserWarning,
        )


def example() -> tuple[TorchAlgorithm, Data]:
    """An algorithm of the family, with dropout, and data for it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(40, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=40)
    module = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Dropout(0.1), nn.Linear(8, 1))
    return TorchAlgorithm(module, n_passes=5, batch_size=20), Data.of(X, y)
