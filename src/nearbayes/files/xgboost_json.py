"""XGBoost's JSON, checked entry by entry and rewritten.

XGBoost's parser and predictors trust their input. So they never get the text of a file, but a new
text made from an object in which every key is known, every number is in range, and every tree is a
tree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

import numpy as np

from nearbayes.files.indices import check_children, check_range
from nearbayes.files.strict_json import parsed_json

__all__ = ["checked_json"]

NO_PARENT = 2**31 - 1
LARGEST_FLOAT = 3.4028235e38
MOST_OUTPUTS = 100_000
WHOLE, NUMBER = re.compile(r"\d{1,9}"), re.compile(r"[-+]?[\d.]{1,20}([eE][-+]?\d{1,3})?")
WORD = re.compile(r"[\w:.,\[\] ()+-]{0,200}", re.ASCII)
FLOATS = ("base_weights", "loss_changes", "split_conditions", "sum_hessian")
LINKS = ("left_children", "right_children", "parents", "split_indices")
FLAGS = ("default_left", "split_type")
SETS = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
OBJECTIVES = (
    *("binary:hinge", "binary:logistic", "binary:logitraw", "count:poisson"),
    *("multi:softmax", "multi:softprob", "reg:absoluteerror", "reg:expectileerror", "reg:gamma"),
    *("reg:linear", "reg:logistic", "reg:pseudohubererror", "reg:quantileerror"),
    *("reg:squarederror", "reg:squaredlogerror", "reg:tweedie"),
)
KINDS = ("float", "int", "q", "i", "c", "quantitive", "categorical")  # as XGBoost spells them


def checked_json(data: bytes, refusal: type[Exception]) -> bytes:
    """The model as rewritten text.

    Parameters
    ----------
    data : bytes
        A model in XGBoost's JSON.
    refusal : type of exception
        Raised if the model cannot be trusted.
    """
    model = _Model(parsed_json(data, "an XGBoost model", constants=True), refusal)
    # XGBoost reads names in UTF-8, but not names escaped in ASCII with \u.
    return json.dumps(model.checked(), separators=(",", ":"), ensure_ascii=False).encode()


class _Model:
    """A parsed model and the error raised for its faults."""

    def __init__(self, parsed: Any, refusal: type[Exception]) -> None:
        self.parsed, self.refusal = parsed, refusal
        self.n_features = self.n_groups = 0

    def checked(self) -> Any:
        """The model, after all its parts were checked."""
        self._keys(self.parsed, {"learner", "version"}, "a model")
        self._whole(self.parsed["version"], 0, 10_000, "a version")
        learner = self.parsed["learner"]
        needed = {"gradient_booster", "learner_model_param", "objective"}
        words = {"attributes", "feature_names", "feature_types"}
        self._keys(learner, needed, "a learner", words)
        self._check_sizes(learner["learner_model_param"])
        self._check_words(learner)
        self._check_objective(learner["objective"])
        booster = learner["gradient_booster"]
        name = booster["name"] if isinstance(booster, dict) else None
        if name == "gblinear":
            self._check_linear(booster)
        elif name == "gbtree":
            self._keys(booster, {"model", "name"}, "a booster")
            self._check_forest(booster["model"], None)
        elif name == "dart":
            self._keys(booster, {"gbtree", "name"}, "a booster", {"weight_drop"})
            self._keys(booster["gbtree"], {"model", "name"}, "a booster")
            self._require(booster["gbtree"]["name"] == "gbtree", "an unknown booster")
            # weights of trees are next to the forest, or in it since XGBoost 3.4
            forest = booster["gbtree"]["model"]
            self._check_forest(forest, booster.get("weight_drop", forest.get("weight_drop")))
        else:
            raise self.refusal(f"an XGBoost model has the unknown kind {str(name)[:40]}.")
        return self.parsed

    def _check_sizes(self, sizes: Any) -> None:
        names = {"base_score", "num_class", "num_feature"}
        self._keys(sizes, names, "sizes", {"boost_from_average", "num_target"})
        self.n_features = self._digits(sizes["num_feature"])
        groups = (self._digits(sizes["num_class"]), self._digits(sizes.get("num_target", "1")))
        self.n_groups = max(1, *groups)
        self._require(self.n_groups <= MOST_OUTPUTS, "a number of outputs")
        self._digits(sizes.get("boost_from_average", "1"))
        scores = self._numbers(sizes["base_score"])
        self._require(scores in (1, self.n_groups), "a number of base scores")

    def _check_words(self, learner: Any) -> None:
        attributes = learner.get("attributes", {})
        self._keys(attributes, set(), "attributes", {"best_iteration", "best_score"})
        self._digits(attributes.get("best_iteration", "0"))
        self._numbers(attributes.get("best_score", "0"))
        names, kinds = (learner.get(key, []) for key in ("feature_names", "feature_types"))
        for each in (names, kinds):
            right = isinstance(each, list) and len(each) in (0, self.n_features)
            self._require(right and _are(each, str), "names of features")
        self._require(set(kinds) <= set(KINDS), "types of features")

    def _check_objective(self, loss: Any) -> None:
        self._require(isinstance(loss, dict) and loss.get("name") in OBJECTIVES, "a loss")
        for key, values in loss.items():
            if key == "name":
                continue
            right = WORD.fullmatch(key) and isinstance(values, dict)
            self._require(right and _are(values.values(), str), "parameters of a loss")
            for name, value in values.items():
                self._require(WORD.fullmatch(name) and WORD.fullmatch(value), "a loss")
            if "num_class" in values:
                n_classes = max(1, self._digits(values["num_class"]))
                self._require(n_classes == self.n_groups, "a number of classes")
            if "quantile_alpha" in values:
                n_quantiles = self._numbers(values["quantile_alpha"])
                self._require(n_quantiles == self.n_groups, "a number of quantiles")

    def _check_linear(self, booster: Any) -> None:
        self._keys(booster, {"model", "name"}, "a booster")
        self._keys(booster["model"], {"weights"}, "a linear model", {"boosted_rounds", "param"})
        self._whole([booster["model"].get("boosted_rounds", 0)], 0, NO_PARENT, "rounds")
        self._floats(booster["model"]["weights"], (self.n_features + 1) * self.n_groups)

    def _check_forest(self, forest: Any, weights: Any) -> None:
        needed = {"gbtree_model_param", "tree_info", "trees", "iteration_indptr"}
        self._keys(forest, needed, "a forest", {"cats", "weight_drop"})
        sizes, trees = forest["gbtree_model_param"], forest["trees"]
        self._keys(sizes, {"num_trees"}, "sizes", {"num_parallel_tree", "size_leaf_vector"})
        self._digits(sizes.get("num_parallel_tree", "1"))
        self._digits(sizes.get("size_leaf_vector", "0"))
        self._require(isinstance(trees, list), "trees")
        n_trees = len(trees)
        self._whole(forest["tree_info"], 0, self.n_groups, "groups of trees", n_trees)
        ends = forest["iteration_indptr"]
        self._whole(ends, 0, n_trees + 1, "iterations")
        self._require(not ends or _are_ends(ends, n_trees), "iterations")
        self._require(self._digits(sizes["num_trees"]) == n_trees, "a number of trees")
        for each in (weights, forest.get("weight_drop")):
            if each is not None:
                self._floats(each, n_trees)
        for tree in trees:
            self._check_tree(tree)
        if "cats" in forest:
            self._check_names(forest["cats"])

    def _check_tree(self, tree: Any) -> None:
        self._keys(tree, {*FLOATS, *LINKS, *FLAGS, *SETS, "id", "tree_param"}, "a tree")
        sizes = tree["tree_param"]
        names = {"num_deleted", "num_feature", "num_nodes", "size_leaf_vector"}
        self._keys(sizes, names, "sizes of a tree")
        n_nodes, n_deleted = (self._digits(sizes[name]) for name in ("num_nodes", "num_deleted"))
        if self._digits(sizes["size_leaf_vector"]) > 1:
            raise self.refusal("trees with several outputs (multi_strategy) cannot be saved.")
        self._require(self._digits(sizes["num_feature"]) == self.n_features, "a feature count")
        self._require(n_nodes >= 1 and n_deleted < n_nodes, "a number of nodes")
        self._whole([tree["id"]], 0, NO_PARENT, "numbers of trees")
        for name in FLOATS:
            self._floats(tree[name], n_nodes)
        for name in LINKS:
            self._whole(tree[name], -1, NO_PARENT + 1, name, n_nodes)
        for name in FLAGS:
            self._whole(tree[name], 0, 2, name, n_nodes)
        inner = self._check_links(tree, n_nodes)
        self._check_sets(tree, inner, n_nodes)

    def _check_links(self, tree: Any, n_nodes: int) -> Any:
        """Nodes that split, after checking that they form a tree."""
        left, right, parents, features = (np.array(tree[name]) for name in LINKS)
        inner = np.flatnonzero(left != -1)
        check_children(left[inner], right[inner], n_nodes)
        # XGBoost goes to the node after the left child, not to the right child
        self._require((right == np.where(left == -1, -1, left + 1)).all(), "children")
        inside = ((parents >= 0) & (parents < n_nodes)) | (parents == NO_PARENT)
        self._require(inside.all() and parents[0] == NO_PARENT, "a parent")
        own = (parents[left[inner]] == inner) & (parents[right[inner]] == inner)
        self._require(own.all(), "a parent")
        check_range(features[inner], 0, self.n_features, "features")
        return inner

    def _check_sets(self, tree: Any, inner: Any, n_nodes: int) -> None:
        """Check splits by categories."""
        n_categories = len(tree["categories"]) if isinstance(tree["categories"], list) else 0
        self._whole(tree["categories"], 0, 1 << 24, "categories")
        self._whole(tree["categories_nodes"], 0, n_nodes, "nodes with categories")
        n_sets = len(tree["categories_nodes"])
        for name in ("categories_segments", "categories_sizes"):
            self._whole(tree[name], 0, n_categories + 1, "sets of categories", n_sets)
        starts, sizes = (np.array(tree[f"categories_{each}"]) for each in ("segments", "sizes"))
        if n_sets:
            check_range(starts + sizes, 0, n_categories + 1, "sets of categories")
        nodes = tree["categories_nodes"]
        self._require(len(set(nodes)) == n_sets and sorted(nodes) == nodes, "sets of categories")
        by_category = inner[np.array(tree["split_type"])[inner] == 1]
        self._require(set(by_category.tolist()) <= set(nodes), "sets of categories")

    def _check_names(self, cats: Any) -> None:
        """Check the names of categories, which XGBoost looks up in the rows to predict."""
        self._keys(cats, {"enc", "feature_segments", "sorted_idx"}, "categories")
        self._require(isinstance(cats["enc"], list), "names of categories")
        ends, order = cats["feature_segments"], cats["sorted_idx"]
        self._whole(ends, 0, NO_PARENT, "categories")
        self._whole(order, 0, max(1, len(order)), "categories")
        if not cats["enc"]:
            self._require(not order and not any(ends), "names of categories")
            return
        self._require(len(cats["enc"]) == self.n_features, "names of categories")
        self._require(
            len(ends) == self.n_features + 1 and _are_ends(ends, len(order)), "categories"
        )
        for column, start, end in zip(cats["enc"], ends[:-1], ends[1:], strict=True):
            self._check_column(column, end - start)
            check_range(order[start:end], 0, end - start, "categories")

    def _check_column(self, column: Any, n_categories: int) -> None:
        """Check the names of one column: texts end to end, or numbers."""
        if isinstance(column, dict) and "offsets" in column:
            self._keys(column, {"offsets", "values"}, "names of categories")
            ends, values = column["offsets"], column["values"]
            self._whole(values, -128, 256, "names of categories")
            self._whole(ends, 0, len(values) + 1, "names of categories")
            right = len(ends) == n_categories + 1 and _are_ends(ends, len(values))
            self._require(right or not (ends or values or n_categories), "names of categories")
            return
        self._keys(column, {"type", "values"}, "names of categories")
        self._whole([column["type"]], 0, 32, "types of categories")
        values = column["values"]
        numbers = isinstance(values, list) and _are(values, int, float)
        self._require(numbers and len(values) == n_categories, "names of categories")

    def _keys(self, part: Any, needed: Collection[str], what: str, more: Any = frozenset()) -> None:
        if not isinstance(part, dict) or set(part) - {*needed, *more} or set(needed) - set(part):
            odd = sorted(set(part) ^ set(needed))[:3] if isinstance(part, dict) else "no object"
            raise self.refusal(
                f"{what} of an XGBoost model does not have the entries it should have: {odd}."
            )

    def _digits(self, text: Any) -> int:
        if not isinstance(text, str) or not WHOLE.fullmatch(text):
            raise self.refusal(f"an XGBoost model has the size {str(text)[:40]!r}.")
        return int(text)

    def _numbers(self, text: Any) -> int:
        """Number of values in a text, one or several in brackets."""
        words = text.strip("[]").split(",") if isinstance(text, str) else []
        self._require(words and all(NUMBER.fullmatch(word) for word in words), "a number")
        return len(words)

    def _whole(self, values: Any, low: int, high: int, what: str, size: int | None = None) -> None:
        right = isinstance(values, list) and _are(values, int)
        if not right or (size is not None and len(values) != size):
            raise self.refusal(f"{what} of an XGBoost model: the arrays have inconsistent lengths.")
        self._require(not values or (min(values) >= low and max(values) < high), what)

    def _floats(self, values: Any, size: int) -> None:
        right = isinstance(values, list) and len(values) == size and _are(values, int, float)
        self._require(right, "an array of numbers")
        self._require(
            all(not abs(each) > LARGEST_FLOAT or abs(each) == np.inf for each in values), "a number"
        )

    def _require(self, holds: Any, what: str) -> None:
        if not holds:
            raise self.refusal(f"{what} of an XGBoost model is none that XGBoost writes.")


def _are(values: Any, *kinds: type) -> bool:
    """Whether all values have one of these types; a boolean is no number."""
    return set(map(type, values)) <= set(kinds)


def _are_ends(ends: list[int], total: int) -> bool:
    """Whether `ends` increase from 0 to the total."""
    return bool(ends) and ends[0] == 0 and ends[-1] == total and sorted(ends) == ends
