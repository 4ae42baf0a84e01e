"""Budgets: what a file asks for is refused before it is made, and its threads are overridden."""

import json
import os
import zipfile

import numpy as np
import pytest
import xgboost
from forging import npy, repacked, saved, skops_bytes, skops_parts, unpacked, with_manifest
from reading_process import ReadingProcess
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

import nearbayes as nb
from nearbayes.files import FileRefused

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.where(X[:, 0] > 0, "yes", "no")


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("original") / "m.nearbayes", GaussianNB(), X, Y)


@pytest.fixture(scope="module")
def reader():
    with ReadingProcess() as process:
        yield process


@pytest.fixture
def refused_soon(reader):
    """Read a forged file and check that it is refused, soon and in little memory."""

    def check(path, words):
        check_refused(reader.read(path), words)

    return check


def check_refused(outcome, words):
    assert outcome.what == "refused", outcome
    assert words in outcome.words, outcome
    assert outcome.seconds < 5, outcome
    assert outcome.megabytes < 300, outcome


def test_labels_of_a_wide_dtype(original, tmp_path, refused_soon):
    """Labels of 1.5 MB once took 3.1 GB."""

    def change(manifest):
        manifest["inputs"]["n_features"] = 300_000
        names = {"dtype": "<U2500", "values": ["a"] * 300_000}
        manifest["inputs"]["feature_names"] = names

    forged = with_manifest(tmp_path / "m", original, change, zipfile.ZIP_STORED)
    refused_soon(forged, "labels would take more than")


def repeated(value, times):
    """Repeat the first model of every list of models."""
    if isinstance(value, dict):
        return {key: repeated(each, times) for key, each in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict) and "format" in value[0]:
        return value[:1] * times
    return value


def test_draws_that_are_repeated(original, tmp_path, refused_soon):
    def change(manifest):
        manifest["posterior"] = repeated(manifest["posterior"], 150_000)
        manifest["posterior"]["n_draws"] = 149_999

    forged = with_manifest(tmp_path / "m", original, change, zipfile.ZIP_STORED)
    refused_soon(forged, "150000 models, more than 100000")


def test_draws_that_are_only_counted(tmp_path, refused_soon):
    """Draws that share one array take no bytes of a file, but objects in memory."""
    model = nb.PosteriorRegressor(Ridge(), n_draws=2, n_refits=1, calibration=None, progress=False)
    original = model.fit(X, X[:, 0], predict_on=X).save(tmp_path / "kept.nearbayes")

    def change(manifest):
        manifest["posterior"]["n_draws"] = 9_000_000

    refused_soon(with_manifest(tmp_path / "m", original, change), "draws would take more than")


def test_a_gaussian_process_of_many_rows(tmp_path, refused_soon):
    """A file of 3.6 MB once asked for 57 GB."""
    process = nb.gp.EmpiricalBayesGP()
    model = nb.PosteriorRegressor(process, n_draws=2, n_refits=1, random_state=0, progress=False)
    files = unpacked(model.fit(X[:, :1], X[:, 0]).save(tmp_path / "gp.nearbayes"))
    text, rows = files["manifest.json"].decode(), 50_000
    for name in [each for each in files if each.endswith(".npy")]:
        array = np.load(tmp_path / _placed(tmp_path, files[name]))
        if array.dtype == np.float64 and array.ndim and len(array) == len(X):
            shape = (rows, *array.shape[1:])
            files[name] = npy(np.abs(RNG.integers(1, 200, size=shape)).astype(float))
    files["manifest.json"] = text.encode()
    refused_soon(repacked(tmp_path / "m", files), "a Gaussian process would take more than")


def _placed(folder, data):
    (folder / "array.npy").write_bytes(data)
    return "array.npy"


def test_threads_of_a_forest(tmp_path):
    path = saved(tmp_path / "f.nearbayes", RandomForestClassifier(2, n_jobs=1), X, Y)
    files = unpacked(path)
    for name in [each for each in files if each.endswith(".skops")]:
        schema, arrays = skops_parts(files[name])
        schema["content"]["content"]["n_jobs"]["content"] = json.dumps(2_000_000)
        files[name] = skops_bytes(schema, arrays)
    model = nb.load(repacked(tmp_path / "m", files))
    assert all(each.n_jobs <= os.cpu_count() for each in model.estimators_)


def test_threads_and_devices_of_xgboost(tmp_path):
    estimator = xgboost.XGBClassifier(n_estimators=1, n_jobs=1)
    path = saved(tmp_path / "x.nearbayes", estimator, X, Y)
    text = unpacked(path)["manifest.json"].decode()
    files = unpacked(path)
    text = text.replace('"n_jobs":1', '"n_jobs":2000000').replace(
        '"device":null', '"device":"cuda:7"'
    )
    assert "2000000" in text
    assert "cuda:7" in text
    model = nb.load(repacked(tmp_path / "m", {**files, "manifest.json": text.encode()}))
    assert all(each.n_jobs <= os.cpu_count() for each in model.estimators_)
    assert all(each.device is None for each in model.estimators_)


def test_threads_of_the_posterior(original, tmp_path):
    def change(manifest):
        manifest["params"]["n_jobs"] = 2_000_000

    assert nb.load(with_manifest(tmp_path / "m", original, change)).n_jobs <= os.cpu_count()


def test_something_before_the_archive(original, tmp_path):
    (tmp_path / "m").write_bytes(b"#!/bin/sh\n" + original.read_bytes())
    with pytest.raises(FileRefused, match="beside its members"):
        nb.load(tmp_path / "m")
