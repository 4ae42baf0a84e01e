"""Laws of chunks, for every registered family at its default size; faults in its real verbs."""

import os
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from algorithm_cases import REGISTERED, fingerprint
from faulty import FAULTY, Faulty

import nearbayes as nb
from nearbayes.core.lifting import as_chunks
from nearbayes.execution import saved_states

SCHEDULE = nb.Schedule.optimal(refits=3)
every_family = pytest.mark.parametrize("case", REGISTERED, ids=lambda case: case.name)
RUN = {"schedule": SCHEDULE, "random_state": 5, "progress": False}


@cache
def whole(case):
    """What 50 draws say that are made one after the other, and their algorithm."""
    posterior = nb.martingale_posterior(case.make(), case.data(), n_draws=50, **RUN)
    return fingerprint(posterior, case.data()), posterior.algorithm


def assert_draws_depend_on_no_number(case, pairs):
    for n_draws, n_jobs in pairs:
        run = {**RUN, "n_draws": n_draws, "n_jobs": n_jobs}
        part = fingerprint(nb.martingale_posterior(case.make(), case.data(), **run), case.data())
        assert np.array_equal(part, whole(case)[0][:n_draws]), (n_draws, n_jobs)


@every_family
def test_draws_depend_neither_on_their_number_nor_on_two_jobs(case):
    assert_draws_depend_on_no_number(case, [(1, 1), (3, 2), (12, 2), (50, 2)])


@every_family
def test_a_run_that_stops_within_a_chunk_goes_on_from_there(case, tmp_path, monkeypatch):
    monkeypatch.setattr(saved_states, "SAVED_EVERY", 0.0)
    monkeypatch.setattr(saved_states, "LEAST_PAUSE", 0)
    save, steps = saved_states.SavedState.save, []
    stopping = True

    def saved(self, value):
        steps.append(value[0].step)
        save(self, value)
        if stopping and value[0].step == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(saved_states.SavedState, "save", saved)
    run = {**RUN, "n_draws": 1, "checkpoint": tmp_path / "run", "executor": "serial"}
    with pytest.raises(KeyboardInterrupt):
        nb.martingale_posterior(case.make(), case.data(), **run)
    assert steps == [0, 1, 2]
    stopping = False
    posterior = nb.martingale_posterior(case.make(), case.data(), **run)
    assert steps[3:] == [2, 3]
    assert np.array_equal(fingerprint(posterior, case.data()), whole(case)[0][:1])


def faulty(case, fault):
    return Faulty(as_chunks(case.make()), fault, os.getpid())


def unharmed(case, posterior):
    """Draws without faults, as they are in a run where nothing goes wrong."""
    draws, algorithm = whole(case)
    kept = list(posterior.provenance.finished)
    found = replace(posterior, algorithm=algorithm)
    return np.array_equal(fingerprint(found, case.data()), draws[kept])


# What becomes of a fault is settled within a chunk; two workers only carry it home, of any kind.
@every_family
@pytest.mark.parametrize(
    ("fault", "n_jobs"), [("nan", 1), ("error", 1), ("named", 1), ("error", 2)]
)
def test_law_7_a_fault_in_one_draw_of_a_chunk_loses_no_other(case, fault, n_jobs):
    run = {**RUN, "n_draws": 10, "n_jobs": n_jobs}
    with pytest.warns(nb.DrawWarning, match="2 of 10 draws failed and are left out"):
        posterior = nb.martingale_posterior(faulty(case, fault), case.data(), **run)
    assert {failure.index for failure in posterior.failed} == FAULTY
    assert "(refit 2 of 3)" in posterior.failed[0].error
    assert "Traceback" in posterior.failed[0].traceback
    assert posterior.provenance.finished == tuple(k for k in range(10) if k not in FAULTY)
    assert unharmed(case, posterior)


@every_family
def test_law_7_errors_are_raised_if_asked_for(case):
    with pytest.raises(ArithmeticError, match="somewhere in this chunk") as caught:
        nb.martingale_posterior(
            faulty(case, "error"), case.data(), n_draws=10, on_error="raise", **RUN
        )
    assert any("raised in draw" in note for note in caught.value.__notes__)


# The executor knows no family: one of plain functions and one whose library is loaded by workers.
@pytest.mark.parametrize(
    "case",
    [case for case in REGISTERED if case.name in ("functions", "xgboost")],
    ids=lambda case: case.name,
)
def test_law_7_a_killed_worker_loses_its_own_chunks_alone(case):
    with pytest.warns(nb.DrawWarning, match="2 of 10 draws failed.*worker process died"):
        posterior = nb.martingale_posterior(
            faulty(case, "killed"), case.data(), n_draws=10, n_jobs=2, **RUN
        )
    assert {failure.index for failure in posterior.failed} == FAULTY
    assert unharmed(case, posterior)


@every_family
def test_draws_that_failed_are_made_by_a_resumed_run(case):
    with pytest.warns(nb.DrawWarning, match="failed and are left out"):
        part = nb.martingale_posterior(faulty(case, "error"), case.data(), n_draws=10, **RUN)
    whole = nb.martingale_posterior(case.make(), case.data(), n_draws=10, resume=part, **RUN)
    assert whole.provenance.finished == tuple(range(10))
    assert unharmed(case, whole)


# The last test here: every worker that is started takes two seconds to import what it needs.
@every_family
def test_draws_do_not_depend_on_five_jobs(case):
    assert_draws_depend_on_no_number(case, [(5, 5), (12, 5), (50, 5)])
