"""Time budgets: durations, plans that grow with time and processes, and one real run."""

import time

import numpy as np
import pytest
from cli_cases import csv_of, table
from hypothesis import given
from hypothesis import strategies as st

import nearbayes as nb
from nearbayes.cli.app import run
from nearbayes.cli.budget import plan_draws, plan_simulations, seconds_of
from nearbayes.cli.errors import UsageError

SECONDS = st.floats(-100, 1e5)
COSTS = st.floats(0, 1e4)
JOBS = st.integers(1, 64)
DRAWS = st.one_of(st.none(), st.integers(2, 500))
COST_LISTS = st.lists(st.floats(0.5, 5), min_size=1, max_size=12).map(np.cumsum)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("5m", 300), ("5 min", 300), ("1.5h", 5400), (" 2 m ", 120)],
)
def test_durations(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-5", "5d", "1h30m", "soon", "nan", "inf"])
def test_what_is_no_duration(text):
    with pytest.raises(UsageError, match="--time-budget"):
        seconds_of(text)


@given(SECONDS, SECONDS, COSTS, JOBS, JOBS, DRAWS, COST_LISTS, st.booleans())
def test_more_time_or_processes_never_mean_less(
    time_a, time_b, per_fit, jobs_a, jobs_b, asked, costs, calibrated
):
    little, much = sorted((time_a, time_b))
    few, many = sorted((jobs_a, jobs_b))
    less = plan_draws(little, per_fit, few, asked, costs, calibrated)
    more = plan_draws(much, per_fit, many, asked, costs, calibrated)
    assert less.draws <= more.draws
    assert less.refits <= more.refits
    assert less.refits >= 1
    assert more.refits <= len(costs)
    assert more.draws == asked if asked else 10 <= less.draws <= more.draws <= 50


@given(SECONDS, SECONDS, COSTS, JOBS, JOBS, st.integers(2, 500))
def test_more_time_or_processes_never_mean_fewer_sets(
    time_a, time_b, per_draw, jobs_a, jobs_b, draws
):
    little, much = sorted((time_a, time_b))
    few, many = sorted((jobs_a, jobs_b))
    less = plan_simulations(little, per_draw, few, draws)
    more = plan_simulations(much, per_draw, many, draws)
    assert less <= more
    assert {less, more} <= {0, *range(2, 25)}


@given(st.floats(10, 1e4), st.floats(1e-3, 10), JOBS, COST_LISTS, st.booleans())
def test_plans_keep_to_the_time(left, per_fit, jobs, costs, calibrated):
    plan = plan_draws(left, per_fit, jobs, None, costs, calibrated)
    if plan.draws > 10:  # fewer draws are no posterior, however short the time
        assert plan.draws * costs[plan.refits - 1] * per_fit / jobs <= left


def test_a_run_keeps_to_its_budget(tmp_path):
    data, path = csv_of(tmp_path, table("classification", n=3_000)), tmp_path / "m.nearbayes"
    budget = 6.0
    arguments = ["fit", str(data), "--target", "y", "-o", str(path), "--model", "xgboost"]
    started = time.perf_counter()
    assert run([*arguments, "--time-budget", f"{budget}s", "--quiet"]) == 0
    assert time.perf_counter() - started < 1.3 * budget + 3  # seconds to score and write
    model = nb.load(path)
    asked = 50 if model.n_draws == "quick" else model.n_draws  # few on a machine with other work
    assert 2 <= len(model.posterior_) <= asked <= 50


def test_a_budget_that_is_too_short_is_said(tmp_path, capsys):
    data = csv_of(tmp_path, table())
    arguments = ["fit", str(data), "--target", "y", "-o", str(tmp_path / "m"), "--model", "linear"]
    assert run([*arguments, "--time-budget", "0.01", "--holdout", "0"]) == 0
    out = capsys.readouterr().out
    assert "the time budget allows a first look only" in out
    assert "the time budget is too short: two draws alone take about" in out
    assert "the time budget allowed 2 of 6 draws" in out
