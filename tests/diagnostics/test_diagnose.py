"""Diagnose: warns where it should, not where it should not, and says what it needs."""

import json
from dataclasses import replace

import matplotlib.pyplot
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

import nearbayes as nb
from nearbayes.diagnostics.diagnose import CHECKS
from nearbayes.report.small_pictures import small_picture


def rows(n=120, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + noise * rng.normal(size=n)


def fitted(estimator, X, y, **options):
    return nb.PosteriorRegressor(
        estimator, n_draws=30, calibration=None, random_state=0, **options
    ).fit(X, y)


def test_a_linear_regression_is_fine_and_every_line_is_there():
    X, y = rows()
    found = fitted(LinearRegression(), X, y).diagnose(X, y)
    assert not found.warns, str(found)
    assert [line.name for line in found] == list(CHECKS)
    assert found.to_frame().shape == (len(CHECKS), 7)


def test_one_neighbour_copies_the_noise():
    X, y = rows()
    found = fitted(KNeighborsRegressor(1), X, y).diagnose(X, y)
    assert found["stability"].status == "warning"
    assert "Regularise" in found.verdict


def test_noise_that_is_much_too_small_is_seen():
    X, y = rows()
    model = fitted(LinearRegression(), X, y, noise=lambda mean, x, rng: rng.normal(mean, 0.1))
    found = model.diagnose(X, y, checks=["noise"])
    assert found["noise"].status == "warning"
    assert found["noise"].value < 0.6


def test_a_forecast_of_a_regular_model_follows_the_root_of_n():
    X, y = rows()
    line = fitted(LinearRegression(), X, y).diagnose(X, y, at=(4.0, 1_200))["more data"]
    np.testing.assert_allclose(line.details["rows"], [480, 1_200])
    np.testing.assert_allclose(line.details["ratio"], [0.5, 0.1**0.5], rtol=0.2)


@pytest.mark.parametrize("finish_after", [1.0, 50])
def test_a_finished_path_is_not_called_cut_short(finish_after):
    problem = nb.LinearGaussian(np.ones(3), finish_after=finish_after)
    z = np.random.default_rng(0).normal(size=(200, 3))
    found = nb.martingale_posterior(problem, z, n_draws=400, random_state=0).diagnose()
    assert not found.warns, str(found)
    assert "nothing is left" in found["horizon"].words
    forecast = found["more data"]
    assert abs(forecast.value - 0.5**0.5) < 3 * forecast.error
    assert forecast.value < 0.9


def test_draws_alone_answer_what_they_can():
    X, y = rows()
    posterior = fitted(LinearRegression(), X, y).posterior_
    found = posterior.diagnose()
    assert found["martingale drift"].status == "good"
    assert "Needs the rows" in found["stability"].words


def test_the_same_seed_gives_the_same_diagnosis():
    X, y = rows()
    model = fitted(LinearRegression(), X, y)
    assert str(model.diagnose(X, y)) == str(model.diagnose(X, y))


def test_bad_input_gets_one_sentence():
    X, y = rows()
    model = fitted(LinearRegression(), X, y)
    with pytest.raises(ValueError, match="checks must be 'default', 'all' or some of"):
        model.diagnose(X, y, checks=["luck"])
    with pytest.raises(ValueError, match="precision must be between 0 and 1"):
        model.diagnose(X, y, precision=2)
    with pytest.raises(ValueError, match="at must be numbers of rows"):
        model.diagnose(X, y, at=-1.0)
    with pytest.raises(ValueError, match="data must be the rows"):
        model.diagnose(X[:50], y[:50])
    few = nb.PosteriorRegressor(LinearRegression(), n_draws=4, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="needs at least 8 draws, got 4"):
        few.diagnose(X, y)


@pytest.mark.parametrize("shape", ["skewed", "growing"])
def test_outcomes_of_another_shape_are_seen(shape):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    noise = rng.exponential(size=200) - 1
    if shape == "growing":
        noise = rng.normal(size=200) * np.exp(X[:, 0] / 2)
    model = fitted(LinearRegression(), X, X[:, 0] + noise, noise="gaussian")
    line = model.diagnose(X, X[:, 0] + noise, checks="noise")["noise"]
    assert line.status == "warning"
    assert ("noisier at some rows" if shape == "growing" else "another distribution") in line.words


def test_every_line_with_a_number_has_a_picture():
    X, y = rows()
    found = fitted(LinearRegression(), X, y).diagnose(X, y)
    for line in found:
        shown = line.picture
        assert (shown is not None) == np.isfinite(line.value), line.name
        if shown is not None:
            drawn = small_picture(json.loads(json.dumps(shown.to_dict())))
            assert all("nan" not in mark["path"] for mark in drawn["marks"])
            assert len(drawn["x_ticks"]) > 1
            assert len(drawn["y_ticks"]) > 1
            axes = nb.plots.diagnosis(found, line.name)
            assert axes.get_title() == line.question
            matplotlib.pyplot.close(axes.figure)
    with pytest.raises(ValueError, match="'calibration' has nothing to show: Not asked for"):
        nb.plots.diagnosis(found, "calibration")


def test_every_class_is_in_every_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(np.arange(200) < 12, "rare", "common")
    model = nb.PosteriorClassifier(
        LogisticRegression(), n_draws=12, calibration=None, random_state=0
    ).fit(X, y)
    found = model.diagnose(X, y)
    assert [line.name for line in found if line.status == "unknown"] == ["calibration"]


@pytest.mark.parametrize("kind", ["whole", "predictions"])
def test_a_loaded_model_can_be_diagnosed(tmp_path, kind):
    X, y = rows()
    keep = {} if kind == "whole" else {"predict_on": X[:30]}
    model = nb.PosteriorRegressor(LinearRegression(), n_draws=12, random_state=0).fit(X, y, **keep)
    found = nb.load(model.save(tmp_path / "m.nearbayes")).diagnose(X, y)
    unknown = {line.name: line.words for line in found if line.status == "unknown"}
    if kind == "whole":
        assert str(found).splitlines() == str(model.diagnose(X, y)).splitlines()
        assert list(unknown) == ["calibration"]
    else:
        assert "fit without it" in unknown["excess error"]
        assert found["noise"].status == found["efficiency"].status == "good"


def test_a_loaded_posterior_says_what_it_needs(tmp_path):
    X, y = rows()
    posterior = fitted(LinearRegression(), X, y).posterior_
    loaded = nb.load(posterior.save(tmp_path / "p.nearbayes"))
    assert loaded.diagnose()["martingale drift"].status == "good"
    assert "model.fit(X, y)" in loaded.diagnose((X, y))["noise"].words


def test_families_and_interrupted_draws(tmp_path):
    z = np.random.default_rng(0).poisson(3.0, 80)
    posterior = nb.martingale_posterior(
        nb.SequentialMLE(nb.families.Poisson()), z, n_draws=60, random_state=0
    )
    found = posterior.diagnose(z)
    assert found["noise"].words == "Only for algorithms that predict at inputs."
    assert found["more data"].value == pytest.approx(2**-0.5, rel=0.1)
    stopped = replace(posterior, provenance=replace(posterior.provenance, interrupted=True))
    assert "The work was interrupted" in stopped.diagnose()["draws"].words
