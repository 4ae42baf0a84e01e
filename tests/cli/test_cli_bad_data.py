"""Bad files: each is refused in one sentence, or treated as it says."""

import gzip

import numpy as np
import pandas as pd
import pytest
from cli_cases import QUICK, csv_of, fitted, refused, table, text_file

from nearbayes.cli.app import run

ROWS = "".join(f"{i},{i * i % 7},{i % 2}\n" for i in range(40))


@pytest.fixture
def fit(tmp_path, capsys, monkeypatch):
    """Fit a file; give the exit code, and what was said."""
    monkeypatch.setenv("COLUMNS", "200")

    def go(data, *options, target="y"):
        output = str(tmp_path / "made.nearbayes")
        code = run(["fit", str(data), "--target", target, "-o", output, *QUICK, *options])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, " ".join(said.out.split()), said.err

    return go


UNREADABLE = {
    "empty": (b"", "is empty"),
    "blank lines": (b"\n \n\n", "is empty"),
    "header only": (b"a,b,y\n", "has a header but no rows"),
    "one column": (b"a\n1\n2\n", "only one column, 'a'"),
    "wrong encoding": (b"a,b,y\n1,\xe9\xe8,2\n", "is not utf-8-sig text"),
    "NUL bytes": (b"a,b,y\n1,\0\0,2\n", "is not a text file"),
    "duplicate columns": (b"a,a,y\n1,2,3\n", "has the column 'a' more than once"),
    "long row": (b"a,b,y\n1,2,3\n1,2,3,4\n", "has 4 cells in line 3, but 3 in its header"),
    "short row": (b"a,b,y\n1,2,3\n\n1,2\n", "has 2 cells in line 4, but 3 in its header"),
    "open quote": (b'a,b,y\n1,"2,3\n1,2,3\n', "cells in line"),
}


@pytest.mark.parametrize(("data", "says"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_csv_that_cannot_be_read(tmp_path, capsys, data, says):
    path = tmp_path / "data.csv"
    path.write_bytes(data)
    refused(capsys, "fit", path, "--target", "y", *QUICK, says=says)


def test_wrong_bytes_far_into_a_file(tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b,y\n" + b"1,2,3\n" * 20_000 + b"1,\xe9,3\n")
    refused(capsys, "fit", path, "--target", "y", says="set --encoding, for example to latin-1")


@pytest.mark.parametrize("name", ["d.csv.gz", "d.parquet", "d.feather", "d.arrow", "d.xlsx"])
def test_file_that_is_not_what_its_suffix_says(tmp_path, capsys, name):
    path = text_file(tmp_path, "a,b,y\n1,2,3\n", name)
    refused(capsys, "fit", path, "--target", "y", says=str(path))


def test_binary_file_called_csv(tmp_path, capsys):
    path = tmp_path / "data.csv"
    table().to_parquet(path)
    refused(capsys, "fit", path, "--target", "y", says="data.csv is not")


def test_cut_off_gzip(tmp_path, capsys):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(("a,b,y\n" + ROWS).encode())[:-20])
    refused(capsys, "fit", path, "--target", "y", says="cannot be read as a table")


def test_unknown_suffix_and_missing_file(tmp_path, capsys):
    path = text_file(tmp_path, "a,b,y\n1,2,3\n", "data.xls")
    refused(capsys, "fit", path, "--target", "y", says="got '.xls'")
    refused(capsys, "fit", tmp_path / "no.csv", "--target", "y", says="does not exist")
    refused(capsys, "fit", tmp_path, "--target", "y", says="is not a file")


def test_delimiters(tmp_path, capsys, fit):
    lines = ("a,b,y\n" + ROWS).replace(",", "#")
    path = text_file(tmp_path, lines)
    refused(capsys, "fit", path, "--target", "y", says="set the column separator")
    refused(capsys, "fit", path, "--target", "y", "--delimiter", "ab", says="one character")
    assert fit(path, "--delimiter", "#")[0] == 0
    for mark in ";\t|":
        assert fit(text_file(tmp_path, lines.replace("#", mark)))[0] == 0
    assert fit(text_file(tmp_path, lines.replace("#", "\t")), "--delimiter", "\\t")[0] == 0


def test_encodings(tmp_path, capsys, fit):
    path = text_file(tmp_path, "straße,b,y\n" + ROWS, encoding="utf-16")
    assert fit(path, "--encoding", "utf-16")[0] == 0
    refused(capsys, "fit", path, "--target", "y", "--encoding", "klingon", says="'klingon'")
    assert fit(text_file(tmp_path, "a,b,y\n" + ROWS, encoding="utf-8-sig"))[0] == 0


def test_target_that_is_not_there(tmp_path, capsys):
    path = text_file(tmp_path, "a,b,y\n" + ROWS)
    refused(capsys, "fit", path, "--target", "z", says="one of 'a', 'b', 'y', got 'z'")
    refused(capsys, "fit", path, says="Missing option '--target'")


BAD_TARGETS = {
    "constant": (["one"] * 40, "has only one class, 'one'"),
    "constant number": (["1.5"] * 40, "is constant"),
    "all missing": ([""] * 40, "is missing in every row"),
    "different text": ([f"name {i}" for i in range(120)], "check --target"),
    "dates": (pd.date_range("2024-01-01", periods=120).astype(str), "check --target"),
    "one class of size": (
        ["a"] * 37 + ["b", "c", "d"],
        "must have two classes with at least 5 rows",
    ),
}


@pytest.mark.parametrize(("values", "says"), BAD_TARGETS.values(), ids=BAD_TARGETS.keys())
def test_targets_that_cannot_be_learned(tmp_path, capsys, values, says):
    frame = pd.DataFrame({"x": np.arange(len(values)) % 7, "y": values})
    refused(capsys, "fit", csv_of(tmp_path, frame), "--target", "y", *QUICK, says=says)


def test_task_that_does_not_fit_the_target(tmp_path, capsys):
    path = csv_of(tmp_path, table("classification"))
    arguments = ("fit", path, "--target", "y", "--task", "regression")
    refused(capsys, *arguments, says="must hold numbers for regression")


def test_too_few_rows(tmp_path, capsys):
    path = csv_of(tmp_path, table(n=15))
    refused(
        capsys, "fit", path, "--target", "y", *QUICK, says="must have at least 20 training rows"
    )


def test_rare_classes_and_missing_targets_are_left_out_and_said(tmp_path, fit):
    frame = table("classification")
    frame.loc[:1, "y"] = "rare"
    frame.loc[2:4, "y"] = ""
    code, out, _ = fit(csv_of(tmp_path, frame))
    assert code == 0
    assert "3 rows without a target left out" in out
    assert "2 rows of rare classes left out: 'rare'" in out
    assert "classification (2 classes)" in out


def test_infinite_and_missing_numbers_of_a_target_are_left_out(tmp_path, fit):
    frame = table()
    frame.loc[:1, "y"] = [np.inf, np.nan]
    code, out, _ = fit(csv_of(tmp_path, frame))
    assert code == 0
    assert "2 rows without a target left out" in out


def test_odd_columns_are_treated_as_said(tmp_path, fit):
    n = 120
    numbers = [f"{i}.5" for i in range(n)]
    frame = table(n=n).assign(
        empty=np.nan,
        constant="same",
        unique=[f"id {i}" for i in range(n)],
        infinite=[np.inf, -np.inf, *range(n - 2)],
        mixed=["n/a", "oops", *numbers[2:]],
        moment=pd.date_range("2024-03-30", periods=n, freq="h", tz="Europe/Berlin").astype(str),
    )
    code, out, _ = fit(csv_of(tmp_path, frame))
    assert code == 0
    assert "empty │ left out │ │ all missing" in out
    assert "constant │ left out │ │ always 'same'" in out
    assert "unique │ left out │ │ a different text in every row" in out
    assert "infinite │ number │ │ 2 not a number: missing" in out
    assert "mixed │ number │ │ 1 missing; 1 not a number: missing" in out
    assert "when │ date" in out
    assert "moment │ date" in out


def test_columns_that_say_nothing_at_all(tmp_path, capsys):
    frame = pd.DataFrame({"a": 1, "b": np.nan, "y": np.arange(40.0) / 3})
    refused(capsys, "fit", csv_of(tmp_path, frame), "--target", "y", says="no column besides the")


def test_row_numbers_without_a_name_are_left_out(tmp_path, fit):
    table().to_csv(tmp_path / "data.csv")
    _, out, _ = fit(tmp_path / "data.csv")
    assert "left out │ │ no name and a different value in every row" in out


def test_inputs_of_one_name_are_refused(tmp_path, capsys):
    frame = table().assign(**{"when (days)": 1.5 * np.arange(60)})
    arguments = ("fit", csv_of(tmp_path, frame), "--target", "y", *QUICK)
    refused(capsys, *arguments, says="'when (days)'")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A fitted model file."""
    folder = tmp_path_factory.mktemp("model")
    return fitted(csv_of(folder, table()), folder / "model.nearbayes")


def test_file_to_predict_that_lacks_columns(model, tmp_path, capsys):
    data = csv_of(tmp_path, table().drop(columns=["x", "when"]))
    arguments = ("predict", model, data, "-o", tmp_path / "out.csv")
    refused(capsys, *arguments, says="lacks columns that were used in training: 'x', 'when'")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("column", ["x", "when"])
def test_file_to_predict_with_text_for_numbers_or_dates(model, tmp_path, capsys, column):
    data = csv_of(tmp_path, table().assign(**{column: "text"}))
    arguments = ("predict", model, data, "-o", tmp_path / "out.csv")
    refused(capsys, *arguments, says=f"column {column!r} must hold")


def test_surprises_in_a_file_to_predict_are_said(model, tmp_path, capsys):
    frame = table().astype({"x": object}).assign(more=1, y=np.nan)
    frame.loc[:1, "colour"] = ["green", "=2+3"]
    frame.loc[2, "x"] = "oops"
    frame.loc[3, "when"] = "tomorrow"
    data = csv_of(tmp_path, frame)
    assert run(["predict", str(model), str(data), "-o", str(tmp_path / "out.csv")]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "note: column 'colour': 2 of 60 cells hold a new category, read as '(other)'" in out
    assert "note: column 'x': 1 of 60 cells hold no number, read as missing" in out
    assert "note: column 'when': 1 of 60 cells hold no date, read as missing" in out
    assert "note: columns that were not in the training data are ignored: 'more'" in out
    assert pd.read_csv(tmp_path / "out.csv").notna().all(axis=None)


def test_model_files_that_are_none(tmp_path, capsys):
    data = csv_of(tmp_path, table())
    arguments = (data, "-o", tmp_path / "out.csv")
    damaged = tmp_path / "damaged.nearbayes"
    made = fitted(data, tmp_path / "model.nearbayes")
    damaged.write_bytes(made.read_bytes()[:-100])
    for path in (data, damaged):
        refused(capsys, "predict", path, *arguments, says=f"{path} is damaged or not a")
        refused(capsys, "explain", path, says=f"{path} is damaged or not a")
        refused(capsys, "report", path, says=f"{path} is damaged or not a")
    refused(capsys, "explain", tmp_path / "none", says="does not exist")


def test_model_file_of_the_library_alone(tmp_path, capsys):
    from sklearn.linear_model import Ridge

    import nearbayes as nb

    X = np.arange(20.0)[:, None]
    plain = nb.PosteriorRegressor(Ridge(), n_draws=2).fit(X, X[:, 0] ** 2)
    path = plain.save(tmp_path / "plain.nearbayes")
    refused(capsys, "explain", path, says="was not written by nearbayes fit")


@pytest.mark.parametrize("coverage", ["0", "1", "-0.5", "nan", "90"])
def test_coverage_out_of_range(model, tmp_path, capsys, coverage):
    data = csv_of(tmp_path, table())
    arguments = ("predict", model, data, "-o", tmp_path / "o.csv", "--coverage", coverage)
    refused(capsys, *arguments, says="--coverage must be between 0 and 1")
    refused(capsys, "explain", model, "--coverage", coverage, says="--coverage must be one of")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--holdout", "1"), "--holdout must be at least 0"),
        (("--holdout", "-0.1"), "--holdout must be at least 0"),
        (("--holdout", "nan"), "--holdout must be at least 0"),
        (("--holdout", "0.999"), "too few rows on one side"),
        (("--holdout", "0.001"), "too few rows on one side"),
        (("--model", "magic"), "'--model'"),
        (("--method", "magic"), "'--method'"),
        (("--task", "magic"), "'--task'"),
        (("--draws", "1"), "'--draws'"),
        (("--draws", "many"), "'--draws'"),
        (("--refits", "0"), "'--refits'"),
        (("--seed", "-1"), "'--seed'"),
        (("--time-budget", "soon"), "--time-budget must be a time such as 90s"),
        (("--time-budget", "0"), "--time-budget must be a time such as 90s"),
        (("--jobs", "0"), "'--jobs'"),
        (("--magic",), "No such option: --magic"),
    ],
)
def test_options_out_of_range(tmp_path, capsys, options, says):
    data = csv_of(tmp_path, table("classification"))
    output = tmp_path / "model.nearbayes"
    arguments = ("fit", data, "--target", "y", "-o", output, "--model", "linear", *options)
    refused(capsys, *arguments, says=says)
    assert not output.exists()


def test_outputs_that_cannot_be_written(model, tmp_path, capsys, monkeypatch):
    data = csv_of(tmp_path, table())
    predict, fit = ("predict", model, data, "-o"), ("fit", data, "--target", "y", *QUICK, "-o")
    for arguments in (predict, fit, ("report", model, "-o")):
        output = tmp_path / "no" / "out.csv"
        refused(capsys, *arguments, output, says="is in a folder that does not exist")
        (tmp_path / "folder.csv").mkdir(exist_ok=True)
        refused(capsys, *arguments, tmp_path / "folder.csv", says="is a folder")
        with monkeypatch.context() as patch:  # root, who may run this, can write anywhere
            patch.setattr("nearbayes.cli.outputs.access", lambda *_: False)
            refused(capsys, *arguments, tmp_path / "out.csv", says="is not writable")
    refused(capsys, *predict, tmp_path / "out.xlsx", says="cannot write")


def test_file_that_is_no_model_is_not_overwritten(tmp_path, capsys):
    data = csv_of(tmp_path, table())
    before = data.read_bytes()
    arguments = ("fit", data, "--target", "y", *QUICK, "-o", data)
    refused(capsys, *arguments, says="was not written by nearbayes fit")
    assert data.read_bytes() == before


def test_gaussian_process_of_many_rows(tmp_path, capsys):
    data = csv_of(tmp_path, table(n=3_000))
    refused(
        capsys, "fit", data, "--target", "y", "--model", "gp", says="--model gp supports at most"
    )


def test_model_whose_library_is_missing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("nearbayes.cli.models.find_spec", lambda name: None)
    data = csv_of(tmp_path, table())
    arguments = ("fit", data, "--target", "y", "--model", "xgboost")
    refused(capsys, *arguments, says="pip install 'nearbayes[xgboost]'")


def test_what_fails_in_the_work_says_so(tmp_path, capsys, monkeypatch):
    def broken(*_):
        raise RuntimeError("out of luck")

    monkeypatch.setattr("nearbayes.cli.commands.fitted", broken)
    arguments = ("fit", csv_of(tmp_path, table()), "--target", "y")
    refused(
        capsys, *arguments, says="RuntimeError: out of luck (use --debug for the traceback)", code=1
    )
