r"""LightGBM's text format, read by a strict grammar and rewritten.

LightGBM's own reader ends lines at \r as well as at \n, ends a tree at a blank line, and trusts the
numbers in between. So it never gets the text of a file, but a new text with the lines of the
grammar, in their order, with computed sizes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from unicodedata import category

import numpy as np

from nearbayes.files.indices import check_children, check_range
from nearbayes.files.strict_json import parsed_json
from nearbayes.files.tamed import tamed_value

__all__ = ["Text", "checked_text"]

NUMBER = re.compile(r"-?\d{1,320}(\.\d{1,60})?(e[-+]\d{1,3})?")
GAIN = re.compile(rf"{NUMBER.pattern}|-?inf|-?nan")
THRESHOLD = re.compile(rf"{NUMBER.pattern}|-?inf")  # infinite: all numbers on one side
WHOLE = re.compile(r"-?\d{1,10}")
FEATURE = re.compile(rf"none|\[({GAIN.pattern}):({GAIN.pattern})\]|-?\d{{1,10}}(:-?\d{{1,10}})*")
LOSS = re.compile(
    r"(binary|multiclass|multiclassova|regression|regression_l1|huber|fair|poisson|quantile|mape"
    r"|gamma|tweedie|cross_entropy|cross_entropy_lambda)"
    r"( sqrt| num_class:\d{1,6}| (sigmoid|alpha|c|tweedie_variance_power):\d{1,9}(\.\d{1,20})?)*"
)
PARAMETER = re.compile(r"\[([a-z0-9_]{1,60}): (.{0,100000})\]")
# Lines of the head; those in brackets may be missing.
HEAD = (
    *("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx"),
    *("objective", "(average_output)", "feature_names", "(monotone_constraints)"),
    *("feature_infos", "tree_sizes"),
)
PER_SPLIT = {
    "split_feature": WHOLE,
    "split_gain": GAIN,
    "threshold": THRESHOLD,
    "decision_type": WHOLE,
    "left_child": WHOLE,
    "right_child": WHOLE,
}
SETS = {"cat_boundaries": WHOLE, "cat_threshold": WHOLE}
PER_LEAF = {"leaf_value": NUMBER, "leaf_weight": NUMBER, "leaf_count": WHOLE}
PER_SPLIT_TOO = {"internal_value": GAIN, "internal_weight": GAIN, "internal_count": WHOLE}
ACTING = ("num_threads", "device_type")


class Text(NamedTuple):
    """A model as rewritten text, and its sizes."""

    text: str
    n_features: int
    n_classes: int


def checked_text(data: bytes, refusal: type[Exception]) -> Text:
    """Read a model by the grammar and rewrite it.

    Parameters
    ----------
    data : bytes
        A model in LightGBM's text format.
    refusal : type of exception
        Raised if the model cannot be trusted.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refusal("a LightGBM model is not text in UTF-8.") from error
    if any(category(each) == "Cc" for each in set(text) - {"\n"}):
        raise refusal("a LightGBM model has characters that LightGBM does not write.")
    return _Reader(text, refusal).whole()


class _Reader:
    """Lines of a text, read one after another, and the error that a wrong line raises."""

    def __init__(self, text: str, refusal: type[Exception]) -> None:
        self.lines, self.refusal = text.split("\n"), refusal
        self.place = self.n_features = self.n_classes = 0

    def whole(self) -> Text:
        head, sizes = self._head()
        trees = list(self._trees(len(sizes)))
        if [len(tree.encode()) for tree in trees] != sizes:
            raise self.refusal("the trees of a LightGBM model differ from their declared sizes.")
        rest = self._rest()
        text = "\n".join(head) + "\n\n" + "".join(trees) + "end of trees\n\n" + rest
        return Text(text, self.n_features, self.n_classes)

    def _head(self) -> tuple[list[str], list[int]]:
        """Lines before the trees, and the sizes of the trees."""
        self._take("tree")
        entries: dict[str, str] = {}
        for name in HEAD:
            if name == "(average_output)":
                if self._peek() == "average_output":
                    entries["average_output"] = ""
                    self.place += 1
            elif not name.startswith("(") or self._peek().startswith(f"{name[1:-1]}="):
                entries[name.strip("()")] = self._value(name.strip("()"))
        self._take("")
        self._check_head(entries)
        lines = [
            name if name == "average_output" else f"{name}={value}"
            for name, value in entries.items()
        ]
        return ["tree", *lines], [int(each) for each in self._words(entries["tree_sizes"], WHOLE)]

    def _check_head(self, entries: dict[str, str]) -> None:
        numbers = {
            name: int(self._word(entries[name], WHOLE))
            for name in ("num_class", "num_tree_per_iteration", "label_index", "max_feature_idx")
        }
        self.n_features, self.n_classes = numbers["max_feature_idx"] + 1, numbers["num_class"]
        self._require(re.fullmatch(r"v\d", entries["version"]), "version")
        self._require(numbers["label_index"] >= 0, "label_index")
        self._require(LOSS.fullmatch(entries["objective"]), "objective")
        names = entries["feature_names"].split(" ")
        self._require(len(names) == self.n_features and all(names), "feature_names")
        self._words(entries["feature_infos"], FEATURE, self.n_features)
        if "monotone_constraints" in entries:
            self._words(entries["monotone_constraints"], WHOLE, self.n_features)
        per_iteration, sizes = numbers["num_tree_per_iteration"], entries["tree_sizes"].split(" ")
        if per_iteration != self.n_classes or self.n_classes < 1 or len(sizes) % per_iteration:
            raise self.refusal("a LightGBM model must have one tree per class and iteration.")
        # the loss declares its own number of classes
        said = re.findall(r"num_class:(\d+)", entries["objective"])
        several = entries["objective"].startswith("multiclass")
        if said != [str(self.n_classes)] * several or (self.n_classes > 1) > several:
            raise self.refusal("the loss of a LightGBM model has another number of classes.")

    def _trees(self, n_trees: int) -> Iterator[str]:
        for number in range(n_trees):
            self._take(f"Tree={number}")
            entries = {name: self._value(name) for name in ("num_leaves", "num_cat")}
            n_leaves, n_sets = (int(self._word(each, WHOLE)) for each in entries.values())
            self._require(n_leaves >= 1 and n_sets >= 0, "num_leaves")
            kinds = {**PER_SPLIT, **PER_LEAF, **PER_SPLIT_TOO, **(SETS if n_sets else {})}
            words = {}
            for name, kind in kinds.items():
                entries[name] = self._value(name)
                # a tree without splits has no weights
                optional = name in SETS or (n_leaves == 1 and not entries[name])
                size = None if optional else n_leaves - (name not in PER_LEAF)
                words[name] = self._words(entries[name], kind, size)
            self._require(words["leaf_value"], "leaf_value")
            entries["is_linear"] = self._value("is_linear")
            if entries["is_linear"] != "0":
                raise self.refusal("linear trees of LightGBM cannot be saved: linear_tree=False.")
            entries["shrinkage"] = self._word(self._value("shrinkage"), NUMBER)
            self._take("")
            self._take("")
            self._check_tree(words, n_leaves, n_sets)
            body = "".join(f"{name}={value}\n" for name, value in entries.items())
            yield f"Tree={number}\n{body}\n\n"

    def _check_tree(self, words: dict[str, list[str]], n_leaves: int, n_sets: int) -> None:
        names = ("left_child", "right_child", "split_feature", "decision_type")
        left, right, feature, kind = (np.array(words[name], dtype=np.int64) for name in names)
        for children in (left, right):
            later = (children < 0) | (children > np.arange(n_leaves - 1))
            self._require(later.all(), "children")
        children = np.concatenate([left, right])
        check_children(children[children >= 0], np.empty(0, np.int64), n_leaves - 1)
        leaves = ~children[children < 0]
        check_range(leaves, 0, n_leaves, "leaves")
        self._require(len(np.unique(leaves)) == len(leaves), "leaves")
        check_range(feature, 0, self.n_features, "features")
        check_range(kind, 0, 12, "kinds of splits")
        sets = np.array(words["threshold"], dtype=np.float64)[kind & 1 == 1]
        check_range(sets.clip(-1, 2**31).astype(np.int64), 0, n_sets, "sets of categories")
        if n_sets:
            ends, bits = (np.array(words[name], dtype=np.int64) for name in SETS)
            check_range(bits, 0, 1 << 32, "categories")
            right_ends = len(ends) == n_sets + 1 and ends[0] == 0 and ends[-1] == len(bits)
            self._require(right_ends and (np.diff(ends) >= 0).all(), "cat_boundaries")

    def _rest(self) -> str:
        """Lines after the trees; importances are left out, as LightGBM computes them from trees."""
        self._take("end of trees")
        self._take("")
        self._take("feature_importances:")
        while self._peek() != "":
            self._require(re.fullmatch(r"[^ ]*=\d+", self._peek()), "feature_importances")
            self.place += 1
        self._take("")
        self._take("parameters:")
        lines = []
        while self._peek() != "":
            found = PARAMETER.fullmatch(self._peek())
            self._require(found, "parameters")
            name, value = found.groups()  # type: ignore[union-attr]
            lines.append(f"[{name}: {_harmless(name, value)}]")
            self.place += 1
        for line in ("", "end of parameters", ""):
            self._take(line)
        named = parsed_json(self._value("pandas_categorical", ":").encode(), "categories")
        self._check_categories(named)
        self._take("")
        self._require(self.place == len(self.lines), "end")
        parameters = "\n".join(lines)
        return (
            f"parameters:\n{parameters}\n\nend of parameters\n\n"
            f"pandas_categorical:{json.dumps(named)}\n"
        )

    def _check_categories(self, named: Any) -> None:
        plain = (str, int, float, bool)
        right = named is None or (
            isinstance(named, list)
            and all(isinstance(each, list) and set(map(type, each)) <= set(plain) for each in named)
        )
        self._require(right, "pandas_categorical")

    def _peek(self) -> str:
        self._require(self.place < len(self.lines), "end")
        return self.lines[self.place]

    def _take(self, line: str) -> None:
        self._require(self._peek() == line, line or "a blank line")
        self.place += 1

    def _value(self, name: str, mark: str = "=") -> str:
        key, found, value = self._peek().partition(mark)
        self._require(found and key == name, name)
        self.place += 1
        return value

    def _word(self, word: str, kind: re.Pattern[str]) -> str:
        self._require(kind.fullmatch(word), word[:20])
        return word

    def _words(self, line: str, kind: re.Pattern[str], size: int | None = None) -> list[str]:
        """Words with one space between them."""
        words = line.split(" ") if line else []
        if size is not None and len(words) != size:
            raise self.refusal("the arrays of a LightGBM model have inconsistent lengths.")
        return [self._word(word, kind) for word in words]

    def _require(self, holds: Any, what: str) -> None:
        if not holds:
            raise self.refusal(
                f"a LightGBM model is not as LightGBM writes it, at {what!r} in line "
                f"{self.place + 1}."
            )


def _harmless(name: str, value: str) -> str:
    """A parameter of the text, without threads and devices, which the reader decides."""
    if name not in ACTING:
        return value
    return "cpu" if name == "device_type" else str(tamed_value(name, int(value)))
