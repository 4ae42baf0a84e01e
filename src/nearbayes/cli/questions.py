"""Questions: what --do, --versus and --given ask of a causal model."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearbayes.causal.causal_model import CausalModel
from nearbayes.causal.variables import Variable
from nearbayes.cli.column_kinds import listed
from nearbayes.cli.errors import UsageError
from nearbayes.cli.schema import label

__all__ = ["Condition", "Intervention", "check_outcome"]

CHANGE = re.compile(r"\s*(\+=|-=|\*=|=)\s*(.*?)\s*", re.DOTALL)
RANGE = re.compile(r"\s*([^:]*?)\s*:\s*([^:]*?)\s*")
FURTHEST = sys.float_info.max  # the open end of a range
NOTABLE = 0.1  # share of rows outside the data that is worth a note
SHIFTS: dict[str, Callable[[Any, float], Any]] = {
    "+=": lambda values, amount: values + amount,
    "-=": lambda values, amount: values - amount,
    "*=": lambda values, amount: values * amount,
}


@dataclass(frozen=True)
class Intervention:
    """What is done to nodes.

    Attributes
    ----------
    do : dict
        As `CausalModel.sample` takes it.
    words : str
        For people: "x = 1 and z += 2"; empty if nothing is done.
    """

    do: dict[str, Any] = field(default_factory=dict)
    words: str = ""

    @classmethod
    def read(cls, texts: Sequence[str], model: CausalModel, option: str) -> Intervention:
        """Read changes such as "x=1", "x+=1" or "colour=red"."""
        found: dict[str, Any] = {}
        for text in texts:
            node, sign, value = _split(text, model, option)
            if node in found:
                raise UsageError(f"{option} has {node!r} twice: give one value per node.")
            found[node] = _change(model.variables_[node], sign, value, option)
        return cls(found, " and ".join(" ".join(_split(each, model, option)) for each in texts))

    def notes(self, model: CausalModel) -> list[str]:
        """Say which values are outside the data."""
        return [
            f"{node!r} is set outside the data for {share:.0%} of the rows (they reach from "
            f"{model.variables_[node].low:.4g} to {model.variables_[node].high:.4g}): the answer "
            "rests on how the models extrapolate, and its interval may be too narrow."
            for node, share in model.outside_data(self.do).items()
            if share > NOTABLE
        ]


@dataclass(frozen=True)
class Condition:
    """Rows to look at: `given` as `CausalModel.effect` takes it, and the same for people."""

    given: dict[str, Any] = field(default_factory=dict)
    words: str = ""

    @classmethod
    def read(cls, texts: Sequence[str], model: CausalModel) -> Condition:
        """Read conditions such as "age=40:60", "age=40:" or "colour=red"."""
        found: dict[str, Any] = {}
        said = []
        for text in texts:
            node, sign, value = _split(text, model, "--given")
            if sign != "=" or node in found:
                raise UsageError(
                    f"--given must have one value or range per node, such as age=40:60, got "
                    f"{text!r}."
                )
            found[node] = _wanted(model.variables_[node], value)
            said.append(f"{node} = {value}")
        return cls(found, " and ".join(said))


def check_outcome(outcome: str, model: CausalModel, done: Intervention) -> list[str]:
    """Refuse an outcome that is no node, or is set; say if the graph has no path to it."""
    if outcome not in model.graph_.parents:
        raise UsageError(
            f"--outcome must be a node, one of {listed(model.graph_.nodes)}, got {outcome!r}."
        )
    if outcome in done.do:
        raise UsageError(f"--outcome {outcome} is what --do changes: ask for another node.")
    if outcome in model.graph_.descendants(done.do):
        return []
    return [
        f"the graph has no path from {', '.join(map(repr, done.do))} to {outcome!r}: that there is "
        "no effect is assumed, not found."
    ]


def _split(text: str, model: CausalModel, option: str) -> tuple[str, str, str]:
    """Node, sign and value; names may hold signs, so the longest node that fits is taken."""
    for node in sorted(model.graph_.nodes, key=len, reverse=True):
        parts = CHANGE.fullmatch(text.strip().removeprefix(node))
        if text.strip().startswith(node) and parts and parts[2]:
            return node, parts[1], parts[2]
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise UsageError(f"{option} must be a node and a value, such as dose=1, got {text!r}.")
    raise UsageError(
        f"{option} must name a node, one of {listed(model.graph_.nodes)}, got "
        f"{name.rstrip('+-* ')!r}."
    )


def _change(variable: Variable, sign: str, value: str, option: str) -> Any:
    if variable.kind == "category":
        if sign != "=":
            raise UsageError(
                f"{option} cannot add to {variable.name!r}, which has categories: set it with '='."
            )
        return _category(variable, value, option)
    amount = _number(variable, value, option)
    return amount if sign == "=" else lambda values: SHIFTS[sign](values, amount)


def _category(variable: Variable, value: str, option: str) -> Any:
    known = {label(each): each for each in variable.categories}
    if label(value) not in known:
        raise UsageError(
            f"{option} must have one of {listed(list(known))} for {variable.name!r}, got {value!r}."
        )
    return known[label(value)]


def _number(variable: Variable, value: str, option: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = np.nan
    if not np.isfinite(found):
        raise UsageError(
            f"{option} must have a number for {variable.name!r}, got {value[:40]!r}; several nodes "
            f"need one {option} each."
        )
    return found


def _wanted(variable: Variable, value: str) -> Any:
    if variable.kind == "category":
        return _category(variable, value, "--given")
    ends = RANGE.fullmatch(value)
    if ends is None and variable.kind == "integer":
        return _number(variable, value, "--given")
    if ends is None or not (ends[1] or ends[2]):
        raise UsageError(
            f"--given must have a range for {variable.name!r}, such as {variable.name}="
            f"{variable.low:.3g}:{variable.high:.3g}, got {value!r}."
        )
    low = _number(variable, ends[1], "--given") if ends[1] else -FURTHEST
    high = _number(variable, ends[2], "--given") if ends[2] else FURTHEST
    if low > high:
        raise UsageError(f"--given has the range {value!r}, which ends before it starts.")
    return (low, high)
