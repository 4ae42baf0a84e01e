"""Schema: what columns are taken for, and how models get them."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_cases import table
from hypothesis import given
from hypothesis import strategies as st

from nearbayes.cli.cells import as_numbers, is_missing
from nearbayes.cli.column_kinds import Column
from nearbayes.cli.date_styles import dates_in
from nearbayes.cli.errors import UsageError
from nearbayes.cli.schema import Schema


def texts(values):
    return pd.Series([None if value is None else str(value) for value in values], dtype=object)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_survive_text_bit_for_bit(numbers):
    assert as_numbers(texts(numbers)).tolist() == numbers


def test_what_is_no_number():
    values = texts(["1e3", " 2 ", "inf", "-Infinity", "nan", "one", None, "1,5"])
    assert as_numbers(values).dropna().tolist() == [1000.0, 2.0]


def test_words_for_missing():
    values = texts(["", " ", "NA", "n/a", "NaN", "null", "None", "?", "-", "0", "no"])
    assert is_missing(values).tolist() == [True] * 9 + [False] * 2


def test_dates_with_time_zones_are_in_utc():
    values = texts(["2024-01-01", "2024-01-01T23:30:00-05:00", "2024-01-01 10:00", "soon"])
    dates = dates_in(values)
    expected = ["2024-01-01 00:00", "2024-01-02 04:30", "2024-01-01 10:00", None]
    assert dates.equals(pd.to_datetime(pd.Series(expected)))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([i * 7 % 50 for i in range(50)], "number"),
        (range(50), "left out"),
        (range(1, 51), "left out"),
        (range(2, 52), "number"),
        ([*range(48), "a", "b"], "number"),
        ([*range(40), *"abcdefghij"], "category"),
        (pd.date_range("2024", periods=50).date, "date"),
        (["a"] * 50, "left out"),
        ([None] * 50, "left out"),
        ([f"id {i}" for i in range(101)], "left out"),
        ([f"id {i}" for i in range(50)], "category"),
        (["True", "False"] * 25, "category"),
    ],
)
def test_kinds(values, kind):
    assert Column.seen("name", texts(values)).kind == kind


def test_dates_become_days_month_and_weekday():
    values = texts(["1970-01-02", "2024-02-29", None])
    read = Column("when", "date").read(values)
    assert list(read) == ["when (days)", "when (month)", "when (weekday)"]
    assert pd.DataFrame(read).iloc[0].tolist() == [1.0, 1.0, 4.0]
    assert pd.DataFrame(read).iloc[2].isna().all()


def test_rare_and_new_categories_are_put_together():
    values = texts([f"c{i}" for i in range(150) for _ in range(2)])
    column = Column.seen("name", values)
    assert len(column.levels) == 100
    assert "50 rare categories merged into '(other)'" in column.note
    [read] = column.read(texts([column.levels[0], "never seen", None])).values()
    assert read.tolist() == [column.levels[0], "(other)", np.nan]
    assert len(read.cat.categories) == 101


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([0, 1] * 20, "classification"),
        (range(40), "regression"),
        ([0.5, 1.5] * 20, "regression"),
        (["a", "b"] * 20, "classification"),
        ([True, False] * 20, "classification"),
    ],
)
def test_task_is_found_from_the_target(values, task):
    frame = pd.DataFrame({"x": np.arange(40) % 9, "y": texts(values)})
    assert Schema.found(frame, "y").task == task


def test_task_can_be_asked_for():
    frame = pd.DataFrame({"x": np.arange(40) % 9, "y": np.arange(40) % 2})
    assert Schema.found(frame, "y", "regression").classes == ()
    assert Schema.found(frame, "y", "classification").classes == ("0", "1")


def test_whole_numbers_are_the_same_class_however_written():
    x = np.arange(40) % 9
    floats = Schema.found(pd.DataFrame({"x": x, "y": np.arange(40) % 2 * 1.0}), "y")
    written = pd.DataFrame({"x": x, "y": texts(np.arange(40) % 2 * 1.0)})
    assert floats.classes == ("0", "1")
    assert floats.labelled(written)[1].tolist() == ["0", "1"] * 20


def test_json_round_trip():
    schema = Schema.found(table("classification"), "y")
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def test_names_that_boosted_trees_refuse_look_the_same():
    frame = table().rename(columns={"x": 'size [cm] <"a", {b}: c>', "when": "when: [start]"})
    schema = Schema.found(frame, "y")
    names = list(schema.inputs(frame).columns)
    assert not set('[]<",:{}') & set("".join(names))
    assert list(schema.input_names) == names
    assert next(iter(schema.input_names.values())) == 'size [cm] <"a", {b}: c>'


def test_rows_without_a_usable_target():
    frame = table("classification")
    schema = Schema.found(frame, "y")
    with pytest.raises(UsageError, match="lacks the target column 'y'"):
        schema.labelled(frame.drop(columns="y"))
    with pytest.raises(UsageError, match="has no usable value"):
        schema.labelled(frame.assign(y="neither"))


def test_none_is_an_answer_in_a_column_of_words():
    frame = pd.DataFrame(
        {
            "parties": ["none", "guarantor", "co applicant", ""] * 10,
            "children": ["none", "1", "2", "3"] * 10,
            "lens": ["none", "soft", "hard", "soft"] * 10,
        }
    )
    schema = Schema.found(frame, "lens")
    parties, children = schema.columns
    assert set(parties.levels) == {"none", "guarantor", "co applicant"}
    assert parties.note == "10 missing"
    assert (children.kind, children.note) == ("number", "10 missing")
    assert schema.classes == ("hard", "none", "soft")
    assert len(schema.usable(frame)) == 40
    assert schema.inputs(frame)["parties"].isna().sum() == 10


def test_one_value_and_gaps_say_something():
    frame = pd.DataFrame({"phone": ["yes", ""] * 20, "land": ["NZ"] * 40, "y": range(40)})
    phone, land = Schema.found(frame, "y").columns
    assert (phone.kind, phone.levels, phone.note) == ("category", ("yes",), "20 missing")
    assert (land.kind, land.note) == ("left out", "always 'NZ'")


def test_a_file_that_was_fitted_without_names_says_how_to_read_the_next_one():
    frame = pd.DataFrame({"column 1": range(40), "column 2": [k % 7 for k in range(40)]})
    schema = Schema.found(frame, "column 1")
    with pytest.raises(UsageError, match=r"used in training: .*: use --no-header, as in the fit\."):
        schema.check_columns(pd.DataFrame({"0": [1.0], "3": [2.0]}))
