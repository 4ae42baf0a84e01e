"""Laws of chunks, for every registered family at its default size; faults in its real verbs."""

import os
from dataclasses import dataclass, replace

import numpy as np
import pytest
from algorithm_cases import REGISTERED, fingerprint

import nearbayes as nb
from nearbayes.core.lifting import as_chunks
from nearbayes.core.protocols import ChunkAlgorithm, DrawsFailedError

SCHEDULE = nb.Schedule.optimal(refits=3)
every_family = pytest.mark.parametrize("case", REGISTERED, ids=lambda case: case.name)
FAULTY = {1, 6}  # draws that go wrong, in chunks of one, four or all
RUN = {"schedule": SCHEDULE, "random_state": 5, "progress": False}


@every_family
def test_draws_depend_on_neither_their_number_nor_the_jobs(case):
    whole = fingerprint(
        nb.martingale_posterior(case.make(), case.data(), n_draws=50, **RUN), case.data()
    )
    for n_draws, n_jobs in [(1, 1), (3, 2), (12, 2), (50, 2), (5, 5), (12, 5), (50, 5)]:
        run = {**RUN, "n_draws": n_draws, "n_jobs": n_jobs}
        part = fingerprint(nb.martingale_posterior(case.make(), case.data(), **run), case.data())
        assert np.array_equal(part, whole[:n_draws]), (n_draws, n_jobs)


@dataclass(frozen=True)
class Faulty(ChunkAlgorithm):
    """A real algorithm whose verbs go wrong, in some way, for some draws at their second refit."""

    chunks: ChunkAlgorithm
    fault: str
    parent: int

    @property
    def traits(self):
        return self.chunks.traits

    def prepare(self, data, rng):
        chunks, prepared = self.chunks.prepare(data, rng)
        return replace(self, chunks=chunks), prepared

    def fit(self, data, streams):
        return self.chunks.fit(data, streams)

    def sample(self, models, x, streams):
        y, bad = self.chunks.sample(models, x, streams), self.bad(streams)
        if self.fault == "nan" and bad:
            y = [np.array(each, dtype=float) for each in y]
            for place in bad:
                y[place][:] = np.nan
            return np.stack(y)
        return y

    def refit(self, data, new, models, streams):
        bad = self.bad(streams)
        if bad and self.fault == "error":
            raise ArithmeticError("somewhere in this chunk")
        if bad and self.fault == "named":
            raise DrawsFailedError({place: ArithmeticError("named") for place in bad})
        if bad and self.fault == "killed" and os.getpid() != self.parent:
            os._exit(1)
        return self.chunks.refit(data, new, models, streams)

    def bad(self, streams):
        second = streams._step == 2
        return [k for k, number in enumerate(streams.draws) if second and number in FAULTY]

    def finish(self, models):
        return self.chunks.finish(models)

    def predict(self, models, x):
        return self.chunks.predict(models, x)


def faulty(case, fault):
    return Faulty(as_chunks(case.make()), fault, os.getpid())


def unharmed(case, posterior):
    """Draws without faults, as they are in a run where nothing goes wrong."""
    whole = nb.martingale_posterior(case.make(), case.data(), n_draws=10, **RUN)
    kept = list(posterior.provenance.finished)
    found = replace(posterior, algorithm=whole.algorithm)
    return np.array_equal(fingerprint(found, case.data()), fingerprint(whole, case.data())[kept])


@every_family
@pytest.mark.parametrize("fault", ["nan", "error", "named"])
@pytest.mark.parametrize("n_jobs", [1, 2])
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


@pytest.mark.parametrize(
    "case",
    [case for case in REGISTERED if case.make().traits.runs_in == "processes"],
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
