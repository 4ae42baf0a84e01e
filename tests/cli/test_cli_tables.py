"""Tables: the same data in every format gives the same frame; cells never become formulas."""

import gzip

import numpy as np
import pandas as pd
import pytest
from cli_cases import table, text_file

from nearbayes.cli.errors import UsageError
from nearbayes.cli.schema import Schema
from nearbayes.cli.table_files import read_table
from nearbayes.cli.table_writing import harmless, write_table

HOSTILE = ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1"]


def rich_table(n=50):
    """Every kind of column that Parquet has and CSV has not."""
    rng = np.random.default_rng(1)
    moments = pd.date_range("2024-01-01", periods=n, freq="13h")
    return table(n=n).assign(
        flag=rng.random(n) < 0.5,
        whole=rng.integers(0, 1000, n),
        maybe=pd.array(np.where(rng.random(n) < 0.3, None, 2), dtype="Int64") + np.arange(n),
        group=pd.Categorical(rng.choice(["a", "b"], n)),
        here=moments,
        there=moments.tz_localize("America/New_York"),
        tiny=rng.normal(size=n) * 1e-300,
    )


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "d.tsv", "d.feather", "d.arrow", "D.CSV"])
def test_formats_give_models_the_same_inputs(tmp_path, name):
    frame = rich_table()
    frame.to_parquet(tmp_path / "d.parquet")
    if name.endswith(("feather", "arrow")):
        frame.to_feather(tmp_path / name)
    else:
        compression = "gzip" if name.endswith("gz") else None
        separator = "\t" if "tsv" in name else ","
        frame.to_csv(tmp_path / name, index=False, compression=compression, sep=separator)
    parquet, other = read_table(tmp_path / "d.parquet"), read_table(tmp_path / name)
    schema = Schema.found(parquet, "y")
    again = Schema.found(other, "y")
    kinds = [(column.name, column.kind) for column in schema.columns]
    assert [(column.name, column.kind) for column in again.columns] == kinds
    for ours, theirs in zip(schema.labelled(parquet), schema.labelled(other), strict=True):
        pd.testing.assert_frame_equal(pd.DataFrame(ours), pd.DataFrame(theirs), check_exact=True)


def test_index_of_a_frame_is_a_column_if_it_has_a_name(tmp_path):
    frame = table()
    frame.set_index("when").to_parquet(tmp_path / "named.parquet")
    frame.iloc[::2].to_parquet(tmp_path / "plain.parquet")
    assert set(read_table(tmp_path / "named.parquet").columns) == set(frame.columns)
    plain = read_table(tmp_path / "plain.parquet")
    assert list(plain.columns) == list(frame.columns)
    assert list(plain.index) == list(range(30))


def test_lists_in_cells_come_as_text(tmp_path):
    frame = table(n=4).assign(many=[[1], [2, 3], None, [4]])
    frame.to_parquet(tmp_path / "d.parquet")
    assert read_table(tmp_path / "d.parquet")["many"].isna().tolist() == [False, False, True, False]


def test_quoted_cells_and_blank_lines(tmp_path):
    path = text_file(tmp_path, 'a, b,y\n\n1, "x, ""y""",3\n  \n2,"two\nlines",4\n')
    frame = read_table(path)
    assert frame.to_dict("list") == {
        "a": ["1", "2"],
        "b": ['x, "y"', "two\nlines"],
        "y": ["3", "4"],
    }


def test_decimal_commas_do_not_hide_the_delimiter(tmp_path):
    path = text_file(tmp_path, "a;b;y\n1,5;2,5;3,5\n1,5;2,5;3,5\n")
    assert list(read_table(path).columns) == ["a", "b", "y"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_harmless_in_csv_and_untouched_in_parquet(tmp_path, text):
    frame = pd.DataFrame({text: [text, "plain"], "number": [-1.5, 2.0]})
    for name in ("o.csv", "o.csv.gz", "o.parquet", "o.feather"):
        write_table(frame, tmp_path / name)
    plain = (tmp_path / "o.csv").read_bytes()
    assert gzip.decompress((tmp_path / "o.csv.gz").read_bytes()) == plain
    read = pd.read_csv(tmp_path / "o.csv", lineterminator="\n" if "\r" in text else None)
    assert list(read.columns) == [f"'{text}", "number"]
    assert read.iloc[0].tolist() == [f"'{text}", -1.5]
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "o.parquet"), frame)
    pd.testing.assert_frame_equal(pd.read_feather(tmp_path / "o.feather"), frame)


@pytest.mark.parametrize("number", ["-1", "+1.5", "-.5", "-1e-3", "1"])
def test_classes_that_are_numbers_stay_as_they_are(number):
    assert harmless(number) == number


def test_unknown_format_is_not_written(tmp_path):
    with pytest.raises(UsageError, match=r"use \.csv"):
        write_table(table(), tmp_path / "o.pickle")


def test_a_first_line_of_numbers_is_no_header(tmp_path):
    path = text_file(tmp_path, "1.5,2,3\n2.5,3,4\n")
    with pytest.raises(UsageError, match="numbers in its first line"):
        read_table(path)
    frame = read_table(path, header=False)
    assert frame.to_dict("list") == {
        "column 1": ["1.5", "2.5"],
        "column 2": ["2", "3"],
        "column 3": ["3", "4"],
    }


@pytest.mark.parametrize("names", ["0,1,2", "name,1960,1961,1962", "1990,1991,1992", ",0,y"])
def test_numbers_that_are_names_are_a_header(tmp_path, names):
    read_table(text_file(tmp_path, f"{names}\n" + ",".join("1" for _ in names.split(",")) + "\n"))


def test_spaces_separate_where_nothing_else_does(tmp_path):
    frame = read_table(text_file(tmp_path, "'a'   b  'y'\n 1 2    3\n4 5 6\n"))
    assert frame.to_dict("list") == {"a": ["1", "4"], "b": ["2", "5"], "y": ["3", "6"]}
    assert len(read_table(text_file(tmp_path, "a b,y\n1 2,3\n")).columns) == 2


@pytest.mark.parametrize("kind", ["bz2", "xz", "gz"])
def test_compressed_files(tmp_path, kind):
    table().to_csv(tmp_path / f"d.csv.{kind}", index=False)
    assert len(read_table(tmp_path / f"d.csv.{kind}")) == 60
    (tmp_path / f"damaged.csv.{kind}").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(UsageError, match="cannot be read as a table"):
        read_table(tmp_path / f"damaged.csv.{kind}")


def test_stata_files(tmp_path):
    frame = table().assign(group=pd.Categorical(["a", "b"] * 30)).fillna({"x": 0.0})
    frame.to_stata(tmp_path / "d.dta", write_index=False)
    found = read_table(tmp_path / "d.dta")
    assert found["group"].tolist() == ["a", "b"] * 30
    (tmp_path / "damaged.dta").write_bytes(b"<stata_dta>" + bytes(100))
    with pytest.raises(UsageError, match="cannot be read as a dta file"):
        read_table(tmp_path / "damaged.dta")


def test_other_formats_are_refused_with_a_way_out(tmp_path):
    with pytest.raises(UsageError, match="save it as CSV, in Python with scipy"):
        read_table(text_file(tmp_path, "@relation a", "d.arff"))


def test_bytes_written_as_text_are_text(tmp_path):
    frame = read_table(text_file(tmp_path, "a,y\nb'good',1\nb'bad',2\n,3\n"))
    assert frame["a"].dropna().tolist() == ["good", "bad"]
