"""LightGBM models in LightGBM's text format, which is checked before LightGBM reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lightgbm
import numpy as np
from lightgbm.compat import _LGBMLabelEncoder

from nearbayes.files.arrays import (
    NotSaveable,
    Read,
    labels_of,
    labels_record,
    plain_of,
    plain_record,
)
from nearbayes.files.container import FileRefused, Members
from nearbayes.files.indices import check_children, check_range

__all__ = ["dump", "load"]

CLASSES = {"LGBMClassifier": lightgbm.LGBMClassifier, "LGBMRegressor": lightgbm.LGBMRegressor}
# Fitted attributes besides the trees. They are private: LightGBM has no public way to set them.
FITTED = (
    *("_best_iteration", "_evals_result", "_fitted_with_feature_names", "_n_classes"),
    *("_n_features", "_n_features_in", "_objective", "fitted_"),
)


def dump(model: Any, members: Members) -> dict[str, Any]:
    """Record of the model; the trees of a fitted model are added to `members`."""
    params = {key: _param(key, value, members) for key, value in model.get_params().items()}
    record: dict[str, Any] = {"class": type(model).__name__, "params": params, "trees": None}
    if model.__sklearn_is_fitted__():
        booster = model.booster_
        # all trees, including those after the best iteration
        text = booster.model_to_string(num_iteration=-1)
        _check(text, NotSaveable)
        record["trees"] = members.add("models", text.encode(), "lightgbm")
        fitted = {key: vars(model)[key] for key in FITTED if key in vars(model)}
        record["fitted"] = plain_record(fitted, members, "a fitted LightGBM model")
        scores = {name: dict(each) for name, each in model._best_score.items()}
        record["best_score"] = plain_record(scores, members, "best_score of a LightGBM model")
        record["classes"] = labels_record(getattr(model, "_classes", None))
    return record


def load(record: Any, read: Read) -> Any:
    """Inverse of `dump`."""
    params = {key: plain_of(value, read) for key, value in record["params"].items()}
    model = CLASSES[str(record["class"])](**params)
    if record["trees"] is None:
        return model
    text = read(record["trees"]).decode()
    _check(text, FileRefused)
    booster = lightgbm.Booster(model_str=text)
    fitted = plain_of(record["fitted"], read)
    model.__dict__.update({key: fitted[key] for key in FITTED if key in fitted})
    booster.best_iteration = model._best_iteration
    booster.best_score = model._best_score = plain_of(record["best_score"], read)
    model._Booster, model._class_weight = booster, model.class_weight
    classes = labels_of(record["classes"])
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


def _check(text: str, refusal: type[Exception]) -> None:
    """Refuse indices that would make LightGBM read outside its arrays."""
    head, *trees = text.partition("end of trees")[0].split("\nTree=")
    entries = _entries(head)
    sizes = [int(size) for size in entries.get("tree_sizes", "").split()]
    # LightGBM finds trees by these sizes; the split removed a newline from all but the last tree
    found = [len(f"Tree={tree}\n".encode()) for tree in trees]
    if sizes != [*found[:-1], *(size - 1 for size in found[-1:])]:
        raise refusal("the trees of a LightGBM model differ from their declared sizes.")
    per_iteration = int(entries["num_tree_per_iteration"])
    if per_iteration != max(1, int(entries["num_class"])) or len(trees) % per_iteration:
        raise refusal("a LightGBM model must have one tree per class and iteration.")
    # the loss declares its own number of classes
    said = [word for word in entries.get("objective", "").split() if word.startswith("num_class:")]
    if any(word != f"num_class:{per_iteration}" for word in said):
        raise refusal("the loss of a LightGBM model has another number of classes.")
    for tree in trees:
        _check_tree(_entries(tree), int(entries["max_feature_idx"]) + 1, refusal)


def _entries(text: str) -> dict[str, str]:
    """Lines of the form key=value."""
    return {key: value for key, equal, value in _split(text) if equal}


def _split(text: str) -> Iterator[tuple[str, str, str]]:
    for line in text.split("\n"):
        yield line.partition("=")


def _check_tree(tree: dict[str, str], n_features: int, refusal: type[Exception]) -> None:
    n_leaves = int(tree["num_leaves"])
    if tree.get("is_linear", "0") != "0":
        raise refusal("linear trees of LightGBM cannot be saved: use linear_tree=False.")
    if n_leaves < 1 or len(tree["leaf_value"].split()) != n_leaves:
        raise refusal("a LightGBM tree differs from its declared number of leaves.")
    if n_leaves == 1:
        return
    names = ("left_child", "right_child", "split_feature", "decision_type")
    left, right, feature, kind = (np.array(tree[name].split(), dtype=np.int64) for name in names)
    lengths = {len(left), len(right), len(feature), len(kind), len(tree["threshold"].split())}
    if lengths != {n_leaves - 1}:
        raise refusal("the arrays of a LightGBM tree have inconsistent lengths.")
    children = np.concatenate([left, right])
    check_children(children[children >= 0], np.empty(0, np.int64), n_leaves - 1)
    check_range(~children[children < 0], 0, n_leaves, "leaves")
    check_range(feature, 0, n_features, "features")
    _check_categories(tree, kind, refusal)


def _check_categories(tree: dict[str, str], kind: Any, refusal: type[Exception]) -> None:
    """Check categorical splits, whose threshold is the index of a set of categories."""
    n_sets = int(tree["num_cat"])
    sets = np.array(tree["threshold"].split(), dtype=np.float64)[kind & 1 == 1]
    check_range(sets.astype(np.int64), 0, n_sets, "sets of categories")
    if n_sets == 0:
        return
    ends = np.array(tree["cat_boundaries"].split(), dtype=np.int64)
    if (
        len(ends) != n_sets + 1
        or ends[0] != 0
        or (np.diff(ends) < 0).any()
        or ends[-1] != len(tree["cat_threshold"].split())
    ):
        raise refusal("the categories of a LightGBM tree are inconsistent.")
