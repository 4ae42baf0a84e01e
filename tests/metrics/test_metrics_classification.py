import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from nearbayes.metrics import accuracy, brier, expected_calibration_error, log_score

SCORES = [log_score, accuracy, brier, expected_calibration_error]
PER_ROW = [log_score, accuracy, brier]


def forecasts(seed, n_rows=200, n_classes=3):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(n_classes), size=n_rows)
    y = np.array([rng.choice(n_classes, p=row) for row in probabilities])
    return y, probabilities


def test_log_score_by_hand():
    scores = log_score([0, 1], [[0.5, 0.5], [0.75, 0.25]], mean=False)
    np.testing.assert_allclose(scores, [np.log(2), np.log(4)], rtol=1e-15)


def test_log_score_of_an_impossible_observation_is_inf_and_not_clipped():
    scores = log_score([0, 1, 1], [[1.0, 0.0], [1.0, 0.0], [1 - 1e-300, 1e-300]], mean=False)
    np.testing.assert_allclose(scores, [0.0, np.inf, 300 * np.log(10)], rtol=1e-14)
    assert log_score([0, 1], [[1.0, 0.0], [1.0, 0.0]]) == np.inf


def test_log_score_of_a_certain_right_forecast_is_positive_zero():
    assert not np.signbit(log_score([0], [[1.0, 0.0]], mean=False)[0])


def test_brier_by_hand():
    scores = brier([0, 2, 1], [[1, 0, 0], [1, 0, 0], [0.5, 0.25, 0.25]], mean=False)
    np.testing.assert_allclose(scores, [0.0, 2.0, 0.875], rtol=1e-15)


def test_accuracy_settles_a_shared_maximum_for_the_first_column():
    assert accuracy([0, 1], [[0.5, 0.5], [0.5, 0.5]], mean=False).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_log_score_and_accuracy_agree_with_scikit_learn(n_classes):
    y, probabilities = forecasts(1, n_classes=n_classes)
    expected = log_loss(y, probabilities, labels=np.arange(n_classes))
    assert log_score(y, probabilities) == pytest.approx(expected, rel=1e-12)
    assert accuracy(y, probabilities) == accuracy_score(y, probabilities.argmax(axis=1))


def test_brier_of_two_classes_is_twice_scikit_learns():
    y, probabilities = forecasts(2, n_classes=2)
    expected = 2 * brier_score_loss(y, probabilities[:, 1])
    assert brier(y, probabilities) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("score", PER_ROW)
def test_mean_is_the_average_of_the_rows(score):
    y, probabilities = forecasts(3)
    rows = score(y, probabilities, mean=False)
    assert rows.shape == (200,)
    assert rows.dtype == np.float64
    average = score(y, probabilities)
    assert type(average) is float
    assert average == pytest.approx(rows.sum() / 200, rel=1e-12)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    "classes",
    [
        np.array(["cat", "dog", "ant"]),
        np.array(["cat", "dog", "ant"], dtype=object),
        [30, -1, 7],
        [0.5, 1.5, -2.0],
    ],
    ids=["str", "object", "int", "float"],
)
def test_labels_are_looked_up_in_classes_in_the_order_given(score, classes):
    y, probabilities = forecasts(4)
    labels = np.asarray(classes)[y]
    assert score(labels, probabilities, classes) == score(y, probabilities)
    shuffled = np.asarray(classes)[[2, 0, 1]]
    assert score(labels, probabilities[:, [2, 0, 1]], shuffled) == pytest.approx(
        score(y, probabilities), rel=1e-12
    )
    assert score(labels, probabilities, shuffled) != score(y, probabilities)


@pytest.mark.parametrize("score", SCORES)
def test_boolean_labels_are_the_classes_zero_and_one(score):
    y, probabilities = forecasts(5, n_classes=2)
    assert score(y.astype(bool), probabilities) == score(y, probabilities)


@pytest.mark.parametrize("score", [log_score, brier])
@pytest.mark.parametrize("exponent", [0.5, 2.0], ids=["softened", "sharpened"])
def test_the_truth_scores_best_on_average(score, exponent):
    y, probabilities = forecasts(6, n_rows=4000)
    bent = probabilities**exponent
    bent /= bent.sum(axis=1, keepdims=True)
    excess = score(y, bent, mean=False) - score(y, probabilities, mean=False)
    # Four Monte Carlo standard errors above zero: strict propriety, not luck.
    assert excess.mean() > 4 * excess.std() / np.sqrt(4000)


def ece_by_loop(y, probabilities, n_bins):
    total = 0.0
    for b in range(n_bins):
        rows = [
            (max(p), int(np.argmax(p)) == label)
            for p, label in zip(probabilities, y, strict=True)
            if b / n_bins < max(p) <= (b + 1) / n_bins
        ]
        if rows:
            confidence, correct = np.mean(rows, axis=0)
            total += len(rows) / len(y) * abs(confidence - correct)
    return total


@pytest.mark.parametrize("n_bins", [1, 4, 15, 40])
def test_calibration_error_agrees_with_a_loop_over_bins(n_bins):
    y, probabilities = forecasts(7)
    y = (y + (np.arange(200) % 4 == 0)) % 3
    expected = ece_by_loop(y, probabilities, n_bins)
    assert expected > 0.1
    assert expected_calibration_error(y, probabilities, n_bins=n_bins) == pytest.approx(
        expected, rel=1e-12
    )


def test_calibration_error_uses_fifteen_bins_unless_told():
    y, probabilities = forecasts(8)
    default = expected_calibration_error(y, probabilities)
    assert default == expected_calibration_error(y, probabilities, n_bins=15)
    assert default != expected_calibration_error(y, probabilities, n_bins=14)


def test_calibration_error_bins_are_closed_above():
    # 0.5 (right) and 0.75 (wrong) share no bin of two, so their errors add: (0.5 + 0.75) / 2.
    probabilities = [[0.5, 0.5], [0.75, 0.25]]
    assert expected_calibration_error([0, 1], probabilities, n_bins=2) == pytest.approx(0.625)
    # In one bin they cancel in part: |(1 - 0.5) + (0 - 0.75)| / 2.
    assert expected_calibration_error([0, 1], probabilities, n_bins=1) == pytest.approx(0.125)


def test_calibration_error_of_calibrated_rows_is_zero():
    probabilities = [[0.75, 0.25]] * 4 + [[0.0, 1.0]] * 2
    assert expected_calibration_error([0, 0, 0, 1, 1, 1], probabilities) == pytest.approx(
        0.0, abs=1e-15
    )


@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 6), n_bins=st.integers(1, 20))
@settings(deadline=None, derandomize=True, max_examples=50)
def test_scores_stay_in_their_documented_ranges(seed, n_classes, n_bins):
    y, probabilities = forecasts(seed, n_rows=10, n_classes=n_classes)
    assert (log_score(y, probabilities, mean=False) >= 0).all()
    rows = brier(y, probabilities, mean=False)
    assert ((rows >= 0) & (rows <= 2)).all()
    assert set(accuracy(y, probabilities, mean=False)) <= {0.0, 1.0}
    assert 0 <= expected_calibration_error(y, probabilities, n_bins=n_bins) <= 1


@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 6))
@settings(deadline=None, derandomize=True, max_examples=30)
def test_scores_do_not_depend_on_the_order_of_rows(seed, n_classes):
    y, probabilities = forecasts(seed, n_rows=12, n_classes=n_classes)
    order = np.random.default_rng(seed).permutation(12)
    for score in PER_ROW:
        rows = score(y, probabilities, mean=False)
        np.testing.assert_array_equal(
            score(y[order], probabilities[order], mean=False), rows[order]
        )
    assert expected_calibration_error(y[order], probabilities[order]) == pytest.approx(
        expected_calibration_error(y, probabilities), rel=1e-9, abs=1e-12
    )


def test_float32_probabilities_are_accepted():
    y, probabilities = forecasts(9, n_classes=500)
    assert log_score(y, probabilities.astype(np.float32)) == pytest.approx(
        log_score(y, probabilities), rel=1e-5
    )


HALF = [[0.5, 0.5], [0.5, 0.5]]
PASS = "pass classes, the labels of the columns of probabilities"
BAD = [
    (
        ([0, 1, 1, 0], [[0.5, 0.5, 0.0]] * 2),
        "probabilities must have one row per y: got 2 rows for 4 labels",
    ),
    (([[0], [1]], HALF), "y must be one-dimensional with at least one label: got shape (2, 1)"),
    (([], np.empty((0, 2))), "y must be one-dimensional with at least one label: got shape (0,)"),
    (
        ([0, 1], [0.5, 0.5]),
        "probabilities must have shape (n_rows, n_classes): got shape (2,); for two classes pass "
        "np.column_stack([1 - p, p])",
    ),
    (([0], [[1.5, -0.5]]), "probabilities must not be negative: got -0.5"),
    (
        ([0, 0], [[0.5, 0.5], [0.5, 0.25]]),
        "probabilities must sum to one in every row: got 0.75 in row 1",
    ),
    (([0], [[np.nan, 1.0]]), "probabilities must not hold NaN: got 1 of 2 values NaN"),
    (([0], [[np.inf, 0.0]]), "probabilities must be finite: got 1 infinite of 2 values"),
    (
        ([0], [["a", "b"]]),
        "probabilities must be an array of numbers: could not convert string to float: 'a'",
    ),
    (
        ([0, 1], HALF, [0, 1, 2]),
        "classes must name the 2 columns of probabilities: got shape (3,)",
    ),
    (([0, 1], HALF, [1, 1]), "classes must not repeat a label: got [1, 1]"),
    (
        (["b", "c"], HALF, ["a", "b"]),
        f"y must hold only labels of classes: got 'c', not in ['a', 'b']; {PASS}",
    ),
    (([1, 2], HALF), f"y must hold only labels of classes: got 2, not in [0, 1]; {PASS}"),
    (([0, np.nan], HALF), f"y must hold only labels of classes: got nan, not in [0, 1]; {PASS}"),
]


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(("arguments", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_named(score, arguments, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        score(*arguments)


@pytest.mark.parametrize("n_bins", [0, -3, 2.5])
def test_bad_number_of_bins_is_named(n_bins):
    message = f"n_bins must be an integer of at least 1: got {n_bins}"
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        expected_calibration_error([0, 1], HALF, n_bins=n_bins)
