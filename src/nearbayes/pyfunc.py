"""MLflow: a fitted model as a Python function, whose predictions are a mean and an interval.

The logged folder contains the file written by `model.save`, and no pickle.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearbayes.estimators import PosteriorClassifier, PosteriorRegressor, load
from nearbayes.files.posterior_file import header

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PredictionTable", "log_model", "save_model"]

Model = PosteriorClassifier | PosteriorRegressor
FILE = "model.nearbayes"


class PredictionTable:
    """Predictions of a fitted model as a table, called by MLflow.

    Parameters
    ----------
    model : PosteriorClassifier or PosteriorRegressor, fitted

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = nb.PosteriorRegressor(Ridge(), n_draws=5, random_state=0).fit(X, y)
    >>> PredictionTable(model).predict(X[:3], params={"coverage": 0.8}).shape
    (3, 3)
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Mean and interval of every row.

        Parameters
        ----------
        model_input : table of shape (n_rows, n_columns)
        params : dict, optional
            "coverage" of the intervals (.9); for regression also "kind", "predictive" for a new
            outcome (the default) or "credible" for its mean.

        Returns
        -------
        DataFrame
            Regression: "mean", "lower", "upper"; with several outputs "mean_0" and so on.
            Classification: "prediction", and for every class "mean_<class>", "lower_<class>" and
            "upper_<class>", the mean and interval of its probability.
        """
        import pandas as pd

        asked = dict(params or {})
        coverage = asked.pop("coverage", 0.9)
        if isinstance(self.model, PosteriorClassifier):
            asked.pop("kind", None)
            mean = self.model.predict_proba(model_input)
            bounds = self.model.predict_interval(model_input, coverage)
            first = {"prediction": self.model.classes_[mean.argmax(axis=1)]}
            names = [f"_{label}" for label in self.model.classes_.tolist()]
        else:
            kind = asked.pop("kind", "predictive")
            mean = np.asarray(self.model.predict(model_input))
            bounds = self.model.predict_interval(model_input, coverage, kind=kind)
            first = {}
            names = [""] if mean.ndim == 1 else [f"_{k}" for k in range(mean.shape[1])]
        if asked:
            raise ValueError(f"params must be 'coverage' and 'kind', got {sorted(asked)}.")
        means, intervals = mean.reshape(len(mean), -1), bounds.reshape(len(mean), -1, 2)
        columns = {
            f"{what}{name}": values[:, k]
            for k, name in enumerate(names)
            for what, values in (
                ("mean", means),
                ("lower", intervals[..., 0]),
                ("upper", intervals[..., 1]),
            )
        }
        return pd.DataFrame({**first, **columns}, index=getattr(model_input, "index", None))


def save_model(
    model: Model,
    path: str | os.PathLike[str],
    *,
    input_example: Any = None,
    **settings: Any,
) -> None:
    """Write a folder that `mlflow.pyfunc.load_model` reads.

    Parameters
    ----------
    model : PosteriorClassifier or PosteriorRegressor, fitted
    path : path
        A folder that does not exist.
    input_example : table, optional
        Some rows, which MLflow keeps. With them, it checks the columns of later inputs.
    **settings
        Further arguments of `mlflow.pyfunc.save_model`, such as `pip_requirements`.
    """
    _write(model, _mlflow().save_model, input_example, {"path": os.fspath(path)}, settings)


def log_model(
    model: Model,
    name: str = "model",
    *,
    input_example: Any = None,
    **settings: Any,
) -> Any:
    """Log a fitted model to the active run, or to a new one.

    Parameters
    ----------
    model : PosteriorClassifier or PosteriorRegressor, fitted
    name : str
    input_example : table, optional
        Some rows, which MLflow keeps. With them, it checks the columns of later inputs.
    **settings
        Further arguments of `mlflow.pyfunc.log_model`, such as `registered_model_name`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        `mlflow.pyfunc.load_model(info.model_uri).predict(X)` is a table with mean, lower and upper.
    """
    return _write(model, _mlflow().log_model, input_example, {"name": name}, settings)


def _load_pyfunc(path: str) -> PredictionTable:
    """Load a logged model; MLflow calls this function by its name."""
    return PredictionTable(load(path))


def _mlflow() -> Any:
    try:
        import mlflow.pyfunc
    except ImportError as missing:
        raise ImportError(
            "logging models needs MLflow: pip install 'nearbayes[mlflow]'."
        ) from missing
    return mlflow.pyfunc


def _write(
    model: Model,
    write: Any,
    input_example: Any,
    place: dict[str, Any],
    settings: dict[str, Any],
) -> Any:
    if not isinstance(model, PosteriorClassifier | PosteriorRegressor):
        raise TypeError(
            "model must be a PosteriorClassifier or a PosteriorRegressor, got "
            f"{type(model).__name__}."
        )
    with tempfile.TemporaryDirectory() as folder:
        file = model.save(Path(folder) / FILE)
        known = {
            "loader_module": __name__,
            "data_path": str(file),
            "signature": _signature(model, input_example),
            "input_example": input_example,
            "pip_requirements": _requirements(model),
        }
        return write(**place, **{**known, **settings})


def _signature(model: Model, example: Any) -> Any:
    """Columns of inputs and outputs, and the parameters of `predict`."""
    if example is None:
        return None
    from mlflow.models import infer_signature

    params: dict[str, Any] = {"coverage": 0.9}
    if isinstance(model, PosteriorRegressor):
        params["kind"] = "predictive"
    return infer_signature(example, PredictionTable(model).predict(example), params=params)


def _requirements(model: Model) -> list[str]:
    """The versions with which the draws were made, instead of MLflow's guess in a new process."""
    versions = header(model.posterior_, type(model).__name__)["versions"]
    return [f"{name}=={version}" for name, version in versions.items() if name != "python"]
