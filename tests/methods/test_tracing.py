import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import nearbayes as nb
from nearbayes.core.data import as_data
from nearbayes.core.engine import draw
from nearbayes.core.paths import Martingale
from nearbayes.core.run import Run
from nearbayes.draws.path_trace import MOST_DRAWS
from nearbayes.methods.tracing import MOST_STEPS, Tracer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = X[:, 0] + 0.3 * RNG.normal(size=40)
MLE = nb.SequentialMLE(nb.families.Gaussian(np.ones(2)))


def test_what_is_noted_grows_with_neither_draws_nor_refits():
    data, blocks = as_data(X), (1,) * 60
    run = Run(n_draws=3 * MOST_DRAWS, random_state=0, progress=False)
    _, seen = draw(MLE, data, Martingale(None, blocks), run, Tracer.of(data, len(blocks)))
    assert [len(each) for each in seen] == [MOST_STEPS] * MOST_DRAWS + [0] * 2 * MOST_DRAWS


def test_starts_at_the_first_fit_and_ends_in_the_draws():
    posterior = nb.martingale_posterior(MLE, X, n_draws=5, random_state=0)
    assert posterior.trace.n_rows[[0, -1]].tolist() == [40, 40 + sum(posterior.provenance.blocks)]
    np.testing.assert_array_equal(posterior.trace.values[:, 0], np.tile(X.mean(axis=0), (5, 1)))
    np.testing.assert_array_equal(posterior.trace.values[:, -1], np.stack(list(posterior.draws)))


@pytest.mark.parametrize(
    ("algorithm", "y", "shape"),
    [
        (nb.RegressorAlgorithm.of(LinearRegression()), Y, (3, 3, 16)),
        (nb.ClassifierAlgorithm.of(LogisticRegression()), Y > 0, (3, 3, 16)),
    ],
)
def test_models_with_inputs_are_noted_by_predictions(algorithm, y, shape):
    schedule = nb.Schedule.optimal(2)
    run = {"n_draws": 3, "random_state": 0, "schedule": schedule}
    assert nb.martingale_posterior(algorithm, (X, y), **run).trace.values.shape == shape


def test_models_that_are_no_vectors_leave_no_trace():
    def fit(z):
        return {"mean": float(np.mean(z))}

    def sample(model, size, rng):
        return rng.normal(model["mean"], 1.0, size)

    posterior = nb.martingale_posterior(nb.algorithm(fit, sample), Y, n_draws=3, random_state=0)
    assert posterior.trace is None


def test_draws_made_later_join_the_trace():
    run = {"schedule": nb.Schedule.optimal(2), "random_state": 0}
    whole = nb.martingale_posterior(MLE, X, n_draws=6, **run)
    part = nb.martingale_posterior(MLE, X, n_draws=4, **run)
    resumed = nb.martingale_posterior(MLE, X, n_draws=6, resume=part, **run)
    np.testing.assert_array_equal(resumed.trace.values, whole.trace.values)
