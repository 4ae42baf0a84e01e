"""Every algorithm, with small data: the contracts in this folder run over all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier, LGBMRegressor
from skeleton_algorithm import LaplacePolynomial
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import (
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

import nearbayes as nb
from nearbayes import families, registry
from nearbayes.algorithms.classifiers import classifier_algorithm
from nearbayes.algorithms.regressors import regressor_algorithm
from nearbayes.causal.diffusion_mechanism import DiffusionMechanism
from nearbayes.causal.graph import CausalGraph
from nearbayes.causal.graph_algorithm import GraphAlgorithm
from nearbayes.causal.mechanisms import LearnedMechanism
from nearbayes.causal.variables import Variable


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[], Any]
    data: Callable[[], nb.Data]


def regression(n: int = 60, outputs: int = 1) -> nb.Data:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 3))
    y = X @ rng.normal(size=(3, outputs)) + rng.normal(size=(n, outputs))
    return nb.Data.of(X, y[:, 0] if outputs == 1 else y)


def counts() -> nb.Data:
    data = regression()
    return nb.Data.of(data.x, np.random.default_rng(1).poisson(np.exp(data.x[:, 0] / 2)))


def classification(n_classes: int = 3) -> nb.Data:
    data = regression(90)
    ranks = np.argsort(np.argsort(data.y)) * n_classes // 90
    return nb.Data.of(data.x, np.array(["a", "b", "c", "d"])[ranks])


def frame() -> nb.Data:
    data = classification(2)
    table = pd.DataFrame(data.x, columns=["u", "v", "w"])
    table["w"] = pd.Categorical(np.where(table["w"] > 0, "up", "down"))
    table.loc[::7, "u"] = np.nan
    return nb.Data.of(table, data.y)


def observations(z: Any) -> Callable[[], nb.Data]:
    return lambda: nb.Data.of(np.asarray(z))


def _mean(x: Any, y: Any) -> float:
    return float(np.mean(y))


def _median(z: Any) -> float:
    return float(np.median(z))


def _around(model: float, x: Any, rng: np.random.Generator) -> Any:
    return rng.normal(model, 1.0, x if isinstance(x, int) else len(x))


def _noisy_mean(x: Any, y: Any, rng: np.random.Generator) -> float:
    return float(np.mean(y) + 0.01 * rng.normal())


def _user_noise(mean: Any, x: Any, rng: np.random.Generator) -> Any:
    return mean + rng.laplace(size=mean.shape)


def _poisson(mean: Any, x: Any, rng: np.random.Generator) -> Any:
    return rng.poisson(mean)


RNG = np.random.default_rng(3)
FAMILIES = {
    "gaussian": (families.Gaussian([1.0, 4.0]), RNG.normal(size=(40, 2))),
    "gaussian_mean_variance": (families.GaussianMeanVariance(), RNG.normal(size=40)),
    "bernoulli": (families.Bernoulli(), RNG.binomial(1, 0.4, 40)),
    "categorical": (families.Categorical(3), RNG.choice(3, 40)),
    "poisson": (families.Poisson(), RNG.poisson(2.0, 40)),
    "exponential": (families.Exponential(), RNG.exponential(2.0, 40)),
    "gamma": (families.Gamma(2.0), RNG.gamma(2.0, 1.0, 40)),
}


def classifier(estimator: Any) -> Callable[[], Any]:
    return lambda: nb.ClassifierAlgorithm.of(estimator)


def regressor(estimator: Any, noise: Any = "gaussian") -> Callable[[], Any]:
    return lambda: nb.RegressorAlgorithm.of(estimator, noise)


def _empirical_bayes() -> Any:
    process = nb.gp.EmpiricalBayesGP(initial="random", tolerance=1e-6)
    return regressor_algorithm(process, "auto", {})


def graph_rows(n: int = 40) -> np.ndarray:
    rng = np.random.default_rng(5)
    a = rng.normal(size=n)
    b = (a + rng.normal(size=n) > 0).astype(float)
    return np.column_stack([a, b, a - b + 0.5 * rng.normal(size=n)])


GRAPH = CausalGraph.of([("a", "b"), ("a", "c"), ("b", "c")])
VARIABLES = {
    "a": Variable("a"),
    "b": Variable("b", "category", ("no", "yes")),
    "c": Variable("c"),
}


def _graph_of_estimators() -> Any:
    parts = {
        "b": nb.ClassifierAlgorithm.of(LogisticRegression()),
        "c": nb.RegressorAlgorithm.of(Ridge()),
    }
    mechanisms = tuple(LearnedMechanism.of(node, GRAPH, VARIABLES, parts[node]) for node in parts)
    return GraphAlgorithm(GRAPH, VARIABLES, mechanisms)


def _graph_of_diffusions() -> Any:
    network = classifier_algorithm(nb.neural.MLPClassifier((8,), n_passes=5), {})
    diffusion = DiffusionMechanism(GRAPH, VARIABLES, ("c",), width=8, n_iterations=20)
    choice = LearnedMechanism.of("b", GRAPH, VARIABLES, network)
    return GraphAlgorithm(GRAPH, VARIABLES, (diffusion, choice))


def graph_data() -> nb.Data:
    return _graph_of_estimators().data_of(graph_rows())


SMALL_TREES = {"max_iter": 5, "min_samples_leaf": 3}
FEW_ROUNDS = {"n_estimators": 5, "max_depth": 3, "enable_categorical": True}
FEW_LEAVES = {"n_estimators": 5, "num_leaves": 5, "min_child_samples": 5, "verbosity": -1}
CASES = [
    Case("functions", lambda: nb.algorithm(_mean, _around), regression),
    Case(
        "functions_without_inputs",
        lambda: nb.algorithm(_median, _around),
        observations(RNG.normal(size=30)),
    ),
    Case(
        "functions_random", lambda: nb.algorithm(_noisy_mean, _around, randomised=True), regression
    ),
    Case("skeleton", LaplacePolynomial, regression),
    *(
        Case(f"family_{name}", lambda family=family: nb.SequentialMLE(family), observations(z))
        for name, (family, z) in FAMILIES.items()
    ),
    Case("logistic", classifier(LogisticRegression()), classification),
    Case("naive_bayes", classifier(GaussianNB()), classification),
    Case("forest", classifier(RandomForestClassifier(5)), classification),
    Case("boosting_on_frame", classifier(HistGradientBoostingClassifier(**SMALL_TREES)), frame),
    Case(
        "pipeline",
        classifier(make_pipeline(StandardScaler(), LogisticRegression())),
        classification,
    ),
    Case("linear", regressor(LinearRegression()), regression),
    Case("linear_two_outputs", regressor(LinearRegression()), lambda: regression(outputs=2)),
    Case("ridge_residual", regressor(Ridge(), "residual"), regression),
    Case(
        "ridge_two_outputs_residual", regressor(Ridge(), "residual"), lambda: regression(outputs=2)
    ),
    Case("ridge_heteroscedastic", regressor(Ridge(), "heteroscedastic"), regression),
    Case("ridge_function_noise", regressor(Ridge(), _user_noise), regression),
    Case("poisson_glm", regressor(PoissonRegressor(), _poisson), counts),
    Case("bayesian_ridge_own", regressor(BayesianRidge(), "estimator"), regression),
    Case("gp_own", regressor(GaussianProcessRegressor(alpha=0.5), "estimator"), regression),
    Case("empirical_bayes_gp_from_random_starts", _empirical_bayes, regression),
    Case("tree", regressor(DecisionTreeRegressor(max_depth=3)), regression),
    Case("boosting", regressor(HistGradientBoostingRegressor(**SMALL_TREES)), regression),
    Case("xgboost_two_classes", classifier(XGBClassifier(**FEW_ROUNDS)), frame),
    Case("xgboost_three_classes", classifier(XGBClassifier(**FEW_ROUNDS)), classification),
    Case(
        "xgboost_subsample", classifier(XGBClassifier(**FEW_ROUNDS, subsample=0.7)), classification
    ),
    Case("xgboost_regression", regressor(XGBRegressor(**FEW_ROUNDS)), regression),
    Case(
        "xgboost_two_outputs", regressor(XGBRegressor(**FEW_ROUNDS)), lambda: regression(outputs=2)
    ),
    Case("lightgbm_two_classes", classifier(LGBMClassifier(**FEW_LEAVES)), frame),
    Case("lightgbm_three_classes", classifier(LGBMClassifier(**FEW_LEAVES)), classification),
    Case("lightgbm_regression", regressor(LGBMRegressor(**FEW_LEAVES)), regression),
    Case("graph_of_estimators", _graph_of_estimators, graph_data),
    Case("graph_of_diffusions", _graph_of_diffusions, graph_data),
    Case(
        "mixture",
        lambda: nb.DensityAlgorithm.of(GaussianMixture(2)),
        observations(RNG.normal(size=(50, 2))),
    ),
    Case(
        "kernel_density",
        lambda: nb.DensityAlgorithm.of(KernelDensity(bandwidth=0.4)),
        observations(RNG.normal(size=(50, 2))),
    ),
]


def registered(family: registry.Family) -> Case:
    """The example of a registered family, at its default size."""

    def make() -> Any:
        thing, _ = family.resolved("example")()
        if isinstance(thing, nb.Algorithm | nb.ChunkAlgorithm):
            return thing
        if hasattr(thing, "predict_proba"):
            return classifier_algorithm(thing, {})
        return regressor_algorithm(thing, "auto", {})

    return Case(family.name.replace(" ", "_"), make, lambda: family.resolved("example")()[1])


# AutoGluon has an environment and tests of its own; CatBoost and PyTorch need not be there
LEFT_OUT = {"autogluon", *(name for name in ("catboost", "torch") if find_spec(name) is None)}
REGISTERED = [registered(each) for each in registry.families() if each.name not in LEFT_OUT]
CASES += REGISTERED


def fingerprint(posterior: nb.Posterior, data: nb.Data) -> np.ndarray:
    """What the draws say, to the last bit: predictions where there are any, else the models."""
    algorithm = posterior.algorithm
    if data.table is not None and getattr(algorithm, "predict_function", algorithm) is not None:
        return posterior.predict(data.x)
    if isinstance(posterior.models[0], float | np.ndarray):
        return np.asarray(posterior.models)
    rows = data.rows().head(10)
    return np.stack(
        [algorithm.sample(model, rows, np.random.default_rng(0)) for model in posterior.models]
    )
