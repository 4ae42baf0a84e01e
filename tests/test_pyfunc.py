"""Models as MLflow's Python functions, through a local file store."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression

import nearbayes as nb
from nearbayes import pyfunc

mlflow = pytest.importorskip("mlflow")

pytestmark = [
    # what MLflow and its dependencies warn of themselves
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*Any type hint is inferred:UserWarning"),  # at its import
]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A file store of its own, and no word to MLflow's makers."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    # MLflow makes its default experiment only in a folder that it makes itself
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    yield tmp_path
    while mlflow.active_run():
        mlflow.end_run()
    mlflow.set_tracking_uri(None)


@pytest.fixture(scope="module")
def regressor():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return nb.PosteriorRegressor(LinearRegression(), n_draws=6, random_state=0).fit(X, y), X


@pytest.fixture(scope="module")
def classifier():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = nb.PosteriorClassifier(LogisticRegression(max_iter=1000), n_draws=6, random_state=0)
    return model.fit(X, names), X


def test_a_logged_regressor_predicts_mean_lower_and_upper(store, regressor):
    model, X = regressor
    with mlflow.start_run():
        logged = pyfunc.log_model(model, input_example=X.head(3))
    loaded = mlflow.pyfunc.load_model(logged.model_uri)
    found = loaded.predict(X)
    assert list(found.columns) == ["mean", "lower", "upper"]
    assert found["mean"].to_numpy() == pytest.approx(model.predict(X), rel=1e-12)
    bounds = model.predict_interval(X)
    assert found[["lower", "upper"]].to_numpy() == pytest.approx(bounds, rel=1e-12)


def test_level_and_kind_of_intervals_are_parameters(store, regressor):
    model, X = regressor
    logged = pyfunc.log_model(model, input_example=X.head(3))
    loaded = mlflow.pyfunc.load_model(logged.model_uri)
    found = loaded.predict(X, params={"coverage": 0.5, "kind": "credible"})
    expected = model.predict_interval(X, 0.5, kind="credible")
    assert found[["lower", "upper"]].to_numpy() == pytest.approx(expected, rel=1e-12)


def test_a_logged_classifier_has_an_interval_for_every_class(store, classifier):
    model, X = classifier
    logged = pyfunc.log_model(model, "flowers")
    found = mlflow.pyfunc.load_model(logged.model_uri).predict(X)
    assert found["prediction"].tolist() == model.predict(X).tolist()
    for k, label in enumerate(model.classes_):
        mean, (lower, upper) = model.predict_proba(X)[:, k], model.predict_interval(X)[:, k].T
        assert found[f"mean_{label}"].to_numpy() == pytest.approx(mean, rel=1e-12)
        assert found[f"lower_{label}"].to_numpy() == pytest.approx(lower, rel=1e-12)
        assert found[f"upper_{label}"].to_numpy() == pytest.approx(upper, rel=1e-12)


def test_columns_are_checked_against_the_example(store, regressor):
    model, X = regressor
    logged = pyfunc.log_model(model, input_example=X.head(3))
    loaded = mlflow.pyfunc.load_model(logged.model_uri)
    with pytest.raises(mlflow.MlflowException, match="bmi"):
        loaded.predict(X.drop(columns="bmi"))


def test_a_folder_holds_no_pickle(tmp_path, store, classifier):
    model, X = classifier
    folder = tmp_path / "saved"
    pyfunc.save_model(model, folder)
    suffixes = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert not suffixes & {".pkl", ".pickle", ".joblib"}
    found = mlflow.pyfunc.load_model(str(folder)).predict(X)
    assert len(found) == len(X)


def test_several_outputs_have_columns_of_their_own():
    X, y = load_diabetes(return_X_y=True)
    both = np.column_stack([y, -y])
    model = nb.PosteriorRegressor(LinearRegression(), n_draws=4, random_state=0).fit(X, both)
    found = pyfunc.PredictionTable(model).predict(X[:5])
    assert list(found.columns) == [f"{a}_{k}" for k in (0, 1) for a in ("mean", "lower", "upper")]
    assert found["lower_1"].to_numpy() == pytest.approx(model.predict_interval(X[:5])[:, 1, 0])


def test_rows_keep_their_index(regressor):
    model, X = regressor
    rows = X.iloc[[7, 3]]
    found = pyfunc.PredictionTable(model).predict(rows)
    pd.testing.assert_index_equal(found.index, rows.index)


def test_what_cannot_be_logged_is_refused(tmp_path, regressor):
    model, X = regressor
    with pytest.raises(TypeError, match="must be a PosteriorClassifier or a PosteriorRegressor"):
        pyfunc.save_model(LinearRegression(), tmp_path / "a")
    with pytest.raises(ValueError, match="params must be 'coverage' and 'kind', got \\['level'\\]"):
        pyfunc.PredictionTable(model).predict(X, params={"level": 0.9})
