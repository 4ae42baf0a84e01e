import pickle

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import nearbayes as nb
from nearbayes.core.data import Data, Repeated
from nearbayes.core.engine import advance
from nearbayes.core.inputs import Urn
from nearbayes.core.lifting import as_chunks
from nearbayes.core.paths import Martingale
from nearbayes.core.schedule import captured
from nearbayes.core.seeds import Seeds
from nearbayes.core.state import State

Z = np.random.default_rng(0).normal(size=20)
X = np.random.default_rng(1).normal(size=(20, 2))


class Recorder(nb.Algorithm):
    """Says what it was called with; its model is the list of refits so far."""

    def fit(self, data, rng):
        return []

    def refit(self, data, new, model, rng):
        return [*model, (data.n, data.size, new.size, new.total, len(new.y))]

    def sample(self, model, x, rng):
        return rng.normal(size=len(x))


class RandomFit(Recorder):
    traits = nb.Traits(randomised=True)

    def fit(self, data, rng):
        return [float(rng.random())]


def advanced(algorithm, data, blocks, inputs=None, **options):
    """One draw along a martingale path."""
    state = State(Seeds(0).streams([0], 0), 0, Repeated(data, 1), [[]])
    path = Martingale(inputs, tuple(blocks))
    return advance(as_chunks(algorithm), path, state, **options)


@pytest.mark.parametrize("inputs", [None, Urn()])
def test_a_path_imputes_every_block_and_counts_all_rows(inputs):
    data = Data.of(Z) if inputs is None else Data.of(X, Z)
    (model,) = advanced(Recorder(), data, [1, 5, 30], inputs).models
    assert model == [(20, 21, 1, 21, 1), (20, 26, 5, 26, 5), (20, 56, 30, 56, 30)]


def test_a_path_without_blocks_is_the_first_fit():
    state = State(Seeds(0).streams([0], 0), 0, Repeated(Data.of(Z), 1), [object()])
    assert advance(as_chunks(Recorder()), Martingale(None, ()), state) is state


def test_observers_see_every_state_and_savers_too():
    observed, saved = [], []
    end = advanced(Recorder(), Data.of(Z), [1, 5], observe=observed.append, save=saved.append)
    assert [state.step for state in observed] == [0, 1, 2]
    assert observed == saved
    assert observed[-1] is end


def test_a_path_goes_on_from_any_state_even_from_a_pickle():
    seen = []
    end = advanced(Recorder(), Data.of(X, Z), [3, 5, 7], Urn(), observe=seen.append)
    later = pickle.loads(pickle.dumps(seen[1]))
    again = advance(as_chunks(Recorder()), Martingale(Urn(), (3, 5, 7)), later)
    assert again.models == end.models
    assert np.array_equal(again.data[0].y, end.data[0].y)


def test_an_error_says_which_refit():
    class Fails(Recorder):
        def refit(self, data, new, model, rng):
            if len(model) == 1:
                raise ArithmeticError("no")
            return [*model, 0]

    end = advanced(Fails(), Data.of(Z), [1, 1, 1])
    assert end.lost
    assert end.failed[0].__notes__ == ["(refit 2 of 3)"]
    with pytest.raises(ArithmeticError, match="no"):
        advanced(Fails(), Data.of(Z), [1, 1, 1], on_error="raise")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_samples_that_are_not_finite_are_refused(bad):
    class Samples(Recorder):
        def sample(self, model, x, rng):
            return np.full(len(x), bad)

    end = advanced(Samples(), Data.of(Z), [1])
    assert "predictions or samples contain NaN or infinity" in str(end.failed[0])


def test_two_rows_and_blocks_of_one():
    schedule = nb.Schedule.arithmetic(3, 1)
    run = {"n_draws": 2, "schedule": schedule, "random_state": 0}
    posterior = nb.martingale_posterior(Recorder(), Z[:2], **run)
    assert posterior.provenance.blocks == (1, 1, 1)
    assert [step[3] for step in posterior.models[0]] == [3, 4, 5]
    assert posterior.provenance.captured == captured(2, [1, 1, 1])


@pytest.mark.parametrize("algorithm", [Recorder(), nb.SequentialMLE(nb.families.Gaussian())])
def test_provenance_has_the_blocks_used(algorithm):
    schedule = nb.Schedule.arithmetic(0.3, 0.04)
    posterior = nb.martingale_posterior(algorithm, Z, n_draws=2, schedule=schedule)
    source = posterior.provenance
    assert sum(source.blocks) == 6
    assert min(source.blocks) == 1
    assert source.captured == captured(20, source.blocks)
    assert source.inflation == source.captured**-0.5
    assert source.seconds["total"] > 0


def test_default_schedule_is_eight_optimal_refits():
    posterior = nb.martingale_posterior(Recorder(), Z, n_draws=1)
    assert posterior.provenance.blocks == nb.Schedule.optimal(8).blocks(20)
    assert len(posterior.models[0]) == 8


def test_weights_count_as_rows_for_the_schedule():
    data = Data.of(X, Z, np.full(20, 3))
    posterior = nb.martingale_posterior(Recorder(), data, n_draws=1)
    assert posterior.provenance.n == 60.0
    assert posterior.provenance.blocks == nb.Schedule.optimal(8).blocks(60)
    assert posterior.models[0][0][0] == 60.0


def test_a_random_first_fit_differs_from_draw_to_draw():
    none = nb.Schedule.optimal(0)
    run = {"n_draws": 4, "schedule": none, "random_state": 1}
    posterior = nb.martingale_posterior(RandomFit(), Z, **run)
    fits = [model[0] for model in posterior.models]
    assert len(set(fits)) == 4
    assert posterior.first[0] == fits[0]


def test_pool_rows_are_imputed_but_not_real():
    seen = []

    def fit(x, y):
        seen.append(x[len(Z) :, 0].tolist())
        return float(np.mean(y))

    algorithm = nb.algorithm(fit, lambda m, x, rng: rng.normal(m, 1.0, len(x)))
    pool = nb.inputs.Pool(np.full((3, 2), 9.0))
    run = {"n_draws": 1, "schedule": nb.Schedule.arithmetic(4, 2), "inputs": pool}
    posterior = nb.martingale_posterior(algorithm, (X, Z), **run)
    assert seen == [[], [9.0] * 2, [9.0] * 4]
    assert posterior.provenance.n == 20.0


@pytest.mark.parametrize(
    "algorithm", [LinearRegression(), Recorder, nb.SequentialMLE, None, np.mean],
    ids=["estimator", "class", "batched_class", "none", "function"],
)  # fmt: skip
def test_what_is_no_algorithm_is_told_how_to_become_one(algorithm):
    with pytest.raises(
        TypeError, match=r"algorithm must be a nearbayes.Algorithm, got .* nearbayes.algorithm\("
    ):
        nb.martingale_posterior(algorithm, Z)


@pytest.mark.parametrize("schedule", [8, "optimal", nb.Schedule])
def test_bad_schedule(schedule):
    with pytest.raises(TypeError, match="schedule must be a Schedule, such as"):
        nb.martingale_posterior(Recorder(), Z, schedule=schedule)


def test_progress_estimate_of_a_run(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    nb.martingale_posterior(Recorder(), Z, n_draws=3, progress=True)
    assert "draws (estimated" in capsys.readouterr().err
    nb.martingale_posterior(Recorder(), Z, n_draws=3)
    assert capsys.readouterr().err == ""


def test_the_cost_of_a_process_grows_with_the_cube_of_its_rows():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.neighbors import KNeighborsRegressor

    from nearbayes.core.engine import refit_work
    from nearbayes.core.paths import Martingale
    from nearbayes.fits.adapters import fitting_of

    path = Martingale(None, (10, 20))
    work = [
        refit_work(fitting_of(each, {}).traits, 10, path)
        for each in (KNeighborsRegressor(), GaussianProcessRegressor(random_state=0))
    ]
    assert work == [2 + 4, 1 + 2**3 + 4**3]
