"""Laws 1 to 3, 5 and 7 of the design, for every algorithm (4, 6 and 9 have files of their own)."""

import copy
import random
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from algorithm_cases import CASES, fingerprint

import nearbayes as nb
from nearbayes.core.data import Block, Rows
from nearbayes.core.engine import DrawWarning
from nearbayes.core.inputs import Urn
from nearbayes.core.protocols import Algorithm, BatchedAlgorithm, Prepares

SCHEDULE = nb.Schedule.optimal(refits=3)
BASELINES = [nb.baselines.bootstrap, nb.baselines.parametric_bootstrap, nb.baselines.ensemble]
# a batched program draws all its random numbers together
OWN_NUMBERS = [case for case in CASES if not isinstance(case.make(), BatchedAlgorithm)]
COUNTING = [case for case in CASES if case.make().accepts_counts]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def tolerance(case):
    """Closed forms agree to rounding; iterative solvers stop near the optimum, not on it."""
    if case.name.startswith(("lightgbm", "xgboost")):  # sums in single precision
        return {"rtol": 0, "atol": 1e-5}
    iterative = case.name in ("logistic", "poisson_glm", "empirical_bayes_gp")
    return {"rtol": 2e-3, "atol": 2e-4} if iterative else {"rtol": 1e-7, "atol": 1e-9}


def draw(case, data=None, **options):
    settings = {"n_draws": 4, "schedule": SCHEDULE, "random_state": 5, "progress": False}
    return nb.martingale_posterior(case.make(), data or case.data(), **{**settings, **options})


@every_case
def test_protocol(case):
    assert isinstance(case.make(), Algorithm)


@every_case
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_law_1_same_seed_same_draws_on_any_backend(case, backend):
    serial = fingerprint(draw(case), case.data())
    with joblib.parallel_config(backend=backend, n_jobs=2):
        posterior = draw(case)
    assert np.array_equal(serial, fingerprint(posterior, case.data()))
    assert not np.array_equal(serial, fingerprint(draw(case, random_state=6), case.data()))


@pytest.mark.parametrize("case", OWN_NUMBERS, ids=lambda case: case.name)
def test_law_1_more_draws_extend_fewer(case):
    few, many = (
        fingerprint(draw(case, n_draws=2), case.data()),
        fingerprint(draw(case), case.data()),
    )
    assert np.array_equal(few, many[:2])


@pytest.mark.parametrize("case", COUNTING, ids=lambda case: case.name)
def test_law_2_counts_equal_repeats(case):
    algorithm, data = case.make().prepare(case.data(), np.random.default_rng(0))
    rng = np.random.default_rng(1)
    model = algorithm.fit(data, np.random.default_rng(2))
    x = Urn().sample(data, 200, rng)
    block = Block(x, algorithm.sample(model, x, rng), data.size + 200)
    counted = data.extend(block, algorithm.accepts_counts)
    repeated = data.extend(block, accepts_counts=False)
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
    first = replace(posterior, models=[posterior.first])
    assert np.array_equal(fingerprint(posterior, data)[:1], fingerprint(first, data))
    if not case.make().randomised:
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
    runs = [baseline(case.make(), case.data(), n_draws=3, random_state=1, n_jobs=n) for n in (1, 2)]
    one, two = (fingerprint(posterior, case.data()) for posterior in runs)
    assert np.array_equal(one, two)
    assert len(runs[0]) == 3
    assert runs[0].inflation == 1.0
    assert runs[0].provenance.method == baseline.__name__


class FailsSometimes:
    """Any algorithm, made to raise in the refits of draws that start with a small number."""

    def __init__(self, algorithm):
        self.algorithm = algorithm
        self.accepts_counts = algorithm.accepts_counts
        self.randomised = algorithm.randomised

    def fit(self, data, rng):
        return self.algorithm.fit(data, rng)

    def sample(self, model, x, rng):
        if len(x) > 10 and rng.random() < 0.15:
            raise RuntimeError("no luck today")
        return self.algorithm.sample(model, x, rng)

    def refit(self, data, new, model, rng):
        return self.algorithm.refit(data, new, model, rng)


@every_case
def test_law_7_a_failing_draw_loses_no_other(case):
    algorithm, data = case.make(), case.data()
    if isinstance(algorithm, Prepares):
        algorithm, data = algorithm.prepare(data, np.random.default_rng(0))
    with pytest.warns(DrawWarning, match="draws failed and are left out.*no luck today"):
        posterior = nb.martingale_posterior(
            FailsSometimes(algorithm), data, n_draws=12, schedule=SCHEDULE, random_state=0
        )
    failed = {failure.index for failure in posterior.failed}
    assert 0 < len(failed) < 12
    assert len(posterior) + len(failed) == 12
    assert "refit" in posterior.failed[0].error
    assert "no luck today" in posterior.summary()
    with pytest.raises(RuntimeError, match="no luck today"):
        nb.martingale_posterior(
            FailsSometimes(algorithm),
            data,
            n_draws=12,
            schedule=SCHEDULE,
            random_state=0,
            on_error="raise",
        )


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name.startswith("family_")], ids=lambda c: c.name
)
def test_batched_and_single_verbs_agree(case):
    """The same block through both protocols gives the same model."""
    algorithm, data = case.make(), case.data()
    single = algorithm.fit(data, np.random.default_rng(0))
    batch = algorithm.fit_batch(data, 3, np.random.default_rng(0))
    assert np.array_equal(batch, np.stack([single] * 3))
    z = algorithm.sample(single, Rows.without_inputs(25), np.random.default_rng(1))
    innovation = algorithm.family.statistics(z).mean(axis=0) - single
    x = Rows.without_inputs(25)
    by_rows = algorithm.refit(data, Block(x, z, data.n + 25), single, np.random.default_rng(0))
    by_batch = algorithm.refit_batch(
        data, Block(x, np.stack([innovation] * 3), data.n + 25), batch, np.random.default_rng(0)
    )
    np.testing.assert_allclose(by_batch, np.stack([by_rows] * 3))
    pooled = algorithm.fit(nb.Data.of(np.concatenate([data.y, z])), np.random.default_rng(0))
    np.testing.assert_allclose(by_rows, pooled)
