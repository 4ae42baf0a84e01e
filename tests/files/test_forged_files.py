"""Forged files that once crashed, hung or filled the memory of whoever read them.

Each is read in a process of its own, which tells a crash of compiled code from a refusal.
"""

import io
import json
import re

import lightgbm
import numpy as np
import pytest
import xgboost
from forging import npy, saved, skops_bytes, skops_parts, with_models
from reading_process import ReadingProcess
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(60, 2)), RNG.integers(0, 3, 60)])
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, "yes", "no")
BOOSTED = xgboost.XGBClassifier(n_estimators=2, max_depth=3)
LEAVES = lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=5, verbosity=-1)


@pytest.fixture(scope="module")
def reader():
    with ReadingProcess() as process:
        yield process


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    np.save(path, X)
    return path


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Saved files by estimator, each fitted once."""
    folder, made = tmp_path_factory.mktemp("originals"), {}

    def original(estimator, x=X, y=Y, **settings):
        key = (str(estimator), x.shape, y.dtype.kind, str(settings))
        if key not in made:
            made[key] = saved(folder / f"{len(made)}.nearbayes", estimator, x, y, **settings)
        return made[key]

    return original


@pytest.fixture
def refused(reader, rows):
    """Read a forged file and check that it is refused, soon and in little memory."""

    def check(path, words=""):
        outcome = reader.read(path, rows)
        assert outcome.what == "refused", outcome
        assert outcome.harmless, outcome
        assert re.search(words, outcome.words), outcome

    return check


def attributes_of(schema, kind):
    """Attributes of every object of a class in a skops schema."""
    if isinstance(schema, list):
        return [found for each in schema for found in attributes_of(each, kind)]
    if not isinstance(schema, dict):
        return []
    inside = [found for each in schema.values() for found in attributes_of(each, kind)]
    if schema.get("__class__") == kind and schema.get("__loader__") == "ObjectNode":
        return [schema["content"]["content"], *inside]
    return inside


def object_changed(kind, change):
    """Change attributes of objects of a class: ``change(attributes, files)``."""

    def changed(data):
        schema, files = skops_parts(data)
        for attributes in attributes_of(schema, kind):
            change(attributes, files)
        return skops_bytes(schema, files)

    return changed


def array_set(name, value):
    """Put another array in place of an attribute, where it is there."""

    def change(attributes, files):
        if name in attributes:
            files["77.npy"] = npy(value)
            attributes[name] = array_node("77.npy")

    return change


def array_node(file):
    return {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": file,
    }


def plain(value):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


ONE_HOT = make_pipeline(
    ColumnTransformer([("hot", OneHotEncoder(handle_unknown="ignore"), [2])]),
    LogisticRegression(),
)


def test_widths_of_one_hot_columns(originals, tmp_path, refused):
    change = object_changed("OneHotEncoder", array_set("_n_features_outs", np.array([-(10**7)])))
    refused(with_models(tmp_path / "m", originals(ONE_HOT), ".skops", change))


def test_one_hot_categories_that_are_not_sorted(originals, tmp_path, refused):
    def change(attributes, files):
        if "categories_" in attributes:
            (node,) = attributes["categories_"]["content"]
            files[node["file"]] = npy(np.array([2.0, 1.0, 0.0]))

    crooked = object_changed("OneHotEncoder", change)
    refused(with_models(tmp_path / "m", originals(ONE_HOT), ".skops", crooked))


def boosted_with(change):
    def changed(data):
        return json.dumps(change(json.loads(data))).encode()

    return changed


def tree_with(**values):
    """Other values in every tree of an XGBoost model that has splits."""

    def change(model):
        for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
            for name, value in values.items():
                tree[name] = value(tree[name]) if callable(value) else value
        return model

    return boosted_with(change)


def test_xgboost_keys_that_are_escaped(originals, tmp_path, refused):
    """Python takes the last of two equal keys, XGBoost did the first."""

    def change(data):
        bad = re.sub(rb'"split_indices":\[\d+', rb'"split_indices":[77777777', data)
        return bad.replace(
            b'"split_type"', rb'"split\u005findices":' + plain_indices(data) + b',"split_type"'
        )

    refused(with_models(tmp_path / "m", originals(BOOSTED), ".xgboost", change), "twice")


def plain_indices(data):
    tree = json.loads(data)["learner"]["gradient_booster"]["model"]["trees"][0]
    return json.dumps(tree["split_indices"]).encode()


def test_xgboost_parents(originals, tmp_path, refused):
    change = tree_with(parents=lambda old: [old[0], *(10**8 for _ in old[1:])])
    refused(with_models(tmp_path / "m", originals(BOOSTED), ".xgboost", change), "parent")


def test_xgboost_right_child_that_is_not_beside_the_left(originals, tmp_path, refused):
    def change(model):
        for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
            left, right = tree["left_children"], tree["right_children"]
            last = len(left) - 1
            left[0], right[0] = last, 1
            tree["parents"][last] = 0
        return model

    crooked = boosted_with(change)
    refused(with_models(tmp_path / "m", originals(BOOSTED), ".xgboost", crooked))


def test_lightgbm_lines_that_end_otherwise(originals, tmp_path, refused):
    r"""LightGBM ends lines at \r too: what we read as one value is two lines to it."""

    def change(data):
        forged = re.sub(rb"(\nshrinkage=[^\n]*)", rb"\1\rleft_child=77777777", data)
        return resized(forged)

    refused(with_models(tmp_path / "m", originals(LEAVES), ".lightgbm", change))


def test_lightgbm_trees_that_end_early(originals, tmp_path, refused):
    """LightGBM ends a tree at a blank line: what follows is not read."""

    def change(data):
        forged = data.replace(b"\nleft_child=", b"\n\nleft_child=")
        return resized(forged)

    refused(with_models(tmp_path / "m", originals(LEAVES), ".lightgbm", change))


def resized(text):
    """Sizes of trees put right."""
    starts = [found.start() for found in re.finditer(rb"Tree=\d+\n", text)]
    ends = [*starts[1:], text.index(b"end of trees")]
    sizes = b" ".join(str(end - start).encode() for start, end in zip(starts, ends, strict=True))
    return re.sub(rb"tree_sizes=[^\n]*", b"tree_sizes=" + sizes, text)


@pytest.mark.parametrize("word", [b"nan?", b"x", b"1e", b"0x1", b""])
def test_lightgbm_weights_that_are_no_numbers(word, originals, tmp_path, refused):
    def change(data):
        return resized(re.sub(rb"leaf_weight=\S*", b"leaf_weight=" + word, data))

    refused(with_models(tmp_path / "m", originals(LEAVES), ".lightgbm", change))


@pytest.mark.parametrize("loss", [b"", b" ", b"lambdarank", b"binary sigmoid:-1"])
def test_lightgbm_losses_that_are_none(loss, originals, tmp_path, refused):
    def change(data):
        return re.sub(rb"objective=[^\n]*", b"objective=" + loss, data)

    refused(with_models(tmp_path / "m", originals(LEAVES), ".lightgbm", change))


def test_an_attribute_that_hides_a_tree(originals, tmp_path, refused):
    """With the attributes of histogram boosting, a tree was not checked for its features."""
    forest = DecisionTreeClassifier(max_depth=2)

    def change(attributes, files):
        if "tree_" not in attributes:
            return
        attributes["_predictors"] = {
            "__class__": "list",
            "__module__": "builtins",
            "__loader__": "ListNode",
            "content": [],
        }
        mapper = {
            "__class__": "_BinMapper",
            "__module__": "sklearn.ensemble._hist_gradient_boosting.binning",
            "__loader__": "ObjectNode",
            "content": {
                "__class__": "dict",
                "__module__": "builtins",
                "__loader__": "DictNode",
                "key_types": {
                    "__class__": "list",
                    "__module__": "builtins",
                    "__loader__": "ListNode",
                    "content": [],
                },
                "content": {"is_categorical_": array_node("78.npy")},
            },
        }
        mapper["content"]["key_types"]["content"] = [
            {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}
        ]
        attributes["_bin_mapper"] = mapper
        attributes["_n_features"] = plain(3)
        files["78.npy"] = npy(np.zeros(3, dtype=bool))
        reduce = attributes["tree_"]["__reduce__"]["args"]["content"]
        reduce[0] = plain(10**6)  # features of the tree
        nodes = attributes["tree_"]["content"]["content"]["nodes"]["file"]
        array = np.load(io.BytesIO(files[nodes]))
        array["feature"][0] = 10**6 - 1
        files[nodes] = npy(array)

    crooked = keys_added(object_changed("DecisionTreeClassifier", change), 3)
    refused(with_models(tmp_path / "m", originals(forest), ".skops", crooked))


def keys_added(change, n_keys):
    """skops wants one type per key of a dict: add some."""

    def changed(data):
        schema, files = skops_parts(change(data))
        types = schema["content"]["key_types"]["content"]
        n_missing = len(schema["content"]["content"]) - len(types)
        types.extend([types[0]] * n_missing)
        return skops_bytes(schema, files)

    return changed


def test_a_kernel_that_was_computed_before(originals, tmp_path, refused):
    """Support vectors are then rows of the user's table, by number."""
    machine = SVR()

    def change(attributes, files):
        attributes["kernel"] = plain("precomputed")
        if "support_" in attributes:
            support = np.load(io.BytesIO(files[attributes["support_"]["file"]]))
            files["77.npy"] = npy(np.full_like(support, 10**8))
            attributes["support_"] = array_node("77.npy")
            attributes["shape_fit_"]["content"][0] = plain(3)

    crooked = object_changed("SVR", change)
    refused(with_models(tmp_path / "m", originals(machine, y=X[:, 0]), ".skops", crooked))


def test_histogram_trees_without_nodes(originals, tmp_path, refused):
    def change(attributes, files):
        file = attributes["nodes"]["file"]
        files[file] = npy(np.load(io.BytesIO(files[file]))[:0])

    boosting = HistGradientBoostingClassifier(max_iter=2)
    crooked = object_changed("TreePredictor", change)
    refused(with_models(tmp_path / "m", originals(boosting), ".skops", crooked))


def test_histogram_splits_by_category_without_categories(originals, tmp_path, refused):
    def change(attributes, files):
        file = attributes["nodes"]["file"]
        nodes = np.load(io.BytesIO(files[file]))
        nodes["is_categorical"][0], nodes["bitset_idx"][0] = 1, 0
        files[file] = npy(nodes)
        for name in ("raw_left_cat_bitsets", "binned_left_cat_bitsets"):
            files[f"{name}.npy"] = b""
            number = {"raw_left_cat_bitsets": 88, "binned_left_cat_bitsets": 89}[name]
            del files[f"{name}.npy"]
            files[f"{number}.npy"] = npy(np.zeros((1, 8), dtype=np.uint32))
            attributes[name] = array_node(f"{number}.npy")

    boosting = HistGradientBoostingClassifier(max_iter=2)
    crooked = object_changed("TreePredictor", change)
    refused(with_models(tmp_path / "m", originals(boosting), ".skops", crooked))


def test_neighbours_of_classes_that_are_not_there(originals, tmp_path, refused):
    near = KNeighborsClassifier(algorithm="brute")
    crooked = object_changed(
        "KNeighborsClassifier", array_set("_y", np.full(60, 10**8, dtype=np.int64))
    )
    refused(with_models(tmp_path / "m", originals(near), ".skops", crooked))


NEAR = KNeighborsClassifier(algorithm="kd_tree", leaf_size=5)


def nodes_of(schema, *kinds):
    """Every node of a skops schema that stands for an object of these classes."""
    if isinstance(schema, list):
        return [found for each in schema for found in nodes_of(each, *kinds)]
    if not isinstance(schema, dict):
        return []
    inside = [found for each in schema.values() for found in nodes_of(each, *kinds)]
    return [schema, *inside] if schema.get("__class__") in kinds else inside


@pytest.mark.parametrize("kind", ["EuclideanDistance64", "KDTree"])
@pytest.mark.parametrize("state", ["short", "none", "json"])
def test_states_of_compiled_objects(kind, state, originals, tmp_path, refused):
    """Compiled code read parts of a tuple that were not there."""

    def change(data):
        schema, files = skops_parts(data)
        for node in nodes_of(schema, kind):
            if state == "short":
                node["content"]["content"].pop()
            else:
                node["content"] = None if state == "none" else plain([1.0])
        return skops_bytes(schema, files)

    refused(with_models(tmp_path / "m", originals(NEAR), ".skops", change), "parts")


def test_numbers_of_support_vectors_of_a_regression(originals, tmp_path, refused):
    """libsvm reads two, as of two classes."""
    change = object_changed("SVR", array_set("_n_support", np.array([60], dtype=np.int32)))
    refused(with_models(tmp_path / "m", originals(SVR(), y=X[:, 0]), ".skops", change), "support")


def test_positions_of_random_numbers(originals, tmp_path, refused):
    forest = DecisionTreeClassifier(max_depth=2, random_state=np.random.RandomState(0))

    def change(data):
        schema, files = skops_parts(data)
        for node in nodes_of(schema, "RandomState"):
            node["content"]["content"]["state"]["content"]["pos"] = plain(2**30)
        return skops_bytes(schema, files)

    refused(with_models(tmp_path / "m", originals(forest), ".skops", change), "random numbers")


@pytest.mark.parametrize("number", ["a", 7.0, True])
def test_ids_that_are_no_whole_numbers(number, originals, tmp_path, refused):
    """skops takes the first of two objects with one id, whatever it is: one was checked."""
    tree = DecisionTreeClassifier(max_depth=2)

    def change(data):
        schema, files = skops_parts(data)
        for node in nodes_of(schema, "Tree"):
            state = node["content"]["content"]
            nodes = np.load(io.BytesIO(files[state["nodes"]["file"]]))
            nodes["left_child"][0] = 10**8
            files["77.npy"] = npy(nodes)
            state["nodes"]["__id__"] = number
            schema["content"]["content"]["criterion"] = {**array_node("77.npy"), "__id__": number}
        return skops_bytes(schema, files)

    refused(with_models(tmp_path / "m", originals(tree), ".skops", change), "not a whole number")
