"""A full disk leaves the old file as it was, for every kind of file that is written."""

import contextlib
import importlib
import os
import resource

import numpy as np
import pandas as pd
import pytest

from nearbayes.cli.errors import UsageError
from nearbayes.cli.table_writing import write_table
from nearbayes.files import container
from nearbayes.files.atomic import replacing

BIG = np.random.default_rng(0).normal(size=(5_000, 4))
TABLE = pd.DataFrame(BIG, columns=list("abcd"))


@contextlib.contextmanager
def full_disk(n_bytes=10_000):
    """No file can grow beyond `n_bytes`, as on a disk that is full then."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".feather"])
def test_tables_on_a_full_disk(suffix, tmp_path):
    path = tmp_path / f"table{suffix}"
    write_table(TABLE[:3], path)
    old = path.read_bytes()
    with full_disk(), pytest.raises(UsageError, match="cannot be written"):
        write_table(TABLE, path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == [path.name]


def test_reports_on_a_full_disk(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    render = importlib.import_module("nearbayes.report.render")
    monkeypatch.setattr(render, "render", lambda contents: "new" * 10_000)
    with full_disk(), pytest.raises(OSError, match="large"):
        render.write({}, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_models_on_a_full_disk(tmp_path):
    path = tmp_path / "model.nearbayes"
    path.write_text("old")
    with full_disk(), pytest.raises(OSError, match="large"):
        container.write(path, {}, {"arrays/" + "0" * 32 + ".npy": BIG.tobytes()})
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_an_interrupt_while_writing(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def interrupted():
        with replacing(path) as draft:
            draft.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_links_and_permissions_stay(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with replacing(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
