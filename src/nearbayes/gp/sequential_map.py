r"""Sequential MAP estimation of a Gaussian process with random features (eq. gp-alg-spo).

With features :math:`\phi(x)` of a kernel the process is :math:`f_\theta(x) = \phi(x)^\top\theta`,
:math:`\theta \sim N(0, I)`. A refit keeps the predictions of the model at old rows, fits the new
rows, and stays close to the last model:

.. math:: \theta_{j+1} = \arg\min_\theta \sum_{i \le n_j} (f_{\theta_j}(x_i) - f_\theta(x_i))^2
          + \sum_{new} (f_\theta(\hat x) - \hat y)^2 + \lambda \|\theta - \theta_j\|^2

so :math:`\theta_{j+1} = \theta_j + A_{j+1}^{-1} \Phi^\top (\hat y - \Phi\theta_j)` with
:math:`A_j = \sum_i \phi(x_i)\phi(x_i)^\top + \lambda I`. Its inverse is updated by Woodbury's
formula, so the cost of a block is its rows times the square of the number of features.

**The weight.** Sequential MAP has :math:`\lambda = \sigma^2`; then the increments add up to the
covariance :math:`\sigma^2 A_n^{-1}` of the exact posterior. The paper prints 1/n, which is the same
only with its scaling of the problem; `experiments/gp_toy` compares both.

**Out of distribution**, where the data contain no information, the prior uncertainty has to come
from the start: with ``initial="prior"`` the first fit starts at a draw of the prior (Remark gp-ood,
App. B.3.2). This first fit alone is the anchored ensemble of Pearce et al. (2020), see
`nearbayes.baselines.anchored`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nearbayes.compiled.precision import compiled, computing_in
from nearbayes.compiled.shapes import padded_size
from nearbayes.core.data import Blocks, Data, Repeated, Rows
from nearbayes.core.protocols import ChunkAlgorithm, Rng, Traits
from nearbayes.core.seeds import Streams
from nearbayes.gp.kernels import (
    KernelName,
    check_kernel,
    length_scales,
    spectral_frequencies,
)
from nearbayes.tables.table import Table, numeric_values

__all__ = ["FeatureModel", "FeatureModels", "RandomFeatureGP"]

Array = NDArray[np.float64]
CHUNK, PREDICTED_AT_ONCE = 4, 16
PIECE, SMALLEST_PIECE = 64, 8  # rows of a block processed at once


@dataclass(frozen=True, eq=False)
class FeatureModel:
    r"""Weights :math:`\theta_j` of one draw and, until its path ends, :math:`A_j^{-1}`."""

    weights: Array
    inverse: Any = None


@dataclass(frozen=True, eq=False)
class FeatureModels(Sequence[FeatureModel]):
    """Models of all draws: `weights` (n_draws, n_features), `inverse` with one more axis."""

    weights: Any
    inverse: Any

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, draw: Any) -> Any:
        weights, inverse = np.asarray(self.weights)[draw], np.asarray(self.inverse)[draw]
        one = isinstance(draw, int | np.integer)
        return FeatureModel(weights, inverse) if one else FeatureModels(weights, inverse)


@dataclass(frozen=True)
class RandomFeatureGP(ChunkAlgorithm):
    r"""Gaussian process regression by random Fourier features and sequential MAP (section 3.2.2).

    An algorithm for `nearbayes.martingale_posterior`; draws advance in chunks of four, each in one
    compiled program.
    The kernel and the noise are known, and the mean is 0: centre y first.

    Parameters
    ----------
    kernel : "matern12", "matern32", "matern52" or "rbf"
    length_scale : float or array of shape (n_columns,)
    variance : float
        Prior variance of f(x).
    noise : float
        Standard deviation :math:`\sigma` of y around f(x).
    n_features : int
        Cosines and sines of n_features / 2 random frequencies (Rahimi and Recht, 2007).
    initial : "prior" or "zero"
        Start of the first fit of a draw: a draw of the prior, which keeps the uncertainty far from
        the data, or 0.
    proximal : float, optional
        The weight :math:`\lambda`; by default :math:`\sigma^2`, that of sequential MAP.
    frequencies : array of shape (n_features / 2, n_columns), optional
        By default drawn from the kernel's spectral density.

    Examples
    --------
    >>> import nearbayes as nb
    >>> X = np.random.default_rng(0).uniform(0, 6, size=(60, 1))
    >>> y = np.sin(X[:, 0]) + 0.3 * np.random.default_rng(1).normal(size=60)
    >>> posterior = nb.martingale_posterior(
    ...     nb.gp.RandomFeatureGP(noise=0.3, n_features=100), (X, y), n_draws=40, random_state=0)
    >>> known, far = posterior.predict(np.array([[3.0], [30.0]])).std(axis=0)
    >>> bool(known < 0.2 and far > 0.7)
    True
    """

    kernel: KernelName = "matern32"
    length_scale: Any = 1.0
    variance: float = 1.0
    noise: float = 0.1
    n_features: int = 400
    initial: Literal["prior", "zero"] = "prior"
    proximal: float | None = None
    frequencies: Array | None = None

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        for name in ("variance", "noise"):
            _check_positive(name, getattr(self, name))
        if self.proximal is not None:
            _check_positive("proximal", self.proximal)
        if self.initial not in ("prior", "zero"):
            raise ValueError(f"initial must be 'prior' or 'zero', got {self.initial!r}.")
        if not isinstance(self.n_features, int) or self.n_features < 2 or self.n_features % 2:
            raise ValueError(
                f"n_features must be an even integer of at least 2, got {self.n_features!r}."
            )

    @cached_property
    def traits(self) -> Traits:
        """First fits differ if they start at draws of the prior; models hold all past rows."""
        return Traits(
            randomised=self.initial == "prior",
            chunk=CHUNK,
            keeps_rows=False,
            runs_in="threads",
            packages=("jax", "tinygp"),
        )

    def for_method(self, method: str) -> RandomFeatureGP:
        """Around draws of the prior it is an anchored ensemble."""
        if method != "anchored":
            return super().for_method(method)
        if self.initial != "prior":
            raise TypeError(
                f"anchored needs draws of the prior: initial='prior', got {self.initial!r}."
            )
        return self

    @property
    def weight(self) -> float:
        r"""The weight :math:`\lambda` of the proximal term."""
        return self.noise**2 if self.proximal is None else self.proximal

    def prepare(self, data: Data, rng: Rng) -> tuple[RandomFeatureGP, Data]:
        """Sample the frequencies, which all draws share."""
        n_columns = _values(data.table).shape[1]
        scales = length_scales(self.length_scale, n_columns)
        if data.y.ndim != 1:
            raise ValueError(f"y must have one dimension, got shape {data.y.shape}.")
        numeric = self.coded(data)
        if self.frequencies is not None:
            return self, numeric
        drawn = spectral_frequencies(self.kernel, scales, self.n_features // 2, rng)
        return replace(self, frequencies=drawn), numeric

    def coded(self, data: Data) -> Data:
        """Outcomes as floats."""
        return replace(data, y=np.asarray(data.y, dtype=np.float64))

    def fit(self, data: Sequence[Data], streams: Streams) -> FeatureModels:
        """First fits: MAP around where each draw starts."""
        start = np.zeros((len(streams), self.n_features))
        if self.initial == "prior":
            start = np.stack([rng.standard_normal(self.n_features) for rng in streams])
        if isinstance(data, Repeated):
            weights, inverse = self._map_around(data[0], start)
            inverse = np.broadcast_to(inverse, (len(start), *inverse.shape))
            return FeatureModels(weights, inverse)
        fits = [self._map_around(*each) for each in zip(data, start[:, None], strict=True)]
        return FeatureModels(
            np.concatenate([fit[0] for fit in fits]), np.stack([f[1] for f in fits])
        )

    def _map_around(self, data: Data, start: Array) -> tuple[Array, Array]:
        """MAP of the same rows around several starts, and the inverse that all of them share."""
        features = self._features(_values(data.x))
        weighted = features.T * data.counts
        inverse = np.linalg.inv(weighted @ features + self.weight * np.eye(self.n_features))
        moved = start + (data.y - start @ features.T) @ weighted.T @ inverse
        return np.asarray(moved), np.asarray(inverse)

    def sample(self, models: Any, x: Sequence[Rows], streams: Streams) -> Array:
        """Outcomes of a block for every draw, shape (n_draws, size): f(x) plus normal noise."""
        features = self._features(_stacked(x))
        mean = np.einsum("ksd,kd->ks", features, np.asarray(models.weights))
        noise = np.stack([rng.standard_normal(mean.shape[1]) for rng in streams])
        return np.asarray(mean + self.noise * noise)

    def refit(
        self, data: Sequence[Data], new: Blocks, models: Any, streams: Streams
    ) -> FeatureModels:
        """Update every draw with its block (eq. gp-alg-spo)."""
        features, outcomes = self._features(_stacked(new.x)), np.asarray(new.y)
        moved = (models.weights, models.inverse)
        with computing_in("float64"):
            # Piece by piece is the same minimum, in small matrices of few shapes.
            for start in range(0, new.size, PIECE):
                piece = slice(start, start + PIECE)
                moved = _moved(*moved, *_padded(features[:, piece], outcomes[:, piece]))
        return FeatureModels(*moved)

    def finish(self, models: Any) -> list[FeatureModel]:
        """Only the weights."""
        return [FeatureModel(weights) for weights in _weights(models)]

    def predict(self, models: Sequence[FeatureModel], x: Table) -> Array:
        """Functions of the draws, shape (n_draws, n_rows); features are computed once for all."""
        features = self._features(_values(x))
        weights = _weights(models)
        # chunks of one size, so that predictions of a draw do not depend on the number of others
        padded = np.pad(weights, ((0, -len(weights) % PREDICTED_AT_ONCE), (0, 0)))
        parts = padded.reshape(-1, PREDICTED_AT_ONCE, self.n_features)
        return np.concatenate([part @ features.T for part in parts])[: len(weights)]

    def _features(self, x: Array) -> Array:
        r"""Features :math:`\phi(x)`, shape (..., n_features), whose squares sum to the variance."""
        assert self.frequencies is not None
        phase = x @ self.frequencies.T
        waves = np.concatenate([np.cos(phase), np.sin(phase)], axis=-1)
        return np.asarray(np.sqrt(2 * self.variance / self.n_features) * waves)


def _weights(models: Sequence[FeatureModel]) -> Array:
    """Weights of many draws, shape (n_draws, n_features)."""
    if isinstance(models, FeatureModels):
        return np.asarray(models.weights)
    return np.stack([model.weights for model in models])


def _one_moved(draw: tuple[Any, Any, Any, Any]) -> tuple[Any, Any]:
    """Update one draw; by Woodbury, the gain of a block is A^-1 Phi' (I + Phi A^-1 Phi')^-1."""
    weights, inverse, features, outcomes = draw
    projected = features @ inverse
    inner = jnp.eye(len(features), dtype=inverse.dtype) + projected @ features.T
    gain = jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(inner), projected).T
    return weights + gain @ (outcomes - features @ weights), inverse - gain @ projected


@compiled
def _moved(weights: Any, inverse: Any, features: Any, outcomes: Any) -> tuple[Any, Any]:
    """Update all draws, one after another."""
    return jax.lax.map(_one_moved, (weights, inverse, features, outcomes))  # type: ignore[no-any-return]


def _padded(features: Array, outcomes: Array) -> tuple[Array, Array]:
    """A piece of a block in one of few shapes: rows without features have no effect."""
    n_rows = outcomes.shape[1]
    spare = padded_size(n_rows, SMALLEST_PIECE) - n_rows
    return np.pad(features, ((0, 0), (0, spare), (0, 0))), np.pad(outcomes, ((0, 0), (0, spare)))


def _stacked(x: Sequence[Rows]) -> Array:
    """Inputs of a block of every draw, shape (n_draws, size, n_columns)."""
    return np.stack([_values(rows.values) for rows in x])


def _values(table: Table | None) -> Array:
    return numeric_values(table, "RandomFeatureGP")


def _check_positive(name: str, value: Any) -> None:
    if not (np.isscalar(value) and np.isfinite(value) and value > 0):  # type: ignore[operator]
        raise ValueError(f"{name} must be a positive number, got {value!r}.")


def example() -> tuple[RandomFeatureGP, Data]:
    """A process with its default number of features, and data for it."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    return RandomFeatureGP(noise=0.5), Data.of(X, X[:, 0] + 0.5 * rng.normal(size=60))
