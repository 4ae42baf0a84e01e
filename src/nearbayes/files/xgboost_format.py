"""XGBoost models in XGBoost's JSON format, which is checked before XGBoost reads it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xgboost

from nearbayes.files.arrays import NotSaveable, Read, plain_of, plain_record
from nearbayes.files.container import FileRefused, Members
from nearbayes.files.indices import check_children, check_range

__all__ = ["dump", "load"]

CLASSES = {"XGBClassifier": xgboost.XGBClassifier, "XGBRegressor": xgboost.XGBRegressor}
# Fitted attributes besides the trees.
FITTED = ("n_classes_", "evals_result_")


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
        _check(json.loads(raw), NotSaveable)
        record["trees"] = members.add("models", raw, "xgboost")
    return record


def load(record: Any, read: Read) -> Any:
    """Inverse of `dump`."""
    params = {key: plain_of(value, read) for key, value in record["params"].items()}
    model = CLASSES[str(record["class"])](**params)
    if record["trees"] is not None:
        raw = read(record["trees"])
        _check(json.loads(raw), FileRefused)
        own = dict(vars(model))  # loading trees overwrites the user's parameters
        model.load_model(bytearray(raw))
        model.__dict__.update(own, _Booster=model._Booster)
        if model.device is not None:
            model.get_booster().set_param({"device": model.device})
    fitted = plain_of(record["fitted"], read)
    model.__dict__.update({key: fitted[key] for key in FITTED if key in fitted})
    return model


def _param(key: str, value: Any, members: Members) -> Any:
    if callable(value) or (key == "callbacks" and value):
        raise NotSaveable(
            f"{key} of an XGBoost model is a function, which cannot be saved: use one of "
            "XGBoost's own by name."
        )
    return plain_record(value, members, f"{key} of an XGBoost model")


def _check(parsed: Any, refusal: type[Exception]) -> None:
    """Refuse indices that would make XGBoost read outside its arrays."""
    learner = parsed["learner"]
    sizes = learner["learner_model_param"]
    n_features, n_groups = int(sizes["num_feature"]), _groups(sizes)
    booster = learner["gradient_booster"]
    if booster["name"] == "gblinear":
        if len(booster["model"]["weights"]) != (n_features + 1) * n_groups:
            raise refusal("a linear XGBoost model must have one weight per feature.")
        return
    if booster["name"] not in ("gbtree", "dart"):
        raise refusal(f"an XGBoost model has the unknown kind {str(booster['name'])[:40]}.")
    forest = (booster["gbtree"] if booster["name"] == "dart" else booster)["model"]
    trees = forest["trees"]
    # DART's tree weights are beside the forest, or in it since XGBoost 3.4: both are accepted
    weights = [part["weight_drop"] for part in (booster, forest) if "weight_drop" in part]
    check_range(forest["tree_info"], 0, n_groups, "groups of trees")
    ends = np.asarray(forest["iteration_indptr"])
    if (
        len(forest["tree_info"]) != len(trees)
        or int(forest["gbtree_model_param"]["num_trees"]) != len(trees)
        or (len(ends) and (ends[0] != 0 or ends[-1] != len(trees) or (np.diff(ends) < 0).any()))
        or (booster["name"] == "dart" and not weights)
        or any(len(each) != len(trees) for each in weights)
    ):
        raise refusal("an XGBoost model differs from its declared number of trees.")
    for tree in trees:
        _check_tree(tree, n_features, refusal)
    _check_names(forest.get("cats"), n_features, refusal)


def _check_names(cats: Any, n_features: int, refusal: type[Exception]) -> None:
    """Check the names of categories, which XGBoost looks up in the rows to predict."""
    if not cats or not cats["enc"]:
        return
    ends = np.asarray(cats["feature_segments"])
    texts = [each for each in cats["enc"] if "offsets" in each]
    check_range(cats["sorted_idx"], 0, len(cats["sorted_idx"]), "categories")
    if (
        len(cats["enc"]) != n_features
        or not _are_ends(ends, n_features, len(cats["sorted_idx"]))
        or not all(
            len(each["offsets"]) == 0
            or _are_ends(np.asarray(each["offsets"]), None, len(each["values"]))
            for each in texts
        )
    ):
        raise refusal("the category names of an XGBoost model are inconsistent.")


def _are_ends(ends: Any, n_parts: int | None, total: int) -> bool:
    """Whether `ends` increase from 0 to the total."""
    right_length = n_parts is None or len(ends) == n_parts + 1
    return bool(right_length and ends[0] == 0 and ends[-1] == total and (np.diff(ends) >= 0).all())


def _groups(sizes: Any) -> int:
    return max(1, int(sizes["num_class"]), int(sizes.get("num_target", 1)))


def _check_tree(tree: Any, n_features: int, refusal: type[Exception]) -> None:
    left, right = np.asarray(tree["left_children"]), np.asarray(tree["right_children"])
    per_node = ("right_children", "parents", "split_indices", "split_conditions", "split_type")
    n_nodes = int(tree["tree_param"]["num_nodes"])
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise refusal("trees with several outputs (multi_strategy) cannot be saved.")
    lengths = {len(tree[name]) for name in (*per_node, "left_children", "default_left")}
    alike = int(tree["tree_param"]["num_feature"]) == n_features
    if not alike or n_nodes < 1 or lengths != {n_nodes}:
        raise refusal("the arrays of an XGBoost tree have inconsistent lengths.")
    inner = left != -1
    check_children(left[inner], right[inner], n_nodes)
    check_range(np.asarray(tree["split_indices"])[inner], 0, n_features, "features")
    starts, sizes = np.asarray(tree["categories_segments"]), np.asarray(tree["categories_sizes"])
    ends = starts + sizes if len(starts) == len(sizes) else np.array([-1])
    check_range(ends, 0, len(tree["categories"]) + 1, "categories")
    check_range(starts, 0, len(tree["categories"]) + 1, "categories")
    check_range(tree["categories_nodes"], 0, n_nodes, "nodes with categories")
    by_category = np.flatnonzero((np.asarray(tree["split_type"]) == 1) & inner)
    if len(tree["categories_nodes"]) != len(starts) or set(by_category.tolist()) - set(
        tree["categories_nodes"]
    ):
        raise refusal("the categories of an XGBoost tree do not match its nodes.")
