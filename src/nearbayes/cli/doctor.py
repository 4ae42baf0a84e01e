"""Doctor: what is installed, what the machine has, and whether all of it works, in seconds.

It needs only the core of nearbayes, because it reports missing extras.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import joblib

from nearbayes import __version__
from nearbayes.cli.console import Speaker

__all__ = ["examine"]

REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,.-]+\])?(?P<wanted>[^;]*)(?:;(?P<when>.*))?")
EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")
FOR_DEVELOPERS = ("dev", "experiments", "test")
STANDS_IN = {"xgboost": "xgboost-cpu"}  # the same library, as another package
GIGABYTE = 1e9
WORKS = "works"
Found = dict[str, Any]


def examine(speaker: Speaker) -> Found:
    """Show what is installed and what works; "failed" lists what does not."""
    machine = _machine()
    speaker.table("nearbayes and the machine", {"": list(machine), " ": list(machine.values())})
    extras = list(_extras())
    speaker.table(
        "Optional packages",
        {
            "extra": [each["extra"] for each in extras],
            "installed": [", ".join(each["installed"]) for each in extras],
            "to install": [each["install"] for each in extras],
        },
    )
    tests = [_tested(name, test) for name, test in _tests()]
    speaker.table(
        "Self-test",
        {
            "what": [each["what"] for each in tests],
            "result": [each["result"] for each in tests],
            "seconds": [each["seconds"] for each in tests],
        },
    )
    failed = [f"{each['what']}: {each['result']}" for each in tests if each["result"] != WORKS]
    speaker.say("Something does not work." if failed else "All of it works.")
    return {"machine": machine, "extras": extras, "tests": tests, "failed": failed}


def _machine() -> dict[str, str]:
    """Versions, cores, memory and disk, for people."""
    core = [name for name, _, extra in _requirements() if not extra]
    memory, free = _memory()
    threads = {name: os.environ[name] for name in THREADS if name in os.environ}
    return {
        "nearbayes": f"{__version__} in {Path(__file__).parents[1]}",
        "Python": f"{platform.python_version()} in {sys.prefix}",
        "system": platform.platform(),
        "packages": ", ".join(f"{name} {_version(name)}" for name in core),
        "cores": f"{joblib.cpu_count()} for this process, {os.cpu_count()} in the machine",
        "memory": f"{memory / GIGABYTE:.1f} GB, {free / GIGABYTE:.1f} GB free" if memory else "?",
        "temporary files": f"{_disk() / GIGABYTE:.1f} GB free in {tempfile.gettempdir()}",
        "threads set by": ", ".join(f"{name}={value}" for name, value in threads.items()) or "none",
    }


THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


def _memory() -> tuple[float, float]:
    """Bytes of memory, and of those the ones that are free; zeros where nobody knows."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        whole = float(page * os.sysconf("SC_PHYS_PAGES"))
        free = float(page * os.sysconf("SC_AVPHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # Windows, macOS
        return 0.0, 0.0
    said = Path("/proc/meminfo")
    if said.exists():  # with the memory that caches would give back
        found = re.search(r"MemAvailable:\s+(\d+) kB", said.read_text())
        free = 1024.0 * int(found[1]) if found else free
    return whole, free


def _disk() -> int:
    return shutil.disk_usage(tempfile.gettempdir()).free


def _requirements() -> Iterator[tuple[str, str, str]]:
    """Package, wanted version and extra of each requirement of nearbayes."""
    for text in requires("nearbayes") or ():
        found = REQUIREMENT.fullmatch(text)
        if found is not None:
            extra = EXTRA.search(found["when"] or "")
            yield found["name"], found["wanted"].strip(), extra[1] if extra else ""


def _extras() -> Iterator[dict[str, Any]]:
    """Each extra with what is installed of it, and how to install what is not."""
    wanted: dict[str, list[str]] = {}
    for name, _, extra in _requirements():
        if extra and extra not in FOR_DEVELOPERS and name != "nearbayes":
            wanted.setdefault(extra, []).append(name)
    for extra, names in sorted(wanted.items()):
        there = [f"{name} {_version(name)}" for name in names if _version(name)]
        install = "" if len(there) == len(names) else f"pip install 'nearbayes[{extra}]'"
        yield {"extra": extra, "installed": there, "install": install}


def _version(name: str) -> str:
    """Version of an installed package, or an empty string."""
    try:
        return version(name)
    except PackageNotFoundError:
        return _version(STANDS_IN[name]) if name in STANDS_IN else ""


def _tested(what: str, test: Callable[[], None]) -> Found:
    started = time.perf_counter()
    try:
        test()
        result = WORKS
    except Exception as error:  # for any error of a broken installation
        result = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return {"what": what, "result": result, "seconds": round(time.perf_counter() - started, 1)}


def _tests() -> Iterator[tuple[str, Callable[[], None]]]:
    """Tests: the core, and each installed library."""
    yield "posterior of a coin is the exact one", _coin
    yield "classifier, in this process and in two", _processes
    if _version("skops"):
        yield "saving and loading", _saving
    for package, test in LIBRARIES.items():
        if _version(package):
            yield package, test


def _coin() -> None:
    import nearbayes as nb

    coin = nb.SequentialMLE(nb.families.Bernoulli())
    posterior = nb.martingale_posterior(coin, [0, 1] * 20, n_draws=2000, random_state=0)
    sd = float(posterior.apply(lambda p: p[0]).std)
    exact = (0.25 / 41) ** 0.5
    if abs(sd / exact - 1) > 0.1:
        raise ValueError(f"its standard deviation is {sd:.4f} instead of {exact:.4f}")


def _data() -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, (X[:, 0] + rng.normal(size=60) > 0).astype(int)


def _processes() -> None:
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    import nearbayes as nb

    X, y = _data()
    settings: dict[str, Any] = {"n_draws": 4, "n_refits": 2, "random_state": 0, "progress": False}
    one, two = (
        nb.PosteriorClassifier(LogisticRegression(), n_jobs=jobs, **settings).fit(X, y)
        for jobs in (1, 2)
    )
    if not np.array_equal(one.posterior_.predict(X), two.posterior_.predict(X)):
        raise ValueError("two processes make other draws than one")


def _saving() -> None:
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    import nearbayes as nb

    X, y = _data()
    model = nb.PosteriorClassifier(LogisticRegression(), n_draws=2, random_state=0, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        again = nb.load(model.fit(X, y).save(Path(folder) / "model.nearbayes"))
    if not np.array_equal(again.predict_proba(X), model.predict_proba(X)):
        raise ValueError("a model predicts otherwise after loading")


def _drawn(estimator: Any) -> None:
    import nearbayes as nb

    X, y = _data()
    settings: dict[str, Any] = {"n_draws": 2, "n_refits": 1, "calibration": None}
    model = nb.PosteriorClassifier(estimator, **settings, random_state=0, progress=False)
    model.fit(X, y).predict_interval(X)


def _xgboost() -> None:
    from xgboost import XGBClassifier

    _drawn(XGBClassifier(n_estimators=5, n_jobs=1))


def _lightgbm() -> None:
    from lightgbm import LGBMClassifier

    _drawn(LGBMClassifier(n_estimators=5, n_jobs=1, verbosity=-1))


def _catboost() -> None:
    from catboost import CatBoostClassifier

    few: dict[str, Any] = {"iterations": 5, "thread_count": 1, "allow_writing_files": False}
    _drawn(CatBoostClassifier(**few, verbose=False))


def _jax() -> None:
    """A posterior would take ten seconds to compile."""
    import jax.numpy as jnp

    float(jnp.linalg.cholesky(jnp.eye(3)).sum())


def _torch() -> None:
    import torch

    float(torch.func.vmap(torch.sum)(torch.ones(2, 3)).sum())


LIBRARIES: dict[str, Callable[[], None]] = {
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "catboost": _catboost,
    "jax": _jax,
    "torch": _torch,
}
