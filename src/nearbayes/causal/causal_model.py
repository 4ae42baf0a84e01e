"""Shared by structural causal models: how they are fitted, and their queries."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import qmc
from sklearn.base import BaseEstimator

from nearbayes import baselines
from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.graph_algorithm import GraphAlgorithm, GraphModels
from nearbayes.causal.interventions import Changes, changes_of
from nearbayes.causal.mechanisms import Mechanism
from nearbayes.causal.variables import Variable, frame_of, read_rows, variables_of
from nearbayes.core.schedule import Schedule, is_whole
from nearbayes.draws.functional import Functional
from nearbayes.execution.executors import ExecutorChoice
from nearbayes.methods.martingale import martingale_posterior
from nearbayes.registry import resolved

__all__ = ["CausalModel", "CausalSamples", "Method"]

Array = NDArray[np.float64]
Method = Literal["martingale", "bootstrap", "parametric_bootstrap", "ensemble", "anchored", "ntkgp"]
N_POINTS = 1_024  # rows that represent a distribution; a power of 2, for Sobol points


@dataclass(frozen=True, eq=False)
class CausalSamples:
    """Rows of every draw.

    Attributes
    ----------
    rows : array of shape (n_draws, n_rows, n_nodes)
        Values as numbers; categories as codes.
    """

    rows: Array
    graph: CausalGraph
    variables: Mapping[str, Variable]

    def __getitem__(self, node: str) -> NDArray[Any]:
        """Values of a node, shape (n_draws, n_rows)."""
        self.graph.check_node(node, "node")
        return self.variables[node].restored(self.rows[..., self.graph.nodes.index(node)])

    def to_frame(self) -> Any:
        """A data frame with the columns of the data and a column with the number of the draw."""
        frame = frame_of(self.rows.reshape(-1, self.rows.shape[2]), self.graph, self.variables)
        frame.insert(0, "draw", np.repeat(np.arange(len(self.rows)), self.rows.shape[1]))
        return frame


class CausalModel(BaseEstimator):  # type: ignore[misc]
    """A structural causal model: a graph, and a posterior of the mechanisms of its nodes.

    Attributes
    ----------
    rows_ : array of shape (n_rows, n_nodes)
        The data as numbers; after `nearbayes.load`, NaN for nodes with parents.
    seen_ : dict of str to array of shape (n_rows,)
        Values of every node in the data, in increasing order; categories as codes.
    """

    graph: Any
    method: Method
    n_draws: int
    n_refits: int | None
    schedule: Schedule | None
    random_state: Any
    n_jobs: int | None
    progress: bool | None
    executor: ExecutorChoice
    checkpoint: str | os.PathLike[str] | None

    @abstractmethod
    def _mechanisms(
        self, graph: CausalGraph, variables: Mapping[str, Variable]
    ) -> tuple[Mechanism, ...]:
        """The mechanisms that determine nodes from their parents."""

    def fit(self, data: Any, y: None = None) -> Self:
        """Draw posterior models of the whole graph.

        Parameters
        ----------
        data : data frame, or mapping of str to array
            A column for every node of the graph; other columns are ignored.
        y : ignored
        """
        if self.method not in get_args(Method):
            raise ValueError(
                f"method must be one of {', '.join(get_args(Method))}, got {self.method!r}."
            )
        graph = CausalGraph.of(self.graph)
        variables = variables_of(data, graph)
        rows = read_rows(data, graph, variables)
        mechanisms = self._mechanisms(graph, variables)
        algorithm = GraphAlgorithm(graph, variables, mechanisms, self.schedule)
        # set together at the end, so that a failed fit does not change an earlier one
        self.posterior_ = self._drawn(algorithm, rows)
        self.graph_, self.variables_, self.rows_ = graph, variables, rows
        self.seen_ = dict(zip(graph.nodes, np.sort(rows, axis=0).T, strict=True))
        return self

    def _drawn(self, algorithm: GraphAlgorithm, rows: Array) -> Any:
        run = {
            "n_draws": self.n_draws,
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
            "progress": self.progress,
            "executor": self.executor,
            "checkpoint": self.checkpoint,
        }
        data = algorithm.data_of(rows)
        if self.method == "martingale":
            schedule = self.schedule or algorithm.traits.schedule(self.n_refits)
            return martingale_posterior(algorithm, data, schedule=schedule, **run)
        return getattr(baselines, self.method)(algorithm, data, **run)

    # -- questions ------------------------------------------------------------------------------

    def sample(
        self,
        do: Mapping[str, Any] | None = None,
        n: int = 1_000,
        random_state: Any = 0,
        *,
        shared_noise: bool = False,
    ) -> CausalSamples:
        """Sample rows from every draw under an intervention.

        Parameters
        ----------
        do : mapping of str to value or callable, optional
            A value sets a node: ``{"x1": 0.3}``. A function changes the values that the node would
            have had: ``{"x1": lambda x: x + 1}``.
        n : int
            Rows per draw.
        random_state : seed
        shared_noise : bool
            Whether all draws have the same noise, so that they differ only in what they learned.
        """
        changes = changes_of(do, self._graph, self.variables_)
        if not is_whole(n) or n < 1:
            raise ValueError(f"n must be a whole number of rows, 1 or more, got {n!r}.")
        rng = np.random.default_rng(random_state)
        shape = (n, len(self._graph.nodes))
        if not shared_noise:
            shape = (len(self.posterior_), *shape)  # type: ignore[assignment]
        return self._samples(self._rows(rng.random(shape), changes))

    def interventional_mean(
        self, outcome: str, do: Mapping[str, Any] | None = None, n: int = N_POINTS
    ) -> Functional:
        """Mean of a node under an intervention, as draws of a number.

        Parameters
        ----------
        outcome : str
            A numeric node; for categories, the result is their probabilities.
        do : mapping, optional
            As in `sample`.
        n : int
            Number of rows that represent the distribution, a power of 2. They have the same noise
            in all draws, so that draws differ only in what they learned.
        """
        found = self._functional(self._means(self._values(outcome, do, n), outcome), outcome)
        if self.variables_[outcome].kind != "category":
            return found
        return replace(found, link="logit", start=self.posterior_.start)

    def interventional_cdf(
        self,
        outcome: str,
        at: ArrayLike,
        do: Mapping[str, Any] | None = None,
        n: int = N_POINTS,
    ) -> Functional:
        """Distribution function of a node at some values, under an intervention."""
        self._check_number(outcome)
        points = np.atleast_1d(np.asarray(at, dtype=np.float64))
        values = self._values(outcome, do, n)
        shares = np.stack([np.mean(values <= point, axis=1) for point in points], axis=1)
        found = self._functional(shares)
        return replace(
            found, link="logit", start=self.posterior_.start, coordinates={outcome: points.tolist()}
        )

    def interventional_quantiles(
        self,
        outcome: str,
        levels: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95),
        do: Mapping[str, Any] | None = None,
        n: int = N_POINTS,
    ) -> Functional:
        """Quantiles of a node under an intervention."""
        self._check_number(outcome)
        wanted = np.atleast_1d(np.asarray(levels, dtype=np.float64))
        if not ((wanted > 0) & (wanted < 1)).all():
            raise ValueError(f"levels must lie between 0 and 1, got {levels!r}.")
        found = np.quantile(self._values(outcome, do, n), wanted, axis=1).T
        return replace(self._functional(found), coordinates={"level": wanted.tolist()})

    def effect(
        self,
        outcome: str,
        do: Mapping[str, Any] | None,
        versus: Mapping[str, Any] | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        n: int = N_POINTS,
    ) -> Functional:
        """Difference of the means of a node under two interventions.

        Parameters
        ----------
        outcome : str
        do, versus : mapping
            As in `sample`; None: no intervention.
        given : mapping, optional
            Restricts the effect to some rows, by a value or a range (low, high) of nodes that
            neither intervention changes.
        n : int
        """
        first, second = (self._under(each, n) for each in (do, versus))
        k = self._graph.nodes.index(self._checked(outcome))
        kept = self._given(given, {*(do or {}), *(versus or {})}, second)
        pairs = zip(first[..., k], second[..., k], kept, strict=True)
        differences = [
            self._means(a[None, rows], outcome)[0] - self._means(b[None, rows], outcome)[0]
            for a, b, rows in pairs
        ]
        return self._functional(np.stack(differences), outcome)

    def effects(
        self, do: Mapping[str, Any], versus: Mapping[str, Any] | None = None, *, n: int = N_POINTS
    ) -> dict[str, Functional]:
        """`effect` on every node that the interventions affect, at the cost of one of them.

        Parameters
        ----------
        do, versus : mapping
            As in `effect`.
        n : int

        Returns
        -------
        dict of str to Functional
            By descendant of the changed nodes, causes before effects.

        Examples
        --------
        >>> import nearbayes as nb
        >>> x = np.arange(20.0)
        >>> model = nb.causal.SCM([("x", "y"), ("y", "z")], models="linear", n_draws=5)
        >>> model = model.fit({"x": x, "y": 2 * x + np.sin(x), "z": np.cos(x)})
        >>> list(model.effects(do={"x": 1.0}, versus={"x": 0.0}))
        ['y', 'z']
        """
        first, second = (self._under(each, n) for each in (do, versus))
        place = {node: k for k, node in enumerate(self._graph.nodes)}
        return {
            node: self._functional(
                self._means(first[..., place[node]], node)
                - self._means(second[..., place[node]], node),
                node,
            )
            for node in self._graph.descendants({**(do or {}), **(versus or {})})
        }

    def outside_data(self, do: Mapping[str, Any] | None) -> dict[str, float]:
        """Share of rows that an intervention moves out of the range of the data, by node.

        Results there depend on how the models extrapolate, and the draws may agree on a wrong one.

        Parameters
        ----------
        do : mapping
            As in `sample`.

        Examples
        --------
        >>> import nearbayes as nb
        >>> x = np.arange(20.0)
        >>> model = nb.causal.SCM([("x", "y")], models="linear", n_draws=5)
        >>> model = model.fit({"x": x, "y": 2 * x + np.sin(x)})
        >>> model.outside_data({"x": 25.0}), model.outside_data({"x": lambda x: x + 5})
        ({'x': 1.0}, {'x': 0.25})
        """
        found = {}
        for node, change in changes_of(do, self._graph, self.variables_).items():
            seen = self.seen_[node]
            values = change(seen[None])
            found[node] = float(np.mean((values < seen[0]) | (values > seen[-1])))
        return found

    def counterfactual(
        self, rows: Any, do: Mapping[str, Any], random_state: Any = 0
    ) -> CausalSamples:
        """Counterfactual values of these rows under an intervention, by every draw.

        The noise of each row is computed from its values, some nodes are changed, and their
        effects are computed again with the same noise.

        Parameters
        ----------
        rows : data frame, or mapping of str to array
        do : mapping
            As in `sample`.
        random_state : seed
            For categories and integers, whose noise is only partly known.
        """
        changes = changes_of(do, self._graph, self.variables_)
        factual = read_rows(rows, self._graph, self.variables_, "rows")
        found = []
        for models in self._chunks():
            rng = np.random.default_rng(random_state)  # the same for all draws
            found.append(self._algorithm.rows_instead(models, factual, changes, rng))
        return self._samples(np.concatenate(found)[: len(self.posterior_)])

    def save(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Save the fitted model as one file, which `nearbayes.load` reads without running code.

        The loaded model gives the same answers bit for bit. The file contains the values of roots
        row by row, as roots are resampled, and the sorted values of other nodes, but not which of
        them belong to the same row.

        Parameters
        ----------
        path : path
            An existing file is replaced atomically.
        **options : thin, max_megabytes, attachments, trusted
            As in `nearbayes.PosteriorClassifier.save`.

        Raises
        ------
        nearbayes.files.NotSaveable
            If a safe file cannot contain the model of a node, or a function; a `TypeError`.

        Examples
        --------
        >>> import tempfile, nearbayes as nb
        >>> x = np.arange(20.0)
        >>> model = nb.causal.SCM([("x", "y")], models="linear", n_draws=5, random_state=0)
        >>> model = model.fit({"x": x, "y": 2 * x + np.sin(x)})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     loaded = nb.load(model.save(f"{folder}/model.nearbayes"))
        >>> ours, theirs = (each.effect("y", {"x": 1.0}).values for each in (model, loaded))
        >>> bool((ours == theirs).all())
        True
        """
        assert self._graph is not None  # rejects a model that is not fitted
        save = resolved("nearbayes.files.causal_file:save_causal")
        return save(self, path, **options)  # type: ignore[no-any-return]

    # -- rows -----------------------------------------------------------------------------------

    @property
    def _graph(self) -> CausalGraph:
        if not hasattr(self, "posterior_"):
            raise ValueError(f"this {type(self).__name__} is not fitted: call fit(data) first.")
        return self.graph_

    @property
    def _algorithm(self) -> GraphAlgorithm:
        return self.posterior_.algorithm  # type: ignore[no-any-return]

    def _samples(self, rows: Array) -> CausalSamples:
        return CausalSamples(rows, self._graph, self.variables_)

    def _chunks(self) -> list[GraphModels]:
        return self._algorithm.chunks_of(self.posterior_.models)

    def _rows(self, uniform: Array, changes: Changes) -> Array:
        """Rows of every draw, from uniform numbers of each draw or shared by all."""
        algorithm, size, found = self._algorithm, self._algorithm.traits.chunk, []
        for k, models in enumerate(self._chunks()):
            part = uniform
            if uniform.ndim == 3:
                part = uniform[np.minimum(np.arange(size) + k * size, len(uniform) - 1)]
            roots = algorithm.roots_of(models, self.rows_, part)
            noise = ndtri(np.clip(part, 1e-9, 1 - 1e-9))
            found.append(algorithm.rows_under(models, noise, roots, changes))
        return np.concatenate(found)[: len(self.posterior_)]

    def _under(self, do: Mapping[str, Any] | None, n: int) -> Array:
        """Rows under an intervention, with the same noise in every draw and for every query."""
        changes = changes_of(do, self._graph, self.variables_)
        if not is_whole(n) or n < 2 or n & (n - 1):
            raise ValueError(f"n must be a power of 2, such as 1024, got {n!r}.")
        points = qmc.Sobol(len(self._graph.nodes), rng=0).random(n)
        return self._rows(points, changes)

    def _values(self, outcome: str, do: Mapping[str, Any] | None, n: int) -> Array:
        """Values of a node, shape (n_draws, n_rows)."""
        return self._under(do, n)[..., self._graph.nodes.index(self._checked(outcome))]

    def _checked(self, outcome: str) -> str:
        self._graph.check_node(outcome, "outcome")
        return outcome

    def _check_number(self, outcome: str) -> None:
        self._checked(outcome)
        if self.variables_[outcome].kind == "category":
            raise TypeError(
                f"outcome {outcome!r} has categories, which have no order: use "
                "interventional_mean, which gives their probabilities."
            )

    def _means(self, values: Array, outcome: str) -> Array:
        """Means over rows, shape (n_draws,); for categories, shares with a further axis."""
        variable = self.variables_[outcome]
        if variable.kind != "category":
            return np.asarray(values.mean(axis=1))
        return np.asarray(np.eye(variable.width)[values.astype(np.intp)].mean(axis=1))

    def _functional(self, values: Array, outcome: str | None = None) -> Functional:
        """Draws of a quantity, with everything needed for intervals."""
        coordinates = None
        if outcome is not None and self.variables_[outcome].kind == "category":
            coordinates = {outcome: list(self.variables_[outcome].categories)}
        source = self.posterior_.provenance
        return Functional(values, self.posterior_.inflation, "identity", source.origin, coordinates)

    def _given(self, given: Mapping[str, Any] | None, changed: set[str], rows: Array) -> list[Any]:
        """Selected rows of every draw."""
        touched = {*changed, *self._graph.descendants(changed)}
        kept = np.ones(rows.shape[:2], dtype=bool)
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(
                f"given must map nodes to values or ranges, as in {{'x': (0, 1)}}, got "
                f"{given!r:.60}."
            )
        for node, wanted in (given or {}).items():
            self._graph.check_node(node, "a node of given")
            if node in touched:
                raise ValueError(
                    f"given has {node!r}, which the intervention changes: use nodes that it does "
                    "not affect."
                )
            kept &= self._is_wanted(node, wanted, rows[..., self._graph.nodes.index(node)])
        if (kept.sum(axis=1) < 1).any():
            raise ValueError("given has no rows: widen its ranges, or raise n.")
        return list(kept)

    def _is_wanted(self, node: str, wanted: Any, values: Array) -> Any:
        variable = self.variables_[node]
        several = isinstance(wanted, Sequence | np.ndarray) and not isinstance(wanted, str)
        if several and variable.kind == "category":  # categories have no order, so no range
            return np.isin(values, variable.codes(list(wanted), "given"))
        if several and len(wanted) == 2:
            ends = np.asarray(wanted)
            is_open = ends.dtype.kind == "f" and np.isinf(ends).any() and not np.isnan(ends).any()
            low, high = ends if is_open else variable.codes(list(wanted), "given")
            return (values >= low) & (values <= high)
        if variable.kind == "number":
            raise ValueError(
                f"given must have a range (low, high) for {node!r}, whose values are numbers, "
                f"got {wanted!r}."
            )
        return values == variable.codes([wanted], "given")[0]
