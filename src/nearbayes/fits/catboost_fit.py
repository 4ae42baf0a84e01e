"""CatBoost: the user's own `fit` on repeated rows, copied, seeded and silent.

Weights are not repeated rows in CatBoost, even without bootstrap and random scores: it places the
borders of its bins, orders rows and counts categories by row, and divides weights by their mean
before it compares them with the penalty of leaves. So imputed rows are passed one by one.

Imputed rows make its penalty (`l2_leaf_reg`, relative to the number of rows) weaker, and the
learning rate that it chooses larger. Both are unchanged: in a small trial, refits with the
penalty and the rate of the first fit predicted no better.

CatBoost is only imported by users of its estimators.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from nearbayes.core.data import Counts, Data
from nearbayes.fits.estimator_fit import EstimatorFit
from nearbayes.fits.targets import class_codes, with_every_class
from nearbayes.tables.table import Table, is_frame

__all__ = ["CatBoostFit"]

PATIENCE = ("early_stopping_rounds", "od_wait", "od_pval")
LEAF_SIZES = ("min_data_in_leaf", "min_child_samples")
PROBABILITIES = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
# Losses whose prediction is not one number in the middle of the outcomes.
NO_CENTRE = ("Cox", "LogLinQuantile", "MultiQuantile", "RMSEWithUncertainty", "SurvivalAft")
# Arguments of `fit` for output and files, which are not used in hundreds of fits.
OUTPUT = (
    *("verbose", "verbose_eval", "logging_level", "silent", "plot", "plot_file"),
    *("log_cout", "log_cerr"),
)
REPEATS = "is not for imputed rows, which repeat old ones and so change how often words occur"
REFUSED = {
    "text_features": f"{REPEATS}: leave text out, or convert it to numbers before fit",
    "embedding_features": "is not for imputed rows, which would be their own nearest neighbours: "
    "pass the numbers as columns of X",
    "eval_fraction": "would evaluate on imputed rows: use fit(X, y, eval_set=(X_valid, y_valid))",
    "baseline": "is not for imputed rows, which would have none: add it as a column of X",
    "graph": "is not for imputed rows, which would be in no edge: leave it out",
    "save_snapshot": "is for one fit, not for many: leave it out, and use warm_start=True to "
    "continue with the existing draws",
    "column_description": "is for files: pass a table as X, and its categories as cat_features",
}


@dataclass(frozen=True)
class CatBoostFit(EstimatorFit):
    """The user's `CatBoostClassifier` or `CatBoostRegressor`.

    Early stopping is repeated at every refit, on the real rows of `eval_set`. A smallest leaf
    (`min_data_in_leaf`) counts rows, so it grows with them. Fits are silent and write no files.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from catboost import CatBoostClassifier  # doctest: +SKIP
    >>> trees = CatBoostClassifier(cat_features=["colour"], od_wait=20)  # doctest: +SKIP
    >>> model = nb.PosteriorClassifier(trees, n_draws=50, random_state=0)  # doctest: +SKIP
    >>> model = model.fit(X, y, eval_set=(X_valid, y_valid))  # doctest: +SKIP
    >>> model.predict_interval(X_new)  # doctest: +SKIP
    """

    def __post_init__(self) -> None:
        given = self._given
        for name in self.params:
            if not has_fit_parameter(self.estimator, name):
                raise TypeError(
                    f"{type(self.estimator).__name__}.fit has no argument {name!r}: remove it, or "
                    "check its spelling."
                )
        for name, why in REFUSED.items():
            if given.get(name) is not None and given[name] is not False:
                raise ValueError(f"{name} {why}.")
        _check_loss(self._loss, hasattr(self.estimator, "predict_proba"))
        for name in PATIENCE:
            if given.get(name) and not self._evaluation_sets():
                raise ValueError(
                    f"{name}={given[name]} needs an eval_set, got none: "
                    "fit(X, y, eval_set=(X_validation, y_validation))."
                )

    @property
    def stops_on_real_rows(self) -> bool:
        """With a parameter for early stopping, which needs an evaluation set."""
        return any(self._given.get(name) for name in PATIENCE)

    @property
    def _given(self) -> dict[str, Any]:
        return {**self.estimator.get_params(), **self.params}

    @property
    def counts(self) -> Counts:
        """False: see the top of the file."""
        return False

    @property
    def normalises_weights(self) -> bool:
        """True, but only the randomness of CatBoost's scores depends on it."""
        return True

    @property
    def leaf_sizes(self) -> dict[str, int]:
        """Minimum leaf sizes by parameter name; they grow with the number of rows of a fit."""
        params = self.estimator.get_params()
        return {name: params[name] for name in LEAF_SIZES if name in params}

    def for_table(self, table: Table) -> Self:
        """Check the columns, those of evaluation sets too."""
        for rows in (table, *(x for x, _ in self._evaluation_sets())):
            self.check_inputs(rows)
        return self

    def check_inputs(self, table: Table) -> None:
        """Reject columns that lead to unclear errors of CatBoost, or crash it."""
        if is_frame(table):
            given = self._given.get("cat_features")
            _check_columns(nw.from_native(table, eager_only=True), [] if given is None else given)

    def with_outcomes(self, outcomes: Callable[[Table, NDArray[Any]], NDArray[Any]]) -> Self:
        """Replace the outcomes of evaluation sets, which early stopping uses."""
        return self._with_sets([(x, outcomes(x, y)) for x, y in self._evaluation_sets()])

    def for_classes(self, classes: NDArray[Any]) -> tuple[Self, NDArray[Any]]:
        """The user's labels; codes 0 and 1 for cross entropy, whose labels are probabilities."""
        coded = [(x, class_codes(y, classes, "eval_set")) for x, y in self._evaluation_sets()]
        if self._loss != "CrossEntropy":
            return self, classes
        if len(classes) > 2:
            raise ValueError(
                f"loss_function='CrossEntropy' is for two classes, got {len(classes)}: use "
                "loss_function='MultiClass'."
            )
        return self._with_sets(coded), np.arange(2)

    def fit(self, data: Data, seed: int, labels: NDArray[Any] | None = None) -> Any:
        """Fit a clone; see `EstimatorFit.fit`."""
        growth = len(data.y) / len((data.real or data).y)
        rows = data if labels is None else with_every_class(data, len(labels))
        y = rows.y if labels is None else labels[rows.y]
        asked = {name: value for name, value in self.params.items() if name not in OUTPUT}
        asked["callbacks"] = copy.deepcopy(asked.get("callbacks"))  # they may hold the best score
        model = self.configured(seed, growth)
        return model.fit(rows.x, y, **self._weights(rows), **asked, verbose=False)

    def configured(self, seed: int, growth: float = 1.0) -> Any:
        """A clone with a seed, one thread, and minimum leaf sizes multiplied by `growth`."""
        model = super().configured(seed, growth)
        if "logging_level" in model.get_params():
            model.set_params(logging_level="Silent")
        return model

    @property
    def _loss(self) -> Any:
        """The loss that the user set: text, a user-defined object, or None."""
        given = self.estimator.get_params()
        return given.get("loss_function", given.get("objective"))

    def _evaluation_sets(self) -> list[tuple[Table, Any]]:
        """Rows and outcomes of every evaluation set."""
        sets = self.params.get("eval_set")
        pairs = sets if isinstance(sets, list) else [] if sets is None else [sets]
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(
                    "eval_set must be a pair (X, y) or a list of pairs, as a Pool cannot be passed "
                    f"to other processes, got {type(pair).__name__}: "
                    "fit(X, y, eval_set=(X_validation, y_validation))."
                )
        return pairs

    def _with_sets(self, sets: list[tuple[Table, Any]]) -> Self:
        return replace(self, params={**self.params, "eval_set": sets}) if sets else self


def _check_loss(loss: Any, classifies: bool) -> None:
    """Reject losses that do not allow imputation; user-defined objects are trusted."""
    if not isinstance(loss, str):
        return
    name, _, options = loss.partition(":")
    if classifies and name not in PROBABILITIES:
        raise ValueError(
            f"loss_function={loss!r} gives no probabilities to impute labels from: use one of "
            f"{', '.join(PROBABILITIES)}."
        )
    level = options.partition("alpha=")[2].partition(";")[0]
    if not classifies and (name in NO_CENTRE or (level and float(level) != 0.5)):
        raise ValueError(
            f"loss_function={loss!r} predicts no mean or median to impute outcomes around: use "
            "loss_function='RMSE', and predict_quantiles for quantiles."
        )


def _check_columns(frame: nw.DataFrame[Any], categorical: Any) -> None:
    """Reject text that is not named as a category, and categories that CatBoost cannot read."""
    of_category = {frame.columns[i] if isinstance(i, int | np.integer) else i for i in categorical}
    for name, kind in frame.schema.items():
        if name not in of_category:
            if isinstance(kind, nw.String | nw.Categorical | nw.Enum):
                raise ValueError(
                    f"column {name!r} of X holds text: name it in cat_features=[{name!r}], or "
                    "convert it to numbers before fit."
                )
        elif isinstance(kind, nw.Categorical) and frame.implementation.is_polars():
            raise ValueError(
                f"column {name!r} of X is Categorical, which crashes CatBoost with polars: use "
                f"X.with_columns(pl.col({name!r}).cast(pl.String))."
            )
        elif frame[name].is_null().any():
            raise ValueError(
                f"column {name!r} of X has missing values, which CatBoost does not take among "
                "categories: make them a category, such as 'missing'."
            )


def example() -> tuple[Any, Data]:
    """A small classifier, as 1,000 rounds in hundreds of fits take minutes, and data for it."""
    from catboost import CatBoostClassifier

    X = np.random.default_rng(7).normal(size=(90, 3))
    return CatBoostClassifier(iterations=10), Data.of(X, X[:, 0] > 0.5 * X[:, 1])
