"""Pictures of causal models show what the models say."""

import numpy as np
import pytest

import nearbayes as nb

RNG = np.random.default_rng(0)
X = RNG.normal(size=80)
DATA = {
    "x": X,
    "group": np.where(X + RNG.normal(size=80) > 0, "b", "a"),
    "y": 2 * X + RNG.normal(size=80),
}


@pytest.fixture(scope="module")
def model():
    edges = [("x", "y"), ("x", "group"), ("group", "y")]
    run = {"models": "linear", "n_draws": 10, "random_state": 0, "progress": False}
    return nb.causal.SCM(edges, **run).fit(DATA)


def test_effects_are_those_of_the_model(model):
    axes = nb.plots.effect(model, "x", "y", values=[-1.0, 1.0])
    means = [model.interventional_mean("y", do={"x": value}).mean for value in (-1.0, 1.0)]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), means)
    assert axes.get_xlabel() == "x, set"
    assert axes.get_ylabel() == "mean of y"


def test_categories_are_causes_and_outcomes(model):
    axes = nb.plots.effect(model, "group", "y")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]
    other = nb.plots.effect(model, "x", "group", category="a", values=[0.0, 2.0])
    assert other.get_ylabel() == "P(group = a)"
    first, second = other.lines[0].get_ydata()
    assert first > second


def test_distribution_functions_rise(model):
    axes = nb.plots.interventional(model, "y", [None, {"x": 1.0}, {"x": lambda x: x + 1}])
    for line in axes.lines:
        assert (np.diff(line.get_ydata()) >= 0).all()
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["nothing done", "do(x = 1.0)", "do(x changed)"]


def test_bad_arguments_are_refused(model):
    with pytest.raises(TypeError, match="must be a fitted nearbayes"):
        nb.plots.effect(nb.causal.SCM([("x", "y")]), "x", "y")
    with pytest.raises(ValueError, match="'z', which is not a node"):
        nb.plots.effect(model, "z", "y")
    with pytest.raises(ValueError, match="1 to 5 interventions, got 6"):
        nb.plots.interventional(model, "y", [None] * 6)
