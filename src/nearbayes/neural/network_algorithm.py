r"""Networks as the algorithm: first fits by AdamW, refits by the proximal Bregman objective.

Section 4 of the paper ("A modified objective for DNNs", eq. nn-objective) and App. C ("Early
stopping for NN-based algorithms"). A refit keeps the outputs of the last fit at old rows, in the
sense of the Bregman divergence of the loss, and fits the new rows. All draws of a chunk train in
one compiled program; rows that an urn repeats are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from nearbayes.compiled.shapes import padded_size
from nearbayes.core.data import Blocks, Data, Rows
from nearbayes.core.protocols import ChunkAlgorithm, DrawsFailedError, Rng, Traits
from nearbayes.core.schedule import Schedule
from nearbayes.core.seeds import Streams
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
    padded,
    padded_to_real,
    shares_of_new,
    trained_once_or_twice,
)
from nearbayes.neural.convex_losses import check_convex
from nearbayes.neural.encoding import Encoding
from nearbayes.neural.gauss_newton import gauss_newton
from nearbayes.neural.keys import folded, keys_of
from nearbayes.neural.network import Network
from nearbayes.neural.outcomes import Classes, Numbers, Outcomes
from nearbayes.neural.priors import with_prior_function
from nearbayes.neural.stopping import Stopping, chosen_passes, held_out
from nearbayes.neural.training import losses_of, outputs_of, slopes_of, starts_of, trained
from nearbayes.tables.table import Table, as_table, n_rows

__all__ = ["NetworkAlgorithm", "Refit"]

Array = NDArray[Any]
Refit = Literal["proximal", "gauss-newton"]
Prior = Literal["anchored", "ntkgp"]
ROWS_AT_ONCE, SMALLEST_SIZE = 2_048, 32


@dataclass(frozen=True)
class NetworkAlgorithm(ChunkAlgorithm):
    """A network that is trained with a loss convex in its output.

    Parameters
    ----------
    network : callable or Network
        ``network(n_inputs, n_outputs)`` makes a `Network`, such as `nearbayes.neural.MLP`.
    outcomes : Outcomes
        What y is: `Numbers`, `VaryingNumbers`, `Classes`, `CountOutcomes` or `UserOutcomes`.
    optimiser : Optimiser
    batch_size : int, optional
        Rows of a minibatch, about; None takes all rows at every step.
    max_passes : int
        Passes over the rows at the most.
    n_passes : int, optional
        Passes; by default chosen by left-out real rows (early stopping).
    refit_by : "proximal" or "gauss-newton"
        Refits by the optimiser, as long as the first fit, or by one Gauss-Newton step.
    schedule : Schedule, optional
        Default schedule: for numbers and counts four blocks that capture most, for classes four
        blocks of n/4.
    prior : "anchored" or "ntkgp", optional
        Train around draws of the prior, for `nearbayes.baselines.anchored` and ``ntkgp``.
    noisy_outcomes : bool
        With a prior: add noise to y, so that a draw is one of the posterior of a linear model.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from functools import partial
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(60, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.2 * np.random.default_rng(1).normal(size=60)
    >>> network = partial(nb.neural.MLP, hidden=(16,))
    >>> posterior = nb.martingale_posterior(
    ...     NetworkAlgorithm(network, n_passes=50), (X, y), n_draws=4, random_state=0)
    >>> posterior.predict(X[:3]).shape
    (4, 3)
    """

    network: Callable[[int, int], Network] | Network
    outcomes: Outcomes = field(default_factory=Numbers)
    optimiser: Optimiser = field(default_factory=Optimiser)
    batch_size: int | None = 64
    max_passes: int = 1_000
    n_passes: int | None = None
    refit_by: Refit = "proximal"
    schedule: Schedule | None = None
    prior: Prior | None = None
    noisy_outcomes: bool = False
    classes: NDArray[Any] | None = None
    encoding: Encoding | None = None
    stopping: Stopping | None = None
    noise: float = 1.0
    n_rows: int = 0
    estimator: Any = None

    def __post_init__(self) -> None:
        if self.refit_by not in get_args(Refit):
            raise ValueError(
                f"refit_by must be 'proximal' or 'gauss-newton', got {self.refit_by!r}."
            )

    @cached_property
    def traits(self) -> Traits:
        """Draws start at random; rows are counted if the loss is affine in y."""
        return Traits(
            counts="means" if self.outcomes.loss.affine else False,
            randomised=True,
            chunk=CHUNK,
            runs_in="threads",
            link=self.outcomes.link,
            calibrate=True,
            classes=self.classes,
            schedule=partial(network_schedule, self.outcomes, self.schedule),
            packages=("jax", "equinox", "optax"),
        )

    def for_method(self, method: str) -> Self:
        """The algorithm in the form for methods other than the martingale."""
        if method not in get_args(Prior):
            return super().for_method(method)
        return replace(self, prior=method)  # type: ignore[arg-type]

    @property
    def labels(self) -> NDArray[Any] | None:
        """Class labels of estimators."""
        return self.classes

    # -- learned once ---------------------------------------------------------------------------

    def prepare(self, data: Data, rng: Rng) -> tuple[Self, Data]:
        """Learn the encoding of columns, units of y, the number of passes and the noise."""
        y, classes = data.y, self.classes
        outcomes = self.outcomes
        if isinstance(outcomes, Classes):
            classes = np.unique(y) if classes is None else classes
            outcomes = Classes(len(classes))
            y = _codes(y, classes)
        else:
            y = np.asarray(y, dtype=np.float64)
        outcomes = outcomes.learned(y, data.counts)
        statistics = outcomes.statistics(y)
        check_convex(outcomes.loss, outcomes.n_outputs, statistics, rng)
        encoding = Encoding.of(data.x, data.counts)
        network = self.network
        if not isinstance(network, Network):
            network = network(encoding.n_inputs, outcomes.n_outputs)
        if self.prior == "ntkgp":
            network = with_prior_function(network)
        prepared = replace(
            self,
            network=network,
            outcomes=outcomes,
            classes=classes,
            encoding=encoding,
            n_rows=len(y),
        )
        real = replace(data, y=statistics)
        return prepared._stopped(real, rng), real

    def coded(self, data: Data) -> Data:
        """Outcomes as the statistics that the loss is affine in."""
        classes = self.classes if isinstance(self.outcomes, Classes) else None
        y = np.asarray(data.y, dtype=np.float64) if classes is None else _codes(data.y, classes)
        return replace(data, y=self.outcomes.statistics(y))

    def _stopped(self, data: Data, rng: Rng) -> Self:
        """Choose the number of passes and the noise by left-out rows."""
        found = self._looked(data, rng, self._refit_optimiser)
        noise = self.outcomes.noise(found.outputs, data.y, data.counts)
        known = replace(self, stopping=found, noise=noise)
        if self.prior is None or self.n_passes is not None:
            return known
        # the noise is the weight of the prior, and training around a prior takes longer
        longer = known._looked(data, rng, known._first_optimiser, around_starts=True)
        return replace(known, stopping=longer)

    def _looked(
        self, data: Data, rng: Rng, optimiser: Optimiser, around_starts: bool = False
    ) -> Stopping:
        """Train on parts of the real rows, and evaluate the others."""
        streams = [np.random.default_rng(seed) for seed in rng.integers(2**63, size=CHUNK)]
        keys = keys_of(streams)
        examples = self._examples([data] * CHUNK)
        network, loss, batches = self._network, self.outcomes.loss, self._batches
        starts = starts_of(network, keys)
        centre = starts if around_starts else None

        def train(seen: Examples, fits: Fits, done: int, n_passes: int) -> Fits:
            seeds = folded(keys, done)
            return trained(network, loss, optimiser, batches, seen, fits, seeds, n_passes, centre)

        return chosen_passes(
            train,
            lambda parameters: outputs_of(network, parameters, examples.x),
            partial(losses_of, loss),
            examples,
            held_out(CHUNK, len(data.y), rng),
            starts,
            self.max_passes if self.n_passes is None else self.n_passes,
        )

    @property
    def _network(self) -> Network:
        assert isinstance(self.network, Network)
        return self.network

    @property
    def _batches(self) -> Batches:
        return Batches.of(self._size(self.n_rows), self.batch_size)

    @property
    def _passes(self) -> int:
        assert self.stopping is not None
        return self.stopping.n_passes if self.n_passes is None else self.n_passes

    @property
    def _unit(self) -> float:
        """Divisor of a row's loss that makes it a log likelihood: the noise variance, or 1."""
        return self.noise**2 if type(self.outcomes) is Numbers else 1.0

    @property
    def _first_optimiser(self) -> Optimiser:
        """With a prior, its log density is the regulariser, and there is no decay."""
        if self.prior is None:
            return replace(self.optimiser, penalty=self._unit * self.optimiser.penalty)
        return replace(self.optimiser, decay=0.0, penalty=self._unit)

    @property
    def _refit_optimiser(self) -> Optimiser:
        return replace(self.optimiser, penalty=self._unit * self.optimiser.penalty)

    # -- the three methods ----------------------------------------------------------------------

    def fit(self, data: Sequence[Data], streams: Streams) -> NetworkModels:
        """First fits: each draw starts at its own draw of the prior."""
        examples, keys = self._examples(data), keys_of(streams)
        if self.prior is not None and self.noisy_outcomes:
            examples = self._with_noise(examples, streams)
        fits = trained_once_or_twice(
            lambda keys: self._first_fits(examples, keys), keys, folded(keys, 1)
        )
        noise = np.full(len(keys), self.noise)
        return NetworkModels(fits.parameters, noise, fits.step_sizes())

    def _first_fits(self, examples: Examples, keys: Any) -> Fits:
        starts = starts_of(self._network, keys)
        centre = None if self.prior is None else starts
        return trained(
            self._network,
            self.outcomes.loss,
            self._first_optimiser,
            self._batches,
            examples,
            Fits.begin(starts),
            folded(keys, 0),
            self._passes,
            centre,
        )

    def refit(
        self, data: Sequence[Data], new: Blocks, models: NetworkModels, streams: Streams
    ) -> NetworkModels:
        """Minimise the Bregman divergence at old rows and the loss at new ones."""
        examples, merged = self._examples(data), self.outcomes.loss.affine
        shares, news = shares_of_new(data, new, self.n_rows, merged)
        outputs = self._outputs_at(examples, models.parameters)
        loss = self.outcomes.loss
        slopes = slopes_of(loss, outputs, examples.statistics)
        shift = slopes - shares[..., None] * slopes_of(loss, outputs, news)
        moving = examples._replace(shift=shift)
        keys = keys_of(streams)
        fits = trained_once_or_twice(
            lambda keys: self._refits(moving, models, keys), keys, folded(keys, 1)
        )
        return NetworkModels(fits.parameters, self._moved_noise(models, new), models.divisor)

    def _refits(self, examples: Examples, models: NetworkModels, keys: Any) -> Fits:
        begin = Fits.begin(models.parameters)
        if self.refit_by == "gauss-newton":
            penalty = self._unit * (self.optimiser.penalty or 1.0)
            moved = gauss_newton(
                self._network, self.outcomes.loss, examples, models.parameters, penalty
            )
            return begin._replace(parameters=moved)
        return trained(
            self._network,
            self.outcomes.loss,
            self._refit_optimiser,
            self._batches,
            examples,
            begin,
            keys,
            self._passes,
            centre=models.parameters,
            divisor=models.divisor,
        )

    def sample(self, models: NetworkModels, x: Sequence[Rows], streams: Streams) -> Array:
        """Statistics of one outcome per row, shape (n_draws, size, n_statistics)."""
        outputs = self._outputs_of_blocks(models, x)
        triples = zip(outputs, models.noise, streams, strict=True)
        return np.stack([self.outcomes.sample(*each) for each in triples])

    def _outputs_of_blocks(self, models: NetworkModels, x: Sequence[Rows]) -> Array:
        """Outputs at the rows of a block of every draw, shape (n_draws, size, n_outputs)."""
        table = x[0].table
        if all(each.table is table for each in x) and n_rows(table) <= self._size(self.n_rows):
            known = outputs_of(self._network, models.parameters, self._encoded(table, self.n_rows))
            return np.stack([each[rows.positions] for each, rows in zip(known, x, strict=True)])
        size = padded_size(len(x[0]), SMALLEST_SIZE)
        rows = np.stack([padded(self._encode(each.values), size) for each in x])
        return outputs_of(self._network, models.parameters, rows)[:, : len(x[0])]

    # -- final models, and predictions ----------------------------------------------------------

    def finish(self, models: NetworkModels) -> list[NetworkModel]:
        """Parameters and noise."""
        return finished(models)

    def reveal(self, model: NetworkModel) -> Any:
        """The fitted estimator, if there is one."""
        return model if self.estimator is None else self.estimator.with_fit(self, model)

    def predict(self, models: Sequence[NetworkModel], x: Table) -> Array:
        """Predictions of every draw, in the units of the user."""
        return self.outcomes.prediction(self.outputs(models, x))

    def predictives(self, models: Sequence[NetworkModel], x: Table) -> list[Any]:
        """Distribution of y at each row."""
        noises = [float(model.noise) for model in models]
        return list(map(self.outcomes.predictive, self.outputs(models, x), noises))

    def outputs(self, models: Sequence[NetworkModel], x: Table) -> Array:
        """Outputs of the networks, shape (n_draws, n_rows, n_outputs)."""
        rows = self._encode(as_table(x))
        return np.concatenate(
            [
                self._outputs_of_some(models[start : start + CHUNK], rows)
                for start in range(0, len(models), CHUNK)
            ]
        )

    def _outputs_of_some(self, models: Sequence[NetworkModel], rows: Array) -> Array:
        """Outputs of at most a chunk of draws; always computed for a whole one."""
        chosen = [models[min(place, len(models) - 1)].parameters for place in range(CHUNK)]
        parameters, found = np.stack(chosen), []
        for start in range(0, max(1, len(rows)), ROWS_AT_ONCE):
            part = rows[start : start + ROWS_AT_ONCE]
            filled = padded(part, padded_size(len(part), SMALLEST_SIZE))
            found.append(outputs_of(self._network, parameters, filled)[:, : len(part)])
        outputs = np.concatenate(found, axis=1)[: len(models)]
        bad = ~np.isfinite(outputs).all(axis=(1, 2))
        if bad.any():
            message = "predictions are not finite: check X for extreme values."
            raise DrawsFailedError({int(k): ValueError(message) for k in np.flatnonzero(bad)})
        return outputs

    # -- rows of a chunk as arrays --------------------------------------------------------------

    def _encode(self, table: Table) -> NDArray[np.float32]:
        assert self.encoding is not None
        return self.encoding.encode(table)

    def _encoded(self, table: Table, rows: int) -> NDArray[np.float32]:
        return padded(self._encode(table), self._size(max(rows, n_rows(table))))

    def _size(self, rows: int) -> int:
        return padded_to_real(rows, self.n_rows)

    def _examples(self, data: Sequence[Data]) -> Examples:
        return examples_of(data, self._encode, self.n_rows, self.outcomes.n_outputs)

    def _outputs_at(self, examples: Examples, parameters: Array) -> Array:
        """Outputs at the rows of every draw, shape (n_draws, n_rows, n_outputs)."""
        outputs = outputs_of(self._network, parameters, examples.x)
        return np.take_along_axis(outputs, examples.rows[..., None], axis=1)

    def _moved_noise(self, models: NetworkModels, new: Blocks) -> Array:
        outputs = self._outputs_of_blocks(models, new.x)
        share = new.size / new.total
        moved = [
            self.outcomes.moved_noise(float(noise), each, block.y, share)
            for noise, each, block in zip(models.noise, outputs, new, strict=True)
        ]
        return np.array(moved)

    def _with_noise(self, examples: Examples, streams: Streams) -> Examples:
        """Outcomes with added noise of the same size as the noise of y."""
        shape = examples.statistics.shape[1:]
        noise = np.stack([rng.normal(size=shape) for rng in streams]) * self.noise
        weight = np.sqrt(np.maximum(examples.weight, 1e-12))[..., None]
        return examples._replace(
            statistics=(examples.statistics + noise / weight).astype(np.float32)
        )


def _codes(y: Array, classes: Array) -> NDArray[np.intp]:
    codes = np.searchsorted(classes, y)
    known = np.asarray(classes)[np.minimum(codes, len(classes) - 1)] == y
    if not np.all(known):
        raise ValueError(f"y has the class {np.asarray(y)[~known][0]!r}, which fit has not seen.")
    return codes
