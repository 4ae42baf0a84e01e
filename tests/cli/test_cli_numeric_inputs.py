"""Models that take only numbers: categories and gaps are encoded, and the names stay readable."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from cli_cases import QUICK, csv_of, table

import nearbayes as nb
from nearbayes.cli.app import run
from nearbayes.cli.errors import UsageError
from nearbayes.cli.modelfile import ModelFile
from nearbayes.cli.numeric_inputs import NumericInputs


def test_gp_is_ours_and_explains_columns_by_name(tmp_path, capsys):
    data, path = csv_of(tmp_path, table()), tmp_path / "m.nearbayes"
    fit = ("fit", data, "--target", "y", "-o", path, *QUICK, "--model", "gp", "--refits", 1)
    assert run([*map(str, fit)]) == 0
    made = ModelFile.read(path)
    assert isinstance(made.model.estimator, nb.gp.EmpiricalBayesGP)
    capsys.readouterr()
    assert run(["explain", str(path), "--json"]) == 0
    names = json.loads(capsys.readouterr().out)["table"]["feature"]
    assert {"x", "x (missing)"} < set(names)
    assert any(name.startswith("colour = ") for name in names)


def test_rare_and_new_categories_have_no_input_and_gaps_are_filled():
    kinds = ["a"] * 50 + ["b"] * 48 + ["c"] * 2
    X = pd.DataFrame({"n": [np.nan, *range(1, 100)], "kind": pd.Categorical(kinds)})
    found = NumericInputs.of(X)
    assert found.levels == {"kind": ("a", "b")}
    new = pd.DataFrame({"n": [np.nan, 7.0], "kind": pd.Categorical(["(other)", None])})
    assert found.encode(new).to_numpy().tolist() == [[50.0, 1.0, 0.0, 0.0], [7.0, 0.0, 0.0, 0.0]]
    assert NumericInputs.from_json(json.loads(json.dumps(asdict(found)))) == found


def test_too_many_inputs_are_refused_with_a_way_out():
    X = pd.DataFrame(np.zeros((30, 201)), columns=[f"x{k}" for k in range(201)])
    with pytest.raises(UsageError, match="--drop"):
        NumericInputs.of(X)
