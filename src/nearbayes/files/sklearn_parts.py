"""Parts of a loaded scikit-learn model: each is checked by its exact type.

An object of a file may have any attributes. Those that no method of its class sets are refused, so
that no attribute replaces a method or a class attribute. Indices that compiled code uses without
checks (nodes, rows, categories, classes) are checked for every type with such code.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Collection, Iterator
from functools import cache
from types import CodeType
from typing import Any

import numpy as np
from sklearn import ensemble, neighbors, preprocessing, svm, tree
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

from nearbayes.files.allowed import ALLOWED, type_name
from nearbayes.files.indices import check_children, check_range
from nearbayes.files.refusal import FileRefused
from nearbayes.files.tamed import tamed_params

__all__ = ["check_parts"]

KERNELS = ("linear", "poly", "rbf", "sigmoid")
NEIGHBOUR_METHODS = ("auto", "ball_tree", "kd_tree", "brute")
MOST_COLUMNS = 1_000_000
# Set by functions of scikit-learn outside the class.
COMMON = frozenset(
    {
        *("classes_", "n_features_in_", "feature_names_in_"),
        *("_sklearn_output_config", "_sklearn_version"),
    }
)


def check_parts(model: Any, trusted: Collection[str] = ()) -> None:
    """Check a scikit-learn model and every part of it, and limit effects on this machine."""
    for part in _parts(model, set()):
        kind: type = type(part)
        name = type_name(kind)
        if name not in ALLOWED["ObjectNode"] or not hasattr(part, "__dict__"):
            if kind in CHECKS:
                CHECKS[kind](part)
            continue
        odd = sorted(set(vars(part)) - _attributes(kind))
        if odd and name not in trusted:
            raise FileRefused(f"{kind.__name__} has no attribute {str(odd[0])[:60]!r}.")
        vars(part).update(tamed_params(vars(part)))
        if kind in CHECKS:
            CHECKS[kind](part)


@cache
def _attributes(kind: type) -> frozenset[str]:
    """Attributes that methods of a class set, and the fields of dataclasses."""
    names: set[str] = set(COMMON)
    for each in kind.__mro__:
        names.update(vars(each).get("__annotations__", ()))
        for method in vars(each).values():
            names.update(_stored_by(method))
    return frozenset(names)


def _stored_by(method: Any) -> Iterator[str]:
    """Names of attributes that a method sets, under any decorators."""
    found = getattr(method, "fget", None) or getattr(method, "__func__", method)
    found = inspect.unwrap(getattr(found, "fn", found))  # fn: of `available_if`
    code = getattr(found, "__code__", None)
    if isinstance(code, CodeType):
        yield from _stored(code)


def _stored(code: CodeType) -> Iterator[str]:
    """Names of attributes set by a function or its nested functions."""
    for step in dis.get_instructions(code):
        if step.opname == "STORE_ATTR":
            yield str(step.argval)
    for inside in code.co_consts:
        if isinstance(inside, CodeType):
            yield from _stored(inside)


def _parts(value: Any, seen: set[int]) -> Iterator[Any]:
    """A model and all objects inside it, each once."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, str | int | float | type(None) | type):
            continue
        seen.add(id(each))
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list | tuple | set):
            waiting.extend(each)
        elif isinstance(each, np.ndarray):
            waiting.extend(each.ravel().tolist() if each.dtype == object else ())
        else:
            yield each
            waiting.extend(getattr(each, "__dict__", {}).values())


def _same(got: Any, wanted: Any, what: str) -> None:
    if got != wanted:
        raise FileRefused(f"{what}: expected {wanted}, got {got}.")


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise FileRefused(f"{what} of a scikit-learn model is none that a fit makes.")


def _check_tree_model(model: Any) -> None:
    if "tree_" in vars(model):
        _require(type(model.tree_) is tree._tree.Tree, "tree_")
        _same(model.tree_.n_features, model.n_features_in_, "features of a tree")


def _check_forest(model: Any) -> None:
    """Check trees of a forest, which checks rows once and passes them to all trees."""
    for each in vars(model).get("estimators_", ()):
        _require(CHECKS.get(type(each)) is _check_tree_model, "a tree of a forest")
        _same(each.n_features_in_, model.n_features_in_, "features of a forest")
        _same(each.tree_.n_features, model.n_features_in_, "features of a forest")


def _check_histogram_boosting(model: Any) -> None:
    if "_predictors" not in vars(model):
        return
    n_features, mapper = model._n_features, model._bin_mapper
    _require(type(n_features) is int, "_n_features")
    categorical = np.asarray(mapper.is_categorical_)
    _require(categorical.shape == (n_features,), "is_categorical_")
    if vars(model).get("_preprocessor") is None:
        _same(n_features, model.n_features_in_, "features of histogram boosting")
    _require(len(model._predictors) >= 1, "_predictors")
    for trees in model._predictors:
        _same(len(trees), model.n_trees_per_iteration_, "trees of one iteration")
        for each in trees:
            _check_histogram_tree(each, n_features, categorical != 0)


def _check_histogram_tree(predictor: Any, n_features: int, categorical: Any) -> None:
    _require(type(predictor) is TreePredictor, "_predictors")
    nodes = predictor.nodes
    _require(nodes.ndim == 1 and len(nodes) >= 1, "nodes")
    inner = nodes[nodes["is_leaf"] == 0]
    left, right = inner["left"].astype(np.int64), inner["right"].astype(np.int64)
    check_children(left, right, len(nodes))
    check_range(inner["feature_idx"], 0, n_features, "features")
    by_category = inner[inner["is_categorical"] != 0]
    sets = min(len(predictor.raw_left_cat_bitsets), len(predictor.binned_left_cat_bitsets))
    check_range(by_category["bitset_idx"], 0, sets, "sets of categories")
    _same(predictor.raw_left_cat_bitsets.shape[1:], (8,), "sets of categories")
    # the table of known categories has rows for such features only
    _require(categorical[by_category["feature_idx"]].all(), "a split by categories")


def _check_support_vectors(model: Any) -> None:
    if model.kernel not in KERNELS:
        raise FileRefused(f"kernel of a support vector machine must be one of {KERNELS}.")
    if "support_" not in vars(model):
        return
    n_vectors, n_columns = np.shape(model.support_vectors_)
    _require(vars(model).get("_sparse") is False, "_sparse")
    _same(n_columns, model.n_features_in_, "columns of support vectors")
    _same(np.shape(model.support_), (n_vectors,), "support vectors")
    _same(np.shape(model._dual_coef_)[1:], (n_vectors,), "coefficients of support vectors")
    n_rows = model.shape_fit_[0]
    _require(type(n_rows) is int, "shape_fit_")
    check_range(model.support_, 0, n_rows, "support vectors")
    if type(model) in (svm.SVR, svm.NuSVR):
        _same((len(model._dual_coef_), len(model._intercept_)), (1, 1), "outputs")
        # libsvm reads two, as of two classes
        _same(np.shape(model._n_support), (2,), "numbers of support vectors")
        for share in (model._probA, model._probB):
            _require(np.shape(share) in ((0,), (1,)), "probabilities")
        return
    n_classes = len(model.classes_)
    pairs = n_classes * (n_classes - 1) // 2
    _same(np.shape(model._n_support), (n_classes,), "classes of support vectors")
    check_range(model._n_support, 0, n_vectors + 1, "numbers of support vectors")
    _same(int(np.sum(model._n_support)), n_vectors, "support vectors of all classes")
    _same(len(model._dual_coef_), n_classes - 1, "coefficients of support vectors")
    _same(np.shape(model._intercept_), (pairs,), "intercepts")
    for share in (model._probA, model._probB):
        _require(np.shape(share) in ((0,), (pairs,)), "probabilities")


def _check_neighbour_tree(found: Any) -> None:
    """Check a ball or k-d tree, where node i has the children 2i + 1 and 2i + 2."""
    data, index, nodes, bounds, *rest = found.__getstate__()
    n_levels, n_nodes, metric, weights = rest[1], rest[2], rest[-2], rest[-1]
    check_range([n_levels], 1, 60, "levels of a neighbour tree")
    _same(index.shape, data.shape[:1], "rows of a neighbour tree")
    _same((len(nodes), n_nodes), (2**n_levels - 1,) * 2, "nodes of a neighbour tree")
    check_range(index, 0, len(data), "rows of a neighbour tree")
    check_range(nodes["idx_start"], 0, len(data) + 1, "rows of a node")
    check_range(nodes["idx_end"], 0, len(data) + 1, "rows of a node")
    if (nodes["idx_start"] > nodes["idx_end"]).any() or not nodes["is_leaf"][n_nodes // 2 :].all():
        raise FileRefused("the nodes of a neighbour tree are not in order.")
    n_bounds = 2 if type(found) is neighbors.KDTree else 1
    _same(bounds.shape, (n_bounds, n_nodes, data.shape[1]), "bounds of a neighbour tree")
    if weights is not None:
        _same(np.shape(weights), data.shape[:1], "weights of a neighbour tree")
    _require(type_name(type(metric)) in ALLOWED["ObjectNode"], "a metric")
    for part in metric.__getstate__()[1:]:  # weights of columns
        _require(np.size(part) <= 1 or np.shape(part) == data.shape[1:], "a metric")


def _check_neighbours(model: Any) -> None:
    if "_fit_X" not in vars(model):
        return
    rows = model._fit_X
    _require(isinstance(rows, np.ndarray) and rows.ndim == 2, "_fit_X")
    _require(model._fit_method in NEIGHBOUR_METHODS, "_fit_method")
    _same(rows.shape, (model.n_samples_fit_, model.n_features_in_), "rows of neighbours")
    if model._tree is not None:
        _require(type(model._tree) in (neighbors.KDTree, neighbors.BallTree), "_tree")
        _same(np.shape(model._tree.data), rows.shape, "rows of neighbours")
    _same(len(model._y), len(rows), "outcomes of neighbours")
    if type(model) is neighbors.KNeighborsClassifier:
        outcomes = model._y if np.ndim(model._y) > 1 else model._y[:, None]
        classes = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
        _same(outcomes.shape[1], len(classes), "outcomes of neighbours")
        for column, names in zip(outcomes.T, classes, strict=True):
            check_range(column, 0, len(names), "classes of neighbours")


def _check_one_hot(model: Any) -> None:
    """Check the columns of encoded categories, which SciPy writes without checks."""
    if "categories_" not in vars(model):
        return
    widths, n_columns = np.asarray(model._n_features_outs), len(model.categories_)
    _require(widths.shape == (n_columns,) and widths.dtype.kind in "iu", "_n_features_outs")
    known = vars(model)
    dropped = known.get("_drop_idx_after_grouping")
    maps = known.get("_default_to_infrequent_mappings")
    for i, values in enumerate(model.categories_):
        _check_sorted(values)
        n_codes = len(values)
        if known.get("_infrequent_enabled") and maps is not None and maps[i] is not None:
            check_range(maps[i], 0, n_codes, "categories")
            _same(np.shape(maps[i]), (n_codes,), "categories")
            n_codes = int(np.max(maps[i])) + 1
        drop = None if dropped is None else dropped[i]
        if drop is not None:
            check_range([int(drop)], 0, n_codes, "dropped categories")
        _require(n_codes - (drop is not None) <= widths[i] <= len(values), "_n_features_outs")


def _check_sorted(values: Any) -> None:
    """Check that numbers are sorted, because they are searched by bisection."""
    _require(isinstance(values, np.ndarray) and values.ndim == 1, "categories_")
    if values.dtype != object:
        numbers = values[values == values]  # NaN comes last
        right = bool((numbers[:-1] < numbers[1:]).all()) and len(values) - len(numbers) <= 1
        _require(right and (values[: len(numbers)] == numbers).all(), "categories_")


def _check_powers(model: Any) -> None:
    for name in ("_n_out_full", "n_output_features_"):
        size = vars(model).get(name, 0)
        _require(isinstance(size, int | np.integer) and 0 <= size <= MOST_COLUMNS, name)


CHECKS: dict[type, Callable[[Any], None]] = {
    **dict.fromkeys(
        (
            tree.DecisionTreeClassifier,
            tree.DecisionTreeRegressor,
            tree.ExtraTreeClassifier,
            tree.ExtraTreeRegressor,
        ),
        _check_tree_model,
    ),
    **dict.fromkeys(
        (
            ensemble.ExtraTreesClassifier,
            ensemble.ExtraTreesRegressor,
            ensemble.RandomForestClassifier,
            ensemble.RandomForestRegressor,
        ),
        _check_forest,
    ),
    ensemble.HistGradientBoostingClassifier: _check_histogram_boosting,
    ensemble.HistGradientBoostingRegressor: _check_histogram_boosting,
    **dict.fromkeys((svm.SVC, svm.NuSVC, svm.SVR, svm.NuSVR), _check_support_vectors),
    **dict.fromkeys((neighbors.KDTree, neighbors.BallTree), _check_neighbour_tree),
    neighbors.KNeighborsClassifier: _check_neighbours,
    neighbors.KNeighborsRegressor: _check_neighbours,
    preprocessing.OneHotEncoder: _check_one_hot,
    preprocessing.PolynomialFeatures: _check_powers,
}
