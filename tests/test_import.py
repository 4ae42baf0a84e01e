"""What `import nearbayes` loads, and how long it takes."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nearbayes

BLOCKED = "import sys; sys.modules.update(dict.fromkeys(['pandas', 'pyarrow', 'jax']))"
TIMED = "{}; import os; t = os.times(); print(t.user + t.system)"


def output(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_pandas_and_pyarrow_are_not_needed():
    """scikit-learn imports pandas where it is installed; nearbayes does not."""
    loaded = "print(sorted(m for m in sys.modules if 'pyarrow.' in m))"
    code = f"{BLOCKED}; from nearbayes import *; {loaded}"
    assert output(code) == "[]\n"


@pytest.mark.slow
def test_the_import_takes_little_more_than_that_of_scikit_learn():
    times = {"import sklearn.ensemble": [], "from nearbayes import *": []}
    for _ in range(5):  # in turn, as machines have moods
        for code, found in times.items():
            found.append(float(output(TIMED.format(code))))
    theirs, ours = map(min, times.values())
    assert ours <= 1.3 * theirs, (times, os.cpu_count())


def test_names_are_loaded_when_they_are_first_used():
    code = "import nearbayes, sys; print(len([m for m in sys.modules if m.startswith('numpy')]))"
    assert output(code) == "0\n"


def test_every_public_name_comes_from_where_the_type_checker_looks():
    tree = ast.parse(Path(nearbayes.__file__).read_text())
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    for node in typed.body:
        for alias in node.names:
            module = importlib.import_module(node.module)
            assert getattr(nearbayes, alias.name) is getattr(module, alias.name)
    said = {alias.name for node in typed.body for alias in node.names}
    assert said == set(nearbayes.__all__)
