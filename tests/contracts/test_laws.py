"""Laws 1 to 3, 5 and 7 of the design, for every algorithm (4, 6 and 9 have files of their own)."""

import copy
import random
from dataclasses import replace
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
from algorithm_cases import CASES, REGISTERED, fingerprint

import nearbayes as nb
from nearbayes.core.data import Block
from nearbayes.core.inputs import Urn
from nearbayes.core.protocols import Algorithm, ChunkAlgorithm

SCHEDULE = nb.Schedule.optimal(refits=3)
BASELINES = [nb.baselines.bootstrap, nb.baselines.parametric_bootstrap, nb.baselines.ensemble]
COUNTING = [
    case for case in CASES if isinstance(case.make(), Algorithm) and case.make().traits.counts
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def tolerance(case):
    """Closed forms agree to rounding; iterative solvers stop near the optimum, not on it."""
    if case.name.startswith(("lightgbm", "xgboost")):  # sums in single precision
        return {"rtol": 0, "atol": 1e-5}
    iterative = case.name in ("logistic", "poisson_glm")
    return {"rtol": 2e-3, "atol": 2e-4} if iterative else {"rtol": 1e-7, "atol": 1e-9}


def draw(case, data=None, **options):
    settings = {"n_draws": 4, "schedule": SCHEDULE, "random_state": 5, "progress": False}
    return nb.martingale_posterior(case.make(), data or case.data(), **{**settings, **options})


@every_case
def test_protocol(case):
    assert isinstance(case.make(), Algorithm | ChunkAlgorithm)
    assert isinstance(case.make().traits, nb.Traits)


@cache
def five(case):
    """Five draws, made one after the other."""
    return draw(case, n_draws=5)


def same_as_five(case, posterior):
    drawn = fingerprint(posterior, case.data())
    return np.array_equal(drawn, fingerprint(five(case), case.data())[: len(posterior)])


def draw_in(backend, case):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        return draw(case)


@every_case
def test_law_1_same_seed_same_draws_in_threads(case):
    assert same_as_five(case, draw_in("threading", case))
    assert not same_as_five(case, draw(case, n_draws=2, random_state=6))


@pytest.mark.parametrize("case", REGISTERED, ids=lambda case: case.name)
def test_law_1_same_seed_same_draws_in_processes(case):
    assert same_as_five(case, draw_in("loky", case))


@every_case
def test_law_1_more_draws_extend_fewer_resumed_or_not(case):
    part = draw(case, n_draws=2)
    assert same_as_five(case, part)
    resumed = draw(case, n_draws=5, resume=part)
    assert same_as_five(case, resumed)
    assert resumed.provenance.finished == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("case", COUNTING, ids=lambda case: case.name)
def test_law_2_counts_equal_repeats(case):
    algorithm, data = case.make().prepare(case.data(), np.random.default_rng(0))
    rng = np.random.default_rng(1)
    model = algorithm.fit(data, np.random.default_rng(2))
    x = Urn().sample(data, 200, rng)
    block = Block(x, algorithm.sample(model, x, rng), data.size + 200)
    counted = data.extend(block, algorithm.traits.counts)
    repeated = data.extend(block, counts=False)
    assert len(counted.y) < len(repeated.y)
    assert counted.size == repeated.size == data.n + 200
    predictions = [
        algorithm.predict(algorithm.refit(rows, block, model, np.random.default_rng(2)), data.x)
        for rows in (counted, repeated)
    ]
    np.testing.assert_allclose(*predictions, **tolerance(case))


@pytest.mark.parametrize("case", COUNTING, ids=lambda case: case.name)
def test_law_2_weights_equal_repeats_of_real_rows(case):
    algorithm, data = case.make(), case.data()
    times = np.arange(len(data.y)) % 3
    weighted = nb.Data.of(data.x, data.y, sample_weight=times)
    prepared, weighted = algorithm.prepare(weighted, np.random.default_rng(0))
    fits = [
        prepared.predict(prepared.fit(rows, np.random.default_rng(1)), data.x)
        for rows in (weighted, weighted.repeat())
    ]
    np.testing.assert_allclose(*fits, **tolerance(case))


@every_case
def test_law_3_zero_refits_give_back_the_first_fit(case):
    posterior = draw(case, schedule=nb.Schedule.optimal(refits=0))
    data = case.data()
    first = replace(posterior, models=posterior.chunks.finish([posterior.first]))
    assert np.array_equal(fingerprint(posterior, data)[:1], fingerprint(first, data))
    if not case.make().traits.randomised:
        assert all(
            np.array_equal(each, fingerprint(first, data)[0])
            for each in fingerprint(posterior, data)
        )
    assert posterior.provenance.captured == 0.0
    assert posterior.inflation == 1.0


@every_case
@pytest.mark.filterwarnings("ignore::nearbayes.core.engine.DrawWarning")
def test_law_5_nothing_of_the_user_is_changed(case):
    algorithm, data = case.make(), case.data()
    algorithm_before, data_before = copy.deepcopy(algorithm), copy.deepcopy(data)
    numpy_before, python_before = np.random.get_state(), random.getstate()  # noqa: NPY002
    nb.martingale_posterior(algorithm, data, n_draws=2, schedule=SCHEDULE, random_state=0)
    for baseline in BASELINES:
        baseline(algorithm, data, n_draws=2, random_state=0)
    assert str(np.random.get_state()) == str(numpy_before)  # noqa: NPY002
    assert random.getstate() == python_before
    assert joblib.hash(_contents(algorithm)) == joblib.hash(_contents(algorithm_before))
    assert np.array_equal(data.y, data_before.y)
    if isinstance(data.table, pd.DataFrame):
        pd.testing.assert_frame_equal(data.table, data_before.table)
    else:
        assert joblib.hash(data.table) == joblib.hash(data_before.table)


def _contents(algorithm):
    estimator = getattr(getattr(algorithm, "fitting", None), "estimator", None)
    return repr(algorithm) if estimator is None else (repr(estimator), sorted(vars(estimator)))


@every_case
@pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: baseline.__name__)
@pytest.mark.filterwarnings("ignore::nearbayes.core.engine.DrawWarning")
def test_baselines_take_every_algorithm(case, baseline):
    run = {"n_draws": 3, "random_state": 1}
    posterior = baseline(case.make(), case.data(), **run)
    assert len(posterior) == 3
    assert posterior.inflation == 1.0
    assert posterior.provenance.method == baseline.__name__
    if case in REGISTERED:
        again = baseline(case.make(), case.data(), **run, n_jobs=2)
        one, two = (fingerprint(each, case.data()) for each in (posterior, again))
        assert np.array_equal(one, two)


def quantity(x):
    """A number of any model as users know it."""

    def of(model):
        if hasattr(model, "score_samples"):
            return model.score_samples(np.zeros((3, 2)))
        if hasattr(model, "predict_proba"):
            return model.predict_proba(x)
        if hasattr(model, "predict"):
            return model.predict(x)
        if hasattr(model, "state_dict"):  # a PyTorch module
            return np.concatenate([np.ravel(each) for each in model.state_dict().values()])
        return getattr(model, "weights", model[0] if isinstance(model, tuple) else model)

    return of


@every_case
def test_paths_end_in_the_draws(case):
    function = quantity(case.data().table)
    run = {"n_draws": 3, "schedule": SCHEDULE, "random_state": 5}
    paths = nb.martingale_paths(case.make(), case.data(), function, **run)
    assert np.array_equal(paths.ends.values, five(case).apply(function).values[:3])
    assert paths.values.shape[:2] == (3, 4)
