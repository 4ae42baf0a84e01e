"""Draws kept as predictions, of algorithms that predict but have no distribution of y."""

import numpy as np
import pytest

import nearbayes as nb
from nearbayes.gradients.logistic_example import log_density, probability, sampler

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = RNG.binomial(1, 0.5, 40).astype(float)
ALGORITHMS = {
    "functions": nb.algorithm(
        lambda x, y: float(y.mean()),
        lambda model, x, rng: rng.normal(model, 1.0, len(x)),
        predict=lambda model, x: np.full(len(x), model),
    ),
    "gradients": nb.GradientMartingale(
        log_density, sampler, np.zeros(2), predict_function=probability
    ),
}


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_predictions_are_kept_as_they_are(algorithm):
    run = {"n_draws": 3, "schedule": nb.Schedule.optimal(refits=1), "random_state": 0}
    whole = nb.martingale_posterior(algorithm, (X, Y), **run)
    kept = nb.martingale_posterior(algorithm, (X, Y), predict_on=X[:7], **run)
    assert np.array_equal(kept.predictions(X[:7]).values, whole.predictions(X[:7]).values)
    with pytest.raises(TypeError, match="no distribution of y"):
        kept.predictives(X[:7])
