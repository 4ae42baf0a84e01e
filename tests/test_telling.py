"""Warnings name the user's line, whichever public face they come through."""

import ast
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score

import nearbayes as nb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X[:, 0] + RNG.normal(size=60)
FEW = {"n_draws": 4, "n_refits": 1, "random_state": 0, "progress": False}


class FailsOnImputedRows(Ridge):
    def fit(self, X, y, sample_weight=None):
        if len(X) > 60 and y.sum() > Y.sum() + 8:
            raise ValueError("too large")
        return super().fit(X, y, sample_weight)


class FromGlobal(Ridge):
    def fit(self, X, y, sample_weight=None):
        noise = np.random.normal(size=len(y))  # noqa: NPY002
        return super().fit(X, y + noise, sample_weight)


def failing():
    settings = {**FEW, "n_draws": 20, "calibration": None}
    return nb.PosteriorRegressor(FailsOnImputedRows(), **settings)


CASES = {
    "fit": lambda: failing().fit(X, Y),
    "cross-validation": lambda: cross_val_score(failing(), X, Y, cv=[(np.arange(60), [0, 1])]),
    "global generator": lambda: nb.PosteriorRegressor(FromGlobal(), **FEW).fit(X, Y),
    "bootstrap": lambda: nb.PosteriorClassifier(
        LogisticRegression(), method="bootstrap", n_draws=20, random_state=0
    ).fit(X, np.arange(60) == 0),
}


@pytest.mark.parametrize("case", CASES)
def test_a_warning_names_the_line_of_the_user(case):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        CASES[case]()
    ours = [each for each in seen if each.category.__module__.startswith("nearbayes")]
    assert ours
    assert {each.filename for each in ours} == {__file__}


def test_all_warnings_go_through_one_door():
    root = Path(nb.__file__).parent
    for path in root.rglob("*.py"):
        calls = [
            node
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"
        ]
        assert not calls or path.name == "telling.py", path


def test_a_script_without_a_main_guard_runs_once(tmp_path):
    """As on macOS and Windows, where processes are started afresh."""
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing\n"
        "multiprocessing.set_start_method('spawn', force=True)\n"
        "print('once', flush=True)\n"
        "import numpy as np, nearbayes as nb\n"
        "from sklearn.linear_model import Ridge\n"
        "X = np.random.default_rng(0).normal(size=(30, 2))\n"
        "model = nb.PosteriorRegressor(Ridge(), n_draws=2, n_refits=1, n_jobs=-1)\n"
        "print(model.fit(X, X[:, 0]).predict(X[:1]).shape, flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split("\n") == ["once", "(1,)", ""]
