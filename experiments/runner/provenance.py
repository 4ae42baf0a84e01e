"""Provenance: what it takes to measure a record again, beside the records and as their keys.

A record has the commit, a key of the versions of Python and packages (`environments.json`), a key
of the full settings (`full_settings.json`) and a hash of its data. Records made before that have
their commit alone.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import nearbayes
from experiments.runner.checkout import Checkout

KEY_LENGTH = 12
ENVIRONMENTS = "environments.json"
FULL_SETTINGS = "full_settings.json"
PACKAGES = (  # what can change a measurement, under the name that pip knows it by
    *("numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "joblib", "threadpoolctl"),
    *("narwhals", "scoringrules", "xgboost", "xgboost-cpu", "lightgbm", "catboost", "ngboost"),
    *("mapie", "quantile-forest", "stochtree", "hessboost", "crepes"),
    *("autogluon.tabular", "autogluon.core"),
    *("jax", "jaxlib", "equinox", "optax", "tinygp", "torch", "laplace-torch", "scikit-posthocs"),
    *("networkx", "dowhy"),
)


@dataclass(frozen=True)
class Origin:
    """Where the records of one run come from.

    Attributes
    ----------
    checkout : Checkout
    commit : str
        What was checked out when the run began, which is what Python has loaded.
    environment, settings : str
        Keys in the files beside the records.
    """

    checkout: Checkout
    commit: str
    environment: str
    settings: str

    @classmethod
    def begin(cls, folder: Path, settings: Mapping[str, Any], checkout: Checkout) -> Origin:
        """Keep versions and settings in the folder of the records, and note the commit."""
        environment = keep(folder / ENVIRONMENTS, versions())
        return cls(checkout, checkout.commit, environment, keep(folder / FULL_SETTINGS, settings))

    def stamp(self) -> dict[str, str]:
        """Commit, keys and time; the commit gets a plus sign if files changed during the run."""
        known = self.commit.endswith("+") or not self.checkout.objection(since=self.commit)
        return {
            "commit": self.commit if known else f"{self.commit}+",
            "environment": self.environment,
            "settings": self.settings,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }


def versions() -> dict[str, str]:
    """Versions of Python, nearbayes and the packages that are installed, and the machine."""
    found = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "nearbayes": nearbayes.__version__,
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def keep(path: Path, content: Mapping[str, Any]) -> str:
    """Add content to a file of JSON unless it is there, and give its key."""
    text = json.dumps(content, sort_keys=True, default=str)
    key = short_hash(text.encode())
    with _locked(path.parent):
        kept = json.loads(path.read_text()) if path.exists() else {}
        if key not in kept:
            kept[key] = json.loads(text)
            half_written = path.with_suffix(".tmp")
            half_written.write_text(json.dumps(kept, indent=1) + "\n")
            half_written.replace(path)
    return key


def short_hash(content: bytes) -> str:
    """The beginning of the SHA-256 of the content, as `sha256sum` prints it."""
    return hashlib.sha256(content).hexdigest()[:KEY_LENGTH]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Other runs into the same folder wait."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
