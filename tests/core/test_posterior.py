from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

import nearbayes as nb
from nearbayes.core.posterior import FailedDraw, Posterior, Provenance, installed_versions
from nearbayes.draws.credible import (
    credible_interval,
    inflate,
    off_link_scale,
    on_link_scale,
    reach_of,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = X @ [1.0, -1.0] + RNG.normal(size=40)
SCHEDULE = nb.Schedule.optimal(3)
RUN = {"n_draws": 12, "schedule": SCHEDULE, "progress": False}


def regression(**options):
    algorithm = nb.RegressorAlgorithm.of(LinearRegression())
    return nb.martingale_posterior(algorithm, (X, Y), **{**RUN, "random_state": 3, **options})


@pytest.fixture(scope="module")
def posterior():
    return regression()


@pytest.fixture(scope="module")
def classes():
    algorithm = nb.ClassifierAlgorithm.of(GaussianNB())
    return nb.martingale_posterior(algorithm, (X, Y > 0), random_state=0, **RUN)


def test_draws_are_fitted_estimators(posterior):
    assert len(posterior) == len(posterior.draws) == 12
    assert all(type(draw) is LinearRegression for draw in posterior.draws)
    assert type(posterior.first.estimator) is LinearRegression
    assert repr(posterior) == "<Posterior: 12 martingale draws>"


def test_apply_takes_the_estimator_and_carries_the_inflation(posterior):
    coefficients = posterior.apply(lambda model: model.coef_)
    assert coefficients.values.shape == (12, 2)
    assert coefficients.inflation == posterior.inflation == SCHEDULE.inflation(40)
    np.testing.assert_array_equal(coefficients.values[4], posterior.draws[4].coef_)
    raw = coefficients.values.std(axis=0, ddof=1)
    np.testing.assert_allclose(coefficients.std, posterior.inflation * raw)
    scalar = posterior.apply(lambda model: model.intercept_)
    assert scalar.interval().shape == (2,)


def test_apply_refuses_changing_shapes(posterior):
    sizes = iter(range(1, 20))
    with pytest.raises(ValueError, match="must return the same shape for every draw"):
        posterior.apply(lambda model: np.zeros(next(sizes)))


def test_predict_and_interval(posterior):
    values = posterior.predict(X[:5])
    assert values.shape == (12, 5)
    np.testing.assert_array_equal(values[2], posterior.draws[2].predict(X[:5]))
    raw, wide = posterior.interval(X[:5], spread="raw"), posterior.interval(X[:5])
    few = posterior.interval(X[:5], 0.8, spread="raw"), posterior.interval(X[:5], 0.8)
    np.testing.assert_array_equal(few[0], credible_interval(values, 0.8))
    inflated = inflate(values, posterior.inflation)
    np.testing.assert_array_equal(few[1], credible_interval(inflated, 0.8))
    # 12 draws do not reach 90 %, so that Student's t interval is taken
    reach = reach_of(0.9, 12) * values.std(axis=0, ddof=1)
    np.testing.assert_allclose(np.diff(raw)[:, 0], 2 * reach)
    np.testing.assert_allclose(np.diff(wide)[:, 0], 2 * posterior.inflation * reach)
    assert posterior.spread == "inflated"
    assert posterior.interval(X[:5], [0.5, 0.9]).shape == (5, 2, 2)
    np.testing.assert_array_equal(posterior.of_predictions(values).adjusted(), inflated)
    assert posterior.of_predictions(values).adjusted("raw") is values
    assert posterior.predict(X[:1].tolist()).shape == (12, 1)


def test_class_probabilities_are_inflated_on_log_odds(classes):
    values = classes.predict(X[:4])
    assert values.shape == (12, 4, 2)
    bounds = classes.interval(X[:4], 0.95)
    assert bounds.shape == (4, 2, 2)
    assert classes.predictions(X[:4]).link == "logit"
    assert (bounds > 0).all()
    assert (bounds < 1).all()
    centre, start = values.mean(axis=0), classes.start
    link = on_link_scale(values, "logit", start)
    reach = classes.inflation * reach_of(0.95, 12) * link.std(axis=0, ddof=1)
    upper = off_link_scale(on_link_scale(centre, "logit", start) + reach, "logit", start)
    np.testing.assert_allclose(bounds[..., 1], upper)
    raw = classes.interval(X[:4], 0.95, spread="raw")
    assert (raw[..., 0] > bounds[..., 0]).all()


def test_an_algorithm_that_cannot_predict_says_so():
    coin = nb.martingale_posterior(nb.SequentialMLE(nb.families.Bernoulli()), [0, 1, 1], n_draws=3)
    for ask in (coin.predict, coin.predictions, coin.interval):
        with pytest.raises(TypeError, match=r"SequentialMLE has no predict: use posterior.apply"):
            ask(X)
    assert np.array_equal(coin.draws, coin.models)


def random_states():
    return [None, 5, np.random.default_rng(1), np.random.SeedSequence(2)]


@pytest.mark.parametrize("random_state", random_states(), ids=["none", "int", "rng", "sequence"])
def test_the_recorded_seed_makes_the_same_draws(random_state):
    once = regression(random_state=random_state)
    again = regression(random_state=once.provenance.seed)
    assert np.array_equal(once.predict(X), again.predict(X))
    assert once.provenance.seed == again.provenance.seed


def test_the_recorded_seed_of_a_batched_program():
    algorithm = nb.SequentialMLE(nb.families.Gaussian())
    once = nb.martingale_posterior(algorithm, Y, **RUN)
    again = nb.martingale_posterior(algorithm, Y, random_state=once.provenance.seed, **RUN)
    assert np.array_equal(once.models, again.models)


def test_provenance(posterior):
    source = posterior.provenance
    assert (source.method, source.seed, source.n, source.n_draws) == ("martingale", 3, 40.0, 12)
    assert source.schedule == "optimal(refits=3)"
    assert source.blocks == SCHEDULE.blocks(40)
    assert source.captured == SCHEDULE.captured(40)
    assert source.inflation == pytest.approx(source.captured**-0.5)
    assert set(source.seconds) == {"first_fit", "per_draw", "total"}
    assert all(value > 0 for value in source.seconds.values())
    assert source.seconds["total"] > source.seconds["per_draw"]
    assert source.interrupted is False


def test_versions():
    versions = installed_versions("pandas", "no-such-package")
    assert versions["pandas"] == pd.__version__
    assert versions["joblib"] == joblib.__version__
    assert versions["no-such-package"] == "unknown"
    assert {"python", "nearbayes", "numpy", "scipy", "scikit-learn"} <= set(versions)
    assert "unknown" not in installed_versions().values()


def test_the_package_of_the_estimator_is_recorded():
    from ngboost import NGBRegressor

    algorithm = nb.RegressorAlgorithm.of(NGBRegressor(n_estimators=2, verbose=False), "estimator")
    run = {**RUN, "n_draws": 1, "schedule": nb.Schedule.optimal(0)}
    posterior = nb.martingale_posterior(algorithm, (X, Y), random_state=0, **run)
    assert posterior.provenance.versions["ngboost"] != "unknown"


def test_summary_says_what_was_done(posterior):
    head, schedule, time = posterior.summary().split("\n")
    assert head == "draws: 12 of 12 martingale draws from 40 rows (seed 3)"
    blocks = SCHEDULE.blocks(40)
    assert schedule.startswith(f"each draw: 3 refits on {sum(blocks)} imputed rows (optimal")
    assert f"show {SCHEDULE.captured(40):.0%} of the variance" in schedule
    assert schedule.endswith(f"widened by the factor {SCHEDULE.inflation(40):.2f}")
    assert time.startswith("time: ")


def test_the_summary_is_a_table_in_a_notebook(posterior):
    worse = replace(posterior, failed=(FailedDraw(7, "<b>no</b>", "..."),))
    page = worse._repr_html_()
    assert page.count("<tr>") == len(worse.summary().splitlines())
    assert "&lt;b&gt;no" in page


def test_summary_of_a_baseline_has_no_schedule():
    posterior = nb.baselines.bootstrap(
        nb.RegressorAlgorithm.of(LinearRegression()), (X, Y), n_draws=2, random_state=1
    )
    assert "each draw" not in posterior.summary()
    assert repr(posterior) == "<Posterior: 2 bootstrap draws>"


def test_summary_lists_failures_and_interruption(posterior):
    worse = replace(
        posterior,
        models=posterior.models[:2],
        failed=(FailedDraw(7, "ValueError: no", "..."),),
        provenance=replace(posterior.provenance, interrupted=True),
    )
    assert "2 of 12 martingale draws" in worse.summary()
    assert "draw 7 failed: ValueError: no" in worse.summary()
    assert worse.summary().endswith("interrupted: the draws finished by then were kept")


def test_summary_counts_many_rows_to_the_last():
    many = Posterior(None, [0], 0, Provenance("martingale", 1, 1_234_567.0, 1))
    assert "from 1234567 rows" in many.summary()
    assert "from 10.5 rows" in replace(many, provenance=Provenance("x", 1, 10.5, 1)).summary()
