"""Structural causal models with any estimator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

from nearbayes.algorithms.classifiers import classifier_algorithm
from nearbayes.algorithms.regressors import regressor_algorithm
from nearbayes.causal.causal_model import CausalModel, Method
from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.graph_algorithm import GraphAlgorithm
from nearbayes.causal.mechanisms import LearnedMechanism, Mechanism
from nearbayes.causal.variables import Variable, read_rows, variables_of
from nearbayes.core.data import Data
from nearbayes.core.schedule import Schedule
from nearbayes.execution.executors import ExecutorChoice
from nearbayes.learners.smooth_trees import SmoothTreesClassifier, SmoothTreesRegressor

__all__ = ["SCM", "example"]

CONTINUOUS = ("auto", "gaussian", "residual", "heteroscedastic")  # noise that is not for counts


class SCM(CausalModel):
    """A structural causal model with any estimator per node, and its posterior.

    Parameters
    ----------
    graph : networkx.DiGraph, or list of pairs (cause, effect)
    models : "auto", "linear", estimator, or mapping of str to estimator
        "auto": the default estimators of `PosteriorRegressor` and `PosteriorClassifier`. "linear":
        linear and logistic regression. A mapping has an estimator for some nodes, and "auto" for
        the others.
    noise : str or callable
        Distribution around a regressor's prediction; see `PosteriorRegressor`.
    method, n_draws, n_refits, schedule, random_state, n_jobs, progress, executor, checkpoint
        As in `DiffusionSCM`, with "anchored" and "ntkgp" only for networks.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=80)
    >>> data = {"x": x, "y": 2 * x + rng.normal(size=80)}
    >>> model = SCM([("x", "y")], models="linear", n_draws=50, random_state=0).fit(data)
    >>> slope = model.effect("y", do={"x": 1.0}, versus={"x": 0.0})
    >>> low, high = slope.interval()
    >>> bool(low < 2 < high)
    True
    """

    def __init__(
        self,
        graph: Any,
        *,
        models: Any = "auto",
        noise: Any = "auto",
        method: Method = "martingale",
        n_draws: int = 50,
        n_refits: int | None = None,
        schedule: Schedule | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        executor: ExecutorChoice = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.graph = graph
        self.models = models
        self.noise = noise
        self.method = method
        self.n_draws = n_draws
        self.n_refits = n_refits
        self.schedule = schedule
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.executor = executor
        self.checkpoint = checkpoint

    def _mechanisms(
        self, graph: CausalGraph, variables: Mapping[str, Variable]
    ) -> tuple[Mechanism, ...]:
        if isinstance(self.models, Mapping):
            for node in self.models:
                graph.check_node(node, "a node of models")
                if not graph.parents[node]:
                    raise ValueError(
                        f"models has {node!r}, a root: roots are resampled, so leave it out."
                    )
        spreads = self.noise in CONTINUOUS
        return tuple(
            LearnedMechanism.of(
                node, graph, variables, self._algorithm_of(variables[node]), spreads=spreads
            )
            for node in graph.effects
        )

    def _algorithm_of(self, variable: Variable) -> Any:
        chosen = self.models
        if isinstance(chosen, Mapping):
            chosen = chosen.get(variable.name, "auto")
        is_category = variable.kind == "category"
        if chosen is None or isinstance(chosen, str):
            chosen = _usual(chosen, is_category)
        if is_category:
            return classifier_algorithm(chosen, {})
        found = regressor_algorithm(chosen, self.noise, {})
        if found.traits.own_variance:  # an effect is a number with noise, not a process
            return regressor_algorithm(chosen, "gaussian", {})
        return found


def _usual(name: str | None, is_category: bool) -> Any:
    """The estimator with this name."""
    known = {
        "auto": (SmoothTreesRegressor, SmoothTreesClassifier),
        "linear": (LinearRegression, LogisticRegression),
    }
    if name not in known:
        raise ValueError(f"models must be 'auto', 'linear', estimators or a mapping, got {name!r}.")
    return known[name][is_category]()


def example() -> tuple[GraphAlgorithm, Data]:
    """A graph with linear models and data for it, for the tests of every family."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    data = {"x": x, "yes": x + rng.normal(size=60) > 0, "y": x + rng.normal(size=60)}
    graph = CausalGraph.of([("x", "yes"), ("x", "y"), ("yes", "y")])
    model = SCM(graph, models="linear")
    variables = variables_of(data, graph)
    algorithm = GraphAlgorithm(graph, variables, model._mechanisms(graph, variables))
    return algorithm, algorithm.data_of(read_rows(data, graph, variables))
