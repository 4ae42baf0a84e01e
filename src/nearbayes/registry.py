"""Registry: one line per family of models; to add a family, only this file needs a change.

A line defines the algorithm of each estimator, the file format of draws, the extra to install, and
the example for the contract tests. Everything is named by text, "module:name", and imported when it
is needed, so that using one family does not import another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["Family", "families", "family_named", "family_of", "register", "resolved"]


@dataclass(frozen=True)
class Family:
    """A family of models.

    Attributes
    ----------
    name : str
        Name of the family in files.
    types : tuple of str
        Classes that belong to it, as "package.Class": estimators of the user and algorithms. A
        subclass may do anything in its methods, so it only belongs if `subclasses` is true.
    fit : str, optional
        Class that fits estimators of a library; see `nearbayes.fits.estimator_fit.EstimatorFit`.
    algorithm : str, optional
        Class of algorithm for an estimator with its own refit.
    files : str, optional
        Module with ``dump`` and ``load`` for estimators, ``dump_draws`` and ``load_draws`` for
        algorithms; without it, models are saved like those of scikit-learn.
    extra : str, optional
        Extra to install: ``pip install 'nearbayes[extra]'``.
    subclasses : bool
    example : str, optional
        Function that gives an algorithm or estimator of the family at its default size, and data
        for it: the contract tests run all of them.
    """

    name: str
    types: tuple[str, ...]
    fit: str | None = None
    algorithm: str | None = None
    files: str | None = None
    extra: str | None = None
    subclasses: bool = False
    example: str | None = None

    def has(self, kind: type) -> bool:
        """Whether a class belongs to the family, by name, without importing its library."""
        known = kind.__mro__ if self.subclasses else (kind,)
        return any(_short_name(each) in self.types for each in known)

    def resolved(self, part: str) -> Any:
        """Import the `part` of the line; the error for a missing package names its extra."""
        try:
            return resolved(getattr(self, part))
        except ModuleNotFoundError as missing:
            if self.extra is None or (missing.name or "").startswith("nearbayes"):
                raise
            raise ModuleNotFoundError(
                f"{self.name} models need {missing.name}: pip install 'nearbayes[{self.extra}]'.",
                name=missing.name,
            ) from missing


_FAMILIES: dict[str, Family] = {}


def register(family: Family) -> Family:
    """Add a family; replaces one of the same name.

    Examples
    --------
    >>> family_named("xgboost").extra
    'xgboost'
    """
    _FAMILIES[family.name] = family
    return family


def families() -> Iterator[Family]:
    """All families, in the order of their lines."""
    return iter(list(_FAMILIES.values()))


def family_of(thing: object) -> Family | None:
    """The family of an estimator or an algorithm, or None."""
    return next((each for each in families() if each.has(type(thing))), None)


def family_named(name: str) -> Family | None:
    """The family with a name from a file, or None."""
    return _FAMILIES.get(name)


def resolved(name: str) -> Any:
    """Import "module:name", or a whole module.

    Examples
    --------
    >>> resolved("math:sqrt")(4.0)
    2.0
    """
    module, _, attribute = name.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


def _short_name(kind: type) -> str:
    """Name of a class without intermediate modules, which libraries often change."""
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"


for _line in (
    Family(
        name="functions",
        types=("nearbayes.FunctionAlgorithm",),
        files="nearbayes.files.function_draws",
        example="nearbayes.algorithms.functions:example",
    ),
    Family(
        name="exponential family",
        types=("nearbayes.SequentialMLE",),
        files="nearbayes.files.family_draws",
        example="nearbayes.algorithms.families:example",
    ),
    Family(
        name="linear gaussian",
        types=("nearbayes.LinearGaussian",),
        files="nearbayes.files.linear_gaussian_draws",
        example="nearbayes.algorithms.linear_gaussian:example",
    ),
    Family(
        name="estimators",  # of any library that does not have its own line
        types=tuple(
            f"nearbayes.{kind}Algorithm" for kind in ("Classifier", "Regressor", "Density")
        ),
        files="nearbayes.files.estimator_draws",
        example="nearbayes.algorithms.estimators:example",
    ),
    Family(
        name="smooth trees",
        types=("nearbayes.SmoothTreesClassifier", "nearbayes.SmoothTreesRegressor"),
        fit="nearbayes.fits.smooth_trees_fit:SmoothTreesFit",
        example="nearbayes.fits.smooth_trees_fit:example",
    ),
    Family(
        name="xgboost",
        types=("xgboost.XGBClassifier", "xgboost.XGBRegressor"),
        fit="nearbayes.fits.xgboost_fit:XGBoostFit",
        files="nearbayes.files.xgboost_format",
        extra="xgboost",
        example="nearbayes.fits.xgboost_fit:example",
    ),
    Family(
        name="lightgbm",
        types=("lightgbm.LGBMClassifier", "lightgbm.LGBMRegressor"),
        fit="nearbayes.fits.lightgbm_fit:LightGBMFit",
        files="nearbayes.files.lightgbm_format",
        extra="lightgbm",
        example="nearbayes.fits.lightgbm_fit:example",
    ),
    Family(
        name="catboost",  # no file format: CatBoost's own needs a parser whose input is not checked
        types=("catboost.CatBoostClassifier", "catboost.CatBoostRegressor"),
        fit="nearbayes.fits.catboost_fit:CatBoostFit",
        extra="catboost",
        example="nearbayes.fits.catboost_fit:example",
    ),
    Family(
        name="autogluon",
        types=("autogluon.TabularPredictor",),
        subclasses=True,  # here they have the same `fit`
        fit="nearbayes.fits.autogluon_fit:AutoGluonFit",
        extra="autogluon",
        example="nearbayes.fits.autogluon_fit:example",
    ),
    Family(
        name="gaussian process",
        types=("nearbayes.EmpiricalBayesGP", "nearbayes.EmpiricalBayesAlgorithm"),
        algorithm="nearbayes.gp.empirical_bayes:EmpiricalBayesAlgorithm",
        files="nearbayes.files.gp_format",
        extra="jax",
        example="nearbayes.gp.empirical_bayes:example",
    ),
    Family(
        name="random feature process",
        types=("nearbayes.RandomFeatureGP",),
        files="nearbayes.files.random_feature_draws",
        extra="jax",
        example="nearbayes.gp.sequential_map:example",
    ),
    Family(
        name="gradient martingale",
        types=("nearbayes.GradientMartingale",),
        files="nearbayes.files.function_draws",
        extra="jax",
        example="nearbayes.gradients.gradient_martingale:example",
    ),
    Family(
        name="neural network",
        types=(
            "nearbayes.MLPClassifier",
            "nearbayes.MLPRegressor",
            "nearbayes.NetworkAlgorithm",
        ),
        algorithm="nearbayes.neural.perceptrons:network_algorithm",
        files="nearbayes.files.network_format",
        extra="jax",
        example="nearbayes.neural.perceptrons:example",
    ),
    Family(
        name="causal graph",
        types=("nearbayes.GraphAlgorithm",),
        files="nearbayes.files.graph_draws",
        example="nearbayes.causal.scm:example",
    ),
    Family(
        name="torch",  # no file format: a module is code
        types=("nearbayes.TorchAlgorithm",),
        extra="torch",
        example="nearbayes.neural.torch_algorithm:example",
    ),
):
    register(_line)
