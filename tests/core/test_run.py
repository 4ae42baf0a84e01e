"""A run in two parts gives the draws of one that was never stopped."""

from dataclasses import replace

import numpy as np
import pytest

import nearbayes as nb
from nearbayes.core.engine import DrawWarning
from nearbayes.core.run import Run

Z = np.random.default_rng(0).normal(size=40)
RUN = {"schedule": nb.Schedule.optimal(3), "random_state": 7}


def stops_at(calls):
    """Mean and normal samples, interrupted at a given call of `fit`."""
    count = 0

    def fit(z):
        nonlocal count
        count += 1
        if count == calls:
            raise KeyboardInterrupt
        return np.mean(z)

    return nb.algorithm(fit, lambda mean, size, rng: rng.normal(mean, 1.0, size))


MEAN = stops_at(calls=-1)


def test_an_interrupted_run_goes_on_where_it_stopped():
    whole = nb.martingale_posterior(MEAN, Z, n_draws=6, **RUN)
    with pytest.warns(DrawWarning, match="interrupted: 2 of 6"):
        part = nb.martingale_posterior(stops_at(calls=9), Z, n_draws=6, **RUN)
    assert part.provenance.finished == (0, 1)
    again = nb.martingale_posterior(MEAN, Z, n_draws=6, resume=part, **RUN)
    assert list(again.models) == list(whole.models)
    assert again.provenance.finished == tuple(range(6))
    assert not again.provenance.interrupted
    assert again.models[0] is part.models[0]


def test_draws_between_are_made_too():
    whole = nb.martingale_posterior(MEAN, Z, n_draws=5, **RUN)
    finished = (0, 3)
    some = replace(
        whole,
        models=[whole.models[k] for k in finished],
        provenance=replace(whole.provenance, finished=finished),
    )
    again = nb.martingale_posterior(MEAN, Z, n_draws=5, resume=some, **RUN)
    assert list(again.models) == list(whole.models)


def test_more_draws_of_the_same_seed_when_none_is_given():
    short = nb.baselines.bootstrap(MEAN, Z, n_draws=3)
    long = nb.baselines.bootstrap(MEAN, Z, n_draws=5, resume=short)
    assert list(long.models[:3]) == list(short.models)
    fresh = nb.baselines.bootstrap(MEAN, Z, n_draws=5, random_state=short.provenance.seed)
    assert list(long.models) == list(fresh.models)


def test_a_finished_run_has_nothing_left_to_do():
    done = nb.martingale_posterior(MEAN, Z, n_draws=4, **RUN)
    again = nb.martingale_posterior(MEAN, Z, n_draws=4, resume=done, **RUN)
    assert list(again.models) == list(done.models)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"random_state": 8}, "seed=7, but this run has 8"),
        ({"schedule": nb.Schedule.optimal(2)}, r"blocks=\(.*start again"),
    ],
)
def test_another_run_cannot_be_resumed(change, message):
    done = nb.martingale_posterior(MEAN, Z, n_draws=2, **RUN)
    with pytest.raises(ValueError, match=message):
        nb.martingale_posterior(MEAN, Z, n_draws=4, resume=done, **{**RUN, **change})


def test_other_data_and_methods_cannot_be_resumed():
    done = nb.martingale_posterior(MEAN, Z, n_draws=2, **RUN)
    with pytest.raises(ValueError, match="method='martingale', but this run has 'bootstrap'"):
        nb.baselines.bootstrap(MEAN, Z, n_draws=2, random_state=7, resume=done)
    with pytest.raises(ValueError, match="resume is a posterior with"):
        nb.martingale_posterior(MEAN, Z[:20], n_draws=2, resume=done, **RUN)


def test_thinned_draws_cannot_be_resumed():
    done = nb.martingale_posterior(MEAN, Z, n_draws=4, **RUN)
    with pytest.raises(ValueError, match="thinning"):
        nb.martingale_posterior(
            MEAN, Z, n_draws=6, resume=replace(done, models=done.models[:2]), **RUN
        )


@pytest.mark.parametrize("finished", [3, 5100], ids=["within_a_chunk", "after_a_chunk"])
def test_draws_made_in_chunks_are_resumed(finished):
    mle = nb.SequentialMLE(nb.families.Gamma(2.0))  # its numbers take a varying number of bits
    z = np.exp(Z)
    whole = nb.martingale_posterior(mle, z, n_draws=5300, **RUN)
    part = nb.martingale_posterior(mle, z, n_draws=finished, **RUN)
    again = nb.martingale_posterior(mle, z, n_draws=5300, resume=part, **RUN)
    np.testing.assert_array_equal(again.models, whole.models)


@pytest.mark.parametrize("n_draws", [0, -1, 2.0, True, None])
def test_bad_number_of_draws(n_draws):
    with pytest.raises(ValueError, match="n_draws must be a whole number, 1 or more, got"):
        Run(n_draws=n_draws)


def test_bad_on_error():
    with pytest.raises(ValueError, match="on_error must be 'report' or 'raise', got 'skip'"):
        nb.martingale_posterior(MEAN, Z, on_error="skip")
