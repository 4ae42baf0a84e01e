"""Full disks, folders that cannot be written to, and two writers of one file."""

import contextlib
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from cli_cases import QUICK, csv_of, fitted, table

from nearbayes.cli.app import run
from nearbayes.files import atomic
from nearbayes.files.atomic import replacing

NOBODY = 65534
KILLED = """
import os, sys
from nearbayes.files.atomic import replacing
with replacing(sys.argv[1]) as draft:
    draft.write_text("half a lo")
    os._exit(9)
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return csv_of(tmp_path_factory.mktemp("data"), table())


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    return fitted(data, tmp_path_factory.mktemp("model") / "model.nearbayes")


@contextlib.contextmanager
def full_disk(n_bytes=2_000):
    """No file can grow beyond `n_bytes`, as on a disk that is full then."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@contextlib.contextmanager
def as_nobody():
    """Files are opened with the rights of a user who owns nothing."""
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def commands(data, model, folder):
    """A command for every kind of file that is written, with its output."""
    edges = [
        "--graph",
        "x->y",
        "--drop-missing",
        "--model",
        "linear",
        "--draws",
        "2",
        "--refits",
        "1",
    ]
    made = {
        "model.nearbayes": ["fit", data, "--target", "y", *QUICK],
        "predictions.csv": ["predict", model, data],
        "predictions.parquet": ["predict", model, data],
        "report.html": ["report", model],
        "causal.nearbayes": ["causal", "fit", data, *edges],
    }
    return {
        folder / name: [*map(str, command), "-o", str(folder / name), "--quiet"]
        for name, command in made.items()
    }


NAMES = [str(name) for name in commands("", "", Path())]


def fails_in_one_sentence(command, output, capsys, says="cannot be written"):
    capsys.readouterr()
    assert run(command) != 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    assert says in err
    return err


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk(name, data, model, tmp_path, capsys):
    output, command = tmp_path / name, commands(data, model, tmp_path)[tmp_path / name]
    assert run(command) == 0  # what is imported is there; and so is an old file
    old = output.read_bytes()
    command += ["--seed", "1"] if name == "model.nearbayes" else []
    # a chunk of draws takes 5 kB, the model that is made of them 21 kB
    with full_disk(10_000 if name == "model.nearbayes" else 2_000):
        err = fails_in_one_sentence(command, output, capsys)
    assert output.read_bytes() == old
    assert not list(tmp_path.glob(".*"))
    if name == "model.nearbayes":
        assert "the same command goes on from the draws in" in err
        assert run(command) == 0  # there is room again


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("name", NAMES)
def test_a_folder_that_became_read_only(name, data, model, tmp_path, capsys):
    """The check before the work goes by the user who started the program."""
    output, command = tmp_path / name, commands(data, model, tmp_path)[tmp_path / name]
    assert run(command) == 0
    old = output.read_bytes()
    os.chmod(tmp_path, 0o555)
    with as_nobody():
        fails_in_one_sentence(command, output, capsys, "Permission denied")
    assert output.read_bytes() == old
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_two_writers_of_one_file(tmp_path, monkeypatch):
    path, second = tmp_path / "a.txt", []

    def write():
        with replacing(path) as draft:
            draft.write_text("second")
        second.append(time.monotonic())

    with replacing(path) as draft:
        monkeypatch.setattr(atomic, "PATIENCE", 0.2)
        with pytest.raises(OSError, match="another process is writing"):
            write()
        monkeypatch.setattr(atomic, "PATIENCE", 30.0)
        other = threading.Thread(target=write)
        other.start()
        draft.write_text("first")
        first = time.monotonic()
    other.join()
    assert path.read_text() == "second"  # it waited for its turn
    assert second[0] > first
    assert os.listdir(tmp_path) == ["a.txt"]


def test_what_a_killed_writer_left_is_written_over(tmp_path):
    path = tmp_path / "a.txt"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert [each.name for each in tmp_path.iterdir()] == [".writing.a.txt"]
    with replacing(path) as draft:
        draft.write_text("whole")
    assert path.read_text() == "whole"
    assert os.listdir(tmp_path) == ["a.txt"]
