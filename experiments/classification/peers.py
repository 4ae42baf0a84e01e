"""Peers: other probabilistic classifiers, on the same rows as XGBoost."""

from __future__ import annotations

import itertools
from collections.abc import Callable
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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from stochtree import BARTModel, OutcomeModel

from experiments.classification.methods import STOP_AFTER
from experiments.runner.datasets import Split
from nearbayes.metrics import log_score

Probabilities = NDArray[np.float64]

LEAF_SIZES = (1, 2, 5, 10, 20)


def random_forest(split: Split, seed: int) -> Probabilities:
    """500 trees; minimum leaf size and share of features chosen on the validation rows."""
    fitted = []
    for leaf, features in itertools.product(LEAF_SIZES, ("sqrt", 0.5)):
        forest = RandomForestClassifier(
            500, min_samples_leaf=leaf, max_features=features, random_state=seed
        )
        model = make_pipeline(_plain_numbers(), forest).fit(split.X_train, split.y_train)
        probabilities = model.predict_proba(split.X_validation)
        # a probability of 0 would make one row decide the choice
        fitted.append((log_score(split.y_validation, _positive(probabilities)), model))
    best = min(fitted, key=lambda each: each[0])[1]
    return _positive(best.predict_proba(split.X_test))


def ngboost(split: Split, seed: int) -> Probabilities:
    """Natural-gradient boosting of a categorical distribution, at its best validation round.

    Uses the default learning rate, because the line search overshoots with larger ones.
    """
    n_classes = len(np.unique(split.y_train))
    columns = _plain_numbers().fit(split.X_train)
    model = NGBClassifier(
        Dist=Bernoulli if n_classes == 2 else k_categorical(n_classes),
        n_estimators=1_000,
        learning_rate=0.01,
        verbose=False,
        random_state=seed,
    )
    model.fit(
        columns.transform(split.X_train),
        split.y_train,
        X_val=columns.transform(split.X_validation),
        Y_val=split.y_validation,
        early_stopping_rounds=5 * STOP_AFTER,
    )
    best = max(1, model.best_val_loss_itr)
    return _positive(model.predict_proba(columns.transform(split.X_test), max_iter=best))


def catboost(split: Split, seed: int) -> Probabilities:
    """CatBoost with its default learning rate and native categories, with early stopping."""
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


PREDICT: dict[str, Callable[[Split, int], Probabilities]] = {
    "random_forest": random_forest,
    "ngboost": ngboost,
    "catboost": catboost,
    "bart": bart,
}


def _plain_numbers() -> Any:
    """Encode categories and impute missing values, for models that need numbers."""
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
    """Categories as text without missing values, as CatBoost requires."""
    names = x.select_dtypes("category").columns
    return x.assign(
        **{name: x[name].astype(object).fillna("missing").astype(str) for name in names}
    )


def _positive(probabilities: Probabilities) -> Probabilities:
    """Bound probabilities away from 0, where the log score is infinite."""
    kept = np.maximum(probabilities, 1e-6)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))
