"""XGBoost that is not tuned, on small data made here."""

import json

import numpy as np
import pandas as pd
import pytest
from experiments.classification.experiment import DATA_SETS
from experiments.runner.records import Records, Unit
from experiments.runner.run import Runner
from experiments.untuned.experiment import METHODS, Untuned
from experiments.untuned.report import write_report


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(150, 3)), columns=["u", "v", "w"])
    frame["w"] = pd.Categorical(np.where(frame["w"] > 0, "up", "down"))
    frame["class"] = np.where(frame["u"] + rng.normal(size=150) > 0, "yes", "no")
    frame.to_parquet(folder / "toy.parquet")
    entry = {"name": "toy", "file": "toy.parquet", "target": "class"}
    (folder / "datasets.json").write_text(json.dumps({"datasets": [entry]}))
    runner = Runner(Untuned(("toy",), METHODS, 1, 2, folder), folder / "results")
    assert runner.run() == 0, (folder / "results" / "errors.jsonl").read_text()
    return runner.records


def test_the_data_are_those_of_the_classification_experiment():
    assert Untuned.data_sets == DATA_SETS
    assert len(Untuned().units) == 90


def test_every_method_is_measured(records):
    found = records.of(Unit("toy", 5))
    assert tuple(found) == METHODS
    assert all(0 < found[name]["nll"] < 2 for name in METHODS)
    assert len({found[name]["nll"] for name in METHODS}) == 3


def test_the_report_says_whether_the_goal_is_met(records, tmp_path):
    more = Records(tmp_path / "records.jsonl")
    nll = {"base": 0.5, "bootstrap": 0.4, "martingale": 0.3}
    rng = np.random.default_rng(0)
    for name in DATA_SETS[:8]:
        for record in records:
            score = nll[record["method"]] + 0.01 * rng.random()
            more.append({**record, "data_set": name, "nll": score})
    write_report(more, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert text.count(", met)") == 2
    assert "| martingale against |" in text
    assert "## Provenance" in text
    assert (tmp_path / "nll_scatter.png").exists()
