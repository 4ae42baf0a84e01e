"""Styles: currency, percent, thousands, decimal commas and the usual dates are read and said."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_cases import csv_of, fitted, refused, table

from nearbayes.cli.app import run
from nearbayes.cli.column_kinds import Column
from nearbayes.cli.date_styles import dates_in, find_date_style
from nearbayes.cli.number_styles import NumberStyle, decimal_mark, find_style
from nearbayes.cli.schema import Reading, Schema
from nearbayes.cli.table_files import read_table
from nearbayes.cli.target_column import outcome_kind

RNG = np.random.default_rng(3)
AMOUNTS = RNG.uniform(-20_000, 2_000_000, 120).round(2)


def european(value, group="."):
    return f"{value:,.2f}".translate(str.maketrans(",.", f"{group},"))


WRITTEN = {
    "dollars": [f"${x:,.2f}".replace("$-", "-$") for x in AMOUNTS],
    "accounting": [f"({-x:,.2f})" if x < 0 else f"{x:,.2f}" for x in AMOUNTS],
    "code": [f"USD {x:,.2f}" for x in AMOUNTS],
    "euros": [european(x) + " €" for x in AMOUNTS],
    "spaces": [european(x, " ") for x in AMOUNTS],
    "narrow spaces": [european(x, "\u202f") for x in AMOUNTS],
    "Swiss": [f"CHF {x:,.2f}".replace(",", "\u2019") for x in AMOUNTS],
    "commas": [f"{x:.2f}".replace(".", ",") for x in AMOUNTS],
    "percent": [f"{x:.2f} %" for x in AMOUNTS],
    "minus": [f"{x:,.2f}".replace("-", "\u2212") for x in AMOUNTS],
    "plain": [str(x) for x in AMOUNTS],
}


@pytest.mark.parametrize("cells", WRITTEN.values(), ids=WRITTEN.keys())
def test_numbers_however_written(cells):
    values = pd.Series(cells, dtype=object)
    column = Column.seen("amount", values)
    assert column.kind == "number"
    [read] = column.read(values).values()
    assert read.tolist() == AMOUNTS.tolist()


def test_the_style_is_said_and_survives_its_code():
    style = find_style(pd.Series(WRITTEN["euros"]))
    assert style.words == "in €, decimal commas, points between thousands"
    assert NumberStyle.of_code(style.code) == style
    assert NumberStyle.of_code("") == NumberStyle()


@pytest.mark.parametrize(
    "cells",
    [
        ["1,2,3", "4,5,6"],
        ["1.2.3", "4.5.6"],
        ["12-13", "14-15"],
        ["(5", "6)"],
        ["A1", "B2"],
        ["$", "€"],
        ["5 kg", "6 kg"],
    ],
)
def test_what_is_no_number(cells):
    assert find_style(pd.Series(cells, dtype=object)) is None


def test_the_file_decides_where_a_column_can_be_read_in_two_ways():
    unclear = pd.Series(["1,234", "2,345"], dtype=object)
    assert find_style(unclear, ".").number("1,234") == 1234
    assert find_style(unclear, ",").number("1,234") == 1.234
    assert decimal_mark([unclear]) == "."
    assert decimal_mark([unclear, pd.Series(["1,5", "2,25"], dtype=object)]) == ","
    assert find_style(pd.Series(["0,123", "1,234"], dtype=object), ".").decimal == ","
    frame = table().astype(object).assign(z=["1,234", "2,345", "3,456"] * 20)
    assert Schema.found(frame, "z", "regression").outcomes(frame)[0] == 1234
    comma = Schema.found(frame, "z", "regression", Reading(decimal=","))
    assert comma.outcomes(frame)[0] == 1.234


def test_two_currencies_are_not_put_together(tmp_path, capsys):
    frame = table(n=120).assign(price=[f"{'$€'[i % 2]}{i}" for i in range(120)])
    column = Column.seen("price", frame["price"])
    assert column.kind == "left out"
    assert "several units ($, €)" in column.note
    arguments = ("fit", csv_of(tmp_path, frame), "--target", "price")
    refused(capsys, *arguments, says="has amounts in several units ($, €): convert them to one")


DAYS = pd.Series(pd.date_range("2019-12-20", periods=90, freq="9D"))


@pytest.mark.parametrize(
    "style",
    [
        "%d.%m.%Y",
        "%d.%m.%y",
        "%m/%d/%Y",
        "%d/%m/%Y",
        "%d-%b-%Y",
        "%b %d, %Y",
        "%d %B %Y",
    ],
)
@pytest.mark.parametrize("time", ["", " 14:30", " 2:30:15 PM"])
def test_dates_however_written(style, time):
    values = (DAYS.dt.strftime(style) + time).astype(object)
    assert find_date_style(values) == style
    assert dates_in(values, style).tolist() == DAYS.tolist()
    column = Column.seen("when", values)
    assert (column.kind, column.style) == ("date", style)


def test_dates_that_can_be_read_in_two_ways_are_taken_in_order():
    first_days = pd.Series(["01/02/2021", "01/03/2021", "01/04/2021"] * 5 + ["01/05/2021"])
    assert find_date_style(first_days) == "%m/%d/%Y"
    by_month = pd.Series([f"{day:02}/{month:02}/2021" for month in (1, 2, 3) for day in (3, 9)])
    assert find_date_style(by_month) == "%d/%m/%Y"


def test_a_later_file_is_read_in_the_style_of_training(tmp_path):
    rng = np.random.default_rng(0)
    frame = table(n=80).assign(
        price=[european(x) + " €" for x in rng.uniform(100, 9_000, 80)],
        when=pd.date_range("2024-01-01", periods=80).strftime("%d.%m.%Y"),
        share=[f"{x:.1f}%" for x in rng.uniform(0, 100, 80)],
    )
    schema = Schema.found(frame, "price")
    assert schema.note == "in €, decimal commas, points between thousands"
    restored = Schema.from_json(json.loads(json.dumps(schema.to_json())))
    assert restored == schema
    inputs = restored.inputs(frame.iloc[:3])
    assert inputs["when (days)"].diff().dropna().tolist() == [1.0, 1.0]
    assert restored.outcomes(frame).max() < 9_000


def test_ids_are_carried_and_dropped_columns_are_not_used(tmp_path, capsys):
    frame = table().assign(code=[f"P{i}" for i in range(60)], number=range(1, 61))
    data = csv_of(tmp_path, frame)
    options = ("--id", "code", "--drop", "colour")
    model = fitted(data, tmp_path / "m.nearbayes", *options)
    out = tmp_path / "out.csv"
    assert run(["predict", str(model), str(data), "-o", str(out), "-q"]) == 0
    assert pd.read_csv(out)["code"].tolist() == frame["code"].tolist()
    lacking = csv_of(tmp_path, frame.drop(columns=["code", "colour", "number"]), "new.csv")
    assert run(["predict", str(model), str(lacking), "-o", str(out), "-q"]) == 0
    assert "code" not in pd.read_csv(out)
    arguments = ("fit", data, "--target", "y")
    refused(capsys, *arguments, "--drop", "none", says="--drop must be a column of the file")
    refused(capsys, *arguments, "--id", "y", says="cannot be left out")


def test_row_numbers_and_identifiers_are_left_out_unless_kept():
    frame = table().assign(t=range(60), user_id=(7 * np.arange(60) + 3) % 61)
    kinds = {column.name: column for column in Schema.found(frame, "y").columns}
    assert kinds["t"].note == "row numbers (--keep 't' to use them)"
    assert kinds["user_id"].note.startswith("an identifier")
    kept = Schema.found(frame, "y", reading=Reading(keep=("t", "user_id")))
    assert {"t", "user_id"} <= set(kept.input_names)


def test_excel(tmp_path, capsys):
    frame = table("classification").assign(day=pd.date_range("2024-01-01", periods=60))
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as writer:
        frame.to_excel(writer, sheet_name="rows", index=False)
        frame.iloc[:5].to_excel(writer, sheet_name="few", index=False)
    read, text = read_table(path), read_table(csv_of(tmp_path, frame))
    schema = Schema.found(read, "y")
    assert [column.kind for column in Schema.found(text, "y").columns] == [
        column.kind for column in schema.columns
    ]
    pd.testing.assert_frame_equal(schema.inputs(read), schema.inputs(text))
    assert len(read_table(path, sheet="few")) == 5
    refused(capsys, "fit", path, "--target", "y", "--sheet", "no", says="'rows', 'few', got 'no'")


def test_excel_without_its_library(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("nearbayes.cli.table_files.find_spec", lambda name: None)
    path = tmp_path / "book.xlsx"
    path.write_bytes(b"PK")
    refused(capsys, "fit", path, "--target", "y", says="pip install 'nearbayes[excel]'")


@pytest.mark.parametrize(
    ("values", "task", "outcome"),
    [
        (RNG.poisson(2.0, 400), "regression", "count"),
        (RNG.poisson(60.0, 400), "regression", "any"),
        (RNG.integers(0, 10, 400), "classification", "any"),
        (RNG.choice([3, 4, 5, 6, 8], 400), "classification", "any"),
        (RNG.integers(0, 3, 400), "classification", "any"),
        (RNG.lognormal(3, 1, 400), "regression", "positive"),
        (RNG.lognormal(3, 1, 400) * (RNG.random(400) < 0.7), "regression", "nonnegative"),
        (RNG.normal(50, 5, 400), "regression", "any"),
    ],
)
def test_counts_classes_and_positive_numbers(values, task, outcome):
    frame = pd.DataFrame({"x": RNG.normal(size=400), "y": values})
    found = Schema.found(frame, "y")
    assert (found.task, found.outcome) == (task, outcome)


def test_a_target_without_a_sign_is_of_any_kind():
    assert outcome_kind(np.array([-1.0, 2.0, 100.0])) == "any"


@pytest.mark.parametrize("model", ["linear", "lightgbm"])
def test_skewed_positive_targets_have_no_bounds_below_zero(tmp_path, model):
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    income = np.exp(1 + 0.8 * x + 0.8 * rng.normal(size=200))
    frame = pd.DataFrame(
        {"x": x, "z": rng.normal(size=200), "income": [f"${v:,.2f}" for v in income]}
    )
    data = csv_of(tmp_path, frame)
    model = fitted(data, tmp_path / "m.nearbayes", "--model", model, target="income")
    out = tmp_path / "out.csv"
    assert run(["predict", str(model), str(data), "-o", str(out), "-q"]) == 0
    predictions = pd.read_csv(out)
    assert (predictions[["prediction", "lower", "mean lower"]] >= 0).all(axis=None)
    covered = ((predictions["lower"] <= income) & (income <= predictions["upper"])).mean()
    assert covered > 0.9 - 4 * np.sqrt(0.09 / 200)


def test_noise_is_for_numbers(tmp_path, capsys):
    data = csv_of(tmp_path, table("classification"))
    output = tmp_path / "m.nearbayes"
    arguments = ("fit", data, "--target", "y", "-o", output, "--noise", "gamma")
    refused(capsys, *arguments, says="--noise is for numeric targets")


@pytest.mark.parametrize(
    ("cells", "parts"),
    [
        (["1974Q1", "1974 Q2"], [1461, 1551]),
        (["Q42010", "Q1 2011"], [14883, 14975]),
        (["1991 Jul", "1991 Aug"], [7851, 7882]),
        (["Jan-1-1995", "Feb-1-1995"], [9131, 9162]),
        (["19580329", "19580405"], [-4296, -4289]),
    ],
)
def test_quarters_months_and_compact_dates_are_dates(cells, parts):
    column = Column.seen("when", pd.Series(cells))
    assert column.kind == "date"
    assert column.read(pd.Series(cells))["when (days)"].tolist() == parts


def test_eight_digits_that_are_no_dates_are_numbers():
    assert Column.seen("n", pd.Series(["20210131", "20219999"])).kind == "number"


@pytest.mark.parametrize(
    ("cells", "seconds"),
    [
        (["0 days 00:00:01", "1 day, 00:00:02"], [1, 86402]),
        (["12:30", "1:05"], [45000, 3900]),
        (["1:02:03.5", "0:00:01"], [3723.5, 1]),
    ],
)
def test_times_are_numbers_of_seconds(cells, seconds):
    column = Column.seen("took", pd.Series(cells))
    assert column.note == "times, read in seconds"
    assert column.read(pd.Series(cells))["took"].tolist() == seconds
