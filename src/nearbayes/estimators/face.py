"""Face: what the posterior classifier and regressor share as scikit-learn estimators."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from nearbayes.baselines import bootstrap, ensemble, parametric_bootstrap
from nearbayes.core.data import Data
from nearbayes.core.engine import default_schedule, martingale_posterior
from nearbayes.core.posterior import Posterior
from nearbayes.core.schedule import Schedule
from nearbayes.core.tables import Table, as_table
from nearbayes.estimators.tuning import choose_schedule

__all__ = ["Method", "PosteriorEstimator"]

Method = Literal["martingale", "bootstrap", "parametric_bootstrap", "ensemble"]


class PosteriorEstimator(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Shared by `PosteriorClassifier` and `PosteriorRegressor`; not for use by itself."""

    @abstractmethod
    def _base_estimator(self) -> Any:
        """The user's estimator, or the default."""

    def _fit_posterior(self, algorithm: Any, data: Data) -> None:
        """Draw the posterior by the chosen method."""
        run = {
            "n_draws": self.n_draws,
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
            "on_error": self.on_error,
            "progress": self.progress,
        }
        self.posterior_: Posterior
        if self.method == "martingale":
            self.schedule_ = self._chosen_schedule(algorithm, data, run)
            self.posterior_ = martingale_posterior(
                algorithm, data, schedule=self.schedule_, inputs=self.inputs, **run
            )
        elif self.method == "parametric_bootstrap":
            self.posterior_ = parametric_bootstrap(algorithm, data, inputs=self.inputs, **run)
        elif self.method in ("bootstrap", "ensemble"):
            draw = bootstrap if self.method == "bootstrap" else ensemble
            self.posterior_ = draw(algorithm, data, **run)
        else:
            raise ValueError(
                "method must be 'martingale', 'bootstrap', 'parametric_bootstrap' or 'ensemble', "
                f"got {self.method!r}."
            )

    def _chosen_schedule(self, algorithm: Any, data: Data, run: dict[str, Any]) -> Schedule:
        if self.schedule is None:
            return default_schedule(algorithm, self.n_refits)
        if isinstance(self.schedule, Schedule):
            return self.schedule
        if self.schedule == "auto":
            choice = choose_schedule(algorithm, data, self.n_refits, self.inputs, run)
            self.schedule_scores_ = choice.scores
            return choice.schedule
        raise ValueError(
            "schedule must be None, 'auto' or a Schedule, such as Schedule.optimal(refits=8), "
            f"got {self.schedule!r}."
        )

    def _new_table(self, X: Any) -> Table:
        """Check inputs for prediction against those of `fit`, without converting them."""
        check_is_fitted(self, "posterior_")
        return self._table(X, reset=False)

    def _table(self, X: Any, *, reset: bool) -> Table:
        """Note (`reset`) or check the number and names of columns."""
        table = as_table(X)
        if len(table.shape) != 2:
            raise ValueError(
                f"X must have rows and columns, got shape {table.shape}. Reshape your data: "
                "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
            )
        validate_data(self, table, reset=reset, skip_check_array=True)
        return table

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Fit parameters meant for the estimator."""
        if not get_config()["enable_metadata_routing"]:
            return fit_params
        return dict(process_routing(self, "fit", **fit_params).estimator.fit)

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata goes where: weights to this estimator, the rest to the inner one."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self._base_estimator(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    @property
    def estimators_(self) -> list[Any]:
        """The fitted estimator of every draw."""
        check_is_fitted(self, "posterior_")
        return list(self.posterior_.draws)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._base_estimator())
        tags.input_tags = inner.input_tags
        tags.target_tags.multi_output = inner.target_tags.multi_output
        tags.non_deterministic = inner.non_deterministic
        return tags
