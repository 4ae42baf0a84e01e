"""The first screen: its numbers against the model, its words against what they must not hide."""

import re

import numpy as np
import pandas as pd
import pytest
from report_cases import CASES, HOSTILE, contents_of, diabetes, flowers, hostile_contents, patients
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import nearbayes as nb
from nearbayes import report
from nearbayes.report.more_rows import removable
from nearbayes.report.rounding import plain

CLOSE = {"rel": 1e-3, "abs": 1e-12}
TERMS = re.compile(
    r"log score|CRPS|nats|epistemic|aleatoric|imputed|martingale|posterior|captur|inflat|held.out",
    re.IGNORECASE,
)


def first_screen(found):
    """All sentences that a reader sees first."""
    told = [each[part] for each in found["findings"] for part in ("question", "short", "long")]
    told += [found["title"], found["done"]["lead"], *(each["words"] for each in found["alerts"])]
    return [*told, *found["to_do"], *found["not_to_conclude"]]


def transactions():
    """One row in fifty is of the rare class; some of it can be predicted."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"amount": rng.normal(size=1_200), "hour": rng.integers(0, 24, 1_200)})
    chance = 1 / (1 + np.exp(5.2 - 2 * X["amount"]))
    return X, np.where(rng.random(1_200) < chance, "fraud", "normal")


@pytest.fixture(scope="module")
def fraud():
    """A model of the first rows, and the others."""
    X, y = transactions()
    model = nb.PosteriorClassifier(LogisticRegression(), n_draws=8, random_state=0)
    return model.fit(X[:700], y[:700]), X[700:], y[700:]


@pytest.mark.parametrize("name", CASES)
def test_decision_makers_know_every_word(name):
    for sentence in first_screen(contents_of(name)):
        assert not TERMS.search(sentence), sentence
        assert not re.search(r"\de-\d|nan|None", sentence), sentence
        assert sentence[0].isupper() or sentence[0] in "“0123456789" or sentence.endswith("are")


def test_right_answers_against_the_constant_one():
    case, found = flowers(), contents_of("flowers")["quality"]
    answered = case.model.predict(case.X)
    assert found["right"] == int((answered == case.y).sum())
    assert found["constant"]["right"] == np.unique(case.y, return_counts=True)[1].max()
    assert found["confusion"]["counts"] == confusion_matrix(case.y, answered).tolist()
    assert found["verdict"] == "better"
    proba = case.model.predict_proba(case.X)
    for k, each in enumerate(found["classes"]):
        is_k, says_k = case.y == each["name"], answered == each["name"]
        assert each["found"] == pytest.approx((is_k & says_k).sum() / is_k.sum(), **CLOSE)
        assert each["precise"] == pytest.approx((is_k & says_k).sum() / says_k.sum(), **CLOSE)
        assert each["auc"] == pytest.approx(roc_auc_score(is_k, proba[:, k]), **CLOSE)


def test_errors_are_in_units_of_the_outcome():
    case, found = diabetes(), contents_of("diabetes")["quality"]
    errors = np.abs(case.y - case.model.predict(case.X))
    assert found["typical"] == pytest.approx(np.median(errors), **CLOSE)
    assert found["large"] == pytest.approx(np.quantile(errors, 0.9), **CLOSE)
    guess = np.median(case.y)
    assert found["typical_of_guess"] == pytest.approx(np.median(np.abs(case.y - guess)), **CLOSE)
    assert plain(np.median(errors)) in found["short"]
    assert (found["verdict"], contents_of("diabetes")["alerts"]) == ("better", [])


def test_doubtful_answers_are_those_whose_interval_holds_one_half():
    case, found = patients(), contents_of("patients")["doubt"]
    bounds = case.model.predict_interval(case.X)[:, 0]
    doubtful = (bounds[:, 0] < 0.5) & (bounds[:, 1] > 0.5)
    right = np.asarray(case.model.predict(case.X) == case.y)
    assert found["doubtful"] == doubtful.sum() > 0
    assert found["right_if_doubtful"] == pytest.approx(right[doubtful].mean(), **CLOSE)
    assert f"{(~doubtful).sum()} answers are clear" in found["short"]
    assert len(found["picture"]["marks"]) == len(case.y)


def test_a_column_that_decides_alone_is_pointed_at():
    """As the week of an arrest does, if the question is whether there was one."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"week": rng.integers(1, 53, 300), "age": rng.normal(40, 9, 300)})
    y = np.where(X["week"] < 40, "arrest", "none")
    tree = DecisionTreeClassifier(max_depth=2)
    model = nb.PosteriorClassifier(tree, n_draws=6, calibration=None, random_state=0)
    found = report.contents(model.fit(X[:200], y[:200]), X[200:], y[200:])
    assert any("“week” alone decides" in each["words"] for each in found["alerts"])
    assert "“week” is known before" in found["to_do"][0]
    others = [contents_of(name)["alerts"] for name in CASES]
    assert not any("alone decides" in each["words"] for alerts in others for each in alerts)


def test_ranges_that_are_wrong_in_some_places_are_not_praised():
    """Nine in ten values are in their ranges, but only where predictions are low."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, size=(600, 1))
    y = X[:, 0] + np.exp(X[:, 0]) / 6 * rng.normal(size=600)
    model = nb.PosteriorRegressor(LinearRegression(), noise="gaussian", n_draws=50, random_state=0)
    model.fit(X[:300], y[:300])
    found = report.contents(model, X[300:], y[300:], diagnosis=model.diagnose(X[:300], y[:300]))
    by_key = {each["key"]: each for each in found["findings"]}
    assert "not at all kinds of rows" in by_key["doubt"]["short"]
    assert "do not rely on them there" in by_key["doubt"]["long"]
    assert by_key["trust"]["short"] == "Only with care."


def test_what_more_rows_would_remove():
    case, more = diabetes(), contents_of("diabetes")["more"]
    spread = case.model.posterior_.predictions(case.X).adjusted("inflated")
    total = case.model.predict(case.X, return_std=True)[1] ** 2
    assert more["share"] == pytest.approx(spread.var(axis=0).sum() / total.sum(), **CLOSE)
    first = case.model.posterior_.diagnose()["more data"].details
    assert more["forecast"][0]["ratio"] == pytest.approx(first["ratio"][0], **CLOSE)
    assert [each["rows"] for each in more["forecast"]] == [442, 1105, 2210]
    assert callable(removable)


def test_a_rare_class_is_not_hidden_by_accuracy(fraud):
    model, X, y = fraud
    found = report.contents(model, X, y)
    rare = found["quality"]["rare"]
    assert (rare["name"], rare["rows"]) == ("fraud", int((y == "fraud").sum()))
    assert found["alerts"][0]["kind"] == "warning"
    assert "Always answering" not in found["quality"]["short"]
    assert "fraud" in found["quality"]["short"]
    assert "always answering “normal”" in found["quality"]["long"]
    highest = np.argsort(-model.predict_proba(X)[:, 0], kind="stable")[:25]
    assert rare["among_them"] == int((y[highest] == "fraud").sum())
    upper = model.predict_interval(X)[:, 0, 1]
    assert found["check"]["rows"][0]["row"] == X.index[upper.argmax()]
    assert found["predictions"]["views"][0]["class"] == 0  # the rare one, not the second


def test_a_model_that_always_says_no_is_told_so(fraud):
    _, X, y = fraud
    never = nb.PosteriorClassifier(LogisticRegression(C=1e-6), n_draws=4, random_state=0)
    found = report.contents(never.fit(X[::2], y[::2]), X[1::2], y[1::2])
    assert found["quality"]["constant"]["same"]
    assert "never answers “fraud”" in found["quality"]["short"]
    assert "the same as always answering “normal”" in found["alerts"][0]["words"]


def test_a_useless_model_is_told_so():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    model = nb.PosteriorRegressor(LinearRegression(), n_draws=8, random_state=0)
    found = report.contents(model.fit(X[:60], y[:60]), X[60:], y[60:])
    assert found["quality"]["verdict"] in ("unclear", "worse")
    assert any("than always guessing the middle" in each["words"] for each in found["alerts"])
    assert found["to_do"][0].startswith("Do not act")


@pytest.mark.parametrize(("rows", "share"), [(slice(0, 700), 1.0), (slice(600, 800), 0.5)])
def test_rows_of_the_fit_are_recognised(fraud, rows, share):
    model, X, y = fraud
    whole, labels = transactions()
    found = report.contents(model, whole[rows], labels[rows])
    assert found["alerts"][0]["kind"] == "warning"
    assert "used to fit the model" in found["alerts"][0]["words"]
    assert ("These rows were" in found["alerts"][0]["words"]) == (share == 1.0)
    assert "had not seen" not in found["done"]["lead"]
    assert found["to_do"] == ["Make this report again with rows that were not used in the fit."]
    assert "had not seen" in report.contents(model, X, y)["done"]["lead"]


def test_rows_have_the_names_that_were_given(fraud):
    model, X, y = fraud
    names = [f"T{k}" for k in range(len(y))]
    found = model.report(X, y, row_names=names, rows_called="Transaction", facts={"Data file": "t"})
    contents = found.contents
    assert contents["check"]["called"] == contents["predictions"]["called"] == "Transaction"
    assert contents["predictions"]["row"] == names
    assert {"label": "Data file", "value": "t"} in contents["done"]["facts"]
    assert "Transaction T" in str(found)


def test_texts_need_no_columns():
    texts = np.array([f"{'good' if k % 2 else 'bad'} film {k % 7}" for k in range(60)])
    y = np.arange(60) % 2
    model = nb.PosteriorClassifier(
        make_pipeline(TfidfVectorizer(), LogisticRegression()), n_draws=3, random_state=0
    ).fit(texts[:40].tolist(), y[:40])
    found = model.report(texts[40:].tolist(), y[40:])
    assert found.contents["drivers"] is None
    assert found.contents["check"]["columns"] == ["Text"]
    assert "drivers" not in [each["key"] for each in found.contents["findings"]]
    assert "film" in found.to_html()


def test_very_many_rows_are_sampled(monkeypatch):
    from nearbayes.report import heldout

    monkeypatch.setattr(heldout, "MOST_PREDICTED", 1)
    monkeypatch.setattr(heldout, "FEWEST_PREDICTED", 50)
    case = flowers()
    found = report.contents(case.model, case.X, case.y)
    assert found["quality"]["rows"] == 50
    assert "50 rows (chosen at random from 75)" in found["done"]["lead"]
    assert set(found["predictions"]["row"]) <= set(range(75))


def test_the_report_is_a_page_a_text_and_a_frame(tmp_path):
    case = flowers()
    made = case.model.report(case.X, case.y, tmp_path / "r.html", title="<b>Irises</b>")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == made.to_html()
    assert made.save(tmp_path / "r.md").read_text(encoding="utf-8") == made.to_markdown()
    frame = made._repr_html_()
    assert frame.startswith("<iframe")
    assert "<b>" not in frame
    assert repr(made) == str(made)
    for finding in made.contents["findings"]:
        assert finding["question"] in str(made)
        assert finding["question"] in made.to_markdown()


def test_names_stay_text_in_markdown():
    text = report.markdown(hostile_contents())
    plain_text = re.sub(r"</?(details|summary)>", "", text)
    assert not re.search(r"(?<!\\)<", plain_text)
    assert HOSTILE[4] not in text  # line separators would end a row of a table
    for row in re.findall(r"^\|.*\|$", text, flags=re.MULTILINE):
        assert row.isprintable()


def test_a_fitted_model_shows_its_summary_in_a_notebook():
    case = flowers()
    shown = case.model._repr_mimebundle_()["text/html"]
    assert "nearbayes posterior" in shown
    assert "GaussianNB" in shown
    assert "nearbayes posterior" not in nb.PosteriorClassifier()._repr_mimebundle_()["text/html"]


def test_a_flexible_model_that_is_not_calibrated_says_so():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), rng.integers(2, size=90)
    model = nb.PosteriorClassifier(
        HistGradientBoostingClassifier(max_iter=3), n_draws=3, calibration=None, random_state=0
    )
    found = report.contents(model.fit(X[:60], y[:60]), X[60:], y[60:])
    words = " ".join(each["words"] for each in found["alerts"])
    assert "not calibrated" in words
    assert "only 30 rows to judge by" in words


def test_rows_to_check_of_many_classes_are_the_doubtful_ones():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(700, 3))
    y = np.argmax(3 * X + rng.gumbel(size=(700, 3)), axis=1)
    model = nb.PosteriorClassifier(LogisticRegression(), n_draws=30, random_state=0)
    model.fit(X[:500], y[:500])
    found = report.contents(model, X[500:], y[500:])
    doubtful, check = found["doubt"]["doubtful"], found["check"]
    assert 0 < doubtful <= 50
    listed = [each["doubtful"] for each in check["rows"]]
    assert listed == [True] * doubtful + [False] * (len(listed) - doubtful)
    assert check["needed"]
