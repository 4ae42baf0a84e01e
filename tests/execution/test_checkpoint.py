"""Checkpoints: what is finished is found again; other runs and damaged files are not taken."""

import subprocess
import sys
from dataclasses import replace

import pytest

from nearbayes.execution import saved_states
from nearbayes.execution.checkpoint import (
    Checkpoint,
    CheckpointError,
    CheckpointWarning,
    opened,
    recorded,
)
from nearbayes.execution.executor import Done, gather
from nearbayes.execution.executors import SerialExecutor
from nearbayes.execution.stores import FolderStore, InUseError

PARTS = {"data": "a" * 32, "seed": "7", "version": {"numpy": "2.0"}}


def kept_in(place, **other):
    return opened(place, {**PARTS, **other}, "item-{}".format)


def test_finished_items_are_not_done_again(tmp_path):
    calls = []
    for items in ([0, 1, 2], [0, 1, 2, 3]):
        with kept_in(tmp_path / "run") as kept:
            found = gather(SerialExecutor(), lambda _, k: calls.append(k) or k, 0, items, kept=kept)
        assert {k: done.value for k, done in found.done.items()} == {k: k for k in items}
    assert calls == [0, 1, 2, 3]
    assert recorded(tmp_path / "run", "seed") == "7"
    assert recorded(tmp_path / "none", "seed") is None


def test_another_run_is_refused_with_what_differs(tmp_path):
    with kept_in(tmp_path / "run") as kept:
        kept.save(0, Done("first", 1.0))
    for other, said in [
        ({"seed": "8"}, "seed was 7, is 8"),
        ({"data": "b" * 32}, "another data"),
        ({"version": {"numpy": "2.1"}}, r"version of numpy was 2\.0, is 2\.1"),
    ]:
        with pytest.raises(CheckpointError, match=said), kept_in(tmp_path / "run", **other):
            pass
    with kept_in(tmp_path / "run") as kept:
        assert kept.load([0]) == {0: Done("first", 1.0)}


def damaged(data):
    yield "cut short", data[: len(data) // 2]
    yield "empty", b""
    yield "one byte changed", data[:-1] + bytes([data[-1] ^ 1])
    yield "of another version", b"nearbayes task 2" + data[16:]


def test_damaged_files_are_made_again(tmp_path):
    with kept_in(tmp_path / "run") as kept:
        kept.save(0, Done([1.0, 2.0], 1.0))
    path = tmp_path / "run" / "item-0"
    whole = path.read_bytes()
    for what, data in damaged(whole):
        path.write_bytes(data)
        with kept_in(tmp_path / "run") as kept:
            with pytest.warns(CheckpointWarning, match="'item-0' of the checkpoint cannot be read"):
                assert kept.load([0]) == {}, what
            kept.save(0, Done([1.0, 2.0], 1.0))
        assert path.read_bytes() == whole


def test_files_of_another_run_are_not_taken_even_if_its_name_is_lost(tmp_path):
    with kept_in(tmp_path / "run") as kept:
        kept.save(0, Done("theirs", 1.0))
    (tmp_path / "run" / "run.json").write_text("{")
    with kept_in(tmp_path / "run", seed="8") as kept, pytest.warns(CheckpointWarning):
        assert kept.load([0]) == {}


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    (tmp_path / ".profile").write_text("precious")
    with pytest.raises(CheckpointError, match="contains other files"), kept_in(tmp_path):
        pass
    assert (tmp_path / ".profile").read_text() == (tmp_path / "thesis.tex").read_text()


def test_half_written_files_are_swept(tmp_path):
    with kept_in(tmp_path / "run"):
        pass
    (tmp_path / "run" / ".nearbayes-x").write_bytes(b"half")
    with kept_in(tmp_path / "run"):
        assert sorted(each.name for each in (tmp_path / "run").iterdir()) == ["lock", "run.json"]


HOLDS = """
import sys
from pathlib import Path
from nearbayes.execution.stores import FolderStore
with FolderStore(Path(sys.argv[1])).held():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused(tmp_path):
    command = [sys.executable, "-c", HOLDS, str(tmp_path / "run")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(InUseError, match="is in use by another process"):
            kept_in(tmp_path / "run").__enter__()
        other.kill()  # the lock goes with the process
    with kept_in(tmp_path / "run"):
        pass


class FullStore(FolderStore):
    """A disk that is full for a while."""

    full = True

    def write(self, name, data):
        if self.full:
            raise OSError(28, "No space left on device")
        super().write(name, data)


def test_a_full_disk_does_not_stop_the_run_and_it_is_written_later(tmp_path, monkeypatch):
    store = FullStore(tmp_path)
    kept = Checkpoint(store, b"run", "item-{}".format)
    with pytest.warns(CheckpointWarning, match="No space left on device"):
        kept.save(0, Done("zero", 1.0))
    kept.save(1, Done("one", 1.0))  # said once
    store.full = False
    monkeypatch.setattr("nearbayes.execution.checkpoint.time.monotonic", lambda: 1e12)
    kept.save(2, Done("two", 1.0))
    assert set(kept.load([0, 1, 2])) == {0, 1, 2}


def test_what_is_left_to_write_is_written_at_the_end(tmp_path, monkeypatch):
    with kept_in(tmp_path / "run") as kept:
        with monkeypatch.context() as patch:
            patch.setattr(FolderStore, "write", FullStore.write)
            patch.setattr(FolderStore, "full", True, raising=False)
            with pytest.warns(CheckpointWarning):
                kept.save(0, Done("zero", 1.0))
        assert kept.load([0]) == {}
    with kept_in(tmp_path / "run") as kept:
        assert set(kept.load([0])) == {0}


def test_what_does_not_pickle_is_not_kept_and_the_run_goes_on(tmp_path):
    with kept_in(tmp_path / "run") as kept, pytest.warns(CheckpointWarning, match="pickle"):
        kept.save(0, Done((k for k in range(3)), 1.0))
    with kept_in(tmp_path / "run") as kept:
        assert kept.load([0]) == {}


def test_what_is_made_once_is_found_again_with_what_is_shared(tmp_path):
    rows = list(range(10_000))
    made = []
    for _ in range(2):
        with kept_in(tmp_path / "run") as kept:
            found = kept.once("first", lambda: made.append(1) or {"rows": rows}, [rows])
        assert made == [1]
        assert found["rows"] is rows
    path = tmp_path / "run" / "first"
    assert path.stat().st_size < 1_000  # the rows are not in the file
    path.write_bytes(path.read_bytes()[:-1])
    with kept_in(tmp_path / "run") as kept, pytest.warns(CheckpointWarning, match="computed again"):
        assert kept.once("first", lambda: 5) == 5


def test_states_of_long_items_are_found_once_and_deleted_with_the_item(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_states, "SAVED_EVERY", 0.0)
    monkeypatch.setattr(saved_states, "LEAST_PAUSE", 0)
    place = tmp_path / "run"
    with kept_in(place) as kept:
        state = kept.states.of("item-0", [])
        assert state.load() is None
        state.save("half")
        assert state.load() is None  # looked for by a later run alone
    with kept_in(place) as kept:
        assert kept.states.of("item-0", []).load() == "half"
        assert kept.states.of("item-1", []).load() is None
        kept.save(0, Done("whole", 0.1))
    assert not list(place.glob("state-*"))


def test_states_wait_for_their_turn_and_need_the_folder_of_the_run(tmp_path):
    with kept_in(tmp_path / "run") as kept:
        kept.states.of("item-0", []).save("too soon")
        elsewhere = replace(kept.states, place=str(tmp_path / "other machine"), every=0.0)
        elsewhere.of("item-0", []).save("unreachable")
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["lock", "run", "run.json"]


def test_a_place_that_is_none(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file: use the name of a folder"):
        kept_in(tmp_path / "file").__enter__()
    with pytest.raises(TypeError, match="checkpoint must be a folder or an address"):
        kept_in(3).__enter__()
    with kept_in(None) as kept:
        assert kept is None
