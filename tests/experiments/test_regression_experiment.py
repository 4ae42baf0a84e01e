"""The regression experiment on a small scale: scores, records and tables."""

import json

import numpy as np
import pandas as pd
import pytest
from experiments.regression_trees.experiment import RegressionTrees, crps_of_quantiles, reach
from experiments.regression_trees.methods import LEVELS, POSTERIORS
from experiments.runner.run import Runner
from scipy.stats import norm

from nearbayes.metrics import crps_gaussian


def test_crps_of_quantiles_is_the_crps():
    y = np.random.default_rng(0).normal(size=200)
    quantiles = np.tile(norm.ppf(LEVELS), (200, 1))
    exact = crps_gaussian(y, np.zeros(200), np.ones(200))
    assert crps_of_quantiles(y, quantiles) == pytest.approx(exact, rel=0.02)


def test_intervals_that_cover_too_much_are_scaled_down():
    y = np.random.default_rng(0).normal(size=5_000)
    wide = np.tile([-2 * 1.645, 2 * 1.645], (5_000, 1))
    assert reach(y, wide, 0.9) == pytest.approx(0.5, abs=0.02)


@pytest.fixture
def data_dir(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 3))
    frame = pd.DataFrame(x, columns=list("abc")).assign(MEDV=x[:, 0] + rng.normal(size=150))
    frame.to_parquet(tmp_path / "boston.parquet")
    entry = {"name": "boston", "file": "boston.parquet", "target": "MEDV"}
    (tmp_path / "datasets.json").write_text(json.dumps({"datasets": [entry]}))
    return tmp_path


def test_every_posterior_is_measured(data_dir, tmp_path):
    experiment = RegressionTrees(("boston",), tuple(POSTERIORS), 1, 3, data_dir)
    runner = Runner(experiment, tmp_path / "results")
    assert runner.run() == 0
    frame = runner.records.frame().set_index("method").drop("tuning")
    assert set(frame.index) == set(POSTERIORS)
    assert frame[["coverage", "width", "width_at_90", "crps", "nlpd"]].notna().all().all()
