"""Temporary folders: removed with their object, carried along by copies, left to their process."""

import copy
import gc
import os
import pickle
import subprocess
import sys

import pytest

from nearbayes.fits import folders
from nearbayes.fits.folders import ModelFolder, RunFolder


def filled(run=None):
    folder = ModelFolder(run)
    (folder.path / "models").mkdir()
    (folder.path / "models" / "weights").write_bytes(b"12345")
    return folder


def test_a_folder_goes_with_its_object():
    folder = filled()
    path = folder.path
    assert path.is_dir()
    del folder
    gc.collect()
    assert not path.exists()


def test_size_is_that_of_all_files():
    assert filled().size == 5


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_a_copy_has_its_own_files(copied):
    folder = filled()
    other = copied(folder)
    folder.remove()
    assert (other.path / "models" / "weights").read_bytes() == b"12345"
    assert other.path != folder.path


def test_the_folder_of_a_run_stays_until_its_last_model_is_gone():
    run = RunFolder()
    model, path = filled(run), run.path
    assert model.path.parent == path
    del run
    gc.collect()
    assert model.path.is_dir()
    del model
    gc.collect()
    assert not path.exists()


def test_a_copy_of_a_run_owns_nothing_but_works_in_its_folder():
    run = RunFolder()
    known = pickle.loads(pickle.dumps(run))
    assert ModelFolder(known).path.parent == run.path
    del known
    gc.collect()
    assert run.path.is_dir()


def test_a_run_on_another_machine_is_done_without():
    run = RunFolder()
    known = pickle.loads(pickle.dumps(run))
    path = run.path
    del run
    gc.collect()
    assert ModelFolder(known).path.parent == path.parent


def test_folders_are_removed_at_exit():
    code = (
        "from nearbayes.fits.folders import ModelFolder, RunFolder\n"
        "run = RunFolder(); model = ModelFolder(run); print(run.path, model.path)"
    )
    made = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    paths = made.stdout.split()
    assert len(paths) == 2
    assert not any(map(os.path.exists, paths))


def test_a_fork_removes_nothing(tmp_path):
    folders._remove(tmp_path, os.getpid() + 1)
    assert tmp_path.is_dir()


def test_a_broken_archive_leaves_no_folder(monkeypatch):
    made = []
    monkeypatch.setattr(folders, "ModelFolder", lambda: made.append(ModelFolder()) or made[-1])
    with pytest.raises(folders.tarfile.ReadError):
        folders._unpacked(b"no archive")
    assert not made[0].path.exists()
