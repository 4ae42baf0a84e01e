"""Dask and Ray: the same draws, bit for bit; workers that are killed lose nothing."""

import os
import sys
import time
from functools import cache

import cloudpickle
import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nearbayes as nb
from nearbayes.execution.clusters import DaskExecutor, RayExecutor
from nearbayes.execution.executor import Limit, gather
from nearbayes.execution.executors import executor_of

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 2))
Y = (X[:, 0] + RNG.normal(size=100) > 0).astype(int)


@pytest.fixture(scope="module")
def dask():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def ray():
    found = pytest.importorskip("ray")
    found.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield "ray"
    found.shutdown()


@pytest.fixture(params=["dask", "ray"])
def executor(request):
    return request.getfixturevalue(request.param)


def xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=10)


def of_estimator(estimator):
    def draws(**where):
        options = {"n_draws": 6, "n_refits": 2, "random_state": 1, "n_jobs": 2}
        model = nb.PosteriorClassifier(estimator(), calibration="simulation", **options, **where)
        model.fit(X, Y)
        return model.posterior_.predict(X), model.predict_interval(X)

    return draws


def of_family(**where):
    options = {"n_draws": 12_000, "schedule": nb.Schedule.optimal(3), "random_state": 0}
    family = nb.SequentialMLE(nb.families.Gaussian())
    found = nb.martingale_posterior(family, X[:, 0], n_jobs=2, **options, **where)
    return (np.stack([np.ravel(each) for each in found.models]),)


def of_process(**where):
    pytest.importorskip("jax")
    options = {"n_draws": 12, "schedule": nb.Schedule.optimal(2), "random_state": 0, "n_jobs": 2}
    process = nb.gp.RandomFeatureGP(n_features=50)
    found = nb.martingale_posterior(process, (X, X[:, 0] - X[:, 1] ** 2), **options, **where)
    return (found.predict(X),)


SUBJECTS = {
    "pipeline": of_estimator(lambda: make_pipeline(StandardScaler(), LogisticRegression())),
    "xgboost": of_estimator(xgboost),
    "exponential family": of_family,
    "gaussian process": of_process,
}


@cache
def drawn_here(name):
    return SUBJECTS[name](executor="serial")


@pytest.mark.parametrize("where", ["threads", "processes", "dask", "ray"])
@pytest.mark.parametrize("name", SUBJECTS)
def test_draws_and_intervals_are_the_same_everywhere(where, name, request):
    executor = request.getfixturevalue(where) if where in ("dask", "ray") else where
    found, expected = SUBJECTS[name](executor=executor), drawn_here(name)
    for each, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(each, other)


class DiesOnce:
    """Ends its process the first time that some items are tried."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self, shared, k):
        mark = os.path.join(self.folder, str(k))
        if k % 3 == 0 and not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), 9)
        return k + shared


def test_items_of_killed_workers_are_done(executor, tmp_path):
    found = gather(executor_of(executor), DiesOnce(tmp_path), 100, range(9))
    assert not found.lost
    assert {k: done.value for k, done in found.done.items()} == {k: 100 + k for k in range(9)}
    assert len(list(tmp_path.iterdir())) == 3


def hangs_at_one(shared, k):
    if k == 1:
        time.sleep(600)
    return k


def test_an_item_that_hangs_is_lost_alone(executor):
    limit = Limit(seconds=2.0)
    found = gather(executor_of(executor), hangs_at_one, None, range(4), limit=limit)
    assert set(found.done) == {0, 2, 3}
    assert "draw_timeout" in found.lost[1].error


def takes_memory(shared, k):
    held = np.ones(int(400e6 / 8) if k == 1 else 10)
    time.sleep(1.0)
    return float(held[0])


def test_an_item_that_takes_too_much_memory_is_lost_alone(executor):
    limit = Limit(memory=200e6)
    found = gather(executor_of(executor), takes_memory, None, range(4), limit=limit)
    assert set(found.done) == {0, 2, 3}
    assert "draw_memory" in found.lost[1].error


def test_parallel_config_of_dask_is_taken_on_its_own_interface():
    # a cluster of its own: Dask may not start a worker again that was killed while it started
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        found = executor_of(None)
        assert isinstance(found, DaskExecutor)
        assert found.workers == 2


def test_parallel_config_of_ray_is_taken_on_its_own_interface(ray):
    register = pytest.importorskip("ray.util.joblib").register_ray
    register()
    with joblib.parallel_config("ray"):
        found = executor_of(None)
    assert isinstance(found, RayExecutor)
    assert found.workers == 2


def test_a_cluster_of_one_worker_warns():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
        pytest.warns(UserWarning, match="resolves to one worker"),
    ):
        executor_of(None)


def test_the_command_line_fits_on_a_cluster(dask, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("typer")
    from nearbayes.cli.app import run

    data = tmp_path / "data.csv"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y}).to_csv(data, index=False)
    options = ["--target", "y", "--model", "linear", "--draws", "4", "--refits", "2", "--quiet"]
    address = dask.scheduler.address
    for name, where in (("here", "serial"), ("there", address)):
        output = str(tmp_path / f"{name}.nearbayes")
        assert run(["fit", str(data), "-o", output, "--executor", where, *options]) == 0
    models = [nb.load(tmp_path / f"{name}.nearbayes") for name in ("here", "there")]
    rows = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    np.testing.assert_array_equal(*(model.posterior_.predict(rows) for model in models))


class CutOff:
    """A client whose connection breaks while it sends, as when a worker dies just then."""

    def __init__(self, client, times, error):
        self.client, self.times, self.error = client, times, error

    def __getattr__(self, name):
        return getattr(self.client, name)

    def scatter(self, *arguments, **options):
        self.times -= 1
        if self.times >= 0:
            raise self.error
        return self.client.scatter(*arguments, **options)


@pytest.mark.parametrize("error", [OSError("Stream is closed"), KeyError("tcp://127.0.0.1:1")])
def test_data_are_sent_again_and_a_cluster_that_is_gone_loses_nothing_else(
    dask, monkeypatch, error
):
    monkeypatch.setattr("nearbayes.execution.clusters.time.sleep", lambda seconds: None)
    found = gather(DaskExecutor(CutOff(dask, 2, error)), lambda shared, k: k, None, range(3))
    assert set(found.done) == {0, 1, 2}
    found = gather(DaskExecutor(CutOff(dask, 99, error)), lambda shared, k: k, None, range(3))
    assert set(found.lost) == {0, 1, 2}
    assert f"the cluster is gone (OSError: {type(error).__name__}" in found.lost[0].error
