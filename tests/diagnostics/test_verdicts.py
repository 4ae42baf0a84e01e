"""Verdicts on learners whose faults are known, and forecasts against what more rows bring."""

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

import nearbayes as nb
from nearbayes.diagnostics import drift, given_tasks
from nearbayes.diagnostics.posterior_ranks import _line

FEW = {"n_draws": 10, "n_refits": 1, "calibration": None, "random_state": 0, "progress": False}
INTERPOLATING = {"n_estimators": 300, "max_depth": 8, "learning_rate": 0.3} | {
    "min_child_weight": 0,
    "reg_lambda": 0,
}


def of_classes(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (rng.random(n) < expit(X[:, 0])).astype(int)


def diagnosed(estimator, X, y, check, **options):
    kind = nb.PosteriorClassifier if y.dtype.kind == "i" else nb.PosteriorRegressor
    return kind(estimator, **FEW).fit(X, y).diagnose(X, y, checks=check, **options)[check]


@pytest.mark.parametrize(
    ("learner", "copies"),
    [
        (lambda: XGBClassifier(**INTERPOLATING, n_jobs=1), True),
        (lambda: KNeighborsClassifier(1), True),
        (lambda: RandomForestClassifier(30, random_state=0), False),
        (lambda: make_pipeline(StandardScaler(), LogisticRegression()), False),
    ],
)
@pytest.mark.parametrize("data", ["in doubt", "nearly certain"])
def test_classifiers_that_copy_labels_are_found(learner, copies, data):
    X, y = of_classes() if data == "in doubt" else load_breast_cancer(return_X_y=True)
    model = nb.PosteriorClassifier(learner(), **FEW).fit(X, y)
    for seed in range(3):
        line = model.diagnose(X, y, checks="stability", random_state=seed)["stability"]
        assert line.status == ("warning" if copies else "good")
        assert (line.value > 0.95) == copies
        assert len(line.details["changed"]) >= 3 * 15


def test_noise_in_the_middle_is_placed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + np.where(np.abs(X[:, 1]) < 0.67, 3.0, 0.3) * rng.normal(size=400)
    line = diagnosed(LinearRegression(), X, y, "noise")
    assert line.status == "warning"
    where = line.details["where"]
    assert (where["of"], where["side"]) == ("column 2", "between")
    assert -0.9 < where["end"] < where["to"] < 0.9
    assert where["share"] < 0.85


def test_a_curve_that_a_line_misses_is_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    line = diagnosed(LinearRegression(), X, 2 * np.sin(2 * X[:, 0]) + rng.normal(size=200), "noise")
    assert line.status == "warning"
    assert "Where column 1 is" in line.words
    assert "learner that can follow" in line.advice


def test_errors_of_a_fit_of_many_columns_are_not_taken_for_noise():
    """A third of the rows are columns: held-out errors are 1.4 times the noise, for any learner."""
    warned = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 20))
        y = X[:, 0] + rng.normal(size=60)
        warned += diagnosed(LinearRegression(), X, y, "noise").status == "warning"
    assert warned == 0


def test_the_forecast_of_the_error_stays_above_the_noise():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2_000, 3))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=2_000)
    for learner in (KNeighborsRegressor(1), KNeighborsRegressor(10), LinearRegression()):
        line = diagnosed(learner, X[:200], y[:200], "more data", at=10.0)
        new = rng.normal(size=(2_000, 3))
        truth = new[:, 0] + np.sin(3 * new[:, 1]) + rng.normal(size=2_000)
        then = np.mean((learner.fit(X, y).predict(new) - truth) ** 2)
        low, high = line.details["scores_low"][0], line.details["scores_high"][0]
        assert 0.8 * low < then < 1.2 * high
        assert line.details["scores"][0] > 0.9


def test_neighbours_do_not_get_surer_with_more_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 3))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=250)
    line = diagnosed(KNeighborsRegressor(10), X, y, "more data", at=10.0)
    assert line.details["high"][0] > 0.9
    regular = diagnosed(LinearRegression(), X, y, "more data", at=4.0)
    assert regular.value == pytest.approx(0.5, rel=0.15)
    assert regular.details["low"][0] < 0.5 < regular.details["high"][0]


def test_draws_without_spread_have_no_forecast():
    X, y = load_breast_cancer(return_X_y=True)
    line = diagnosed(KNeighborsClassifier(1), X, y, "more data")
    assert (line.status, np.isnan(line.value)) == ("unknown", True)


def of_numbers(rng, slope=1.0):
    X = rng.normal(size=(100, 3))
    mean = X @ rng.normal(size=3)
    return X, mean + rng.normal(size=100), mean


def test_given_tasks_show_a_bias_that_simulated_ones_share():
    rng = np.random.default_rng(0)
    tasks = [of_numbers(rng) for _ in range(6)]
    X, y, _ = of_numbers(rng)
    good = diagnosed(LinearRegression(), X, y, "excess error", tasks=tasks)
    assert good.status == "good"
    held = good.details["held"]
    assert abs(held.mean() - 0.9) < 3 * held.std(ddof=1) / np.sqrt(6)
    heavy = diagnosed(Ridge(300.0), X, y, "excess error", tasks=tasks)
    assert heavy.status == "warning"
    assert "too narrow on these tasks" in heavy.words
    assert diagnosed(Ridge(300.0), X, y, "excess error").status == "good"


def test_given_tasks_of_classes():
    rng, tasks = np.random.default_rng(0), []
    for _ in range(4):
        X = rng.normal(size=(100, 2))
        chances = expit(X @ rng.normal(size=2))
        tasks.append((X, (rng.random(100) < chances).astype(int), chances))
    X, y = tasks[0][:2]
    assert diagnosed(LogisticRegression(), X, y, "excess error", tasks=tasks).status == "good"
    line = diagnosed(KNeighborsClassifier(1), X, y, "excess error", tasks=tasks)
    assert line.value > 3 * line.error
    fits = [KNeighborsClassifier(1).fit(X, y).predict_proba(X)[:, 1] for X, y, _ in tasks]
    errors = [np.mean((fit - truth) ** 2) for fit, (_, _, truth) in zip(fits, tasks, strict=True)]
    np.testing.assert_allclose(line.details["fit"], errors)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tasks: 3, r"a list of triples \(X, y, truth\), got 3"),
        (lambda tasks: tasks[0], "a list of triples"),
        (lambda tasks: [task[:2] for task in tasks], "a list of triples"),
        (lambda tasks: tasks[:2], "at least 3, got 2"),
        (lambda tasks: [*tasks, (1, 2, 3)], r"tasks\[3\] must have rows X and outcomes y"),
        (
            lambda tasks: [(X, y, mean[:5]) for X, y, mean in tasks],
            r"tasks\[0\] .* \(100, 1\), got",
        ),
        (
            lambda tasks: [*tasks, (*tasks[0][:2], ["a"] * 100)],
            r"truth of tasks\[3\] must be numbers",
        ),
        (lambda tasks: [*tasks, (*tasks[0][:2], np.full(100, np.nan))], "must be finite"),
    ],
)
def test_bad_tasks(change, says):
    rng = np.random.default_rng(0)
    tasks = [of_numbers(rng) for _ in range(3)]
    with pytest.raises(ValueError, match=says):
        diagnosed(LinearRegression(), *tasks[0][:2], "excess error", tasks=change(tasks))


def test_bad_tasks_of_classes():
    X, y = of_classes()
    task = (X, y, np.full(len(y), 0.5))
    for bad, says in (
        ((X, np.where(y > 0, "yes", "no"), task[2]), "must have the classes of the fit, got"),
        ((X, y, np.full(len(y), 1.5)), "must be probabilities of classes"),
    ):
        with pytest.raises(ValueError, match=says):
            diagnosed(LogisticRegression(), X, y, "excess error", tasks=[task, task, bad])


def test_intervals_on_given_tasks_are_calibrated_as_those_of_the_model():
    rng = np.random.default_rng(0)
    tasks = [of_numbers(rng) for _ in range(4)]
    X, y, _ = of_numbers(rng)
    held = []
    for calibration in (None, "simulation"):
        model = nb.PosteriorRegressor(Ridge(300.0), **{**FEW, "calibration": calibration})
        line = model.fit(X, y).diagnose(X, y, checks="excess error", tasks=tasks)["excess error"]
        held.append(line.details["held"].mean())
        assert ("calibration='simulation'" in line.advice) == (calibration is None)
    assert held[1] > held[0] + 0.1


def test_few_given_tasks_that_differ_say_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    tasks = [of_numbers(rng) for _ in range(3)]
    for found, status in (
        (iter([(1.0, 1.0, 0.9), (1.0, 1.0, 0.4), (1.0, 1.0, 0.8)]), "unknown"),
        (iter([(9.0, 1.0, 0.9), (1.0, 1.0, 0.9), (1.0, 1.0, 0.9)]), "unknown"),
        (iter([(9.0, 1.0, 0.9), (9.1, 1.0, 0.9), (9.2, 1.0, 0.9)]), "warning"),
        (iter([(1.0, 1.0, 0.5), (1.0, 1.0, 0.52), (1.0, 1.0, 0.48)]), "warning"),
        (iter([(1.0, 1.0, 0.9), (1.0, 1.0, 0.8), (1.0, 1.0, 0.95)]), "good"),
    ):
        monkeypatch.setattr(given_tasks, "_on", lambda *task, found=found: next(found))
        line = diagnosed(LinearRegression(), *tasks[0][:2], "excess error", tasks=tasks)
        assert line.status == status, line.words


def test_a_drift_that_may_be_chance_is_not_said_to_be_calibrated_away(monkeypatch):
    X, y, _ = of_numbers(np.random.default_rng(0))
    monkeypatch.setattr(drift, "_of", lambda change, sd: (0.6, 0.3))
    words = diagnosed(LinearRegression(), X, y, "martingale drift").words
    assert "which may be chance" in words
    assert "calibrated" not in words


def test_whole_numbers_as_outcomes_may_change_by_parts_of_one():
    X, y, _ = of_numbers(np.random.default_rng(0))
    y = np.round(y)
    found = []
    for kind in (np.float64, np.int64):
        model = nb.PosteriorRegressor(LinearRegression(), **FEW).fit(X, y.astype(kind))
        found.append(model.diagnose(X, y.astype(kind), checks="stability")["stability"].number)
    assert found[0] == found[1]


def test_a_file_of_a_model_that_was_given_more_than_rows(tmp_path):
    import lightgbm

    rng = np.random.default_rng(0)
    X, y, _ = of_numbers(rng)
    given = {"eval_set": [(X[:30], y[:30])]}
    given["callbacks"] = [lightgbm.early_stopping(5, verbose=False)]
    learner = LGBMRegressor(n_estimators=60, verbosity=-1, n_jobs=1)
    model = nb.PosteriorRegressor(learner, **FEW).fit(X[30:], y[30:], **given)
    loaded = nb.load(model.save(tmp_path / "m.nearbayes"))
    with pytest.raises(ValueError, match="what fit was given, callbacks, eval_set, which a file"):
        loaded.diagnose(X[30:], y[30:])
    lines = [
        each.diagnose(X[30:], y[30:], checks="stability", **more)["stability"].number
        for each, more in ((model, {}), (loaded, {"fit_params": given}))
    ]
    assert lines[0] == lines[1]


def test_the_error_of_a_width_is_that_of_the_interval_in_use():
    rng = np.random.default_rng(0)
    widths = np.ptp(np.quantile(rng.normal(size=(4_000, 50)), [0.05, 0.95], 1, method="weibull"), 0)
    X, y, _ = of_numbers(rng)
    model = nb.PosteriorRegressor(LinearRegression(), **{**FEW, "n_draws": 50}).fit(X, y)
    line = model.diagnose(X, y, checks="draws")["draws"]
    assert line.value == pytest.approx(widths.std() / widths.mean(), rel=0.25)
    assert "0.1%." in model.diagnose(X, y, checks="draws", precision=0.001)["draws"].advice


@pytest.mark.parametrize("n_quantities", [1, 16])
def test_even_ranks_are_rarely_called_uneven(n_quantities):
    """Also where all quantities of a set go together."""
    warned = 0
    for seed in range(200):
        ranks = np.random.default_rng(seed).random((20, 1)).repeat(n_quantities, axis=1)
        warned += _line(ranks).status == "warning"
    assert warned <= 0.04 * 200


def test_calibrated_intervals_may_hold_more():
    ranks = 0.5 + 0.3 * (np.random.default_rng(0).random((20, 16)) - 0.5)
    assert "too wide" in _line(ranks).words
    assert "calibration='simulation'" in _line(ranks).advice
    assert _line(ranks, calibrated=True).status == "good"
    outer = _line(np.round(np.random.default_rng(0).random((20, 16))), calibrated=True)
    assert "too narrow" in outer.words
    assert "simulation" not in outer.advice


def test_a_verdict_names_what_is_not_known():
    rng = np.random.default_rng(0)
    X, y, _ = of_numbers(rng)
    model = nb.PosteriorRegressor(LinearRegression(), **{**FEW, "n_refits": 8, "n_draws": 40})
    model.fit(X, y)
    alone = model.posterior_.diagnose()
    assert "Not known: noise, stability, efficiency and excess error." in alone.verdict
    assert model.diagnose(X, y, checks="more data").verdict == "A forecast, no verdict."
    assert len(model.diagnose(X, y, checks=["noise", "noise"])) == 1
    for at in (2, "a", None, (0.5,)):
        with pytest.raises(ValueError, match="at must be numbers of rows above those of the fit"):
            model.diagnose(X, y, at=at)
    with pytest.raises(ValueError, match="checks must be"):
        model.diagnose(X, y, checks=3)
    changed = np.where(np.arange(len(y)) < 5, 1e6, y)
    with pytest.raises(ValueError, match="of which 95% were found"):
        model.diagnose(X, changed)
