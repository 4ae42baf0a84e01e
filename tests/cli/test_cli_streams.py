"""Predictions piece by piece: the same as those of the whole file, whatever pieces look like."""

import os
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cli_cases import csv_of, fitted, refused, table
from pyarrow import feather, parquet

from nearbayes.cli import predicting
from nearbayes.cli.app import run
from nearbayes.cli.errors import UsageError
from nearbayes.cli.table_files import read_table, table_pieces


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of a table with an id, whose category can look like a number."""
    folder = tmp_path_factory.mktemp("model")
    frame = table("classification").assign(key=range(60))
    frame["colour"] = frame["colour"].map({"red": "1", "blue": "b"})
    data = csv_of(folder, frame)
    return fitted(data, folder / "model.nearbayes", "--id", "key")


@pytest.fixture
def in_pieces(monkeypatch):
    monkeypatch.setattr(predicting, "MOST_ROWS", 7)


def predicted(model, data, output):
    assert run(["predict", str(model), str(data), "-o", str(output), "--quiet"]) == 0
    return read_table(output)


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "d.parquet", "d.feather"])
def test_pieces_give_what_the_whole_gives(model, tmp_path, monkeypatch, name):
    frame = table().assign(key=pd.array([*range(50), *[None] * 10], dtype="Int64"))
    frame["colour"] = frame["colour"].map({"red": "1", "blue": None})
    data = tmp_path / name
    if "csv" in name:
        frame.to_csv(data, index=False)
    elif name.endswith("parquet"):
        frame.to_parquet(data)
    else:
        feather.write_feather(frame, data, chunksize=9)
    output = tmp_path / f"out_{name}"
    whole = predicted(model, data, output)
    monkeypatch.setattr(predicting, "MOST_ROWS", 7)
    pieces = predicted(model, data, output)
    pd.testing.assert_frame_equal(whole, pieces)
    assert [str(key) for key in whole["key"][:2]] == ["0", "1"] or "csv" not in name


def test_a_column_of_numbers_that_becomes_text(model, tmp_path, capsys, in_pieces):
    frame = table().astype({"x": object})
    frame.loc[30:40, "x"] = "about 3"
    data = csv_of(tmp_path, frame)
    assert run(["predict", str(model), str(data), "-o", str(tmp_path / "o.csv")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "column 'x': 11 of 60 cells hold no number, read as missing" in said
    assert pd.read_csv(tmp_path / "o.csv").notna().all(axis=None)


def test_gaps_in_some_pieces_do_not_change_categories(model, tmp_path, capsys, in_pieces):
    """Whole numbers with gaps are floats to pandas, but 1.0 is the category 1."""
    frame = table().drop(columns="y")
    frame["colour"] = pd.array([1] * 30 + [None, *[1] * 29], dtype="Int64")
    frame.to_parquet(tmp_path / "d.parquet")
    data, output = str(tmp_path / "d.parquet"), str(tmp_path / "o.csv")
    assert run(["predict", str(model), data, "-o", output]) == 0
    assert "new category" not in capsys.readouterr().out


def test_an_error_far_into_a_file_leaves_the_old_output(model, tmp_path, capsys, in_pieces):
    lines = csv_of(tmp_path, table()).read_text().splitlines()
    data, output = tmp_path / "ragged.csv", tmp_path / "out.csv"
    data.write_text("\n".join([*lines, "1,2"]))  # as of a file that is still being written
    output.write_text("old")
    refused(capsys, "predict", model, data, "-o", output, says="2 cells in line 62")
    assert output.read_text() == "old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data.csv", "out.csv", "ragged.csv"]


def test_a_cut_off_parquet(model, tmp_path, capsys):
    data = tmp_path / "d.parquet"
    table().to_parquet(data)
    data.write_bytes(data.read_bytes()[:-100])
    refused(capsys, "predict", model, data, "-o", tmp_path / "o.csv", says="cannot be read")


def test_a_byte_order_mark_is_no_part_of_a_name(model, tmp_path):
    data = tmp_path / "d.csv"
    data.write_text(table().to_csv(index=False), encoding="utf-8-sig")
    assert len(predicted(model, data, tmp_path / "o.csv")) == 60


def test_quoted_line_ends_across_pieces(tmp_path):
    text = "a,b\n" + '"1\n2",3\n' * 10
    (tmp_path / "d.csv").write_text(text)
    pieces = list(table_pieces(tmp_path / "d.csv", 3))
    assert [len(piece) for piece in pieces] == [3, 3, 3, 1]
    assert set(pd.concat(pieces)["a"]) == {"1\n2"}


def test_a_full_device_is_one_sentence(model, tmp_path, capsys):
    data = csv_of(tmp_path, table())
    refused(capsys, "predict", model, data, "-o", "/dev/full", says="No space left on device")


def test_predictions_go_to_a_pipe(model, tmp_path):
    data, pipe = csv_of(tmp_path, table()), tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "nearbayes.cli", "predict", model, data, "-o", pipe, "-q"]
    with subprocess.Popen(command) as process, pipe.open() as stream:
        assert stream.readline().startswith("prediction,")
        assert len(stream.readlines()) == 60
    assert process.returncode == 0


def test_a_parquet_that_is_mostly_nothing(tmp_path):
    """A million equal rows take a few kB in the file, and 160 MB as a whole table."""
    data = tmp_path / "zeros.parquet"
    zeros = pa.array(np.zeros(1_000_000))
    parquet.write_table(pa.table({f"c{i}": zeros for i in range(20)}), data)
    assert data.stat().st_size < 100_000
    with pytest.raises(UsageError, match="takes more than 100 MB of memory"):
        read_table(data)
    pieces = table_pieces(data, 100_000, columns=["c0"])
    assert sum(len(piece) for piece in pieces) == 1_000_000


def test_a_workbook_that_is_mostly_nothing(tmp_path):
    import zipfile

    data = tmp_path / "zeros.xlsx"
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", bytes(200_000_000))
    with pytest.raises(UsageError, match="unpacks to 200 MB"):
        read_table(data)


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Pieces of a Parquet file with one row group are read one at a time."""
    data = tmp_path / "d.parquet"
    numbers = np.random.default_rng(0).normal(size=(400_000, 20))
    frame = pd.DataFrame(numbers, columns=[f"c{i}" for i in range(20)])
    frame.to_parquet(data, row_group_size=len(frame))
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from nearbayes.cli.table_files import table_pieces\n"
        "def most(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "pieces = table_pieces(Path(sys.argv[1]), 10_000)\n"
        "next(pieces); before = most()\n"
        "for _ in pieces: pass\n"
        "print(most() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, data], capture_output=True, check=True)
    assert int(done.stdout) < 30_000  # kB; the table takes 64 MB


def test_the_summary_counts_all_pieces(model, tmp_path, capsys, in_pieces):
    data = csv_of(tmp_path, table())
    run_with = partial(run, ["predict", str(model), str(data), "-o", str(tmp_path / "o.csv")])
    assert run_with() == 0
    assert "60 predictions" in capsys.readouterr().out
