"""The page: one file, safe whatever names are in it, small whatever data."""

import builtins
import hashlib
import html
import json
import re
from base64 import b64encode
from importlib import resources

import numpy as np
import pytest
from report_cases import CASES, HOSTILE, contents_of, hostile_contents, large_contents, patients
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

import nearbayes as nb
from nearbayes import report


def data_of(page: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


@pytest.mark.parametrize("name", CASES)
def test_data_in_the_page_are_the_contents(name):
    found = contents_of(name)
    data = data_of(report.render(found))
    assert data == {key: found[key] for key in data}
    assert {"predictions", "effects", "importance", "reliability", "coverage"} <= set(data)


@pytest.mark.parametrize("name", CASES)
def test_the_policy_names_the_style_and_the_script(name):
    page = report.render(contents_of(name))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.S)[1]
        digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("name", CASES)
def test_the_page_asks_for_nothing(name):
    page = report.render(contents_of(name))
    assert not re.search(r'(src|href)="(?!#|data:,")', page)
    assert "@import" not in page
    assert "url(" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_names_are_text():
    page = report.render(hostile_contents())
    for tag in ("<img", "<script>alert"):
        assert tag not in page
    assert HOSTILE[5] in page
    assert ">49<" not in page  # no template inside a template
    assert page.count("<script") == page.count("</script>") == 2
    assert f"<title>{html.escape(HOSTILE[1], quote=False)}</title>" in page
    assert "\u2028" not in page.split('id="data">')[1]
    assert data_of(page)["classes"] == sorted(HOSTILE[:3])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_fifty_thousand_rows_stay_small(task):
    size = len(report.render(large_contents(task)).encode())
    assert size < 3_000_000


def test_write(tmp_path):
    path = report.write(contents_of("flowers"), tmp_path / "flowers.html")
    assert path.read_text(encoding="utf-8") == report.render(contents_of("flowers"))


def test_a_missing_library_is_named(monkeypatch):
    real = builtins.__import__

    def without_jinja2(name, *args, **kwargs):
        if name == "jinja2":
            raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_jinja2)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'nearbayes\[report\]'"):
        report.render(contents_of("flowers"))


def test_script_and_style_cannot_end_early():
    for asset in (resources.files("nearbayes.report") / "assets").iterdir():
        text = asset.read_text(encoding="utf-8")
        assert "</" not in text
        assert "innerHTML" not in text
        assert len(text.splitlines()) <= 400


def fitted(**settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    return (
        nb.PosteriorClassifier(GaussianNB(), n_draws=3, random_state=0).fit(X, y, **settings),
        X,
        y,
    )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y": np.zeros(3)}, ValueError, "y must have one value for each row of X.*got 3 for 40"),
        ({"y": np.full(40, 7)}, ValueError, "y must hold classes seen during fit.*7"),
        ({"X": np.zeros((1, 2)), "y": [0]}, ValueError, "X must have at least 2 rows, got 1"),
        ({"y": np.zeros((40, 2))}, ValueError, "y must have one output, got 2"),
        ({"row_names": ["a"]}, ValueError, "row_names must name the 40 rows of X, got 1 names"),
        ({"feature_names": ["a"]}, ValueError, "feature_names must name the 2 columns.*got 1"),
        ({"most_rows": 0}, ValueError, "most_rows must be at least 1, got 0"),
        ({"model": GaussianNB()}, TypeError, "model must be a fitted PosteriorC.*got GaussianNB"),
        ({"baselines": {"b": GaussianNB()}}, TypeError, r"baselines\['b'\] must be a fitted Post"),
        (
            {"baselines": {"b": patients().bagging}},
            ValueError,
            r"baselines\['b'\] must have the classes",
        ),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    model, X, y = fitted()
    with pytest.raises(error, match=message):
        report.contents(**({"model": model, "X": X, "y": y} | change))


def test_missing_outcomes_are_refused():
    X = np.arange(20.0).reshape(-1, 1)
    y = X[:, 0] + np.tile([0.1, -0.1], 10)
    model = nb.PosteriorRegressor(LinearRegression(), n_draws=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="y must be finite, got 20 missing"):
        report.contents(model, X, np.full(20, np.nan))


def test_kept_predictions_have_no_features_but_all_else():
    rng = np.random.default_rng(1)
    new = rng.normal(size=(30, 2))
    model, _, _ = fitted(predict_on=new)
    found = report.contents(model, new, np.arange(30) % 2, most_rows=10)
    assert found["importance"] is None
    assert found["effects"] is None
    shown = found["predictions"]["row"]
    assert len(shown) == 10
    expected = model.predict_interval(new, 0.9)[shown, 1, 0]
    lower = found["predictions"]["views"][0]["credible"][2]["lower"]
    np.testing.assert_allclose(lower, expected, rtol=1e-3)
    assert 'id="effects"' not in report.render(found)
