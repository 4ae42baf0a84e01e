"""Diagnose on the command line: after a fit, from the file, and with the rows again."""

import json

import pytest
from cli_cases import csv_of, fitted, refused, table

from nearbayes.cli.app import run
from nearbayes.cli.modelfile import ModelFile
from nearbayes.cli.option_words import as_options


@pytest.fixture(scope="module", params=["regression", "classification"])
def made(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp(request.param)
    data = csv_of(folder, table(request.param, 90))
    return data, fitted(data, folder / "m.nearbayes", "--draws", "10")


def answered(capsys, *arguments):
    capsys.readouterr()
    assert run([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_file_has_the_verdict_of_the_fit_and_rows_give_it_again(made, capsys):
    data, model = made
    stored, again = answered(capsys, "diagnose", model), answered(capsys, "diagnose", model, data)
    assert again["verdict"] == stored["verdict"]
    assert [line["status"] for line in again["lines"][:7]].count("unknown") == 0
    assert all(line["picture"] for line in stored["lines"] if line["value"] is not None)
    one = answered(capsys, "diagnose", model, data, "--checks", "noise, more data")
    assert [line["name"] for line in one["lines"]] == ["noise", "more data"]
    asked = ("--checks", "more data", "--at", "4x, 600")
    (more,) = answered(capsys, "diagnose", model, data, *asked)["lines"]
    n = ModelFile.read(model).model.posterior_.provenance.n
    assert f"at {4 * n:,.0f} rows" in more["words"]
    assert "at 600 rows" in more["words"]


def test_a_table_ends_with_the_verdict(made, capsys):
    assert run(["diagnose", str(made[1])]) == 0
    out = capsys.readouterr().out
    assert "Are there enough draws?" in out
    assert out.strip().splitlines()[-1].startswith("verdict: ")


def test_the_report_has_it(made, tmp_path, capsys):
    verdict = as_options(ModelFile.read(made[1]).diagnosis["verdict"])
    assert run(["report", str(made[1]), "-o", str(tmp_path / "page.html"), "--quiet"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "Can its intervals be trusted?" in page
    assert verdict[:40] in page
    assert "calibration='simulation'" not in page
    assert "n_refits=" not in page
    assert page.count('<svg class="small"') >= 6


def test_what_cannot_be_diagnosed_gets_one_sentence(made, tmp_path, capsys):
    data, model = made
    refused(capsys, "diagnose", model, "--checks", "all", says="give the file that the model")
    refused(capsys, "diagnose", model, data, "--checks", "luck", says="--checks must be default")
    refused(capsys, "diagnose", model, "--at", "4x", says="give the file that the model")
    for at in ("some", "0x", "4x,,", "nanx"):
        refused(capsys, "diagnose", model, data, "--at", at, says="--at must be numbers of rows")
    for at in ("1x", "3"):
        refused(capsys, "diagnose", model, data, "--at", at, says="--at must be more rows than")
    other = csv_of(tmp_path, table(n=70).assign(x=0.0), "other.csv")
    if "regression" in str(data):
        refused(capsys, "diagnose", model, other, says="not the one that the model was fitted to")
    few = fitted(data, tmp_path / "few.nearbayes")
    refused(capsys, "diagnose", few, data, says="a diagnosis needs at least 8 draws")
