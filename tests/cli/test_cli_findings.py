"""What a fit found, in three sentences."""

import pandas as pd
from cli_cases import csv_of, fitted, table

from nearbayes.cli.app import run
from nearbayes.cli.console import Speaker
from nearbayes.cli.in_short import findings
from nearbayes.cli.modelfile import ModelFile


def found(tmp_path, task, *options, frame=None):
    data = csv_of(tmp_path, table(task, n=120) if frame is None else frame)
    return findings(ModelFile.read(fitted(data, tmp_path / "m.nearbayes", *options)))


def test_numbers(tmp_path):
    missed, inside, more = found(tmp_path, "regression")
    assert missed.startswith("Of 24 rows that the fit had not seen, y was missed by ")
    assert "less than by always saying the mean (" in missed
    assert " of these 24 values are inside their 90 % intervals" in inside
    assert more.startswith("With many more rows like these, ")


def test_classes(tmp_path):
    right, sure, doubtful = found(tmp_path, "classification")
    assert "the model is right for " in right
    assert "better than always saying " in right
    assert "at least 90 % sure" in sure or "nowhere 90 % sure" in sure
    assert "which class is the likeliest" in doubtful


def test_a_model_that_learned_nothing_is_told_so(tmp_path):
    frame = table("classification", n=120)[["colour", "y"]]
    frame = frame.assign(y=["no"] * 110 + ["yes"] * 10).sample(frac=1, random_state=0)
    assert "no better than always saying 'no'" in found(tmp_path, "", frame=frame)[0]


def test_a_column_that_gives_the_target_away(tmp_path):
    frame = table(n=900).assign(again=lambda rows: 2 * rows["y"])
    assert "no column is computed from the outcome" in found(tmp_path, "", frame=frame)[2]


def test_intervals_that_hold_too_few_values_are_not_to_be_relied_on(tmp_path):
    """The latest rows are unlike the others."""
    frame = table(n=120).assign(year=2000 + pd.RangeIndex(120) // 10)
    frame["y"] += 10 * (frame["year"] > 2009)
    inside = found(tmp_path, "", "--split-by", "year", "--drop", "when", frame=frame)[1]
    assert "too few, so do not rely on them" in inside


def test_without_held_out_rows(tmp_path):
    assert "nobody knows how well" in found(tmp_path, "regression", "--holdout", "0")[0]


def test_a_fit_ends_with_them_and_with_how_to_go_on(tmp_path, capsys):
    data = csv_of(tmp_path, pd.concat([table(n=60)] * 2))
    command = ["fit", str(data), "--target", "y", "-o", str(tmp_path / "a model"), "--quick"]
    assert run([*command, "--model", "linear"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "a first look" in "".join(lines)
    assert lines[-7].startswith("Of 24 rows")
    assert lines[-3].startswith(f"next: nearbayes report '{tmp_path / 'a model'}'")


def test_spaces_that_keep_a_number_and_its_unit_together_are_spaces_on_a_terminal(capsys):
    Speaker().say("38\u00a0% of it\x1b[31m")
    assert capsys.readouterr().out == "38 % of it�[31m\n"
