"""Loading: a saved posterior estimator, from a file that is not trusted."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import numpy as np

from nearbayes.algorithms.estimators import ClassifierAlgorithm
from nearbayes.core import inputs
from nearbayes.core.posterior import Posterior
from nearbayes.core.schedule import Schedule
from nearbayes.estimators.classifier import PosteriorClassifier
from nearbayes.estimators.regressor import PosteriorRegressor
from nearbayes.files.arrays import Read, array_of, labels_of, plain_of
from nearbayes.files.container import Archive, FileRefused, refusing
from nearbayes.files.describe import MOST_MEGABYTES
from nearbayes.files.draws import estimator_of
from nearbayes.files.manifest import Record, check_format
from nearbayes.files.posterior_record import posterior_of
from nearbayes.files.versions import warn_of_other_versions
from nearbayes.fits.left_out import LeftOut

__all__ = ["load"]

Model = PosteriorClassifier | PosteriorRegressor
KINDS: dict[str, type[Model]] = {
    "PosteriorClassifier": PosteriorClassifier,
    "PosteriorRegressor": PosteriorRegressor,
}
SOURCES = {"Urn": inputs.Urn, "KDE": inputs.KDE, "Uniform": inputs.Uniform}
MOST_FEATURES = 100_000_000


def load(
    path: str | os.PathLike[str],
    *,
    trusted: Collection[str] = (),
    max_megabytes: float = MOST_MEGABYTES,
) -> Any:
    """Load what `model.save` or `posterior.save` has written. No code of the file is run.

    The model predicts bit for bit as the saved one. It can be fitted again, but its draws cannot
    be refitted: the file has no rows.

    Parameters
    ----------
    path : path
    trusted : collection of str
        Full names of types to allow beside those of `nearbayes.files.allowed`: as given to `save`.
        Only for files that you trust.
    max_megabytes : float
        Refuse files that unpack to more.

    Raises
    ------
    nearbayes.files.FileRefused
        If the file is damaged, made to do harm, or of a later version; a `ValueError`.

    Examples
    --------
    >>> import tempfile, nearbayes as nb
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = nb.PosteriorClassifier(GaussianNB(), n_draws=5, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     loaded = nb.load(model.save(f"{folder}/iris.nearbayes"))
    >>> bool((loaded.predict_interval(X) == model.predict_interval(X)).all())
    True
    """
    with Archive(path, max_megabytes) as archive, refusing(archive.path):
        manifest = Record(archive.manifest, "manifest")
        check_format(manifest)
        model = _model_of(manifest, archive.read, trusted)
        versions = manifest.texts("versions")
    warn_of_other_versions(versions)
    return model


def _model_of(manifest: Record, read: Read, trusted: Collection[str]) -> Model | Posterior:
    if manifest.get("kind") == "Posterior":
        return posterior_of(manifest.record("posterior"), read, trusted)
    kind = KINDS[manifest.text("kind", tuple(KINDS))]
    model = kind(**_params_of(manifest.record("params"), read, trusted))
    columns = manifest.record("inputs")
    model.n_features_in_ = columns.whole("n_features", 0, MOST_FEATURES)
    names = labels_of(columns.get("feature_names"))
    if names is not None:
        model.feature_names_in_ = _as_many(names, model.n_features_in_)
    model.posterior_ = posterior_of(manifest.record("posterior"), read, trusted)
    if "schedule" in manifest:
        model.schedule_ = _schedule_of(manifest.record("schedule"))
    if "schedule_scores" in manifest:
        model.schedule_scores_ = manifest.numbers("schedule_scores", low=-1e300)
    classifies = isinstance(model, PosteriorClassifier)
    if isinstance(model.posterior_.algorithm, ClassifierAlgorithm) != classifies:
        raise FileRefused(f"its draws are not those of a {type(model).__name__}.")
    if classifies:
        model.classes_ = model.posterior_.algorithm.classes
        return model
    model.noise_factor_ = manifest.number("noise_factor")
    if "conformal" in manifest:
        model.conformal_ = _conformal_of(manifest.record("conformal"), read)
    return model


def _as_many(names: Any, n_features: int) -> Any:
    if len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise FileRefused(f"it names {len(names)} of {n_features} features.")
    return names


def _params_of(record: Record, read: Read, trusted: Collection[str]) -> dict[str, Any]:
    special = {
        "estimator": estimator_of(record, read, trusted),
        "inputs": _source_of(record, read),
        "schedule": record.get("schedule"),
    }
    if not (special["schedule"] is None or isinstance(special["schedule"], str)):
        special["schedule"] = _schedule_of(record.record("schedule"))
    rest = {
        name: plain_of(value, read) for name, value in record.entries.items() if name not in special
    }
    return {**special, **rest}


def _source_of(record: Record, read: Read) -> Any:
    if not isinstance(record.get("inputs"), dict):
        return record.get("inputs")
    source = record.record("inputs")
    if "left_out" in source:
        return LeftOut("inputs", source.text("left_out"))
    return SOURCES[source.text("kind", tuple(SOURCES))](**plain_of(source.get("values"), read))


def _schedule_of(record: Record) -> Schedule:
    """A schedule; whole numbers stay whole, as they mean rows."""
    if "refits" in record:
        return Schedule.optimal(record.whole("refits", 0, 1_000_000))
    amounts = {}
    for name in ("horizon", "block"):
        is_whole = isinstance(record.get(name), int)
        amounts[name] = record.whole(name, 1) if is_whole else record.number(name)
    return Schedule.arithmetic(**amounts)


def _conformal_of(record: Record, read: Read) -> Any:
    try:
        from crepes import ConformalRegressor
    except ImportError as missing:
        raise ImportError(
            "this file holds a conformal layer: pip install 'nearbayes[conformal]'."
        ) from missing
    alphas = array_of(read(record.text("alphas")), "f")
    # scores of residuals whose sizes are 1: the same scores
    layer = ConformalRegressor().fit(residuals=alphas, sigmas=np.ones(len(alphas)))
    layer.alphas = alphas
    return layer
