"""The examples return what they print, and it is what their first line says."""

import active_learning
import causal_questions
import decision
import images
import importance_posterior
import numpy as np
import probability_interval
import pytest
import texts


def test_probability_intervals_find_the_doubtful_patients(capsys):
    found = probability_interval.main(n_draws=4, n_jobs=1)
    p, interval, doubtful = found["p"], found["interval"], found["doubtful"]
    assert interval.shape == (143, 2)
    assert ((interval[:, 0] <= p) & (p <= interval[:, 1])).mean() > 0.95
    # an error is more likely where the interval holds 0.5
    assert found["wrong"][doubtful].mean() > 2 * found["wrong"][~doubtful].mean()
    assert f"{doubtful.sum()} of 143 intervals contain 0.5" in capsys.readouterr().out


def test_importances_that_matter_are_told_from_those_that_do_not(capsys):
    found = importance_posterior.main(n_draws=6, n_jobs=1)
    assert set(found["names"][:2]) == {"bmi", "s5"}
    np.testing.assert_allclose(found["importance"].values.sum(axis=1), 1)
    names, more = found["names"], found["more"]
    assert more[names[1], names[2]] > 0.9
    assert len(more) == 5
    assert f"P(larger than {names[1]}) = {more[names[0], names[1]]:.2f}" in capsys.readouterr().out


def test_decisions_are_the_cheapest_and_better_than_one_for_all(capsys):
    found = decision.main(n_draws=10)
    cost, chosen, regret = found["cost"], found["chosen"], found["regret"]
    rows = np.arange(len(chosen))
    expected = cost.mean(axis=0)
    assert (expected[rows, chosen] == expected.min(axis=1)).all()
    # what perfect knowledge of the probability would save, by its definition
    np.testing.assert_allclose(regret, expected.min(axis=1) - cost.min(axis=2).mean(axis=0))
    assert (regret >= -1e-12).all()
    np.testing.assert_allclose(regret[found["is_best"] == 1], 0, atol=1e-12)
    assert found["paid"].mean() < 1.2
    assert f"mean cost {found['paid'].mean():.2f};" in capsys.readouterr().out


def test_texts_are_told_apart_and_words_have_intervals(capsys):
    found = texts.main(n_draws=6)
    assert found["right"].mean() > 0.85
    assert (
        (found["interval"][..., 0] < found["p"]) & (found["p"] < found["interval"][..., 1])
    ).all()
    low, _ = found["words"].interval(0.9).T
    names = found["names"].tolist()
    assert low[names.index("test")] > 0  # of scipy.stats
    assert "words that are clearly for or against stats" in capsys.readouterr().out


def test_images_that_are_doubtful_are_wrong_more_often(capsys):
    found = images.main(n_draws=6)
    right, doubtful = found["right"], found["doubtful"]
    assert 0 < doubtful.sum() < 600
    assert (~right[doubtful]).mean() > 5 * (~right[~doubtful]).mean()
    assert f"doubtful: {doubtful.sum()} images" in capsys.readouterr().out


def test_labels_by_uncertainty_start_where_random_ones_do(capsys, monkeypatch):
    monkeypatch.setattr(active_learning, "LABELS", range(12, 40, 12))
    found = active_learning.main(n_seeds=2)
    assert found.shape == (2, 2, 3)
    np.testing.assert_array_equal(found[0, :, 0], found[1, :, 0])
    assert (found[:, :, -1] < found[:, :, 0]).all()
    assert (found[0, :, 1:] != found[1, :, 1:]).all()
    gain = (found[1] - found[0])[:, -1].mean()
    assert f"gain {gain:.3f}, standard error" in capsys.readouterr().out


@pytest.mark.slow
def test_labels_by_uncertainty_teach_more():
    found = active_learning.main(n_seeds=8)
    gain = (found[1] - found[0])[:, -1]
    assert gain.mean() > gain.std(ddof=1) / 8**0.5


def test_causal_questions_find_the_known_effect(capsys):
    model = causal_questions.main(n_draws=6)
    found = model.effect("outcome", do={"dose": 3.0}, versus={"dose": 1.0})
    assert abs(found.mean + 2 * (np.sqrt(3) - 1)) < 4 * found.std
    assert "the truth is -1.46" in capsys.readouterr().out
