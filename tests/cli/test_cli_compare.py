"""Compare: scores of every method, and a verdict that claims no more than they show."""

import json
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from cli_cases import csv_of, refused, table

from nearbayes.cli import comparing
from nearbayes.cli.app import run
from nearbayes.cli.comparing import Scores, compare
from nearbayes.cli.schema import Schema

OURS = {"base", "bagging", "ensemble", "martingale"}
RUN = {"model": "linear", "draws": 2, "folds": 2, "jobs": 1, "seed": 0}


def installed(task):
    peers = {"NGBoost"} if find_spec("ngboost") else set()
    return peers | ({"MAPIE (CV+)"} if find_spec("mapie") and task == "regression" else set())


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_compare_scores_every_method(tmp_path, capsys, task):
    data = csv_of(tmp_path, table(task, n=50))
    arguments = ["compare", str(data), "--target", "y", "--model", "linear", "--draws", "2"]
    assert run([*arguments, "--folds", "2", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(out)
    columns, score = found["table"], "log score" if task == "classification" else "CRPS"
    assert set(columns["method"]) == OURS | installed(task)
    scores = [value for value in columns[score] if value is not None]
    assert scores == sorted(scores)
    assert found["verdict"].startswith(f"{columns['method'][0]} has the best {score}")
    assert columns["worse by"][0] is None
    assert all(value >= 0 for value in columns["worse by"][1:] if value is not None)
    assert all(value > 0 for value in columns["seconds"])
    assert ("coverage" in columns) == (task == "regression")


def test_same_seed_same_scores(monkeypatch):
    monkeypatch.setattr(comparing, "LEVELS", np.linspace(0.1, 0.9, 5))
    monkeypatch.setattr(comparing, "find_spec", lambda name: None)
    frame = table(n=60)
    found = compare(frame, Schema.found(frame, "y"), **RUN)
    again = compare(frame, Schema.found(frame, "y"), **RUN)
    numbers = [name for name in found.table if name != "seconds"]
    pd.testing.assert_frame_equal(found.table[numbers], again.table[numbers])
    own = found.table.loc[sorted(OURS)]
    assert (own["CRPS"] < frame["y"].std() / 2).all()
    assert own["coverage"].between(0.7, 1).all()


def test_seed_reaches_the_trees_of_ngboost():
    pytest.importorskip("ngboost")
    frame = table("classification", n=40)
    X, y = Schema.found(frame, "y").labelled(frame)
    fold = comparing.Fold(X[:30], y[:30], X[30:], y[30:])
    first, again = (comparing._ngboost_classes(7, None, fold).loss for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_crps_of_quantiles_is_that_of_the_normal():
    from scipy.stats import norm
    from scoringrules import crps_normal

    y = np.linspace(-2, 2, 9)
    quantiles = np.tile(norm.ppf(comparing.LEVELS), (9, 1))
    bounds = np.tile([-1.0, 1.0], (9, 1))
    scores = comparing._of_quantiles(quantiles, bounds, y)
    np.testing.assert_allclose(scores.loss, crps_normal(y, 0.0, 1.0), rtol=0.03)
    assert scores.covered.tolist() == (np.abs(y) <= 1).astype(float).tolist()
    assert (scores.width == 2).all()


def verdict_of(**losses):
    scores = {name: Scores(np.asarray(loss), None, None) for name, loss in losses.items()}
    return comparing._summary(scores, dict.fromkeys(losses, 1.0), "CRPS", ())


def test_a_difference_within_chance_is_called_so():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=200)
    found = verdict_of(
        best=noise, alike=noise + rng.normal(0.05, 0.5, 200), worse=noise + 1 + rng.random(200)
    )
    assert list(found.table.index) == ["best", "alike", "worse"]
    assert found.verdict == "best has the best CRPS, but the difference from alike may be chance."
    clear = verdict_of(best=noise, worse=noise + 1 + rng.random(200))
    assert "all others are more than 2 standard errors worse" in clear.verdict


def test_standard_error_is_of_paired_rows():
    rng = np.random.default_rng(0)
    rows = 100 * rng.normal(size=400)  # rows differ far more than methods
    gap = 0.5 + rng.normal(size=400)
    table = verdict_of(best=rows, worse=rows + gap).table
    assert table.loc["worse", "worse by"] == pytest.approx(gap.mean())
    assert table.loc["worse", "standard error"] == pytest.approx(gap.std(ddof=1) / 20)


def test_equal_methods_are_no_better_than_each_other():
    loss = np.arange(10.0)
    assert "may be chance" in verdict_of(one=loss, other=loss).verdict


def test_a_peer_that_fails_is_left_out_and_said(monkeypatch):
    monkeypatch.setattr(comparing, "LEVELS", np.linspace(0.1, 0.9, 5))

    def fails(seed, estimator, fold):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(comparing, "_ngboost_numbers", fails)
    monkeypatch.setattr(comparing, "find_spec", lambda name: name == "ngboost" or None)
    frame = table(n=60)
    found = compare(frame, Schema.found(frame, "y"), **RUN)
    assert set(found.table.index) == OURS
    assert found.notes == ("NGBoost is left out because it failed: Singular matrix",)


def test_an_own_method_that_fails_is_an_error(monkeypatch):
    def fails(*_):
        raise RuntimeError("no luck")

    monkeypatch.setattr(comparing, "_posterior", fails)
    frame = table(n=60)
    with pytest.raises(RuntimeError, match="no luck"):
        compare(frame, Schema.found(frame, "y"), **RUN)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_more_folds_than_rows(tmp_path, capsys, task):
    data = csv_of(tmp_path, table(task))
    arguments = ("compare", data, "--target", "y", "--model", "linear", "--folds", "61")
    refused(capsys, *arguments, says="--folds must be at most the number of rows")
