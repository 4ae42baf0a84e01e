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

**Out of distribution**, where the data hold no information, the prior uncertainty has to come from
the start: with ``initial="prior"`` the first fit starts at a draw of the prior (Remark gp-ood, App.
B.3.2). This first fit alone is the anchored ensemble of Pearce et al. (2020), see
`nearbayes.baselines.anchored`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nearbayes.compiled.precision import compiled, computing_in
from nearbayes.core.data import Block, Counts, Data, Rows
from nearbayes.core.protocols import Rng
from nearbayes.core.tables import Table, numeric_values
from nearbayes.gp.kernels import (
    KernelName,
    check_kernel,
    length_scales,
    spectral_frequencies,
)

__all__ = ["FeatureModel", "FeatureModels", "RandomFeatureGP"]

Array = NDArray[np.float64]


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
        if isinstance(draw, slice):
            return FeatureModels(self.weights[draw], self.inverse[draw])
        return FeatureModel(np.asarray(self.weights[draw]), np.asarray(self.inverse[draw]))


@dataclass(frozen=True)
class RandomFeatureGP:
    r"""Gaussian process regression by random Fourier features and sequential MAP (section 3.2.2).

    An algorithm for `nearbayes.martingale_posterior`; all draws advance in one compiled program.
    Kernel and noise must be known, and the prior mean is 0, so centre y first.

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
    accepts_counts: Counts = False
    packages: tuple[str, ...] = ("jax", "tinygp")

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

    @property
    def randomised(self) -> bool:
        """Whether first fits differ, because they start at draws of the prior."""
        return self.initial == "prior"

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
        numeric = replace(data, y=np.asarray(data.y, dtype=np.float64))
        if self.frequencies is not None:
            return self, numeric
        drawn = spectral_frequencies(self.kernel, scales, self.n_features // 2, rng)
        return replace(self, frequencies=drawn), numeric

    def fit(self, data: Data, rng: Rng) -> FeatureModel:
        """First fit of one draw: MAP estimate around its start."""
        return self.fit_paths(data, [rng])[0]  # type: ignore[no-any-return]

    def refit(self, data: Data, new: Block, model: FeatureModel, rng: Rng) -> FeatureModel:
        """Update one draw with a new block (eq. gp-alg-spo)."""
        models = FeatureModels(model.weights[None], model.inverse[None])
        return self.refit_paths([data], [new], models, [rng])[0]  # type: ignore[no-any-return]

    def sample(self, model: FeatureModel, x: Rows, rng: Rng) -> Array:
        """Outcomes: f(x) plus normal noise."""
        mean = self.predict(model, x.values)
        return mean + self.noise * rng.standard_normal(len(mean))

    def predict(self, model: FeatureModel, x: Table) -> Array:
        """The function of one draw, shape (n_rows,)."""
        return np.asarray(self._features(_values(x)) @ model.weights)

    def finish(self, model: FeatureModel) -> FeatureModel:
        """Keep only the weights: the inverse matrix is not needed for prediction."""
        return FeatureModel(np.asarray(model.weights))

    def fit_paths(self, data: Data, rngs: Sequence[Rng]) -> FeatureModels:
        """First fits: one inverse for all draws, and MAP estimates around their starts."""
        features = self._features(_values(data.x))
        start = np.zeros((len(rngs), self.n_features))
        if self.initial == "prior":
            start = np.stack([rng.standard_normal(self.n_features) for rng in rngs])
        weighted = features.T * data.counts
        precision = weighted @ features + self.weight * np.eye(self.n_features)
        inverse = np.linalg.inv(precision)
        moved = start + (data.y - start @ features.T) @ weighted.T @ inverse
        with computing_in("float64"):
            everywhere = jnp.broadcast_to(jnp.asarray(inverse), (len(rngs), *inverse.shape))
            return FeatureModels(jnp.asarray(moved), everywhere)

    def sample_paths(
        self, models: Sequence[FeatureModel], x: Sequence[Rows], rngs: Sequence[Rng]
    ) -> Array:
        """Outcomes of a block for every draw, shape (n_draws, size)."""
        assert isinstance(models, FeatureModels)
        features = self._features(_stacked(x))
        mean = np.einsum("ksd,kd->ks", features, np.asarray(models.weights))
        noise = np.stack([rng.standard_normal(mean.shape[1]) for rng in rngs])
        return np.asarray(mean + self.noise * noise)

    def refit_paths(
        self,
        data: Sequence[Data],
        new: Sequence[Block],
        models: Sequence[FeatureModel],
        rngs: Sequence[Rng],
    ) -> FeatureModels:
        """Update every draw with its block (eq. gp-alg-spo)."""
        assert isinstance(models, FeatureModels)
        features = self._features(_stacked([block.x for block in new]))
        outcomes = np.stack([block.y for block in new])
        with computing_in("float64"):
            return FeatureModels(*_moved(models.weights, models.inverse, features, outcomes))

    def _features(self, x: Array) -> Array:
        r"""Features :math:`\phi(x)`, shape (..., n_features), whose squares sum to the variance."""
        assert self.frequencies is not None
        phase = x @ self.frequencies.T
        waves = np.concatenate([np.cos(phase), np.sin(phase)], axis=-1)
        return np.asarray(np.sqrt(2 * self.variance / self.n_features) * waves)


def _one_moved(draw: tuple[Any, Any, Any, Any]) -> tuple[Any, Any]:
    """Update one draw; by Woodbury, the gain of a block is A^-1 Phi' (I + Phi A^-1 Phi')^-1."""
    weights, inverse, features, outcomes = draw
    projected = features @ inverse
    inner = jnp.eye(len(features), dtype=inverse.dtype) + projected @ features.T
    gain = jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(inner), projected).T
    return weights + gain @ (outcomes - features @ weights), inverse - gain @ projected


@compiled
def _moved(weights: Any, inverse: Any, features: Any, outcomes: Any) -> tuple[Any, Any]:
    """Update all draws, one after the other."""
    return jax.lax.map(_one_moved, (weights, inverse, features, outcomes))  # type: ignore[no-any-return]


def _stacked(x: Sequence[Rows]) -> Array:
    """Inputs of a block of every draw, shape (n_draws, size, n_columns)."""
    return np.stack([_values(rows.values) for rows in x])


def _values(table: Table | None) -> Array:
    return numeric_values(table, "RandomFeatureGP")


def _check_positive(name: str, value: Any) -> None:
    if not (np.isscalar(value) and np.isfinite(value) and value > 0):  # type: ignore[operator]
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
