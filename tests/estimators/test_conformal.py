"""The conformal layer: coverage of new rows, whatever the noise, and what it needs."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import nearbayes as nb
from nearbayes.metrics import coverage


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    return nb.PosteriorRegressor(LinearRegression(), n_draws=10, random_state=0).fit(
        x, x[:, 0] + rng.normal(size=60)
    )


def rows(n, seed):
    """Noise three times as large as in training, and far from normal."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, x[:, 0] + 3 * rng.standard_t(3, n)


def test_covers_what_it_says_where_the_noise_model_is_wrong(model):
    """Mean over 40 sets of held-out rows, within 4 of its Monte Carlo errors."""
    new_x, new_y = rows(4_000, 99)
    assert coverage(new_y, model.predict_interval(new_x)) < 0.6
    covered = []
    for seed in range(40):
        model.conformalize(*rows(99, seed))
        covered.append(coverage(new_y, model.predict_interval(new_x, kind="conformal")))
    assert abs(np.mean(covered) - 0.9) < 4 * np.std(covered, ddof=1) / np.sqrt(40) + 0.01


def test_shapes_and_nesting(model):
    model.conformalize(*rows(99, 0))
    bounds = model.predict_interval(rows(5, 1)[0], [0.5, 0.9], kind="conformal")
    assert bounds.shape == (5, 2, 2)
    assert (bounds[:, 0, 1] < bounds[:, 0, 0]).all()
    assert (bounds[:, 1, 1] > bounds[:, 1, 0]).all()


def test_too_few_rows_guarantee_nothing(model):
    model.conformalize(*rows(8, 0))
    assert np.isinf(model.predict_interval(rows(5, 1)[0], 0.9, kind="conformal")).all()


def test_rows_are_needed_first():
    x, y = rows(40, 0)
    fresh = nb.PosteriorRegressor(LinearRegression(), n_draws=2, random_state=0).fit(x, y)
    with pytest.raises(ValueError, match=r"call conformalize\(X, y\) first"):
        fresh.predict_interval(x, kind="conformal")


def test_outcomes_of_another_shape(model):
    x, y = rows(40, 0)
    with pytest.raises(ValueError, match=r"one outcome per row, shape \(40,\), got \(39,\)"):
        model.conformalize(x, y[:-1])


def test_coverage_must_be_a_share(model):
    model.conformalize(*rows(40, 0))
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        model.predict_interval(rows(5, 1)[0], 1.0, kind="conformal")


def test_the_package_is_named_if_missing(model, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "crepes", None)
    with pytest.raises(ImportError, match=r"pip install 'nearbayes\[conformal\]'"):
        model.conformalize(*rows(40, 0))
