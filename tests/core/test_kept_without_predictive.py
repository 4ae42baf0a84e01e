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


def test_what_was_kept_is_saved_where_it_can_be(tmp_path):
    """The first fit of a posterior of Algorithm 1 is a model, not what is kept of a draw."""
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    y = X[:, 0] + rng.normal(size=30)
    run = {"n_draws": 3, "predict_on": X[:4], "random_state": 0, "progress": False}
    algorithm = nb.RegressorAlgorithm.of(LinearRegression())
    posterior = nb.martingale_posterior(algorithm, (X, y), **run)
    loaded = nb.load(posterior.save(tmp_path / "p.nearbayes"))
    np.testing.assert_array_equal(loaded.predict(X[:4]), posterior.predict(X[:4]))
    plain = nb.algorithm(
        fit=lambda x, y: np.polyfit(x[:, 0], y, 1),
        sample=lambda m, x, rng: np.polyval(m, x[:, 0]) + rng.normal(size=len(x)),
        predict=lambda m, x: np.polyval(m, x[:, 0]),
    )
    posterior = nb.martingale_posterior(plain, (X, y), **run)
    with pytest.raises(Exception, match=r"np.save\(path, posterior.predict\(X\)\)"):
        posterior.save(tmp_path / "q.nearbayes")
