import json

import numpy as np
import pandas as pd
import pytest
from experiments.classification.experiment import DATA_SETS, Classification
from experiments.classification.published import SOUND_ROWS
from experiments.refit_policy.experiment import RefitPolicy
from experiments.runner.datasets import load, split_in_three
from experiments.runner.records import Unit
from experiments.runner.run import Runner


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(150, 3)), columns=["u", "v", "w"])
    frame["w"] = pd.Categorical(np.where(frame["w"] > 0, "up", "down"))
    frame["class"] = np.where(frame["u"] + rng.normal(size=150) > 0, "yes", "no")
    frame.to_parquet(folder / "toy.parquet")
    entry = {"name": "toy", "file": "toy.parquet", "target": "class"}
    (folder / "datasets.json").write_text(json.dumps({"datasets": [entry]}))
    return folder


@pytest.fixture
def one_setting(monkeypatch):
    monkeypatch.setattr("experiments.classification.methods.GRID", ((4, 50, 10),))


def test_thirty_data_sets_fifteen_of_them_sound():
    assert len(set(DATA_SETS)) == 30
    assert len(SOUND_ROWS) == 15
    assert set(SOUND_ROWS) < set(DATA_SETS)


def test_splits_share_no_row_and_leave_none_out(data_dir):
    inputs, outcome = load("toy", data_dir)
    split = split_in_three(inputs, outcome.to_numpy(), seed=5)
    parts = [split.X_train, split.X_validation, split.X_test]
    assert [len(part) for part in parts] == [90, 30, 30]
    assert sorted(np.concatenate([part.index for part in parts])) == list(range(150))


def test_no_column_tells_the_row_number(data_dir):
    inputs, _ = load("toy", data_dir)
    assert list(inputs.columns) == ["u", "v", "w"]


def test_an_unknown_data_set_is_named(data_dir):
    with pytest.raises(KeyError, match="nowhere"):
        load("nowhere", data_dir)


@pytest.mark.filterwarnings("ignore:an ensemble of an algorithm without randomness")
@pytest.mark.parametrize(
    ("experiment", "methods"),
    [
        (Classification, ("base", "bootstrap", "ensemble", "martingale", "stochastic_martingale")),
        (RefitPolicy, RefitPolicy.measured),
    ],
)
def test_every_method_is_measured(experiment, methods, data_dir, tmp_path, one_setting):
    runner = Runner(experiment(("toy",), methods, 1, 2, data_dir), tmp_path)
    assert runner.run() == 0, (tmp_path / "errors.jsonl").read_text()
    records = runner.records.of(Unit("toy", 5))
    assert set(records) == {"tuning", *methods}
    assert all(0 < records[name]["nll"] < 2 for name in methods)
    if "ensemble" in methods:  # XGBoost without subsampling has no randomness
        assert records["ensemble"]["nll"] == pytest.approx(records["base"]["nll"], abs=1e-6)
