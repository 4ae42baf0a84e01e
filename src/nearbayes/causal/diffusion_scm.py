"""Structural causal models with diffusion models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

from nearbayes.algorithms.classifiers import classifier_algorithm
from nearbayes.causal.astray import warn_of_strays
from nearbayes.causal.causal_model import CausalModel, Method
from nearbayes.causal.diffusion_mechanism import DiffusionMechanism
from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.mechanisms import LearnedMechanism, Mechanism
from nearbayes.causal.variables import Variable
from nearbayes.core.schedule import Schedule
from nearbayes.execution.executors import ExecutorChoice
from nearbayes.methods.tracing import MOST_ROWS
from nearbayes.neural.chunks import Optimiser
from nearbayes.neural.network import Activation
from nearbayes.neural.perceptrons import MLPClassifier

__all__ = ["DiffusionSCM"]


class DiffusionSCM(CausalModel):
    """A structural causal model with a diffusion model per node, and its posterior.

    Every numeric node with parents has a conditional diffusion model; categories have a network
    with softmax outputs. Roots are resampled. Needs the extra `jax`.

    Parameters
    ----------
    graph : networkx.DiGraph, or list of pairs (cause, effect)
        Nodes are names of columns.
    method : str
        "martingale", "bootstrap", "parametric_bootstrap", "ensemble", "anchored" or "ntkgp".
    n_draws : int
    n_refits : int, optional
        Refits of the martingale; by default blocks of n/4 rows until 6n are imputed.
    schedule : Schedule, optional
    width, depth : int
        Width and number of hidden layers.
    activation : "swish", "selu", "tanh" or "relu"
    learning_rate : float
        Models are averages of their iterates, so it may be high.
    n_iterations : int, optional
        Steps of the first fit; by default chosen once by held-out rows, up to `most_iterations`.
    most_iterations : int
    centred : bool
        Whether refits remove the drift caused by a model's own samples.
    random_state, n_jobs, progress, executor, checkpoint
        As in `nearbayes.martingale_posterior`.

    Attributes
    ----------
    graph_ : CausalGraph
    variables_ : dict of str to Variable
    posterior_ : Posterior

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=80)
    >>> data = {"x": x, "y": x**2 + 0.1 * rng.normal(size=80)}
    >>> model = DiffusionSCM(
    ...     [("x", "y")], n_draws=8, n_refits=2, n_iterations=200, width=16, random_state=0)
    >>> model.fit(data).interventional_mean("y", do={"x": 1.0}).interval().shape
    (2,)
    """

    def __init__(
        self,
        graph: Any,
        *,
        method: Method = "martingale",
        n_draws: int = 16,
        n_refits: int | None = None,
        schedule: Schedule | None = None,
        width: int = 64,
        depth: int = 2,
        activation: Activation = "swish",
        learning_rate: float = 3e-3,
        n_iterations: int | None = None,
        most_iterations: int = 4_000,
        centred: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        executor: ExecutorChoice = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.graph = graph
        self.method = method
        self.n_draws = n_draws
        self.n_refits = n_refits
        self.schedule = schedule
        self.width = width
        self.depth = depth
        self.activation = activation
        self.learning_rate = learning_rate
        self.n_iterations = n_iterations
        self.most_iterations = most_iterations
        self.centred = centred
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.executor = executor
        self.checkpoint = checkpoint

    def fit(self, data: Any, y: None = None) -> Self:
        """Draw posterior models of the whole graph, and warn if refits have diverged.

        Parameters
        ----------
        data : data frame, or mapping of str to array
            A column for every node of the graph; other columns are ignored.
        y : ignored
        """
        super().fit(data)
        if self.method == "martingale":
            effects = [self.variables_[name] for name in self.graph_.effects]
            warn_of_strays(self.posterior_.trace, effects, min(len(self.rows_), MOST_ROWS))
        return self

    def _mechanisms(
        self, graph: CausalGraph, variables: Mapping[str, Variable]
    ) -> tuple[Mechanism, ...]:
        numbers = tuple(node for node in graph.effects if variables[node].kind != "category")
        found: list[Mechanism] = []
        if numbers:
            found.append(
                DiffusionMechanism(
                    graph,
                    variables,
                    numbers,
                    self.width,
                    self.depth,
                    self.activation,
                    Optimiser(rate=self.learning_rate),
                    self.n_iterations,
                    self.most_iterations,
                    self.centred,
                )
            )
        for node in graph.effects:
            if variables[node].kind == "category":
                network = classifier_algorithm(MLPClassifier((self.width,) * self.depth), {})
                found.append(LearnedMechanism.of(node, graph, variables, network))
        return tuple(found)
