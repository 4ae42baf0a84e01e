"""Formats: how models of each library are stored in a file.

The registry has the families with their own format; scikit-learn models use skops, and a
scikit-learn pipeline that ends in a model with its own format uses both.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Collection
from typing import Any

from sklearn.pipeline import Pipeline

from nearbayes.files.arrays import NotSaveable
from nearbayes.files.container import Members
from nearbayes.files.reader import Reader
from nearbayes.files.refusal import FileRefused
from nearbayes.registry import Family, family_named, family_of

__all__ = ["load_model", "save_model"]

SKOPS_FACTOR = 4  # copies of a scikit-learn model that are made while it is loaded


def save_model(model: Any, members: Members, trusted: Collection[str] = ()) -> dict[str, Any]:
    """A record of a fitted or unfitted estimator; large parts are added to `members`."""
    own = _own_format(model)
    if own is not None:
        return {"format": own.name, **own.resolved("files").dump(model, members)}
    if type(model) is Pipeline and _own_format(model.steps[-1][1]) is not None:
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


def load_model(record: Any, read: Reader, trusted: Collection[str] = ()) -> Any:
    """Inverse of `save_model`; equal records of one file become one object."""
    key = json.dumps(record, sort_keys=True)
    if key not in read.models:
        read.models[key] = _loaded(record, read, trusted)
    return read.models[key]


def _loaded(record: Any, read: Reader, trusted: Collection[str]) -> Any:
    kind = record["format"]
    if kind == "pipeline":
        model = load_model(record["steps"], read, trusted)
        if type(model) is not Pipeline:
            raise FileRefused("it says that a model is a pipeline, which it is not.")
        last = (model.steps[-1][0], load_model(record["last"], read, trusted))
        whole = copy.copy(model)  # the same steps may come before a different last one
        whole.steps = [*model.steps[:-1], last]
        return whole
    if kind == "skops":
        from nearbayes.files import sklearn_format

        return sklearn_format.load(read(record["data"], SKOPS_FACTOR), trusted)
    family = family_named(kind) if isinstance(kind, str) else None
    if family is None or family.files is None:
        raise FileRefused(f"a model is in the unknown format {str(kind)[:40]!r}.")
    return family.resolved("files").load(record, read)


def _own_format(model: Any) -> Family | None:
    """The family of a model, if it has its own format."""
    family = family_of(model)
    return family if family is not None and family.files is not None else None


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
    elif _library(model) == "catboost":
        advice = (
            "CatBoost's own files would be read by a parser that does not check them. Fit with "
            "predict_on=X to save only the predictions"
        )
    else:
        advice = (
            "fit with predict_on=X to save only the predictions, or, if you know that it is "
            f"harmless and has plain attributes, pass trusted=[{name!r}] on save and on load"
        )
    raise NotSaveable(f"{name} is not a model that nearbayes can save: {advice}.")


def _library(model: Any) -> str:
    return type(model).__module__.partition(".")[0]
