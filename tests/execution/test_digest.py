"""Digests: equal values agree, in every process; others differ."""

import os
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearbayes.execution.digest import digest


def frame(last=2.0):
    return pd.DataFrame({"x": [1.0, last], "c": pd.Categorical(["a", "b"])})


def adds(number):
    return lambda x: x + number


DIFFERENT = [
    (1, 1.0),
    ([1, 2], (1, 2)),
    (np.arange(3), np.arange(3.0)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (frame(), frame(3.0)),
    (Ridge(1.0), Ridge(2.0)),
    (make_pipeline(StandardScaler(), Ridge()), make_pipeline(StandardScaler(), Ridge(2.0))),
    (adds(1), adds(2)),
    (partial(np.quantile, q=0.5), partial(np.quantile, q=0.6)),
    (np.mean, np.median),
    (np.random.default_rng(0), np.random.default_rng(1)),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=lambda each: type(each).__name__)
def test_different_values_have_different_digests(one, other):
    assert digest(one) == digest(one)
    assert digest(one) != digest(other)


def test_equal_values_agree_however_they_were_made():
    shared = np.arange(3)
    assert digest([shared, shared]) == digest([np.arange(3), np.arange(3)])
    assert digest(frame()) == digest(frame())
    assert digest(np.arange(6).reshape(2, 3).T) == digest(
        np.ascontiguousarray(np.arange(6).reshape(2, 3).T)
    )


def test_values_that_hold_themselves_end():
    loop = []
    loop.append(loop)
    assert digest(loop) != digest([[]])


PROGRAM = """
from fractions import Fraction
from nearbayes.execution.digest import digest
class Mine(Fraction):
    def fit(self, X, y):
        return X, y + {shift}
print(digest([{{"a", "b", "c"}}, Mine(), lambda x: x in {{"p", "q", "r"}}]))
"""


def test_other_processes_agree_and_edited_methods_do_not():
    found = []
    for shift, seed in [(1, "1"), (1, "2"), (2, "1")]:
        program = [sys.executable, "-c", PROGRAM.format(shift=shift)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        found.append(
            subprocess.run(program, env=environment, capture_output=True, check=True).stdout
        )
    assert found[0] == found[1] != found[2]


class Lazy:
    """What matters of it is its size."""

    def __init__(self, size, noise):
        self.size, self.noise = size, noise

    def decisive_parts(self):
        return self.size


def test_an_object_may_say_what_matters_of_it():
    assert digest([Lazy(3, noise=1)]) == digest([Lazy(3, noise=2)])
    assert digest(Lazy(3, noise=1)) != digest(Lazy(4, noise=1))


def test_tensors_of_torch_are_what_they_hold():
    torch = pytest.importorskip("torch")
    one, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    assert digest(one) != digest(other)
    other.load_state_dict(one.state_dict())
    assert digest(one) == digest(other)
    for values in (torch.ones(3, dtype=torch.bfloat16), torch.ones(()), torch.ones((0, 2))):
        assert digest(values) == digest(values.clone())
        assert digest(values) != digest(values.double())
