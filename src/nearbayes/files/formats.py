"""Formats: which way a model of each library goes into a file.

XGBoost and LightGBM in their own formats, our Gaussian processes as arrays, scikit-learn through
skops, a scikit-learn pipeline that ends in one of the former as both.
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
EXTRAS = {"nearbayes": "jax"}  # of the same name as the library otherwise


def save_model(model: Any, members: Members, trusted: Collection[str] = ()) -> dict[str, Any]:
    """A record of a fitted or unfitted estimator; what is large goes into `members`."""
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
    """Undo `save_model`."""
    kind = record["format"]
    if kind in NATIVE:
        return _native(kind).load(record, read)
    if kind == "pipeline":
        model = load_model(record["steps"], read, trusted)
        if type(model) is not Pipeline:
            raise FileRefused("a pipeline in it is none.")
        model.steps[-1] = (model.steps[-1][0], load_model(record["last"], read, trusted))
        return model
    if kind == "skops":
        from nearbayes.files import sklearn_format

        return sklearn_format.load(read(record["data"]), trusted)
    raise FileRefused(f"a model is in the unknown format {str(kind)[:40]!r}.")


def _check_type(model: Any, trusted: Collection[str]) -> None:
    """Refuse models of unknown types by name, before skops looks into them."""
    from nearbayes.files.allowed import ALLOWED, type_name

    name = type_name(type(model))
    if name in ALLOWED["ObjectNode"] or name in trusted:
        return
    if _library(model) == "autogluon":
        advice = (
            "AutoGluon keeps its models in folders, as pickles: fit with predict_on=X and save "
            "the predictions, or keep the model in memory"
        )
    else:
        advice = (
            "fit with predict_on=X and save the predictions, or, if it is made of plain "
            f"attributes and you know it to be harmless, use trusted=[{name!r}], on save and on "
            "load"
        )
    raise NotSaveable(f"{name} is not among the models that nearbayes saves: {advice}.")


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
            f"this file holds models of {library}: pip install "
            f"'nearbayes[{EXTRAS.get(library, library)}]'."
        ) from missing


def _library(model: Any) -> str:
    return type(model).__module__.partition(".")[0]
