"""LightGBM models in LightGBM's text format; LightGBM reads text rewritten by `lightgbm_text`."""

from __future__ import annotations

from typing import Any

import lightgbm
from lightgbm.compat import _LGBMLabelEncoder

from nearbayes.files.arrays import (
    NotSaveable,
    labels_of,
    labels_record,
    plain_of,
    plain_record,
)
from nearbayes.files.container import Members
from nearbayes.files.lightgbm_text import Text, checked_text
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.files.tamed import tamed_params

__all__ = ["dump", "load"]

CLASSES = {"LGBMClassifier": lightgbm.LGBMClassifier, "LGBMRegressor": lightgbm.LGBMRegressor}
# Fitted attributes besides the trees. They are private: LightGBM has no public way to set them.
FITTED = (
    *("_best_iteration", "_evals_result", "_fitted_with_feature_names", "_n_classes"),
    *("_n_features", "_n_features_in", "_objective", "fitted_"),
)
TEXT_FACTOR = 8  # bytes of Python objects for a byte of the text


def dump(model: Any, members: Members) -> dict[str, Any]:
    """Record of the model; the trees of a fitted model are added to `members`."""
    params = {key: _param(key, value, members) for key, value in model.get_params().items()}
    record: dict[str, Any] = {"class": type(model).__name__, "params": params, "trees": None}
    if model.__sklearn_is_fitted__():
        booster = model.booster_
        # all trees, including those after the best iteration
        text = booster.model_to_string(num_iteration=-1)
        checked_text(text.encode(), NotSaveable)
        record["trees"] = members.add("models", text.encode(), "lightgbm")
        fitted = {key: vars(model)[key] for key in FITTED if key in vars(model)}
        record["fitted"] = plain_record(fitted, members, "a fitted LightGBM model")
        scores = {name: dict(each) for name, each in model._best_score.items()}
        record["best_score"] = plain_record(scores, members, "best_score of a LightGBM model")
        record["classes"] = labels_record(getattr(model, "_classes", None))
    return record


def load(record: Any, read: Reader) -> Any:
    """Inverse of `dump`."""
    params = {key: plain_of(value, read) for key, value in record["params"].items()}
    model = CLASSES[str(record["class"])](**tamed_params(params))
    if record["trees"] is None:
        return model
    found = checked_text(read(record["trees"], TEXT_FACTOR), FileRefused)
    fitted = plain_of(record["fitted"], read)
    _check_fitted(fitted, found)
    booster = lightgbm.Booster(model_str=found.text)
    model.__dict__.update({key: fitted[key] for key in FITTED if key in fitted})
    booster.best_iteration = model._best_iteration
    booster.best_score = model._best_score = plain_of(record["best_score"], read)
    model._Booster, model._class_weight = booster, model.class_weight
    classes = labels_of(record["classes"], read)
    if classes is not None:
        model._le = _LGBMLabelEncoder().fit(classes)
        model._classes = model._le.classes_
        model._class_map = dict(zip(classes, range(len(classes)), strict=True))
    return model


def _param(key: str, value: Any, members: Members) -> Any:
    if callable(value):
        raise NotSaveable(
            f"{key} of a LightGBM model is a function, which cannot be saved: use one of "
            "LightGBM's own by name."
        )
    return plain_record(value, members, f"{key} of a LightGBM model")


def _check_fitted(fitted: Any, found: Text) -> None:
    """Refuse attributes that do not match the trees, or have a wrong type."""
    kinds = {
        **dict.fromkeys(("_best_iteration", "_n_classes", "_n_features", "_n_features_in"), int),
        "_fitted_with_feature_names": bool,
        "fitted_": bool,
        "_objective": str,
    }
    for name, kind in kinds.items():
        if name in fitted and type(fitted[name]) is not kind:
            raise FileRefused(f"{name} of a LightGBM model must be of type {kind.__name__}.")
    for name in ("_n_features", "_n_features_in"):
        if fitted.get(name, found.n_features) != found.n_features:
            raise FileRefused("a LightGBM model has another number of features than its trees.")
    n_classes = fitted.get("_n_classes", -1)
    if n_classes > 2 and n_classes != found.n_classes:
        raise FileRefused("a LightGBM model has another number of classes than its trees.")
