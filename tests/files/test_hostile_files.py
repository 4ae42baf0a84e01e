"""Files that are damaged or made to do harm: each is refused, and nothing in it is run."""

import io
import json
import os
import pickle
import re
import stat
import zipfile

import numpy as np
import pytest
import skops.io
import xgboost
from file_cases import change_of, repacked, unpacked, with_manifest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

import nearbayes as nb
from nearbayes.files import FileRefused

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 2))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=50) > 0, "yes", "no")
SETTINGS = {"n_draws": 2, "n_refits": 1, "random_state": 0, "calibration": None, "progress": False}


def saved(folder, estimator):
    model = nb.PosteriorClassifier(estimator, **SETTINGS).fit(X, Y)
    return model.save(folder / "model.nearbayes", attachments={"note.txt": b"hello"})


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("bayes"), GaussianNB())


def with_models(path, original, suffix, change):
    """The file with other models."""
    files = unpacked(original)
    changed = {
        name: change(data) if name.endswith(suffix) else data for name, data in files.items()
    }
    assert changed != files
    return repacked(path, changed)


def refused(path, words):
    with pytest.raises(FileRefused, match=words):
        nb.load(path)


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        nb.load(tmp_path / "nothing.nearbayes")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04" + bytes(100)])
def test_no_zip_file(content, tmp_path):
    path = tmp_path / "model.nearbayes"
    path.write_bytes(content)
    refused(path, "damaged or not a nearbayes file")


def test_another_zip_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as packed:
        packed.writestr("word/document.xml", "hello")
    refused(tmp_path / "other.zip", "not a member that nearbayes writes")


@pytest.mark.parametrize("share", [0.2, 0.6, 0.99])
def test_a_truncated_file(share, original, tmp_path):
    data = original.read_bytes()
    path = tmp_path / "short.nearbayes"
    path.write_bytes(data[: int(share * len(data))])
    refused(path, "damaged")


@pytest.mark.parametrize("name", ["model.pkl", "models/x.skops", "data.pkl", "arrays/x.npy"])
def test_a_hidden_pickle(name, original, tmp_path):
    touched = tmp_path / "touched"
    files = {**unpacked(original), name: pickle.dumps(Touch(touched))}
    refused(repacked(tmp_path / "model.nearbayes", files), "not a member that nearbayes writes")
    assert not touched.exists()


@pytest.mark.parametrize("suffix", [".skops", ".npy"])
def test_a_pickle_in_place_of_a_member(suffix, original, tmp_path):
    touched = tmp_path / "touched"
    path = saved(tmp_path, GaussianNB())
    files = unpacked(path)
    manifest = json.loads(files["manifest.json"])
    payloads = {".skops": pickle.dumps(Touch(touched)), ".npy": None}
    stream = io.BytesIO()
    np.save(stream, np.array([Touch(touched)], dtype=object), allow_pickle=True)
    payloads[".npy"] = stream.getvalue()
    if suffix == ".npy":
        name = f"arrays/{'0' * 32}.npy"
        files[name] = payloads[suffix]
        manifest["posterior"]["calibration"] = {
            "ratios": [name],
            "link": "logit",
            "n_draws": 2,
            "inflation": 1.0,
            "seconds": 1.0,
        }
        files["manifest.json"] = json.dumps(manifest).encode()
    else:
        files = {
            name: payloads[suffix] if name.endswith(suffix) else data
            for name, data in files.items()
        }
    refused(repacked(path, files), "refused|damaged")
    assert not touched.exists()


@pytest.mark.parametrize(
    "name",
    ["../evil", "/tmp/evil", "attachments/../../evil", "attachments/a/b", "C:\\evil", "a\\b"],
)
def test_paths_that_climb_out(name, original, tmp_path):
    files = {**unpacked(original), name: b"evil"}
    refused(repacked(tmp_path / "model.nearbayes", files), "not a member that nearbayes writes")


def packed_with(path, original, member, data, compression=zipfile.ZIP_DEFLATED):
    """A file to which one more member, with its own header, is added."""
    path.write_bytes(original.read_bytes())
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr(member, data, compression)
    return path


def test_links(original, tmp_path):
    link = zipfile.ZipInfo("attachments/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = packed_with(tmp_path / "model.nearbayes", original, link, b"/etc/passwd")
    refused(path, "a link or a device")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(original, tmp_path):
    path = packed_with(tmp_path / "model.nearbayes", original, "manifest.json", b"{}")
    refused(path, "same name")


def test_members_that_the_manifest_does_not_list(original, tmp_path):
    path = packed_with(tmp_path / "model.nearbayes", original, "attachments/more", b"evil")
    refused(path, "differ from those in its manifest")


def test_other_compressions(original, tmp_path):
    target = tmp_path / "model.nearbayes"
    refused(
        packed_with(target, original, "attachments/more", b"evil" * 99, zipfile.ZIP_LZMA),
        "uses a compression",
    )


def test_wrong_checksums(original, tmp_path):
    files = unpacked(original)
    changed = {name: data[:-1] + b"?" for name, data in files.items() if name != "manifest.json"}
    path = tmp_path / "model.nearbayes"
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in {**files, **changed}.items():
            packed.writestr(name, data)
    refused(path, "checksum")
    with pytest.raises(FileRefused, match="checksum"):
        nb.files.attachments(path)


def test_bombs_that_say_what_they_are(original, tmp_path):
    bomb = bytes(50_000_000)
    path = packed_with(tmp_path / "model.nearbayes", original, "attachments/bomb", bomb)
    refused(path, "decompression bomb")
    stored = packed_with(path, original, "attachments/large", bomb, zipfile.ZIP_STORED)
    with pytest.raises(FileRefused, match="unpacks to 50 MB, more than max_megabytes=10"):
        nb.load(stored, max_megabytes=10)


def test_bombs_that_lie(original, tmp_path):
    """The directory says 100 bytes; there are 50 million."""
    path = packed_with(
        tmp_path / "model.nearbayes", original, "attachments/bomb", bytes(50_000_000)
    )
    data = path.read_bytes().replace(
        (50_000_000).to_bytes(4, "little"), (100).to_bytes(4, "little")
    )
    files = unpacked(original)
    manifest = json.loads(files["manifest.json"])
    manifest["members"]["attachments/bomb"] = {"sha256": "0" * 64, "size": 100}
    path.write_bytes(data)
    refused(path, "differ from those in its manifest")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in {**files, "manifest.json": json.dumps(manifest).encode()}.items():
            packed.writestr(name, content)
        packed.writestr("attachments/bomb", bytes(50_000_000))
    data = path.read_bytes().replace(
        (50_000_000).to_bytes(4, "little"), (100).to_bytes(4, "little")
    )
    path.write_bytes(data)
    with pytest.raises(FileRefused):
        nb.files.attachments(path)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"format": NaN}', "[" * 100_000, '{"format": ' + "9" * 9_999 + "}"],
)
def test_manifests_that_are_none(text, original, tmp_path):
    path = tmp_path / "model.nearbayes"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("manifest.json", text)
    refused(path, "manifest")


WRONG = [
    (("format",), 0),
    (("format",), -1),
    (("format",), True),
    (("format",), "1"),
    (("kind",), "os.system"),
    (("kind",), "PosteriorRegressor"),
    (("inputs", "n_features"), -1),
    (("inputs", "n_features"), 10**30),
    (("inputs", "n_features"), 2.5),
    (("inputs", "feature_names"), {"dtype": "O", "values": ["a"]}),
    (("inputs", "feature_names"), {"dtype": "O", "values": [["a"], "b"]}),
    (("posterior",), None),
    (("posterior", "n_draws"), 0),
    (("posterior", "n_draws"), -5),
    (("posterior", "n_draws"), 10**12),
    (("posterior", "n_draws"), 3),
    (("posterior", "draws", "models"), []),
    (("posterior", "draws", "models"), [{"format": "pickle", "data": "x"}] * 3),
    (("posterior", "draws", "models"), [{"format": "skops", "data": "attachments/note.txt"}] * 3),
    (("posterior", "draws", "models"), [{"format": "skops", "data": "../../etc/passwd"}] * 3),
    (("posterior", "draws", "models"), [{"format": "xgboost", "class": "os.system"}] * 3),
    (("posterior", "draws", "classes"), {"dtype": "V8", "values": []}),
    (("posterior", "draws", "classes"), {"dtype": "<U9", "values": ["one"]}),
    (("posterior", "draws", "classes"), {"dtype": "<U99999999", "values": ["a", "b"]}),
    (("posterior", "provenance", "seed"), -1),
    (("posterior", "provenance", "inflation"), 0.0),
    (("posterior", "provenance", "n"), -3.0),
    (("posterior", "provenance", "blocks"), [-3]),
    (("posterior", "provenance", "__class__"), "evil"),
    (("schedule", "refits"), -1),
    (("schedule", "refits"), 10**9),
    (("posterior", "calibration"), {"ratios": []}),
    (("params", "estimator"), {"format": "skops", "data": "no"}),
    (("params", "evil"), 1),
    (("params", "n_jobs"), {"module": "os"}),
    (("params", "inputs"), {"kind": "Callable", "values": {"dict": []}}),
    (("versions",), {"python": 3}),
]


@pytest.mark.parametrize(("keys", "value"), WRONG, ids=lambda each: str(each)[:60])
def test_entries_that_cannot_be(keys, value, original, tmp_path):
    path = with_manifest(tmp_path / "m.nearbayes", original, change_of(*keys, to=value))
    refused(path, "refused|damaged")


def test_files_of_later_versions(original, tmp_path):
    def later(manifest):
        manifest.update(format=7, nearbayes="9.1")

    path = with_manifest(tmp_path / "m.nearbayes", original, later)
    words = r"format 7 of nearbayes 9\.1, .*: upgrade with pip install -U nearbayes"
    refused(path, words)
    with pytest.raises(FileRefused, match=words):
        nb.files.describe(path)


def skops_of(model):
    return skops.io.dumps(model)


def schema_with(change):
    """Change the schema of a model as skops wrote it."""

    def changed(data):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            files = {name: packed.read(name) for name in packed.namelist()}
        schema = json.loads(files["schema.json"])
        change(schema)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as packed:
            for name, content in {**files, "schema.json": json.dumps(schema).encode()}.items():
                packed.writestr(name, content)
        return stream.getvalue()

    return changed


def test_a_foreign_type_in_a_model(original, tmp_path):
    touched = tmp_path / "touched"
    command = {"__loader__": "JsonNode", "__class__": "str", "__module__": "builtins"}
    command["content"] = json.dumps([f"touch {touched}"])
    for node in (
        {"__loader__": "ConstructorFromReduceNode", "__class__": "system", "__module__": "os"},
        {"__loader__": "ObjectNode", "__class__": "Popen", "__module__": "subprocess"},
        {"__loader__": "FunctionNode", "__class__": "system", "__module__": "os"},
        {"__loader__": "TypeNode", "__class__": "system", "__module__": "posix"},
        {"__loader__": "OperatorFuncNode", "__class__": "methodcaller", "__module__": "operator"},
        {"__loader__": "ListNode", "__class__": "system", "__module__": "os"},
        {"__loader__": "NdArrayNode", "__class__": "load", "__module__": "numpy"},
        {"__class__": "system", "__module__": "os"},
    ):

        def add(schema, node=node):
            schema["content"]["content"]["evil"] = {**node, "content": command, "attrs": command}

        path = with_models(tmp_path / "m.nearbayes", original, ".skops", schema_with(add))
        refused(path, "not a type that nearbayes can load")
    assert not touched.exists()


def test_another_protocol_of_skops(original, tmp_path):
    def older(schema):
        schema["protocol"] = 0

    path = with_models(tmp_path / "m.nearbayes", original, ".skops", schema_with(older))
    refused(path, "another version of the skops format")


def test_a_whole_model_that_is_not_allowed(original, tmp_path):
    pipeline = make_pipeline(FunctionTransformer(os.system), LogisticRegression())
    path = with_models(
        tmp_path / "m.nearbayes", original, ".skops", lambda data: skops_of(pipeline)
    )
    refused(path, r"(posix|os)\.system, which is not a type that")


def test_a_model_that_is_compressed_twice(original, tmp_path):
    bomb = skops.io.dumps(GaussianNB(), compression=zipfile.ZIP_DEFLATED)
    path = with_models(tmp_path / "m.nearbayes", original, ".skops", lambda data: bomb)
    refused(path, "uses a compression")


def test_an_array_that_claims_to_be_huge(original, tmp_path):
    def claim(schema):
        schema["content"]["content"]["theta_"] = {
            **schema["content"]["content"]["theta_"],
            "file": "0.npy",
        }

    def change(data):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            files = {name: packed.read(name) for name in packed.namelist()}
        stream = io.BytesIO()
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        np.lib.format.write_array_header_1_0(stream, header)
        packed_again = io.BytesIO()
        with zipfile.ZipFile(packed_again, "w") as packed:
            for name, content in files.items():
                packed.writestr(name, stream.getvalue() if name == "0.npy" else content)
        return packed_again.getvalue()

    refused(with_models(tmp_path / "m.nearbayes", original, ".skops", change), "must have 8000")


def nodes_changed(column, value, which):
    """Change a column of the nodes of every tree in a model of skops."""

    def change(data):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            files = {name: packed.read(name) for name in packed.namelist()}
        for name, content in files.items():
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(content))
                if array.dtype.names and column in array.dtype.names:
                    array[column][which] = value
                    stream = io.BytesIO()
                    np.save(stream, array)
                    files[name] = stream.getvalue()
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as packed:
            for name, content in files.items():
                packed.writestr(name, content)
        return stream.getvalue()

    return change


CROOKED = [
    (RandomForestClassifier(2), ".skops", nodes_changed("left_child", 10**6, 0)),
    (RandomForestClassifier(2), ".skops", nodes_changed("left_child", 0, 0)),
    (RandomForestClassifier(2), ".skops", nodes_changed("feature", 77, 0)),
    (HistGradientBoostingClassifier(max_iter=2), ".skops", nodes_changed("right", 10**6, 0)),
    (HistGradientBoostingClassifier(max_iter=2), ".skops", nodes_changed("feature_idx", -9, 0)),
    (HistGradientBoostingClassifier(max_iter=2), ".skops", nodes_changed("left", 0, 0)),
    (KNeighborsClassifier(algorithm="kd_tree"), ".skops", nodes_changed("idx_end", 10**6, 0)),
    (xgboost.XGBClassifier(n_estimators=2), ".xgboost", lambda data: data.replace(
        b'"left_children":[1', b'"left_children":[999999')),
    (xgboost.XGBClassifier(n_estimators=2), ".xgboost", lambda data: data.replace(
        b'"num_feature":"2"', b'"num_feature":"0"')),
    (xgboost.XGBClassifier(n_estimators=2), ".xgboost", lambda data: data[:100]),
    (xgboost.XGBClassifier(n_estimators=2), ".xgboost", lambda data: data.replace(
        b'"num_feature":"2","num_nodes"', b'"num_feature":"9","num_nodes"')),
    (xgboost.XGBClassifier(n_estimators=2, booster="dart", rate_drop=0.5), ".xgboost",
     lambda data: re.sub(rb'"weight_drop":\[.*?\]', b'"weight_drop":[1]', data)),
    (xgboost.XGBClassifier(n_estimators=2), ".xgboost", lambda data: data.replace(
        b'"gradient_booster":{', b'"gradient_booster":{"weight_drop":[1,1],').replace(
        b'"model":{', b'"model":{"weight_drop":[1],')),
    (LGBMClassifier(n_estimators=2, min_child_samples=5, verbosity=-1), ".lightgbm",
     lambda data: re.sub(rb"left_child=.", b"left_child=9", data)),
    (LGBMClassifier(n_estimators=2, min_child_samples=5, verbosity=-1), ".lightgbm",
     lambda data: data.replace(b"tree_sizes=", b"tree_sizes=9")),
    (LGBMClassifier(n_estimators=2, min_child_samples=5, verbosity=-1), ".lightgbm",
     lambda data: data.replace(b"max_feature_idx=1", b"max_feature_idx=0")),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CROOKED)))
def test_indices_that_lead_out_of_a_model(case, tmp_path):
    estimator, suffix, change = CROOKED[case]
    path = saved(tmp_path, estimator)
    refused(with_models(tmp_path / "m.nearbayes", path, suffix, change), "refused|damaged")


def test_a_loss_for_more_classes_than_there_are(tmp_path):
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    tree = LGBMClassifier(n_estimators=2, min_child_samples=5, verbosity=-1)
    path = nb.PosteriorClassifier(tree, **SETTINGS).fit(X, y).save(tmp_path / "m.nearbayes")
    crooked = with_models(
        path, path, ".lightgbm", lambda data: data.replace(b" num_class:3", b" num_class:9999")
    )
    refused(crooked, "another number of classes")


@pytest.mark.filterwarnings("ignore:.*probability.*:FutureWarning")
def test_support_vectors_that_are_too_few(tmp_path):
    path = saved(tmp_path, SVC(probability=True))
    model = nb.load(path).estimators_[0]
    model._n_support = np.array([1000, 1000], dtype=np.int32)
    crooked = with_models(tmp_path / "m.nearbayes", path, ".skops", lambda data: skops_of(model))
    refused(crooked, "support vectors")


def test_two_trees_with_one_number(tmp_path):
    """skops makes one object of two nodes with one number: the first may not stand for both."""
    path = saved(tmp_path, RandomForestClassifier(2))

    def renumber(schema):
        trees = schema["content"]["content"]["estimators_"]["content"]
        for tree in trees:
            tree["content"]["content"]["tree_"]["content"]["__id__"] = 10**6

    crooked = with_models(tmp_path / "m.nearbayes", path, ".skops", fitted_only(renumber))
    refused(crooked, "same id")


def fitted_only(change):
    def changed(schema):
        if "estimators_" in schema["content"]["content"]:
            change(schema)

    return schema_with(changed)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_flipped_bytes(data, original, tmp_path):
    content = bytearray(original.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "flipped.nearbayes"
    path.write_bytes(content)
    try:
        loaded = nb.load(path)
    except FileRefused:
        return
    np.testing.assert_array_equal(loaded.predict_proba(X), nb.load(original).predict_proba(X))


# a flip may make another version of a library of the one that the file names
@pytest.mark.filterwarnings("ignore::nearbayes.files.OtherVersionWarning")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_flipped_bytes_with_right_checksums(data, original, tmp_path):
    """What gets past the checksums is refused, or a model; never another error."""
    files = unpacked(original)
    name = data.draw(st.sampled_from([each for each in files if "attachments" not in each]))
    content = bytearray(files[name])
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    try:
        path = repacked(tmp_path / "flipped.nearbayes", {**files, name: bytes(content)})
    except ValueError:  # our own packing needs a manifest that is JSON
        return
    try:
        assert isinstance(nb.load(path), nb.PosteriorClassifier)
    except FileRefused:
        return
