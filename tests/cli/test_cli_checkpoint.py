"""A fit that crashes goes on from what it kept beside its output, and leaves nothing behind."""

import numpy as np
from cli_cases import QUICK, csv_of, table

from nearbayes.cli.app import run
from nearbayes.cli.modelfile import ModelFile
from nearbayes.execution.stores import FolderStore


def command(data, output, *options):
    return ["fit", str(data), "--target", "y", "-o", str(output), *QUICK, *options]


def crash(*_):
    raise MemoryError("out of memory")


def test_a_crashed_fit_goes_on_and_cleans_up(tmp_path, monkeypatch, capsys):
    data, path = csv_of(tmp_path, table()), tmp_path / "m.nearbayes"
    whole, kept = tmp_path / "whole.nearbayes", tmp_path / "m.nearbayes.checkpoint"
    with monkeypatch.context() as patch:
        patch.setattr("nearbayes.cli.fit_command._calibrate", crash)
        assert run(command(data, path)) == 1
    assert not path.exists()
    files = sorted(kept.rglob("chunk-*"))
    assert len(files) == 3
    capsys.readouterr()
    with FolderStore(kept).held():  # another fit is at it
        assert run(command(data, path)) == 2
    assert "is being made by another nearbayes fit" in capsys.readouterr().err
    assert run(command(data, path, "--executor", "serial")) == 0
    assert "resuming from what is kept in" in capsys.readouterr().out
    assert run(command(data, whole)) == 0
    assert "resuming" not in capsys.readouterr().out
    again, never = ModelFile.read(path), ModelFile.read(whole)
    X = never.schema.inputs(never.held_out)
    np.testing.assert_array_equal(
        again.model.posterior_predictions(X), never.model.posterior_predictions(X)
    )
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "data.csv",
        "m.nearbayes",
        "whole.nearbayes",
    ]


def test_draws_are_kept_where_the_user_says_and_cleaned_up(tmp_path, monkeypatch, capsys):
    data, path, place = csv_of(tmp_path, table()), tmp_path / "m.nearbayes", tmp_path / "elsewhere"
    asked = command(data, path, "--checkpoint", str(place))
    with monkeypatch.context() as patch:
        patch.setattr("nearbayes.cli.fit_command.calibrated", crash, raising=False)
        patch.setattr("nearbayes.cli.fit_command._calibrate", crash, raising=False)
        assert run(asked) == 1
    assert len(list(place.rglob("chunk-*"))) == 3
    assert not path.with_name("m.nearbayes.checkpoint").exists()
    capsys.readouterr()
    assert run(asked) == 0
    assert f"resuming from what is kept in {place}" in capsys.readouterr().out
    assert not list(place.rglob("*.*"))
    (tmp_path / "file").write_text("")
    assert run(command(data, path, "--checkpoint", str(tmp_path / "file"))) == 2
