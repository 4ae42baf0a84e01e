"""What users of gradient martingales get wrong is said in one sentence that names the argument."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse

import nearbayes as nb

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 2)), RNG.normal(size=30)
HOLED = np.where(np.arange(60).reshape(30, 2) == 6, np.nan, X)


def density(theta, x, y):
    return -((y - x @ theta) ** 2) / 2


def sample(theta, x, key):
    return x @ theta + jax.random.normal(key)


def drawn(log_density=density, sampler=sample, start=(0.0, 0.0), data=(X, Y), **options):
    algorithm = nb.GradientMartingale(log_density, sampler, np.asarray(start), **options)
    schedule = nb.Schedule.optimal(refits=1)
    return nb.martingale_posterior(algorithm, data, n_draws=2, schedule=schedule, random_state=0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"log_density": lambda t, x, y: -np.square(np.asarray(y))},
         "log_density must be made of functions of JAX"),
        ({"sampler": lambda t, x, key: np.asarray(x @ t)},
         "sampler must be made of functions of JAX"),
        ({"log_density": lambda t, x, y: None}, "must return one number, got NoneType"),
        ({"log_density": lambda t, z: -(z**2)}, r"log_density must take \(theta, x, y\), as the"),
        ({"data": Y}, r"log_density must take \(theta, z\), as the data have no inputs"),
        ({"sampler": lambda t, key: 0.0}, r"sampler must take \(theta, x, key\)"),
        ({"information": lambda t: jnp.eye(2)}, r"information must take \(theta, x\)"),
        ({"start": np.zeros(3)}, r"log_density failed for theta of shape \(3,\), x of shape"),
        ({"start": np.zeros(2, complex)}, "start must be an array of numbers"),
        ({"fit_function": lambda X, y: "abc"}, "fit_function gives must be an array of numbers"),
        ({"fit_function": lambda X, y: [0.0, np.nan]}, "fit_function must give finite parameters"),
        ({"data": (HOLED, Y)}, "X must be finite, got NaN or infinity in 1 of 30 rows, first in"),
        ({"data": (sparse.csr_matrix(X), Y)}, "X must be a dense table of numbers"),
        ({"data": (X.astype(str), Y)}, "X must be a dense table of numbers"),
        ({"log_density": lambda t, x, y: -jnp.abs(y - x @ t)}, "nowhere concave"),
    ],
)  # fmt: skip
def test_misuse_gets_one_sentence(given, said):
    with pytest.raises((TypeError, ValueError), match=said):
        drawn(**given)


def test_predictions_need_the_columns_of_the_fit():
    posterior = drawn(predict_function=lambda theta, x: x[0] * theta[0])
    with pytest.raises(ValueError, match="X must have the 2 columns of the data of the fit, got 3"):
        posterior.predictions(np.zeros((4, 3)))
