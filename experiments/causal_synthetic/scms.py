"""Eight synthetic structural causal models.

They are those of Chao et al. (2023), "Interventional and counterfactual inference with diffusion
models". Names end in ``nonlin`` where noise is added to a non-linear function, and in ``na`` where
noise is not additive. Every noise is a standard normal number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

Array = NDArray[np.float64]
Do = Mapping[str, ArrayLike]


class Equation(NamedTuple):
    """How a node comes from its parents and its noise: ``value(*parents, noise)``."""

    parents: tuple[str, ...]
    value: Callable[..., Any]


@dataclass(frozen=True)
class SyntheticSCM:
    """A structural causal model with known equations.

    Attributes
    ----------
    name : str
    equations : mapping of node to Equation
        Parents before their children.

    Examples
    --------
    >>> chain = SCMS["chain-nonlin"]
    >>> chain.graph
    {'x1': (), 'x2': ('x1',), 'x3': ('x2',)}
    >>> chain.sample(4, np.random.default_rng(0), do={"x2": 5.0}).shape
    (4, 3)
    """

    name: str
    equations: Mapping[str, Equation]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes, parents first; the columns of samples."""
        return tuple(self.equations)

    @property
    def graph(self) -> dict[str, tuple[str, ...]]:
        """Parents of every node, sorted."""
        return {node: equation.parents for node, equation in self.equations.items()}

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs of parent and child."""
        return tuple((parent, node) for node in self.nodes for parent in self.graph[node])

    def descendants(self, node: str) -> tuple[str, ...]:
        """Nodes that an intervention on `node` can change, in order."""
        found = {node}
        for other in self.nodes:
            if found.intersection(self.graph[other]):
                found.add(other)
        return tuple(other for other in self.nodes if other in found and other != node)

    def column(self, node: str) -> int:
        """Column of a node in samples."""
        return self.nodes.index(node)

    def sample(self, n: int, rng: np.random.Generator, do: Do | None = None) -> Array:
        """Rows of the model, or of the model under an intervention.

        The same generator gives the same noise with any intervention. An intervention can leave
        the domain of an equation (the square root in chain-na): such values are NaN.

        Parameters
        ----------
        n : int
            Number of rows.
        rng : numpy.random.Generator
        do : mapping of node to a number or an array of shape (n,), optional
            Nodes that are set; their parents no longer matter.

        Returns
        -------
        array of shape (n, d)
        """
        given = do or {}
        if unknown := sorted(set(given).difference(self.nodes)):
            raise ValueError(f"do must name nodes of {self.name}, {self.nodes}: got {unknown}.")
        noise = rng.standard_normal((len(self.nodes), n))
        values: dict[str, Array] = {}
        with np.errstate(invalid="ignore"):
            for (node, (parents, value)), own in zip(self.equations.items(), noise, strict=True):
                found = given[node] if node in given else value(*map(values.get, parents), own)
                values[node] = np.broadcast_to(np.asarray(found, dtype=np.float64), (n,))
        return np.column_stack(list(values.values()))

    @cached_property
    def observed(self) -> Array:
        """200,000 rows without intervention, always the same: for quantiles, means and sds."""
        return self.sample(200_000, np.random.default_rng(1))


def _model(name: str, **equations: tuple[str, Callable[..., Any]]) -> SyntheticSCM:
    """A model from pairs of the parents' names, in one text, and the function."""
    made = {node: Equation(tuple(text.split()), value) for node, (text, value) in equations.items()}
    return SyntheticSCM(name, made)


_ROOT = ("", lambda u: u)

# expit(a) is 1 / (1 + exp(-a)) and does not overflow
_MODELS = (
    _model(
        "chain-nonlin",
        x1=_ROOT,
        x2=("x1", lambda x1, u: (np.exp(x1 / 2) + u / 4) / 0.65),
        x3=("x2", lambda x2, u: ((x2 - 5) ** 3 / 15 + u) / 2.13),
    ),
    _model(
        "chain-na",
        x1=_ROOT,
        x2=("x1", lambda x1, u: 1 / ((u + x1) ** 2 + 0.5) / 0.63),
        x3=("x2", lambda x2, u: np.sqrt(x2 + abs(u)) / (0.1 + x2)),
    ),
    _model(
        "triangle-nonlin",
        x1=_ROOT,
        x2=("x1", lambda x1, u: (2 * x1**2 + u) / 3),
        x3=("x1 x2", lambda x1, x2, u: (20 * expit(x2**2 - x1) + u) / 2.41),
    ),
    _model(
        "triangle-na",
        x1=_ROOT,
        x2=("x1", lambda x1, u: (x1 / ((u + x1) ** 2 + 1) + u / 4) / 0.47),
        x3=(
            "x1 x2",
            lambda x1, x2, u: (abs(u) + 0.3) * (-x1 + x2 / 2 + abs(u) / 5) ** 2 / 0.93,
        ),
    ),
    _model(
        "diamond-nonlin",
        x1=_ROOT,
        x2=("x1", lambda x1, u: (x1**2 + u / 2) / 1.5),
        x3=("x1 x2", lambda x1, x2, u: (x2**2 - 2 * expit(x1) + u / 2) / 1.27),
        x4=("x2 x3", lambda x2, x3, u: (x3 / (abs(x2 + x3) + 0.5) + u / 5) / 0.54),
    ),
    _model(
        "diamond-na",
        x1=_ROOT,
        x2=(
            "x1",
            lambda x1, u: (np.sqrt(abs(x1)) * (abs(u) + 0.1) / 2 + abs(x1) + u / 5) / 0.83,
        ),
        x3=("x1 x2", lambda x1, x2, u: 6 / (1 + (abs(u) + 0.5) * np.exp(x1 - x2))),
        x4=("x2 x3", lambda x2, x3, u: ((x3 + x2 + u / 4 - 7) ** 2 - 20) / 7.27),
    ),
    _model(
        "y-nonlin",
        x1=_ROOT,
        x2=_ROOT,
        x3=("x1 x2", lambda x1, x2, u: (4 * expit(x1 + x2) - x2**2 + u / 2) / 1.83),
        x4=("x3", lambda x3, u: (20 * expit(x3 - x3**2 / 2) + u) / 3.26),
    ),
    _model(
        "y-na",
        x1=_ROOT,
        x2=_ROOT,
        x3=("x1 x2", lambda x1, x2, u: (x1 - 2 * x2 - 2) * (abs(u) + 0.2) / 2.87),
        x4=("x3", lambda x3, u: 1 / (abs(u + 2 * x3) + 0.5) / 0.43),
    ),
)
SCMS: dict[str, SyntheticSCM] = {model.name: model for model in _MODELS}
