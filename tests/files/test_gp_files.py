"""Gaussian processes in files: they come back bit for bit, and odd arrays are refused."""

import numpy as np
import pytest
from sklearn.base import clone

import nearbayes as nb
from nearbayes.files import gp_format
from nearbayes.files.arrays import plain_of, plain_record
from nearbayes.files.container import Members
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(30, 2)), RNG.normal(size=(5, 2))
Y = 50 + X[:, 0] + 0.1 * RNG.normal(size=30)
GP = nb.gp.EmpiricalBayesGP
RUN = {"n_draws": 3, "n_refits": 2, "random_state": 0}


@pytest.mark.parametrize(
    ("process", "keep"),
    [
        (GP(), False),
        (GP(), True),
        (GP("rbf", variance=1.0, initial="random"), False),
        (GP(precision="float32"), False),
    ],
    ids=str,
)
def test_posteriors_come_back(process, keep, tmp_path):
    options = {"predict_on": NEW} if keep else {}
    model = nb.PosteriorRegressor(clone(process), **RUN).fit(X, Y, **options)
    loaded = nb.load(model.save(tmp_path / "model.nearbayes"))
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    for kind in ("predictive", "credible"):
        ours, theirs = (each.predict_interval(NEW, kind=kind) for each in (model, loaded))
        np.testing.assert_array_equal(ours, theirs)
    if not keep:
        assert [each.noise_ for each in loaded.estimators_] == [
            each.noise_ for each in model.estimators_
        ]


def test_inside_another_noise(tmp_path):
    model = nb.PosteriorRegressor(GP(), noise="gaussian", **{**RUN, "n_draws": 2}).fit(X, Y)
    loaded = nb.load(model.save(tmp_path / "model.nearbayes"))
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("logs", np.zeros(2)),
        ("x", np.zeros(30)),
        ("mean", np.zeros(29)),
        ("count", np.zeros(30)),
        ("x_sd", np.zeros(2)),
        ("y_sd", 0.0),
        ("value", float("nan")),
        ("within", "text"),
    ],
)
def test_odd_arrays_are_refused(name, value):
    members = Members()
    record = gp_format.dump(GP().fit(X, Y), members)
    arrays = {**plain_of(record["fitted"], Reader(members.files.__getitem__)), name: value}
    record["fitted"] = plain_record(arrays, members, "a test")
    with pytest.raises(FileRefused, match="Gaussian process"):
        gp_format.load(record, Reader(members.files.__getitem__))
