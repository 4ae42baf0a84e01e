"""Methods: XGBoost alone and with each way to get a posterior, and the peers.

Every method trains on the same 60 % of the rows and may use the same 20 % to choose settings; all
give class probabilities at the test rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from ngboost import NGBClassifier
from ngboost.distns import Bernoulli, k_categorical
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from stochtree import BARTModel, OutcomeModel
from xgboost import XGBClassifier

import nearbayes as nb
from experiments.runner.datasets import Split
from nearbayes.metrics import log_score

Probabilities = NDArray[np.float64]

# The paper's grid (App. D): depth, number of rounds L, learning rate c / L.
GRID = tuple(itertools.product((4, 5, 6, 7), (50, 100, 200), (10, 30, 100)))
SETTING = ("max_depth", "n_estimators", "learning_rate")
STOP_AFTER = 10
N_FOLDS = 3
POSTERIORS = ("bootstrap", "parametric_bootstrap", "ensemble", "martingale")
LEAF_SIZES = (1, 2, 5, 10, 20)


def choose_hyperparameters(split: Split) -> dict[str, Any]:
    """The setting of the paper's grid with the best log score by cross-validation.

    Folds are of the training and validation rows together, each stopped and scored on the fold
    left out: the test rows are never seen, and one small validation set does not decide alone.
    """
    rows = pd.concat([split.X_train, split.X_validation])
    labels = np.concatenate([split.y_train, split.y_validation])
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(labels))
    scores = {}
    for depth, rounds, rate in GRID:
        setting = dict(zip(SETTING, (depth, rounds, rate / rounds), strict=True))
        losses = [
            _fitted(setting, rows.iloc[fold], labels[fold], rows.iloc[out], labels[out]).best_score
            for fold, out in folds
        ]
        scores[tuple(setting.values())] = float(np.mean(losses))
    best = min(scores, key=scores.__getitem__)
    return {**dict(zip(SETTING, best, strict=True)), "validation_nll": scores[best]}


def boosted_trees(chosen: Mapping[str, Any], **options: Any) -> XGBClassifier:
    """The base algorithm: XGBoost with early stopping on the validation rows."""
    return XGBClassifier(
        **{name: chosen[name] for name in SETTING},
        early_stopping_rounds=STOP_AFTER,
        enable_categorical=True,
        max_bin=64,  # of about 1,000 rows; three times as fast as 256, with the same scores
        n_jobs=1,
        **options,
    )


def _fitted(chosen: Mapping[str, Any], X: Any, y: Any, X_stop: Any, y_stop: Any) -> XGBClassifier:
    return boosted_trees(chosen).fit(X, y, eval_set=[(X_stop, y_stop)], verbose=False)


def base(split: Split, chosen: Mapping[str, Any]) -> Probabilities:
    """XGBoost alone."""
    model = _fitted(chosen, split.X_train, split.y_train, split.X_validation, split.y_validation)
    return np.asarray(model.predict_proba(split.X_test), dtype=np.float64)


def posterior(
    method: str, split: Split, chosen: Mapping[str, Any], n_draws: int, seed: int
) -> Probabilities:
    """Mean prediction of posterior draws of XGBoost, with the library's defaults.

    XGBoost without subsampling has no randomness, so that an ensemble of it is the base model;
    the ensemble here is one of stochastic boosting, with rows and columns subsampled.
    """
    random_parts = {"subsample": 0.8, "colsample_bytree": 0.8} if method == "ensemble" else {}
    model = nb.PosteriorClassifier(
        boosted_trees(chosen, **random_parts),
        method=method,
        n_draws=n_draws,
        random_state=seed,
        on_error="raise",
        progress=False,
    )
    model.fit(split.X_train, split.y_train, eval_set=[(split.X_validation, split.y_validation)])
    return model.predict_proba(split.X_test)


def random_forest(split: Split, seed: int) -> Probabilities:
    """500 trees; smallest leaf and share of features chosen on the validation rows."""
    fitted = []
    for leaf, features in itertools.product(LEAF_SIZES, ("sqrt", 0.5)):
        forest = RandomForestClassifier(
            500, min_samples_leaf=leaf, max_features=features, random_state=seed
        )
        model = make_pipeline(_plain_numbers(), forest).fit(split.X_train, split.y_train)
        probabilities = model.predict_proba(split.X_validation)
        # a class that no tree gives any share would make one row decide alone
        fitted.append((log_score(split.y_validation, _positive(probabilities)), model))
    best = min(fitted, key=lambda each: each[0])[1]
    return _positive(best.predict_proba(split.X_test))


def ngboost(split: Split, seed: int) -> Probabilities:
    """Natural-gradient boosting of a categorical distribution, stopped on the validation rows."""
    n_classes = len(np.unique(split.y_train))
    columns = _plain_numbers().fit(split.X_train)
    model = NGBClassifier(
        Dist=Bernoulli if n_classes == 2 else k_categorical(n_classes),
        n_estimators=500,
        learning_rate=0.05,
        verbose=False,
        random_state=seed,
    )
    model.fit(
        columns.transform(split.X_train),
        split.y_train,
        X_val=columns.transform(split.X_validation),
        Y_val=split.y_validation,
        early_stopping_rounds=STOP_AFTER,
    )
    return _positive(model.predict_proba(columns.transform(split.X_test)))


def catboost(split: Split, seed: int) -> Probabilities:
    """CatBoost, its own learning rate, categories as they are, stopped on the validation rows."""
    train, validation, test = (
        _with_text_categories(x) for x in (split.X_train, split.X_validation, split.X_test)
    )
    model = CatBoostClassifier(
        iterations=1000,
        random_seed=seed,
        thread_count=1,
        allow_writing_files=False,
        verbose=False,
        cat_features=list(train.select_dtypes(object).columns),
    )
    model.fit(
        train,
        split.y_train,
        eval_set=(validation, split.y_validation),
        early_stopping_rounds=2 * STOP_AFTER,
    )
    return np.asarray(model.predict_proba(test))


def bart(split: Split, seed: int) -> Probabilities:
    """Bayesian additive regression trees with a probit link (two classes only)."""
    columns = _plain_numbers().fit(split.X_train)
    model = BARTModel()
    model.sample(
        X_train=columns.transform(split.X_train),
        y_train=split.y_train.astype(float),
        X_test=columns.transform(split.X_test),
        num_gfr=10,
        num_mcmc=500,
        general_params={
            "random_seed": seed,
            "outcome_model": OutcomeModel(outcome="binary", link="probit"),
            "sample_sigma2_global": False,
            "standardize": False,
        },
    )
    ones = model.predict(columns.transform(split.X_test), terms="y_hat", scale="probability")
    mean = np.asarray(ones).mean(axis=1)
    return _positive(np.column_stack([1 - mean, mean]))


PEERS: dict[str, Callable[[Split, int], Probabilities]] = {
    "random_forest": random_forest,
    "ngboost": ngboost,
    "catboost": catboost,
    "bart": bart,
}


def _plain_numbers() -> Any:
    """Columns for models that take numbers only: categories as codes, gaps filled."""
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_column_transformer(
        (
            make_pipeline(codes, SimpleImputer(strategy="most_frequent")),
            make_column_selector(dtype_exclude="number"),
        ),
        (
            SimpleImputer(strategy="median", keep_empty_features=True),
            make_column_selector(dtype_include="number"),
        ),
    )


def _with_text_categories(x: pd.DataFrame) -> pd.DataFrame:
    """CatBoost takes categories as text, without gaps."""
    names = x.select_dtypes("category").columns
    return x.assign(
        **{name: x[name].astype(object).fillna("missing").astype(str) for name in names}
    )


def _positive(probabilities: Probabilities) -> Probabilities:
    """Keep a class that a model rules out possible: its log score would be infinite."""
    kept = np.maximum(probabilities, 1e-6)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))
