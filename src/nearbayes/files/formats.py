"""Formats: how models of each library are stored in a file.

XGBoost and LightGBM use their own formats, Gaussian processes of nearbayes arrays, scikit-learn
skops. A pipeline that ends in one of the former uses both.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

from sklearn.pipeline import Pipeline

from nearbayes.files.arrays import NotSaveable, Read
from nearbayes.files.container import FileRefused, Members

__all__ = ["load_model", "save_model"]

NATIVE = {
    "xgboost": ("XGBClassifier", "XGBRegressor"),
    "lightgbm": ("LGBMClassifier", "LGBMRegressor"),
    "nearbayes": ("EmpiricalBayesGP",),
}
EXTRAS = {"nearbayes": "jax"}  # other extras have the name of the library


def save_model(model: Any, members: Members, trusted: Collection[str] = ()) -> dict[str, Any]:
    """Record of a fitted or unfitted estimator; large parts are added to `members`."""
    library = _library(model)
    if type(model).__name__ in NATIVE.get(library, ()):
        return {"format": library, **_native(library).dump(model, members)}
    if type(model) is Pipeline and _library(model.steps[-1][1]) in NATIVE:
        rest = copy.copy(model)
        (name, last) = model.steps[-1]
        rest.steps = [*model.steps[:-1], (name, "passthrough")]
        steps, last_record = (save_model(part, members, trusted) for part in (rest, last))
        return {"format": "pipeline", "steps": steps, "last": last_record}
    _check_type(model, trusted)
    from nearbayes.files import sklearn_format

    return {
        "format": "skops",
        "data": members.add("models", sklearn_format.dump(model, trusted), "skops"),
    }


def load_model(record: Any, read: Read, trusted: Collection[str] = ()) -> Any:
    """Inverse of `save_model`."""
    kind = record["format"]
    if kind in NATIVE:
        return _native(kind).load(record, read)
    if kind == "pipeline":
        model = load_model(record["steps"], read, trusted)
        if type(model) is not Pipeline:
            raise FileRefused(f"a pipeline has the type {type(model).__name__}.")
        model.steps[-1] = (model.steps[-1][0], load_model(record["last"], read, trusted))
        return model
    if kind == "skops":
        from nearbayes.files import sklearn_format

        return sklearn_format.load(read(record["data"]), trusted)
    raise FileRefused(f"a model has the unknown format {str(kind)[:40]!r}.")


def _check_type(model: Any, trusted: Collection[str]) -> None:
    """Refuse models of unknown types, before skops inspects them."""
    from nearbayes.files.allowed import ALLOWED, type_name

    name = type_name(type(model))
    if name in ALLOWED["ObjectNode"] or name in trusted:
        return
    if _library(model) == "autogluon":
        advice = (
            "AutoGluon stores its models in folders, as pickles. Fit with predict_on=X to save "
            "only the predictions"
        )
    else:
        advice = (
            "fit with predict_on=X to save only the predictions, or, if you know that it is "
            f"harmless and has plain attributes, pass trusted=[{name!r}] on save and on load"
        )
    raise NotSaveable(f"{name} is not a model that nearbayes can save: {advice}.")


def _native(library: str) -> Any:
    try:
        if library == "xgboost":
            from nearbayes.files import xgboost_format

            return xgboost_format
        if library == "nearbayes":
            from nearbayes.files import gp_format

            return gp_format
        from nearbayes.files import lightgbm_format

        return lightgbm_format
    except ImportError as missing:
        raise ImportError(
            f"models of {library} need an optional package: pip install "
            f"'nearbayes[{EXTRAS.get(library, library)}]'."
        ) from missing


def _library(model: Any) -> str:
    return type(model).__module__.partition(".")[0]
