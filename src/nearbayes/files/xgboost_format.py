"""XGBoost models in XGBoost's JSON format; XGBoost reads JSON rewritten by `xgboost_json`."""

from __future__ import annotations

from typing import Any

import xgboost

from nearbayes.files.arrays import NotSaveable, plain_of, plain_record
from nearbayes.files.container import Members
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.files.tamed import tamed_params
from nearbayes.files.xgboost_json import checked_json

__all__ = ["dump", "load"]

CLASSES = {"XGBClassifier": xgboost.XGBClassifier, "XGBRegressor": xgboost.XGBRegressor}
# Fitted attributes besides the trees.
FITTED = ("n_classes_", "evals_result_")
JSON_FACTOR = 12  # bytes of Python objects for a byte of the text


def dump(model: Any, members: Members) -> dict[str, Any]:
    """Record of the model; the trees of a fitted model are added to `members`."""
    name = type(model).__name__
    params = {key: _param(key, value, members) for key, value in model.get_params().items()}
    fitted = {key: vars(model)[key] for key in FITTED if key in vars(model)}
    record: dict[str, Any] = {
        "class": name,
        "params": params,
        "fitted": plain_record(fitted, members, f"{name}.evals_result_"),
        "trees": None,
    }
    if model.__sklearn_is_fitted__():
        raw = bytes(model.get_booster().save_raw("json"))
        checked_json(raw, NotSaveable)
        record["trees"] = members.add("models", raw, "xgboost")
    return record


def load(record: Any, read: Reader) -> Any:
    """Inverse of `dump`."""
    params = {key: plain_of(value, read) for key, value in record["params"].items()}
    model = CLASSES[str(record["class"])](**tamed_params(params))
    if record["trees"] is not None:
        raw = checked_json(read(record["trees"], JSON_FACTOR), FileRefused)
        own = dict(vars(model))  # loading trees overwrites the user's parameters
        model.load_model(bytearray(raw))
        model.__dict__.update(own, _Booster=model._Booster)
    fitted = plain_of(record["fitted"], read)
    model.__dict__.update({key: fitted[key] for key in FITTED if key in fitted})
    n_classes = vars(model).get("n_classes_", 0)
    if isinstance(n_classes, bool) or not isinstance(n_classes, int):
        raise FileRefused("n_classes_ of an XGBoost model must be a whole number.")
    return model


def _param(key: str, value: Any, members: Members) -> Any:
    if callable(value) or (key == "callbacks" and value):
        raise NotSaveable(
            f"{key} of an XGBoost model is a function, which cannot be saved: use one of "
            "XGBoost's own by name."
        )
    return plain_record(value, members, f"{key} of an XGBoost model")
