"""Ctrl-C: finished draws are kept, and the same command goes on with them."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from cli_cases import QUICK, csv_of, table

from nearbayes.cli.app import run
from nearbayes.cli.modelfile import ModelFile, settings_of

# The program ``nearbayes``, which says on stdout when it begins to fit, and after each draw.
# Ctrl-C works in it even where the tests run in the background, deaf to it.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from nearbayes.cli import commands, main
from nearbayes.execution.work import Work

fit, make = commands.fitted, Work.outcome

def told(*task):
    drawn = make(*task)
    print("drawn", flush=True)
    return drawn

def begun(*task):
    print("begun", flush=True)
    return fit(*task)

commands.fitted, Work.outcome = begun, told
main()
"""


def command(data, output, *options):
    options = ("--model", "xgboost", "--draws", "12", "--refits", "2", "--no-calibration", *options)
    return ["fit", str(data), "--target", "y", "-o", str(output), *options]


def interrupted(arguments, after):
    """Run a command, stopped by Ctrl-C after so many draws; give exit code and stderr."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments, "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C reaches all processes of a terminal, but not this one
    )
    seen = [process.stdout.readline() for _ in range(after + 1)]
    assert seen == ["begun\n", *["drawn\n"] * after]
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


@pytest.mark.parametrize(
    "task", ["classification", pytest.param("regression", marks=pytest.mark.slow)]
)
def test_a_stopped_fit_goes_on_to_the_same_model(tmp_path, capsys, task):
    data = csv_of(tmp_path, table(task, n=400))
    stopped, whole = tmp_path / "stopped.nearbayes", tmp_path / "whole.nearbayes"
    code, err = interrupted(command(data, stopped), after=3)
    assert code == 1
    assert "Traceback" not in err
    assert "of 12 draws are in" in err
    assert "run the same command again to continue" in err
    part = ModelFile.read(stopped)
    assert 2 <= len(part.model.posterior_) < 12
    assert part.settings["stopped"]
    assert run(command(data, stopped)) == 0
    assert f"resuming from {len(part.model.posterior_)} draws" in capsys.readouterr().out
    assert run(command(data, whole, "--quiet")) == 0
    again, never = ModelFile.read(stopped), ModelFile.read(whole)
    for settings in (again.settings, never.settings):
        assert settings.pop("seconds")["all"] > 0
    assert again.settings == never.settings
    assert again.schema == never.schema
    X = again.schema.inputs(again.held_out)
    expected = never.model.posterior_predictions(X)
    np.testing.assert_array_equal(again.model.posterior_predictions(X), expected)
    kept = part.model.posterior_predictions(X)
    np.testing.assert_array_equal(kept, expected[: len(kept)])
    np.testing.assert_array_equal(again.model.predict_interval(X), never.model.predict_interval(X))
    np.testing.assert_array_equal(again.bagging.predict(X), never.bagging.predict(X))


def test_ctrl_c_before_the_first_draw_writes_nothing(tmp_path):
    data = csv_of(tmp_path, table(n=400))
    code, err = interrupted(command(data, tmp_path / "m.nearbayes"), after=0)
    assert code == 1
    assert err == "nearbayes: interrupted; no file was written.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def pressed(*_):
    raise KeyboardInterrupt


def quick(data, output, *options):
    return ["fit", str(data), "--target", "y", "-o", str(output), *QUICK, *options, "--quiet"]


@pytest.mark.parametrize("step", ["_calibrate", "_bagging"])
def test_ctrl_c_after_the_draws_keeps_them(tmp_path, capsys, monkeypatch, step):
    data, path = csv_of(tmp_path, table()), tmp_path / "m.nearbayes"
    with monkeypatch.context() as patch:
        patch.setattr(f"nearbayes.cli.fit_command.{step}", pressed)
        assert run(quick(data, path)) == 1
    assert "3 of 3 draws are in" in capsys.readouterr().err
    assert ModelFile.read(path).bagging is None
    assert run(quick(data, path)) == 0
    assert ModelFile.read(path).bagging is not None
    assert not settings_of(path)["stopped"]


def test_other_data_or_options_start_anew(tmp_path, monkeypatch, capsys):
    frame = table()
    data, path = csv_of(tmp_path, frame), tmp_path / "m.nearbayes"
    monkeypatch.setattr("nearbayes.cli.fit_command._calibrate", pressed)
    assert run(quick(data, path)) == 1
    stopped = path.read_bytes()
    changed = csv_of(tmp_path, frame.assign(x=frame["x"] + 1), "changed.csv")
    renamed = csv_of(tmp_path, frame.rename(columns={"x": "z"}), "renamed.csv")
    same = quick(data, path)
    for arguments in (
        same,
        quick(data, path, "--seed", "1"),
        quick(data, path, "--refits", "1"),
        quick(data, path, "--holdout", "0.3"),
        quick(changed, path),
        quick(renamed, path),
    ):
        path.write_bytes(stopped)
        assert run(arguments[:-1]) == 1
        assert ("resuming" in capsys.readouterr().out) == (arguments == same)


def test_a_finished_fit_is_made_anew(tmp_path, capsys):
    data, path = csv_of(tmp_path, table()), tmp_path / "m.nearbayes"
    for _ in range(2):
        assert run(quick(data, path)[:-1]) == 0
        assert "resuming" not in capsys.readouterr().out


def test_jobs_and_more_draws_may_change(tmp_path, monkeypatch):
    data, path = csv_of(tmp_path, table()), tmp_path / "m.nearbayes"
    with monkeypatch.context() as patch:
        patch.setattr("nearbayes.cli.fit_command._calibrate", pressed)
        assert run(quick(data, path)) == 1
    assert run(quick(data, path, "--draws", "5", "--jobs", "2")) == 0
    assert run(quick(data, tmp_path / "whole.nearbayes", "--draws", "5")) == 0
    more, whole = ModelFile.read(path), ModelFile.read(tmp_path / "whole.nearbayes")
    X = whole.schema.inputs(whole.held_out)
    np.testing.assert_array_equal(
        more.model.posterior_predictions(X), whole.model.posterior_predictions(X)
    )
