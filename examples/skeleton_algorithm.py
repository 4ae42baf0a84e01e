"""A new algorithm in one file: copy this, implement the three methods, register it.

The example is a polynomial with Laplace noise. A model is any value that pickles. Methods must not
change their arguments, and all randomness must come from `rng`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nearbayes as nb
from nearbayes.core.data import Block, Data, Rows


@dataclass(frozen=True)
class LaplacePolynomial(nb.Algorithm):
    """Least-squares polynomial in one input, with Laplace noise.

    Parameters
    ----------
    degree : int
    """

    degree: int = 2

    @property
    def traits(self) -> nb.Traits:
        """Optional: what the engine may rely on; see `nearbayes.Traits`."""
        return nb.Traits(counts=False, randomised=False)

    def fit(self, data: Data, rng: np.random.Generator) -> tuple[NDArray[Any], float]:
        """A_0: coefficients and noise scale from the real rows."""
        x = data.x[:, 0]
        coefficients = np.polyfit(x, data.y, self.degree, w=data.counts**0.5)
        error = np.abs(data.y - np.polyval(coefficients, x))
        return coefficients, float(np.average(error, weights=data.counts))

    def refit(
        self, data: Data, new: Block, model: Any, rng: np.random.Generator
    ) -> tuple[NDArray[Any], float]:
        """A, optional: the same on real and imputed rows; may start from the last `model`."""
        return self.fit(data, rng)

    def sample(self, model: Any, x: Rows, rng: np.random.Generator) -> NDArray[np.float64]:
        """p_theta: one y per row of `x`."""
        coefficients, scale = model
        return rng.laplace(np.polyval(coefficients, x.values[:, 0]), scale)

    def predict(self, model: Any, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Optional: the prediction that `posterior.predict` returns."""
        return np.polyval(model[0], x[:, 0])


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(100, 1))
    y = 1 + X[:, 0] ** 2 + rng.laplace(scale=0.2, size=100)
    posterior = nb.martingale_posterior(LaplacePolynomial(), (X, y), n_draws=200, random_state=0)
    low, high = posterior.interval(np.zeros((1, 1)), coverage=0.9)[0]
    print(posterior.summary())
    print(f"f(0) is between {low:.2f} and {high:.2f} with probability 90 %; the truth is 1")


if __name__ == "__main__":
    main()
