"""Outcomes: meaning of a network's outputs for y: numbers, classes, counts, or defined by the user.

In NumPy: statistics for losses, predictions in the units of the user, and samples. Losses
themselves are in `convex_losses.py`, which is imported when JAX is needed, and in
`torch_losses.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from nearbayes.core.data import Rows
from nearbayes.core.protocols import Rng
from nearbayes.draws.credible import Link
from nearbayes.predictives.positive import COUNTS, PositivePredictive, check_positive
from nearbayes.predictives.predictive import CategoricalPredictive, Normal
from nearbayes.registry import resolved

__all__ = ["Classes", "CountOutcomes", "Numbers", "Outcomes", "UserOutcomes", "VaryingNumbers"]

Array = NDArray[Any]
SMALLEST_ROOT = 1e-2  # root of the precision, in standard units, below which -log is a line
LARGEST_LOG_MEAN = 30.0
LEAST_NOISE = 0.25  # share of the variance of held-out residuals


@dataclass(frozen=True)
class Outcomes(ABC):
    """The kind of y, and its loss."""

    link: ClassVar[Link] = "identity"

    @property
    @abstractmethod
    def loss(self) -> Any:
        """Loss that the network is trained with, in JAX."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Outputs of the network."""

    def learned(self, y: Array, counts: Array) -> Outcomes:
        """Learn units from real outcomes."""
        return self

    @abstractmethod
    def statistics(self, y: Array) -> Array:
        """Statistics of outcomes for the loss, shape (n_rows, n_statistics)."""

    def values(self, statistics: Array) -> Array:
        """Outcomes that have these statistics, shape (n_rows,): the inverse of `statistics`."""
        return np.asarray(statistics[..., 0])

    @abstractmethod
    def prediction(self, outputs: Array) -> Array:
        """Prediction in the units of the user; outputs have shape (..., n_outputs)."""

    def predictive(self, outputs: Array, noise: float) -> Any:
        """Distribution of y at each row; see `nearbayes.predictives`."""
        raise TypeError(f"{type(self).__name__} has no distribution of y, only samples.")

    def sample(self, outputs: Array, noise: float, rng: Rng) -> Array:
        """Statistics of one outcome per row."""
        rows = Rows(None, None, None, len(outputs))
        return self.statistics(self.predictive(outputs, noise).sample(rows, rng))

    def noise(self, outputs: Array, statistics: Array, weights: Array) -> float:
        """Size of the noise by outputs, (2, n_rows, n_outputs), that were not fitted to the row."""
        return 1.0

    def moved_noise(self, noise: float, outputs: Array, new: Array, share: float) -> float:
        """Noise after imputing outcomes with statistics `new`, a `share` of all rows."""
        return noise


@dataclass(frozen=True)
class Numbers(Outcomes):
    r"""Numbers around a prediction, with the same normal noise everywhere.

    Attributes
    ----------
    mean, sd : float or array of shape (n_outputs,)
        Of the real outcomes; networks use standard units.
    """

    mean: Any = 0.0
    sd: Any = 1.0

    @property
    def loss(self) -> Any:
        """Squared loss."""
        return _jax_loss("SquaredLoss")

    @property
    def n_outputs(self) -> int:
        """One per column of y."""
        return int(np.size(self.mean))

    def learned(self, y: Array, counts: Array) -> Numbers:
        """Mean and standard deviation."""
        mean = np.average(y, axis=0, weights=counts)
        sd = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=counts))
        if np.any(sd <= 1e-12 * np.abs(mean)) or np.any(sd == 0):
            raise ValueError(
                f"y is constant ({np.ravel(y)[0]:g} in every row): there is nothing to learn."
            )
        return replace(self, mean=mean, sd=sd)

    def statistics(self, y: Array) -> Array:
        """Y in standard units."""
        return np.reshape((y - self.mean) / self.sd, (len(y), -1))

    def values(self, statistics: Array) -> Array:
        """Y in its own units."""
        several = np.ndim(self.mean) == 1
        return np.asarray(self.mean + self.sd * (statistics if several else statistics[..., 0]))

    def prediction(self, outputs: Array) -> Array:
        """In the units of y; without the last axis if y is one number."""
        several = np.ndim(self.mean) == 1
        values = outputs.astype(np.float64) if several else outputs[..., 0].astype(np.float64)
        return np.asarray(self.mean + self.sd * values)

    def predictive(self, outputs: Array, noise: float) -> Normal:
        """Normal around the prediction; `noise` is a standard deviation in standard units."""
        return Normal(self.prediction(outputs), noise * np.asarray(self.sd, dtype=np.float64))

    def noise(self, outputs: Array, statistics: Array, weights: Array) -> float:
        """Residuals, minus the difference between two networks trained separately."""
        squares = np.mean((outputs - statistics) ** 2, axis=(0, 2))
        residual = np.average(squares, weights=weights)
        apart = np.mean((outputs[0] - outputs[1]) ** 2, axis=-1) / 2
        own = residual - np.average(apart, weights=weights)
        return float(np.sqrt(max(own, LEAST_NOISE * residual)))

    def moved_noise(self, noise: float, outputs: Array, new: Array, share: float) -> float:
        """Sequential maximum likelihood of the variance (eq. seq-MLE-EF)."""
        seen = float(np.mean((outputs - new) ** 2))
        return float(np.sqrt((1 - share) * noise**2 + share * seen))


@dataclass(frozen=True)
class VaryingNumbers(Numbers):
    """Numbers whose normal noise depends on x; the network has two outputs."""

    @property
    def loss(self) -> Any:
        """Minus the log density."""
        return _jax_loss("HeteroscedasticLoss")

    @property
    def n_outputs(self) -> int:
        """Mean over sd, and 1 over sd."""
        return 2

    def statistics(self, y: Array) -> Array:
        """Y in standard units, and its square."""
        standard = (np.asarray(y) - self.mean) / self.sd
        return np.stack([standard, standard**2], axis=-1)

    def prediction(self, outputs: Array) -> Array:
        """The mean, in the units of y."""
        standard = outputs[..., 0] / np.maximum(outputs[..., 1], SMALLEST_ROOT)
        return np.asarray(self.mean + self.sd * standard.astype(np.float64))

    def predictive(self, outputs: Array, noise: float) -> Normal:
        """Normal with the network's own standard deviation, times `noise`."""
        root = np.maximum(outputs[..., 1].astype(np.float64), SMALLEST_ROOT)
        return Normal(self.prediction(outputs), noise * self.sd / root)

    def noise(self, outputs: Array, statistics: Array, weights: Array) -> float:
        """Root mean square of held-out residuals in units of their predicted sd."""
        a, b = outputs[..., 0], np.maximum(outputs[..., 1], SMALLEST_ROOT)
        white = np.mean((b * statistics[None, :, 0] - a) ** 2, axis=0)
        return float(np.sqrt(np.average(white, weights=weights)))

    def moved_noise(self, noise: float, outputs: Array, new: Array, share: float) -> float:
        """The network learns the noise."""
        return noise


@dataclass(frozen=True)
class Classes(Outcomes):
    """Class codes 0, 1, ...; outputs are unnormalised log probabilities."""

    n_classes: int = 2
    link: ClassVar[Link] = "logit"

    @property
    def loss(self) -> Any:
        """Cross-entropy."""
        return _jax_loss("CrossEntropy")

    @property
    def n_outputs(self) -> int:
        """One per class."""
        return self.n_classes

    def statistics(self, y: Array) -> Array:
        """Indicators of the classes."""
        return np.eye(self.n_classes)[np.asarray(y, dtype=np.intp)]

    def values(self, statistics: Array) -> Array:
        """Class codes."""
        return np.asarray(statistics.argmax(axis=-1))

    def prediction(self, outputs: Array) -> Array:
        """Class probabilities."""
        return np.asarray(softmax(outputs.astype(np.float64), axis=-1))

    def predictive(self, outputs: Array, noise: float) -> CategoricalPredictive:
        """The class probabilities."""
        return CategoricalPredictive(self.prediction(outputs))


@dataclass(frozen=True)
class CountOutcomes(Outcomes):
    """Counts with a Poisson distribution; the output is the log of the mean over `unit`."""

    unit: float = 1.0
    link: ClassVar[Link] = "log"

    @property
    def loss(self) -> Any:
        """Poisson loss."""
        return _jax_loss("PoissonLoss")

    @property
    def n_outputs(self) -> int:
        """The log of the mean."""
        return 1

    def learned(self, y: Array, counts: Array) -> CountOutcomes:
        """The mean count is the unit."""
        check_positive(y, COUNTS)
        return replace(self, unit=float(np.average(y, weights=counts)))

    def statistics(self, y: Array) -> Array:
        """Counts over their mean."""
        return np.reshape(np.asarray(y, dtype=np.float64) / self.unit, (-1, 1))

    def values(self, statistics: Array) -> Array:
        """Counts."""
        return np.asarray(np.rint(self.unit * statistics[..., 0]))

    def prediction(self, outputs: Array) -> Array:
        """The mean count."""
        logs = np.minimum(outputs[..., 0].astype(np.float64), LARGEST_LOG_MEAN)
        return np.asarray(self.unit * np.exp(logs))

    def predictive(self, outputs: Array, noise: float) -> PositivePredictive:
        """Poisson; negative binomial if held-out counts vary more (`noise` squared > 1)."""
        return PositivePredictive(self.prediction(outputs), COUNTS, max(1.0, noise**2))

    def noise(self, outputs: Array, statistics: Array, weights: Array) -> float:
        """Root of the dispersion: squared residuals over the mean."""
        mean = np.exp(outputs[..., 0]).mean(axis=0)
        pearson = self.unit * (statistics[:, 0] - mean) ** 2 / mean
        return float(np.sqrt(max(1.0, np.average(pearson, weights=weights))))


@dataclass(frozen=True)
class UserOutcomes(Outcomes):
    """A user's loss that is convex in the output, and a sampler.

    Parameters
    ----------
    function : callable
        ``function(output, y)``: loss of one row, with `jax.numpy`; `output` has shape (outputs,).
    draw : callable
        ``draw(outputs, rng)``: one outcome per row of `outputs`, shape (n_rows, outputs).
    outputs : int
    predicted : callable, optional
        ``predicted(outputs)``: prediction per row; default the first output.
    """

    function: Callable[[Any, Any], Any]
    draw: Callable[[Array, Rng], Array]
    outputs: int = 1
    predicted: Callable[[Array], Array] | None = None

    @property
    def loss(self) -> Any:
        """The user's loss."""
        return _jax_loss("FunctionLoss", self.function)

    @property
    def n_outputs(self) -> int:
        """Number set by the user."""
        return self.outputs

    def statistics(self, y: Array) -> Array:
        """Y itself; the loss gets one number per row as an array of length one."""
        return np.reshape(np.asarray(y, dtype=np.float64), (len(y), -1))

    def prediction(self, outputs: Array) -> Array:
        """The first output, or the result of the user's function."""
        values = outputs.astype(np.float64)
        if self.predicted is None:
            return np.asarray(values[..., 0])
        flat = values.reshape(-1, values.shape[-1])
        return np.asarray(self.predicted(flat)).reshape(values.shape[:-1])

    def sample(self, outputs: Array, noise: float, rng: Rng) -> Array:
        """Outcomes by the user's function."""
        drawn = np.asarray(self.draw(outputs.astype(np.float64), rng))
        if len(drawn) != len(outputs):
            raise ValueError(
                f"sample must return one outcome per row, got {len(drawn)} for {len(outputs)} rows."
            )
        return self.statistics(drawn)


def _jax_loss(name: str, *arguments: Any) -> Any:
    return resolved(f"nearbayes.neural.convex_losses:{name}")(*arguments)
