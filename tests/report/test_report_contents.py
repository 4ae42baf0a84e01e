"""Numbers of a report against what the model itself says."""

import json
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from report_cases import CASES, contents_of, diabetes, flowers, large_contents, patients
from scipy.stats import binom

from nearbayes import report
from nearbayes.core.data import Rows
from nearbayes.core.posterior import FailedDraw
from nearbayes.metrics import accuracy, brier, coverage, log_score, width
from nearbayes.report.scores import BASE, OURS, difference
from nearbayes.report.scores import CLASS_METRICS as METRICS

CLOSE = {"rel": 1e-3, "abs": 1e-12}  # four significant digits
LEVELS = (0.5, 0.8, 0.9, 0.95)


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_contents_are_plain(name):
    found = contents_of(name)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize("name", CASES)
def test_the_same_seed_gives_the_same_contents(name):
    again = CASES[name]().contents
    untimed = {key: value for key, value in contents_of(name).items() if key != "cost"}
    assert untimed == {key: value for key, value in again.items() if key != "cost"}


@pytest.mark.parametrize("name", ["patients", "flowers"])
def test_class_scores_are_those_of_the_probabilities(name):
    case, scores = CASES[name](), contents_of(name)["scores"]
    posterior, y = case.model.posterior_, np.asarray(case.y)
    probabilities = {
        OURS: case.model.predict_proba(case.X),
        BASE: posterior.algorithm.predict(posterior.first, case.X),
        "bagging": case.bagging.predict_proba(case.X),
    }
    assert [model["name"] for model in scores["models"]] == list(probabilities)
    for model in scores["models"]:
        for key, metric in {"log_score": log_score, "brier": brier, "accuracy": accuracy}.items():
            expected = metric(y, probabilities[model["name"]], case.model.classes_)
            assert model["values"][key]["value"] == pytest.approx(expected, **CLOSE)


def test_differences_are_paired():
    case, scores = patients(), contents_of("patients")["scores"]
    y, classes = np.asarray(case.y), case.model.classes_
    ours, theirs = (
        log_score(y, each.predict_proba(case.X), classes, mean=False)
        for each in (case.model, case.bagging)
    )
    found = next(
        each
        for each in scores["differences"]
        if (each["against"], each["metric"]) == ("bagging", "log_score")
    )
    gaps = ours - theirs
    assert found["difference"] == pytest.approx(gaps.mean(), **CLOSE)
    assert found["error"] == pytest.approx(gaps.std(ddof=1) / np.sqrt(len(gaps)), **CLOSE)


@pytest.mark.parametrize(
    ("shift", "noise", "verdict"),
    [(-1.0, 0.1, "better"), (1.0, 0.1, "worse"), (0.0, 1.0, "unclear")],
)
def test_verdicts(shift, noise, verdict):
    rng = np.random.default_rng(0)
    base = rng.random(50)
    gap = rng.normal(0, noise, 50)
    ours = base + shift + gap - gap.mean()
    assert difference(METRICS[0], "base", ours, base)["verdict"] == verdict
    opposite = {"better": "worse", "worse": "better", "unclear": "unclear"}
    assert difference(METRICS[2], "base", ours, base)["verdict"] == opposite[verdict]


def test_infinite_scores_are_told():
    ours, theirs = np.array([1.0, 2.0]), np.array([np.inf, 0.1])
    found = difference(METRICS[0], "forest", ours, theirs)
    assert (found["difference"], found["verdict"]) == (None, "better")
    assert "the probability 0 in 0 rows, the other in 1" in found["words"]


def test_outcome_scores_are_those_of_the_predictive():
    case, scores = diabetes(), contents_of("diabetes")["scores"]
    y = np.asarray(case.y)
    values = {model["name"]: model["values"] for model in scores["models"]}
    rmse = np.sqrt(np.mean((y - case.model.predict(case.X)) ** 2))
    assert values[OURS]["rmse"]["value"] == pytest.approx(rmse, **CLOSE)
    nlpd = -case.model.log_density(case.X, y).mean()
    assert values[OURS]["nlpd"]["value"] == pytest.approx(nlpd, **CLOSE)
    posterior = case.model.posterior_
    base = posterior.algorithm.predictive(posterior.first, case.X)
    assert values[BASE]["nlpd"]["value"] == pytest.approx(-base.log_density(y).mean(), **CLOSE)
    # the CRPS of samples: E|Y - y| - E|Y - Y'| / 2, with other samples than the report's
    rng = np.random.default_rng(1)
    a, b = (np.stack([base.sample(Rows.every(case.X), rng) for _ in range(400)]) for _ in "ab")
    crps = (np.abs(a - y).mean(axis=0) - np.abs(a - b).mean(axis=0) / 2).mean()
    assert values[BASE]["crps"]["value"] == pytest.approx(crps, rel=0.03)


@pytest.mark.parametrize("name", ["patients", "flowers"])
def test_class_predictions_are_the_models(name):
    case, found = CASES[name](), contents_of(name)["predictions"]
    mean, bounds = case.model.predict_proba(case.X), case.model.predict_interval(case.X, LEVELS)
    classes = case.model.classes_.tolist()
    assert [classes[code] for code in found["observed"]] == np.asarray(case.y).tolist()
    assert [classes[code] for code in found["predicted"]] == case.model.predict(case.X).tolist()
    for view in found["views"]:
        same(view["mean"], mean[:, view["class"]])
        for k, level in enumerate(view["credible"]):
            same(level["lower"], bounds[:, view["class"], 0, k])
            same(level["upper"], bounds[:, view["class"], 1, k])
    uncertainty = case.model.predict_uncertainty(case.X)
    same(found["epistemic"], uncertainty.epistemic)
    same(found["aleatoric"], uncertainty.aleatoric)


def test_predictive_sets_are_the_smallest_that_reach_the_level():
    case, found = flowers(), contents_of("flowers")["predictions"]
    mean = case.model.predict_proba(case.X)
    for k, level in enumerate(LEVELS):
        for row, probabilities in enumerate(mean):
            size = found["set_size"][k][row]
            largest = np.sort(probabilities)[::-1]
            assert largest[:size].sum() >= level - 1e-9
            assert size == 1 or largest[: size - 1].sum() < level


def test_outcome_predictions_are_the_models():
    case, found = diabetes(), contents_of("diabetes")["predictions"]
    same(found["mean"], case.model.predict(case.X))
    same(found["observed"], case.y)
    for kind in ("credible", "predictive"):
        bounds = case.model.predict_interval(case.X, LEVELS, kind=kind)
        for k, level in enumerate(found[kind]):
            same(level["lower"], bounds[:, 0, k])
            same(level["upper"], bounds[:, 1, k])
    total = case.model.predict(case.X, return_std=True)[1]
    same(np.hypot(found["epistemic"], found["aleatoric"]), total)


def test_rows_are_named_by_the_index():
    assert contents_of("patients")["predictions"]["row"] == patients().X.index.tolist()
    assert contents_of("flowers")["predictions"]["row"][:3] == [0, 1, 2]
    assert contents_of("patients")["target"] == "state"


def test_reliability_groups_hold_every_row_once():
    case, found = patients(), contents_of("patients")["reliability"]
    groups = found["views"][0]["groups"]
    assert found["views"][0]["name"] == "probability of sick"
    assert sum(group["rows"] for group in groups) == len(case.y)
    sick = case.model.predict_proba(case.X)[:, 1]
    order = np.argsort(sick, kind="stable")[: groups[0]["rows"]]
    assert groups[0]["predicted"] == pytest.approx(sick[order].mean(), **CLOSE)
    assert groups[0]["seen"] == pytest.approx((case.y.iloc[order] == "sick").mean(), **CLOSE)
    by_draw = case.model.posterior_predictions(case.X)[:, order, 1].mean(axis=1)
    same(groups[0]["credible"], case.model.calibration_.interval(by_draw, 0.9))
    same(groups[0]["band"], np.array(binom.interval(0.9, len(order), sick[order].mean())) / 10)
    for group in groups:
        assert group["band"][0] <= group["predicted"] <= group["band"][1]
        assert group["credible"][0] <= group["predicted"] <= group["credible"][1]
        assert group["agrees"] == (group["band"][0] <= group["seen"] <= group["band"][1])


def test_reliability_of_several_classes_says_of_which():
    names = [view["name"] for view in contents_of("flowers")["reliability"]["views"]]
    assert names[0] == "probability of the most likely class"
    assert names[1:] == [f"probability of {name}" for name in ("setosa", "versicolor", "virginica")]


def test_held_out_coverage_is_that_of_predictive_intervals():
    case, found = diabetes(), contents_of("diabetes")["coverage"]
    levels = [each["level"] for each in found["levels"]]
    bounds = case.model.predict_interval(case.X, levels)
    same([each["covered"] for each in found["levels"]], coverage(case.y, bounds))
    same([each["width"] for each in found["levels"]], width(bounds))


def test_calibration_is_reported_as_it_is():
    case, found = patients(), contents_of("patients")["calibration"]
    assert found["calibrated"]
    assert found["sets"] == len(case.model.calibration_.ratios)
    for each in found["levels"]:
        factor = case.model.calibration_.factor(each["level"], len(case.model.posterior_))
        assert each["factor"] == pytest.approx(factor, **CLOSE)
        assert each["error"] == pytest.approx(case.model.calibration_.error(each["level"]), **CLOSE)
        assert 0 <= each["uncalibrated"] <= 1
    assert not contents_of("flowers")["calibration"]["calibrated"]
    assert "not calibrated" in contents_of("flowers")["calibration"]["words"]


def test_what_was_done_is_the_provenance():
    source = patients().model.posterior_.provenance
    facts = {fact["label"]: fact["value"] for fact in contents_of("patients")["done"]["facts"]}
    assert facts["Rows of the fit"] == "80"
    assert facts["Imputed rows per draw"] == str(sum(source.blocks))
    assert facts["Seed"] == "0"
    assert contents_of("patients")["done"]["versions"] == source.versions


def test_diagnostics():
    case, found = flowers(), contents_of("flowers")["diagnostics"]
    draws = case.model.posterior_predictions(case.X)
    error = draws.std(axis=0, ddof=1) / np.sqrt(12)
    assert found["mc_error"]["largest"] == pytest.approx(error.max(), **CLOSE)
    y = np.searchsorted(case.model.classes_, case.y)
    assert found["halves"]["first"] == pytest.approx(log_score(y, draws[:6].mean(axis=0)), **CLOSE)
    assert "none failed" in found["words"][0]
    assert "range of the draws" in found["words"][1]  # 12 draws are too few for 95 %


def test_failed_draws_are_listed_as_text():
    case = flowers()
    model = copy(case.model)
    broken = FailedDraw(3, "<b>boom</b>", "traceback")
    model.posterior_ = replace(model.posterior_, failed=(broken,))
    found = report.contents(model, case.X, case.y)
    assert found["diagnostics"]["failed"] == [{"draw": 3, "error": "<b>boom</b>"}]
    assert "1 draw of 12 failed" in found["diagnostics"]["words"][0]
    assert "&lt;b&gt;boom" in report.render(found)


def test_thinned_rows_are_counted_and_hold_the_extremes():
    found = large_contents("regression")
    rows = found["predictions"]
    assert (rows["rows"], rows["of"]) == (3_000, 50_000)
    assert len(rows["row"]) == len(set(rows["row"])) == 3_000
    shown = set(rows["row"])
    assert {each["row"] for each in found["check"]["rows"]} <= shown
    assert (found["coverage"]["rows"], found["coverage"]["of"]) == (2_000, 50_000)
    # most are random: their share in the first half of the data is near one half
    assert abs(np.mean(np.array(rows["row"]) < 25_000) - 0.5) < 0.05
