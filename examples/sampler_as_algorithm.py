"""A sampler as the algorithm: its martingale posterior is its posterior, its bootstrap is wider.

A fit is one draw from the posterior of a regression line with unknown noise, by Hamiltonian Monte
Carlo (``pip install 'nearbayes[blackjax]'``). Imputing rows and drawing again leaves the posterior
as it is (remark in section 4 of the paper); resampling rows adds their variance to it.
"""

from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

import nearbayes as nb

N_ROWS, N_MOVES, N_LEAPS, LEAP = 40, 10, 4, 0.5
SCHEDULE = nb.Schedule.arithmetic(horizon=2.0, block=1.0)


def log_posterior(theta: Any, x: Any, y: Any, weight: Any) -> Any:
    """Line with intercept, slope and log sd; standard normal priors; weight 0 means padding."""
    log_sd = theta[2]
    standardised = (y - theta[0] - theta[1] * x) * jnp.exp(-log_sd)
    return -jnp.sum(weight * (standardised**2 / 2 + log_sd)) - jnp.sum(theta**2) / 2


def least_squares(x: Any, y: Any, weight: Any) -> Any:
    """Starting point of the search for the mode."""
    columns = jnp.stack([jnp.ones_like(x), x], axis=1)
    line = jnp.linalg.solve((weight * columns.T) @ columns, (weight * columns.T) @ y)
    variance = jnp.sum(weight * (y - columns @ line) ** 2) / jnp.sum(weight)
    return jnp.append(line, jnp.log(variance) / 2)


@jax.jit
def one_draw(key: Any, x: Any, y: Any, weight: Any) -> Any:
    """Hamiltonian Monte Carlo from the mode, scaled by the curvature there."""

    def density(theta: Any) -> Any:
        return log_posterior(theta, x, y, weight)

    def newton(_: Any, theta: Any) -> Any:
        return theta - jnp.linalg.solve(jax.hessian(density)(theta), jax.grad(density)(theta))

    mode = jax.lax.fori_loop(0, 8, newton, least_squares(x, y, weight))
    covariance = jnp.linalg.inv(-jax.hessian(density)(mode))
    sampler = blackjax.hmc(density, LEAP, covariance, N_LEAPS)

    def move(state: Any, now: Any) -> Any:
        return sampler.step(now, state)[0], None

    end, _ = jax.lax.scan(move, sampler.init(mode), jax.random.split(key, N_MOVES))
    return end.position


def fit(x: Any, y: Any, rng: np.random.Generator) -> Any:
    """One draw; rows are padded to a multiple of N_ROWS, so that few programs are compiled."""
    spare = -len(y) % N_ROWS
    weight = np.append(np.ones(len(y)), np.zeros(spare))
    key = jax.random.key(int(rng.integers(2**31)))
    return np.asarray(one_draw(key, np.pad(x[:, 0], (0, spare)), np.pad(y, (0, spare)), weight))


def sample(theta: Any, x: Any, rng: np.random.Generator) -> Any:
    return theta[0] + theta[1] * x[:, 0] + np.exp(theta[2]) * rng.standard_normal(len(x))


def exact_sd(x: Any, y: Any) -> Any:
    """Standard deviations of the posterior, by numerical integration on a grid."""
    near = [np.linspace(low, high, 81) for low, high in ((-1, 2), (-2, 1), (-1.2, 0.8))]
    grid = np.stack(np.meshgrid(*near, indexing="ij"), axis=-1).reshape(-1, 3)
    ones = jnp.ones(len(y))
    log_p = jax.lax.map(lambda theta: log_posterior(theta, x, y, ones), grid, batch_size=10_000)
    p = np.exp(np.asarray(log_p - log_p.max(), dtype=np.float64))
    p /= p.sum()
    return np.sqrt(p @ (grid - p @ grid) ** 2)


def main(n_draws: int = 1_000) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N_ROWS, 1))
    y = sample(np.array([0.5, -0.5, -0.2]), x, rng)
    algorithm = nb.algorithm(fit, sample, fully_bayesian=True)
    run = {"n_draws": n_draws, "random_state": 0}
    posteriors = {
        "martingale posterior": nb.martingale_posterior(
            algorithm, (x, y), schedule=SCHEDULE, **run
        ),
        "bootstrap": nb.baselines.bootstrap(algorithm, (x, y), **run),
    }
    true = exact_sd(x[:, 0], y)
    ratios = {}
    print("sd over that of the true posterior: intercept, slope, log sd")
    for name, posterior in posteriors.items():
        ratios[name] = np.std(np.stack(posterior.models), axis=0) / true
        print(f"{name:21s}", *(f"{ratio:5.2f}" for ratio in ratios[name]))
    return ratios


if __name__ == "__main__":
    main()
