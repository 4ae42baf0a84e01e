import ast
import hashlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments.classification.experiment import Classification
from experiments.coverage.experiment import Coverage
from experiments.gp_hyperparameters.experiment import GPHyperparameters
from experiments.regression_trees.experiment import RegressionTrees
from experiments.runner import datasets
from experiments.runner.provenance import PACKAGES, keep, versions
from experiments.runner.records import Unit

import nearbayes

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
OTHER_NAMES = {
    "laplace": "laplace-torch",
    "sklearn": "scikit-learn",
    "autogluon": "autogluon.tabular",
}
NO_MATTER = {"matplotlib", "nearbayes", "experiments"}  # nearbayes is there of its own


def modules_that_experiments_import():
    for path in EXPERIMENTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module


def test_versions_are_those_installed():
    found = versions()
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["nearbayes"] == nearbayes.__version__
    assert found["numpy"] == np.__version__
    assert found["pandas"] == pd.__version__


def test_no_package_that_experiments_import_is_left_out():
    tops = {name.partition(".")[0] for name in modules_that_experiments_import()}
    others = tops - set(sys.stdlib_module_names) - NO_MATTER
    assert "xgboost" in others
    assert {OTHER_NAMES.get(name, name.replace("_", "-")) for name in others} <= set(PACKAGES)


def test_the_same_content_has_one_key_whatever_its_order(tmp_path):
    path = tmp_path / "folder" / "settings.json"
    one, same = keep(path, {"a": 1, "b": (2, 3)}), keep(path, {"b": [2, 3], "a": 1})
    other = keep(path, {"a": 2})
    assert one == same != other
    assert json.loads(path.read_text()) == {one: {"a": 1, "b": [2, 3]}, other: {"a": 2}}


def test_runs_at_once_lose_nothing(tmp_path):
    path = tmp_path / "settings.json"
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda number: keep(path, {"number": number}), range(40)))
    assert set(json.loads(path.read_text())) == set(keys)


@pytest.fixture
def data_dir(tmp_path):
    entries = []
    for name in ("power", "boston"):
        pd.DataFrame({"x": [1.0, 2.0], "y": [len(name), 1]}).to_parquet(
            tmp_path / f"{name}.parquet"
        )
        entries.append({"name": name, "file": f"{name}.parquet", "target": "y"})
    (tmp_path / "datasets.json").write_text(json.dumps({"datasets": entries}))
    return tmp_path


@pytest.mark.parametrize(
    ("experiment", "name"),
    [(Classification, "power"), (RegressionTrees, "power"), (GPHyperparameters, "power-75")],
)
def test_data_are_hashed_as_sha256sum_does(experiment, name, data_dir):
    content = (data_dir / "power.parquet").read_bytes()
    found = experiment(data_dir=data_dir).data_hash(Unit(name, 0))
    assert hashlib.sha256(content).hexdigest().startswith(found)
    assert len(found) == 12
    assert found != datasets.data_hash("boston", data_dir)


def test_data_of_openml_are_hashed_by_their_rows(tmp_path, monkeypatch):
    def hashed(outcome):
        frame = pd.DataFrame({"x": [1.0, 2.0], "kind": pd.Categorical(["u", "v"])})
        monkeypatch.setattr(datasets, "load", lambda *_: (frame, pd.Series(outcome)))
        return datasets.data_hash.__wrapped__("toy", tmp_path / "nowhere")

    assert hashed(["yes", "no"]) == hashed(["yes", "no"]) != hashed(["no", "no"])


def test_simulated_data_are_named_by_their_seed():
    hashed = Coverage().data_hash
    assert hashed(Unit("class, smooth, n=200", 1)) == "simulated, seed [1, 200, 0]"
    assert hashed(Unit("class, smooth, n=400", 1)) == "simulated, seed [1, 400, 0]"
