"""The experiments with Gaussian processes, on small data made here."""

import json

import numpy as np
import pandas as pd
import pytest
from experiments.gp_hyperparameters import __main__ as hyperparameters
from experiments.gp_hyperparameters.experiment import METHODS, GPHyperparameters, scored
from experiments.gp_hyperparameters.published import RANKS, ROWS, published
from experiments.gp_toy import __main__ as toy
from experiments.runner.records import Records, Unit

import nearbayes as nb


def test_regions_of_the_toy():
    x = np.array([0.0, 1.0, 4.0, 5.0])
    regions = {name: toy.GRID[rows] for name, rows in toy.regions_of(x).items()}
    assert np.abs(regions["data region"][:, None] - x).min(axis=1).max() < toy.NEAR
    gap = regions["gap"]
    assert ((gap > 0) & (gap < 5)).all()
    assert np.abs(gap[:, None] - x).min(axis=1).min() > 3 * toy.NEAR
    outside = regions["out of distribution"]
    assert ((outside < -toy.FAR) | (outside > 5 + toy.FAR)).all()


def test_the_middle_of_the_toy_data_is_left_out(tmp_path):
    (tmp_path / "gp").mkdir()
    frame = pd.DataFrame({"x": np.arange(100.0), "y": np.arange(100.0)})
    frame.to_parquet(tmp_path / "gp" / "snelson1d.parquet")
    x, y = toy.snelson(tmp_path)
    assert len(x) == len(y) == 80
    assert not ((x > 40) & (x < 59)).any()


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    frame["y"] = frame["a"] + 0.1 * rng.normal(size=400)
    frame.to_parquet(tmp_path / "power.parquet")
    entry = {"name": "power", "file": "power.parquet", "target": "y"}
    (tmp_path / "datasets.json").write_text(json.dumps({"datasets": [entry]}))
    return tmp_path


def test_splits_and_methods(folder):
    experiment = GPHyperparameters(("power-75", "power-300"), n_splits=10, data_dir=folder)
    assert [unit.data_set for unit in experiment.units].count("power-75") == 10
    assert [unit.data_set for unit in experiment.units].count("power-300") == 2
    X, y, X_test, y_test = experiment.split(Unit("power-75", 3))
    assert (X.shape, y.shape, X_test.shape, y_test.shape) == ((75, 2), (75,), (80, 2), (80,))
    assert not set(y) & set(y_test)
    assert "martingale" in experiment.methods(Unit("power-75", 0))
    assert "martingale" not in experiment.methods(Unit("power-300", 0))


def test_every_method_is_measured_and_shown(folder, tmp_path, monkeypatch):
    short = nb.Schedule.arithmetic(horizon=0.25, block=0.25)  # every number of rows is compiled for
    monkeypatch.setattr("experiments.gp_hyperparameters.experiment.SCHEDULE", short)
    experiment = GPHyperparameters(("power-75",), n_splits=1, n_draws=2, data_dir=folder)
    records = Records(tmp_path / "results" / "records.jsonl")
    for split in range(3):
        for method in METHODS:
            if split == 0:
                measured = experiment.measure(Unit("power-75", 0), method, {})
                assert 0.05 < measured["crps"] < measured["rmse"] < 0.5
            key = {"data_set": "power-75", "split": split, "method": method}
            records.append({**key, **measured, "seconds": 1.0, "commit": "none"})
    hyperparameters.write_report(records, tmp_path / "results")
    text = (tmp_path / "results" / "report.md").read_text()
    assert "3 to 3 splits" in text
    assert "(4.54)" in text


def test_ranks_with_and_without_the_bootstrap():
    scores = {"empirical bayes": 3.0, "bootstrap": 1.0, "ensemble": 3.0, "martingale": 2.0}
    noise = np.random.default_rng(0).normal(scale=0.01, size=(len(scores), 20))
    rows = [
        {"data_set": "power-75", "split": split, "method": method}
        | dict.fromkeys(("rmse", "nlpd", "crps"), score + noise[k, split])
        for k, (method, score) in enumerate(scores.items())
        for split in range(20)
    ]
    ranks = hyperparameters._ranks(pd.DataFrame(rows), 75, "martingale")
    assert ranks["crps"].tolist() == [3, 1, 3, 2]
    assert ranks["crps, without bootstrap"].dropna().tolist() == [2, 2, 1]
    assert tuple(ranks["crps, paper"]) == RANKS[75]["crps"]


def test_scores_of_one_normal():
    y = np.zeros(50)
    found = scored(y, np.zeros((1, 50)), np.ones((1, 50)))
    assert found["rmse"] == 0
    assert found["nlpd"] == pytest.approx(0.5 * np.log(2 * np.pi))
    assert found["crps"] == pytest.approx((np.sqrt(2) - 1) / np.sqrt(np.pi))


def test_the_papers_numbers_are_read_in_its_order():
    assert all(len(row) == 12 for row in ROWS.values())
    assert len(ROWS) == 18
    assert published("power-75", "crps") == {
        "empirical bayes": 2.50,
        "bootstrap": 2.86,
        "ensemble": 2.50,
        "martingale": 2.49,
    }
    assert RANKS[300]["nlpd"][-1] == 1.1
