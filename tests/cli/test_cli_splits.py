"""Held-out rows: some at random, the latest ones, or whole groups."""

import numpy as np
import pandas as pd
import pytest
from cli_cases import csv_of, fitted, refused, table

from nearbayes.cli.errors import UsageError
from nearbayes.cli.modelfile import ModelFile
from nearbayes.cli.schema import Reading, Schema
from nearbayes.cli.splitting import split_rows


def split(frame, by, way=None, share=0.25, target="y"):
    schema = Schema.found(frame, target, reading=Reading(split_by=by, split_as=way))
    return (*split_rows(frame, schema, share, 0), schema)


@pytest.mark.parametrize(
    ("target", "more"), [("z", ", with the same share of every class"), ("y", "")]
)
def test_rows_held_out_at_random_are_told(target, more):
    frame = table().assign(z=["a", "b", "b"] * 20)
    held, words = split(frame, None, target=target)[1:3]
    assert words == f"held out: {len(held)} rows, chosen at random{more}"


def test_the_latest_rows_are_held_out_and_rows_of_one_moment_stay_together():
    frame = table(n=60).assign(when=pd.date_range("2024-01-01", periods=20).repeat(3).astype(str))
    frame = frame.sample(frac=1, random_state=0)
    train, held, words, schema = split(frame, "when")
    assert train["when"].max() < held["when"].min()
    assert len(held) == 15
    assert "the latest by 'when' (after 2024-01-15)" in words
    assert schema.split_column.kind == "date"  # and an input


@pytest.mark.parametrize("name", ["Year", "sale_year", "week", "Day"])
def test_numbers_whose_name_says_time_are_times(name):
    frame = table().assign(**{name: np.arange(60) // 6 + 1990})
    assert split(frame, name)[3].split_column.split == "time"


def test_whole_groups_are_held_out_and_are_no_input():
    frame = table().assign(person=np.arange(60) % 12)
    train, held, words, schema = split(frame, "person")
    assert not set(train["person"]) & set(held["person"])
    assert "3 of the 12 groups by 'person'" in words
    assert "person" not in schema.input_names
    assert split(frame, "person", "time")[3].split_column.split == "time"


@pytest.mark.parametrize(
    ("by", "way", "says"),
    [
        ("colour", "time", "must hold dates or numbers to split by time"),
        ("same", "groups", "one group only"),
        ("none", None, "--split-by must be a column"),
        ("y", None, "another column than the target"),
    ],
)
def test_a_column_that_cannot_split_is_refused(by, way, says):
    with pytest.raises(UsageError, match=says):
        split(table().assign(same="a"), by, way)


def test_a_class_without_training_rows_is_refused():
    frame = table("class").assign(year=2000 + np.arange(60) // 6)
    frame.loc[frame["year"] > 2007, "y"] = "new"
    with pytest.raises(UsageError, match="no training rows of class 'new'"):
        split(frame, "year")


def test_a_fit_keeps_the_split_in_its_file(tmp_path, capsys):
    data = csv_of(tmp_path, table().assign(person=[f"p{k % 12}" for k in range(60)]))
    made = ModelFile.read(fitted(data, tmp_path / "m.nearbayes", "--split-by", "person"))
    assert made.schema.split_column.split == "groups"
    assert made.held_out["person"].nunique() in (2, 3)
    refused(capsys, "fit", data, "--target", "y", "--split-by", "who", says="got 'who'")
