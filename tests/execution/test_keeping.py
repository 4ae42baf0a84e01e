"""Workers write what they have finished, before it is on its way to anybody."""

import subprocess
import sys

import pytest

from nearbayes.execution import keeping
from nearbayes.execution.checkpoint import CheckpointWarning, opened
from nearbayes.execution.executor import Done, Limit, gather
from nearbayes.execution.executors import SerialExecutor, ThreadExecutor
from nearbayes.execution.processes import ProcessExecutor
from nearbayes.execution.sealed import names_of_script, sealed, unsealed
from nearbayes.execution.stores import FolderStore
from nearbayes.execution.work import Work


@pytest.fixture(autouse=True)
def _no_memory(monkeypatch):
    """A process remembers places that failed."""
    monkeypatch.setattr(keeping, "_again_at", {})


def kept_in(place, seed=0):
    return opened(place, {"seed": seed}, "item-{}".format)


def double(shared, item):
    return shared * item


class KilledOnTheWay:
    """An executor whose asking process dies before an outcome arrives."""

    workers = 1

    def run(self, task, shared, items, limits):
        work = Work(task, shared)
        for item in items:
            work.outcome(item)
        raise SystemExit("killed")
        yield


def test_what_had_not_arrived_is_there_after_a_kill(tmp_path):
    with pytest.raises(SystemExit), kept_in(tmp_path / "run") as kept:
        gather(KilledOnTheWay(), double, 2, [1, 2, 3], kept=kept)
    with kept_in(tmp_path / "run") as kept:
        found = kept.load([1, 2, 3])
    assert {item: done.value for item, done in found.items()} == {1: 2, 2: 4, 3: 6}
    assert all(done.seconds >= 0 for done in found.values())


@pytest.mark.parametrize("executor", [SerialExecutor(), ThreadExecutor(2), ProcessExecutor(2)])
def test_a_file_is_written_once_and_results_are_those_of_the_task(tmp_path, executor, monkeypatch):
    written = []
    usual = FolderStore.write
    monkeypatch.setattr(
        FolderStore, "write", lambda *given: written.append(given[1]) or usual(*given)
    )
    with kept_in(tmp_path / "run") as kept:
        found = gather(executor, double, 2, [1, 2, 3], kept=kept)
    assert {item: done.value for item, done in found.done.items()} == {1: 2, 2: 4, 3: 6}
    here = [] if isinstance(executor, ProcessExecutor) else ["item-1", "item-2", "item-3"]
    assert sorted(written) == [*here, "run.json"]
    assert {each.name for each in (tmp_path / "run").glob("item-*")} == {
        "item-1",
        "item-2",
        "item-3",
    }


class Repeating(SerialExecutor):
    """An executor that loses its results with their workers, and does everything again."""

    def run(self, task, shared, items, limits):
        work = Work(task, shared)
        for item in items:
            work.outcome(item)
        yield from super().run(task, shared, items, limits)


def test_a_result_that_was_lost_on_the_way_is_not_made_again(tmp_path):
    calls = []
    with kept_in(tmp_path / "run") as kept:
        found = gather(Repeating(), lambda _, k: calls.append(k) or k, 0, [1, 2], kept=kept)
    assert calls == [1, 2]
    assert {item: done.value for item, done in found.done.items()} == {1: 1, 2: 2}


def test_a_worker_that_finds_another_run_or_none_writes_nothing(tmp_path):
    with kept_in(tmp_path / "run") as kept:
        keeper = kept.keeper
    other = tmp_path / "other"
    with kept_in(other, seed=1):
        pass
    for place in (other, tmp_path / "nowhere"):
        astray = type(keeper)(str(place), keeper.run, keeper.name_of, frozenset())
        assert not astray.keep(1, Done(1, 0.0))
        assert not list(place.glob("item-*"))
    assert keeper.keep(1, Done(1, 0.0))


def test_the_asking_process_writes_what_is_only_in_the_folder_of_another_machine(tmp_path):
    with kept_in(tmp_path / "run") as kept:
        kept.save(1, Done(1, 0.0, kept=True))
        assert set(kept.load([1])) == {1}


def test_a_finished_file_stays_and_a_damaged_one_is_written_anew(tmp_path):
    with kept_in(tmp_path / "run") as kept:
        gather(SerialExecutor(), double, 2, [1, 2], kept=kept)
        before = (tmp_path / "run" / "item-1").stat().st_mtime_ns
        assert kept.keeper.keep(1, Done(2, 0.0))
    assert (tmp_path / "run" / "item-1").stat().st_mtime_ns == before
    damaged = tmp_path / "run" / "item-2"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with kept_in(tmp_path / "run") as kept, pytest.warns(CheckpointWarning, match="damaged"):
        gather(SerialExecutor(), double, 2, [1, 2], kept=kept)
    with kept_in(tmp_path / "run") as kept:
        assert {item: done.value for item, done in kept.load([1, 2]).items()} == {1: 2, 2: 4}


def test_a_full_disk_is_not_tried_with_every_item(tmp_path, monkeypatch):
    tries, moment = [], [100.0]

    def full(*given):
        tries.append(given)
        moment[0] += 1.0  # it takes a while
        raise OSError(28, "No space left on device")

    with kept_in(tmp_path / "run") as kept:
        keeper = kept.keeper
        monkeypatch.setattr(FolderStore, "write", full)
        monkeypatch.setattr(keeping.time, "monotonic", lambda: moment[0])
        assert not keeper.keep(1, Done(1, 0.0))
        assert not keeper.keep(2, Done(2, 0.0))
        assert len(tries) == 1
        moment[0] += keeping.PAUSE
        assert not keeper.keep(2, Done(2, 0.0))
        assert len(tries) == 2


SCRIPT = """
import sys
import numpy as np
import nearbayes as nb

class Mean:
    def __init__(self, value):
        self.value = value

def fit(z):
    return Mean(float(np.mean(z)))

def sample(model, size, rng):
    return rng.normal(model.value, 1.0, size)

if __name__ == "__main__":
    posterior = nb.martingale_posterior(
        nb.algorithm(fit, sample), np.arange(8.0), n_draws=3, random_state=0, n_jobs=2,
        executor="processes", checkpoint=sys.argv[1], progress=False)
    print([type(model) is Mean for model in posterior.models])
"""


def test_classes_of_a_script_come_back_as_they_are(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-W", "error", str(script), str(tmp_path / "run")]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == "[True, True, True]", done.stderr
    kept = (tmp_path / "run" / "chunk-000000-1-all").read_bytes()
    assert b"_of_script" in kept


def test_a_limit_of_draws_does_not_pay_for_writing(tmp_path, monkeypatch):
    with kept_in(tmp_path / "run") as kept:
        calls = []
        monkeypatch.setattr(keeping.Keeper, "keep", lambda *given: calls.append(given))
        gather(SerialExecutor(), double, 2, [1, 2], kept=kept, limit=Limit(seconds=9.0))
        assert calls == []
    with kept_in(tmp_path / "run") as kept:
        assert set(kept.load([1, 2])) == {1, 2}  # by the asking process


def test_a_file_of_another_run_is_written_over(tmp_path):
    with kept_in(tmp_path / "other", seed=1) as kept:
        gather(SerialExecutor(), double, 3, [1], kept=kept)
    foreign = (tmp_path / "other" / "item-1").read_bytes()
    with kept_in(tmp_path / "run") as kept:
        (tmp_path / "run" / "item-1").write_bytes(foreign)
        assert kept.keeper.found(1) is None
        assert kept.keeper.keep(1, Done(2, 0.0))
    with kept_in(tmp_path / "run") as kept:
        assert kept.load([1])[1].value == 2


def test_what_was_defined_anew_is_not_taken_for_what_was():
    main = sys.modules["__main__"]
    old, new = (type("Again", (), {"__module__": "__main__"}) for _ in range(2))
    main.Again = new
    try:
        again = unsealed(sealed(old(), b"run", script=names_of_script()), b"run")
        assert type(again) is not new
        assert type(unsealed(sealed(new(), b"run", script=names_of_script()), b"run")) is new
    finally:
        del main.Again
