"""What tasks share reaches every worker once: not with every task, and without copies."""

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nearbayes.execution import spool
from nearbayes.execution.executor import gather
from nearbayes.execution.processes import ProcessExecutor
from nearbayes.tables.table import is_mapped


def loaded(shared):
    """What a worker finds, and the size of what a task carries."""
    with spool.spooled(shared) as handle:
        carried = pickle.dumps(handle)
        spool._kept.clear()
        return pickle.loads(carried).value, len(carried)


def test_everything_comes_back_as_it_was():
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": pd.Categorical(["x", "y"])})
    shared = {"array": np.arange(12.0).reshape(3, 4), "frame": frame, "f": lambda k: k + 1, "n": 3}
    found, _ = loaded(shared)
    np.testing.assert_array_equal(found["array"], shared["array"])
    pd.testing.assert_frame_equal(found["frame"], frame)
    assert found["f"](1) == 2
    empty, _ = loaded([np.zeros((0, 3)), np.zeros(3)[::2], np.asfortranarray(np.ones((2, 3)))])
    assert [each.shape for each in empty] == [(0, 3), (2,), (2, 3)]


def test_tasks_carry_no_data():
    _, small = loaded(np.zeros(10))
    _, large = loaded(np.zeros(1_000_000))
    assert large < small + 20
    assert large < 1_000


def test_arrays_are_mapped_not_copied_and_writing_into_them_stays_private():
    with spool.spooled(np.zeros(1000)) as handle:
        first, second = handle._loaded(), handle._loaded()
        first[0] = 1.0
        assert second[0] == 0.0
        assert first.base is not None


def test_the_file_is_gone_afterwards_even_after_an_error():
    with spool.spooled([1]) as handle:
        assert Path(handle.path).exists()
    assert not Path(handle.path).parent.exists()
    with pytest.raises(ZeroDivisionError), spool.spooled([1]) as handle:
        1 / 0  # noqa: B018
    assert not Path(handle.path).parent.exists()


def test_a_folder_on_disk_serves_where_memory_is_short(monkeypatch, tmp_path):
    monkeypatch.setattr(spool, "MEMORY_FOLDER", tmp_path / "missing")
    found, _ = loaded(np.arange(5))
    assert found.tolist() == [0, 1, 2, 3, 4]


class Counted:
    """Counts in a file how often it is unpickled."""

    def __init__(self, log):
        self.log = log

    def __reduce__(self):
        return _unpickled, (self.log,)


def _unpickled(log):
    with open(log, "a") as file:
        file.write("x")
    return Counted(log)


def test_each_worker_loads_what_is_shared_once(tmp_path):
    log = str(tmp_path / "loads")
    found = gather(ProcessExecutor(2), lambda shared, k: k, Counted(log), range(20))
    assert len(found.done) == 20
    assert 1 <= len(Path(log).read_text()) <= 2


@pytest.mark.parametrize("part", [slice(None), slice(3, 7), (slice(None), slice(1, 2))])
def test_mapped_arrays_are_not_copied(part, tmp_path):
    np.save(tmp_path / "X.npy", np.arange(40.0).reshape(10, 4))
    table = np.load(tmp_path / "X.npy", mmap_mode="r")[part]
    with spool.spooled({"table": table}) as handle:
        spool._kept.clear()
        found = handle.value["table"]
        size = os.path.getsize(handle.path)
    np.testing.assert_array_equal(found, table)
    contiguous = not isinstance(part, tuple)  # other parts are copied
    assert is_mapped(found) == contiguous
    found[...] = -1.0  # pages are private
    assert np.load(tmp_path / "X.npy").min() == 0.0
    assert size < 2_000


def test_private_changes_of_a_mapped_array_go_along(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros(5))
    table = np.load(tmp_path / "X.npy", mmap_mode="c")
    table[0] = 1.0
    with spool.spooled(table) as handle:
        spool._kept.clear()
        np.testing.assert_array_equal(handle.value, [1, 0, 0, 0, 0])
