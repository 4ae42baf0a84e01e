"""Commands: from a file to a model, predictions, importances, a report and a comparison."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cli_cases import QUICK, csv_of, fitted, refused, table

import nearbayes as nb
from nearbayes.cli import commands
from nearbayes.cli.app import run
from nearbayes.cli.errors import UsageError
from nearbayes.cli.modelfile import ModelFile
from nearbayes.cli.table_files import read_table

MODELS = ["blend", "hist", "xgboost", "lightgbm", "forest", "linear", "gp", "mlp"]
TASKS = ["classification", "regression"]
MARKUP = "[red]bold[/] :apple: \x1b[31m \\n"


def answered(capsys, *arguments):
    """The one JSON object that a command prints."""
    capsys.readouterr()
    assert run([*map(str, arguments), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("\n") == 1
    return json.loads(out)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("model", MODELS)
def test_fit_and_predict_with_every_model(tmp_path, capsys, model, task):
    frame = table(task)
    data = csv_of(tmp_path, frame)
    path = tmp_path / "m.nearbayes"
    fit = ("fit", data, "--target", "y", "-o", path, *QUICK, "--model", model, "--draws", 2)
    found = answered(capsys, *fit, "--refits", 1)
    assert found["task"] == task
    assert (found["draws"], found["rows"], found["stopped"]) == (2, 48, False)
    assert found["bytes"] == path.stat().st_size
    assert found["held_out"]["rows"] == 12
    frame.loc[:1, "colour"] = ["green", None]
    new = csv_of(tmp_path, frame.drop(columns="y"), "new.csv")
    answered(capsys, "predict", path, new, "-o", tmp_path / "out.csv", "--coverage", 0.8)
    written = pd.read_csv(tmp_path / "out.csv", float_precision="round_trip")
    check_predictions(written, ModelFile.read(path), read_table(new), 0.8)


def check_predictions(written, made, rows, coverage):
    """Predictions in a file are those of the model in Python."""
    model, X = made.model, made.schema.inputs(rows)
    assert written["epistemic_share"].between(0, 1).all()
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(written["prediction"], model.predict(X))
        bounds = model.predict_interval(X, coverage)
        for k, label in enumerate(model.classes_):
            np.testing.assert_array_equal(written[f"P({label})"], model.predict_proba(X)[:, k])
            np.testing.assert_array_equal(written[f"P({label}) lower"], bounds[:, k, 0])
            np.testing.assert_array_equal(written[f"P({label}) upper"], bounds[:, k, 1])
        return
    mean, _ = model.predict(X, return_std=True)
    np.testing.assert_array_equal(written["prediction"], mean)
    for kind, before in (("predictive", ""), ("credible", "mean ")):
        bounds = model.predict_interval(X, coverage, kind=kind)
        np.testing.assert_array_equal(written[f"{before}lower"], bounds[:, 0])
        np.testing.assert_array_equal(written[f"{before}upper"], bounds[:, 1])
    # with two draws the mean may be less certain than y: its interval is Student's t with 1 degree
    assert written["prediction"].between(written["mean lower"], written["mean upper"]).all()


@pytest.mark.parametrize("task", TASKS)
def test_explain_and_report(tmp_path, capsys, task):
    data = csv_of(tmp_path, table(task))
    path = fitted(data, tmp_path / "m.nearbayes")
    for rows in ((), ("--data", data)):
        found = answered(capsys, "explain", path, "--coverage", 0.5, *rows)
        importances = found["table"]
        assert sorted(importances["feature"]) == [
            "colour",
            "when (days)",
            "when (month)",
            "when (weekday)",
            "x",
        ]
        lower, mean, upper = (np.array(importances[k]) for k in ("lower", "importance", "upper"))
        assert (lower <= mean + 1e-9).all()
        assert (mean <= upper + 1e-9).all()
        page = tmp_path / "page.html"
        written = answered(capsys, "report", path, "-o", page, "--title", "Our <data>", *rows)
        assert (written["output"], written["bytes"]) == (str(page), page.stat().st_size)
        assert list(written["findings"])[:3] == ["quality", "doubt", "check"]
        # the whole file holds the rows of the fit, the held-out rows do not
        assert any("used to fit the model" in each for each in written["alerts"]) == bool(rows)
        html = page.read_text()
        assert '<th scope="col">Line</th>' in html
        assert "data.csv" in html
        assert "Our &lt;data&gt;" in html
        assert ("bagging" in html) == (not rows)


def test_rows_of_a_report_are_named_by_id_or_line(tmp_path, capsys):
    frame = table("classification").assign(who=[f"P{k:03}" for k in range(60)])
    data = csv_of(tmp_path, frame)
    path = fitted(data, tmp_path / "m.nearbayes", "--drop", "who")
    answered(capsys, "report", path, "-o", tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text()
    line, observed = re.search(r"^\| Line .*\n.*\n\| (\d+) \| (\w+)", text, re.MULTILINE).groups()
    assert data.read_text().splitlines()[int(line) - 1].split(",")[3] == observed
    assert "who (as you asked (--drop))" in text.replace("\\", "")
    path = fitted(data, tmp_path / "m.nearbayes", "--id", "who")
    answered(capsys, "report", path, "--format", "md", "-o", tmp_path / "r.md")
    assert re.search(r"^\| who .*\n.*\n\| P\d{3} ", (tmp_path / "r.md").read_text(), re.MULTILINE)
    page = tmp_path / "r.html"
    refused(
        capsys, "report", path, "--format", "md", "-o", page, says="an --output that ends in .m"
    )


def test_held_out_rows_are_needed(tmp_path, capsys):
    data = csv_of(tmp_path, table())
    path = fitted(data, tmp_path / "m.nearbayes", "--holdout", "0")
    assert ModelFile.read(path).held_out is None
    assert run(["explain", str(path)]) == 2
    assert "pass a data file with --data" in capsys.readouterr().err
    assert answered(capsys, "explain", path, "--data", data)["table"]["feature"][0] == "x"


def test_held_out_rows_come_back_as_they_were(tmp_path):
    frame = table("classification").assign(flag=np.arange(60) % 2 == 0, row=np.arange(60))
    frame["y"] = (frame["y"] == "yes") * 1.0
    frame.loc[0, "y"] = np.nan
    frame["moment"] = pd.date_range("2024-01-01", periods=60, freq="5h", tz="Asia/Tokyo")
    frame.to_parquet(tmp_path / "data.parquet")
    data, output = tmp_path / "data.parquet", tmp_path / "m.nearbayes"
    made = ModelFile.read(fitted(data, output, "--keep", "row"))
    whole = read_table(tmp_path / "data.parquet")
    X, y = made.schema.labelled(whole)
    X_held, y_held = made.schema.labelled(made.held_out)
    assert len(y_held) == 12
    at = [X["row"].tolist().index(row) for row in X_held["row"]]
    pd.testing.assert_frame_equal(X.iloc[at].reset_index(drop=True), X_held, check_exact=True)
    assert y[at].tolist() == y_held.tolist()


@pytest.fixture(scope="module")
def whole_model(tmp_path_factory):
    """What a model of the CSV file is."""
    folder = tmp_path_factory.mktemp("whole")
    return ModelFile.read(fitted(csv_of(folder, table()), folder / "m.nearbayes"))


@pytest.mark.parametrize("name", ["d.csv.gz", "d.tsv", "d.parquet", "d.feather"])
def test_formats_give_the_same_model(tmp_path, whole_model, name):
    frame, path = table(), tmp_path / name
    if name.endswith("parquet"):
        frame.to_parquet(path)
    elif name.endswith("feather"):
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if name.endswith("tsv") else ",")
    X = whole_model.schema.inputs(whole_model.held_out)
    made = ModelFile.read(fitted(path, tmp_path / "m.nearbayes")).model
    np.testing.assert_array_equal(
        made.posterior_predictions(X), whole_model.model.posterior_predictions(X)
    )


@pytest.mark.parametrize("method", ["bootstrap", "parametric_bootstrap"])
def test_other_methods(tmp_path, method):
    path = fitted(csv_of(tmp_path, table()), tmp_path / "m.nearbayes", "--method", method)
    assert nb.load(path).posterior_.provenance.method == method


def test_intervals_are_calibrated_unless_asked_not_to(tmp_path, capsys):
    data = csv_of(tmp_path, table())
    fit = ("fit", data, "--target", "y", "--model", "hist", "--draws", "3", "--refits", "1", "-o")
    assert "data sets simulated" in answered(capsys, *fit, tmp_path / "a")["calibration"]
    assert answered(capsys, *fit, tmp_path / "b", "--no-calibration")["calibration"] is None


def test_quiet_says_nothing(tmp_path, capsys):
    data, path = csv_of(tmp_path, table()), tmp_path / "m.nearbayes"
    for arguments in (
        ["fit", data, "--target", "y", "-o", path, *QUICK],
        ["predict", path, data, "-o", tmp_path / "out.csv"],
        ["explain", path],
        ["report", path, "-o", tmp_path / "page.html"],
    ):
        assert run(["--quiet", *map(str, arguments)]) == 0
        assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("model", ["xgboost", "lightgbm", "linear"])
def test_hostile_names_are_text_everywhere(tmp_path, capsys, monkeypatch, model):
    monkeypatch.setenv("COLUMNS", "200")
    hostile = ["=1+1", MARKUP, '<b>"a", {b}: c</b>']
    frame = table("classification").rename(columns=dict(zip(table(), hostile, strict=False)))
    frame["y"] = np.where(frame["y"] == "yes", "=cmd()", "[/] no")
    data, path = csv_of(tmp_path, frame), tmp_path / "m.nearbayes"
    options = [*QUICK, "--model", model]
    assert run(["fit", str(data), "--target", "y", "-o", str(path), *options]) == 0
    assert run(["explain", str(path)]) == 0
    out, _ = capsys.readouterr()
    assert out.count("[red]bold[/] :apple: �[31m \\n") == 2
    assert "\x1b[31m" not in out
    assert answered(capsys, "explain", path)["table"]["feature"].count(MARKUP) == 1
    for name in ("out.csv", "out.parquet"):
        assert run(["predict", str(path), str(data), "-o", str(tmp_path / name)]) == 0
    labels = {"=cmd()", "[/] no"}
    assert set(pd.read_parquet(tmp_path / "out.parquet")["prediction"]) == labels
    assert set(pd.read_csv(tmp_path / "out.csv")["prediction"]) == {"'=cmd()", "[/] no"}
    assert run(["report", str(path), "-o", str(tmp_path / "page.html")]) == 0
    assert "<b>" not in (tmp_path / "page.html").read_text()


def test_wrong_target_with_markup_is_shown_as_text(tmp_path, capsys):
    data = csv_of(tmp_path, table())
    assert run(["fit", str(data), "--target", MARKUP]) == 2
    assert "[red]bold[/] :apple:" in capsys.readouterr().err


def test_help_and_version(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"nearbayes {nb.__version__}\n"
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    for word in ("fit", "predict", "explain", "report", "compare", "demo", "--json", "--debug"):
        assert word in out
    assert run(["fit", "--help"]) == 0
    assert "--time-budget" in capsys.readouterr().out
    assert run([]) == 2
    assert "Usage: nearbayes" in " ".join(capsys.readouterr())
    assert run(["fti"]) == 2
    assert "No such command 'fti'" in capsys.readouterr().err


def test_options_of_the_program_may_follow_the_command_but_not_its_end(tmp_path, capsys):
    path = fitted(csv_of(tmp_path, table()), tmp_path / "m.nearbayes")
    assert run(["explain", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)
    assert run(["explain", "--", "--json"]) == 2
    assert "--json does not exist" in capsys.readouterr().err


def test_one_run_leaves_nothing_to_the_next(tmp_path, capsys):
    missing = str(tmp_path / "none")
    assert run(["--debug", "--quiet", "explain", missing]) == 2
    assert "Traceback" in capsys.readouterr().err
    assert run(["explain", missing]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_warnings_are_notes(capsys, monkeypatch):
    def warns(*_):
        warnings.warn("mind the [gap]", UserWarning, stacklevel=1)
        return {}

    monkeypatch.setattr(commands, "explain", warns)
    assert run(["explain", "model"]) == 0
    assert capsys.readouterr() == ("note: mind the [gap]\n", "")
    assert run(["explain", "model", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert warnings.showwarning.__module__ != "nearbayes.cli.app"


def test_demo_answers_with_all_its_steps(tmp_path, capsys, monkeypatch):
    quick = commands.Options
    monkeypatch.setattr(
        "nearbayes.cli.commands.Options",
        lambda target, draws, jobs: quick(target, model="linear", draws=3, refits=1, jobs=jobs),
    )
    found = answered(capsys, "demo", "-o", tmp_path / "demo")
    assert list(found) == ["fit", "predict", "explain", "report"]
    assert len(pd.read_csv(tmp_path / "demo" / "predictions.csv")) == 20
    assert (tmp_path / "demo" / "report.html").stat().st_size == found["report"]["bytes"]


@pytest.mark.parametrize("model", ["linear", "gp"])
def test_a_fitted_file_predicts_rows_as_pandas_reads_them(tmp_path, model):
    """Truth values, dates and gaps come as other types than the command line gave them."""
    frame = table().assign(flag=["TRUE", "FALSE", ""] * 20, code=["1", "2", "x"] * 20)
    data = csv_of(tmp_path, frame)
    path = fitted(data, tmp_path / "m.nearbayes", "--model", model)
    run(["predict", str(path), str(data), "-o", str(tmp_path / "p.csv"), "--quiet"])
    expected = pd.read_csv(tmp_path / "p.csv")["prediction"]
    loaded = nb.load(path)
    np.testing.assert_allclose(loaded.predict(pd.read_csv(data)), expected, rtol=1e-9)
    np.testing.assert_allclose(loaded.predict(pl.read_csv(data)), expected, rtol=1e-9)
    with pytest.raises(UsageError, match="lacks columns that were used in training: 'colour'"):
        loaded.predict(pd.read_csv(data).drop(columns="colour"))
