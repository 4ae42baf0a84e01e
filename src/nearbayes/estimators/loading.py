"""Loading: a saved posterior estimator or causal model, from a file that is not trusted."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from typing import IO, Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from nearbayes.core import inputs
from nearbayes.core.posterior import Posterior
from nearbayes.estimators.classifier import PosteriorClassifier
from nearbayes.estimators.column_reader import column_reader
from nearbayes.estimators.face import PosteriorEstimator
from nearbayes.estimators.regressor import PosteriorRegressor
from nearbayes.estimators.saving import OF_ONE_MACHINE
from nearbayes.estimators.simulated import SimulatedSets
from nearbayes.estimators.truth import Reference
from nearbayes.files.arrays import array_of, labels_of, plain_of
from nearbayes.files.causal_file import CAUSAL_KINDS, causal_of
from nearbayes.files.container import Archive
from nearbayes.files.draws import estimator_of, estimators_of
from nearbayes.files.formats import load_model
from nearbayes.files.manifest import Record, check_format
from nearbayes.files.posterior_record import posterior_of
from nearbayes.files.reader import Reader, megabytes_allowed
from nearbayes.files.refusal import FileRefused, refusing
from nearbayes.files.run_records import schedule_of
from nearbayes.files.tamed import tamed_params
from nearbayes.files.versions import warn_of_other_versions
from nearbayes.fits.left_out import LeftOut
from nearbayes.tables.row_prints import RowPrints

__all__ = ["load"]

Model = PosteriorClassifier | PosteriorRegressor
KINDS: dict[str, type[Model]] = {
    "PosteriorClassifier": PosteriorClassifier,
    "PosteriorRegressor": PosteriorRegressor,
}
SOURCES = {"Urn": inputs.Urn, "KDE": inputs.KDE, "Uniform": inputs.Uniform}
MOST_FEATURES = 100_000_000


def load(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    trusted: Collection[str] = (),
    max_megabytes: float | None = None,
    on_disk: bool = False,
) -> Any:
    """Load a file written by `model.save` or `posterior.save`. No code of the file is run.

    The model predicts exactly as the saved one, bit for bit. It can be fitted again, but its draws
    cannot be refitted: the file has no rows.

    Parameters
    ----------
    path : path, or stream of bytes
    trusted : collection of str
        Full names of types to allow in addition to `nearbayes.files.allowed`, as passed to `save`.
        Only for files that you trust.
    max_megabytes : float, optional
        Refuse files that need more memory when unpacked or loaded: a small file can request much
        memory. By default the environment variable NEARBAYES_MAX_MEGABYTES, else 1,000.
    on_disk : bool
        Leave the models of draws in the file and read each when it predicts, so that only one is
        in memory at a time; `max_megabytes` then applies to each. Prediction takes longer because
        of the reading: pass many rows at a time. The file stays open.

    Raises
    ------
    nearbayes.files.FileRefused
        If the file is damaged, malicious, or of a later version; a `ValueError`.

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
    limit = megabytes_allowed(max_megabytes)
    archive = Archive(path, limit, whole=not on_disk)
    try:
        with refusing(archive.path):
            manifest = Record(archive.manifest, "manifest")
            check_format(manifest)
            model = _model_of(manifest, Reader(archive.read, limit, on_disk), trusted)
            versions = manifest.texts("versions")
            if isinstance(model, PosteriorEstimator):
                model.column_reader_ = column_reader(archive)
    except BaseException:
        archive.close()
        raise
    if not on_disk:  # otherwise it stays open while there are draws
        archive.close()
    warn_of_other_versions(versions)
    return model


def _model_of(manifest: Record, read: Reader, trusted: Collection[str]) -> Any:
    if manifest.get("kind") == "Posterior":
        return posterior_of(manifest.record("posterior"), read, trusted)
    if manifest.get("kind") in CAUSAL_KINDS:
        return causal_of(manifest, read, trusted)
    kind = KINDS[manifest.text("kind", tuple(KINDS))]
    model = kind(**_params_of(manifest.record("params"), read, trusted))
    columns = manifest.record("inputs")
    model.n_features_in_ = columns.whole("n_features", 0, MOST_FEATURES)
    names = labels_of(columns.get("feature_names"), read)
    if names is not None:
        model.feature_names_in_ = _as_many(names, model.n_features_in_)
    posterior = posterior_of(manifest.record("posterior"), read, trusted)
    model.posterior_ = replace(posterior, truths=_simulated_of(manifest, posterior, read, trusted))
    if "schedule" in manifest:
        model.schedule_ = schedule_of(manifest.record("schedule"))
    if "schedule_scores" in manifest:
        model.schedule_scores_ = manifest.numbers("schedule_scores", low=-1e300)
    if "row_prints" in manifest:
        model.row_prints_ = _prints_of(manifest.record("row_prints"), read)
    classifies = isinstance(model, PosteriorClassifier)
    if (getattr(model.posterior_.algorithm, "classes", None) is not None) != classifies:
        raise FileRefused(f"its draws are not those of a {type(model).__name__}.")
    if classifies:
        model.classes_ = model.posterior_.algorithm.classes
        return model
    model.noise_factor_ = manifest.number("noise_factor")
    if "conformal" in manifest:
        model.conformal_ = _conformal_of(manifest.record("conformal"), read)
    return model


def _prints_of(record: Record, read: Reader) -> RowPrints:
    kept = array_of(read(record.text("kept")), "u")
    if kept.ndim != 1 or kept.dtype != np.uint64 or not (kept[1:] >= kept[:-1]).all():
        raise FileRefused("its prints of rows are not sorted hashes.")
    return RowPrints(kept, record.number("alike", 0.0, 1.0))


def _as_many(names: Any, n_features: int) -> Any:
    if len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise FileRefused(f"it names {len(names)} of {n_features} features.")
    return names


def _params_of(record: Record, read: Reader, trusted: Collection[str]) -> dict[str, Any]:
    special = {
        "estimator": estimator_of(record, read, trusted),
        "inputs": _source_of(record, read),
        "schedule": record.get("schedule"),
    }
    if not (special["schedule"] is None or isinstance(special["schedule"], str)):
        special["schedule"] = schedule_of(record.record("schedule"))
    rest = {
        name: plain_of(value, read)
        for name, value in record.entries.items()
        if name not in special and name not in OF_ONE_MACHINE
    }
    return {**special, **tamed_params(rest)}


def _source_of(record: Record, read: Reader) -> Any:
    if not isinstance(record.get("inputs"), dict):
        return record.get("inputs")
    source = record.record("inputs")
    if "left_out" in source:
        return LeftOut("inputs", source.text("left_out"))
    return SOURCES[source.text("kind", tuple(SOURCES))](**plain_of(source.get("values"), read))


def _simulated_of(
    manifest: Record, posterior: Posterior, read: Reader, trusted: Collection[str]
) -> SimulatedSets | None:
    """Draws of simulated data sets and their truth, if they were saved."""
    if "simulated" not in manifest or posterior.calibration is None:
        return None
    record = manifest.record("simulated")
    draws = [estimators_of(_as_list(each), read, trusted) for each in record.many("draws")]
    if len(draws) != len(posterior.calibration.ratios) or len({len(each) for each in draws}) != 1:
        raise FileRefused("its simulated data sets do not fit its calibration.")
    if len(draws[0]) < 2:
        raise FileRefused("its simulated data sets must have 2 draws or more.")
    learned = load_model(record.get("learned"), read, trusted) if "learned" in record else None
    truth = _truth_of(record.record("truth"), posterior, read, trusted)
    return SimulatedSets(tuple(draws), truth, learned, posterior.calibration)


def _truth_of(record: Record, posterior: Posterior, read: Reader, trusted: Collection[str]) -> Any:
    if "fitted" in record:
        return load_model(record.get("fitted"), read, trusted)
    classes = getattr(posterior.algorithm, "classes", None)
    n_scores = 1 if classes is None else len(classes)
    trees = load_model(record.get("trees"), read, trusted)
    parts = estimators_of(record.many("bias"), read, trusted)
    columns = Record(dict(enumerate(record.many("columns"))), "columns")
    places = [columns.whole(i, 0, n_scores - 1) for i in columns.entries]
    kind = HistGradientBoostingRegressor if classes is None else HistGradientBoostingClassifier
    right = all(isinstance(each, HistGradientBoostingRegressor) for each in parts)
    if not isinstance(trees, kind) or not right or len(places) != len(parts):
        raise FileRefused("the truth of its simulated data sets is not made of boosted trees.")
    bias = dict(zip(places, parts, strict=True))
    labels = getattr(posterior.algorithm, "labels", None)
    return Reference(trees, bias, classes).as_estimator(labels)


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise FileRefused("its simulated data sets must be lists of draws.")
    return value


def _conformal_of(record: Record, read: Reader) -> Any:
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
