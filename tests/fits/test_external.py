"""XGBoost on tables that are mapped from a file: the same draws, bit for bit, without copies."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
import xgboost

import nearbayes as nb
from nearbayes.fits import external

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X[:, 0] * X[:, 1] + RNG.logistic(size=300)


@pytest.fixture
def mapped(tmp_path, monkeypatch):
    """The rows on disk, binned in several batches; temporary files go to a folder of their own."""
    np.save(tmp_path / "X.npy", X)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(external, "BATCH", 70 * X[0].nbytes)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def draws(table, y, **settings):
    kind = nb.PosteriorClassifier if y.dtype.kind in "iU" else nb.PosteriorRegressor
    estimator = xgboost.XGBClassifier if y.dtype.kind in "iU" else xgboost.XGBRegressor
    model = kind(
        estimator(n_estimators=5, max_depth=3),
        **{"n_draws": 3, "n_refits": 2, "calibration": None, "random_state": 0, **settings},
    )
    return model.fit(table, y).posterior_.predict(X)


@pytest.mark.parametrize("y", [Y, np.digitize(Y, [0.0]), np.digitize(Y, [-1.0, 1.0])])
def test_the_same_draws(mapped, y, monkeypatch):
    made = []
    real = external.external_matrix
    monkeypatch.setattr(
        "nearbayes.fits.xgboost_fit.external_matrix",
        lambda *args, **options: made.append(real(*args, **options)) or made[-1],
    )
    found = draws(mapped, y)
    assert made
    # the held-out rows of recalibration and noise are binned with the others, not alone
    monkeypatch.setattr(nb.Data, "select", _sharing)
    np.testing.assert_array_equal(found, draws(X, y))
    np.testing.assert_array_equal(found, draws(mapped, y, n_jobs=2))
    made.clear()
    assert not os.listdir(tempfile.tempdir)  # binned files go with the matrix


def _sharing(data, index):
    count = None if data.count is None else data.count[index]
    return nb.Data(data.table, data.positions[index], data.y[index], count)


def test_a_failing_batch_leaves_no_files(mapped):
    class Broken(np.memmap):
        def __getitem__(self, place):
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        external.external_matrix(mapped.view(Broken), None)
    assert not os.listdir(tempfile.tempdir)


def test_other_estimators_take_mapped_tables(tmp_path):
    from sklearn.linear_model import Ridge

    np.save(tmp_path / "X.npy", X)
    table = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = nb.PosteriorRegressor(Ridge(), n_draws=3, random_state=0, n_jobs=2)
    other = nb.PosteriorRegressor(Ridge(), n_draws=3, random_state=0)
    found, wanted = (m.fit(t, Y).predict(X) for m, t in ((model, table), (other, X)))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert not list(Path(tmp_path).glob("nearbayes*"))
