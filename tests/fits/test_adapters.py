import subprocess
import sys

import pytest
from lightgbm import LGBMClassifier, LGBMRanker, LGBMRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier, XGBRFRegressor

from nearbayes.fits.adapters import fitting_of
from nearbayes.fits.estimator_fit import EstimatorFit
from nearbayes.fits.lightgbm_fit import LightGBMFit
from nearbayes.fits.xgboost_fit import XGBoostFit


class Own(XGBClassifier):
    """A subclass of the user's, which may do anything in its `fit`."""


@pytest.mark.parametrize(
    ("estimator", "adapter"),
    [
        (XGBClassifier(), XGBoostFit),
        (XGBRegressor(), XGBoostFit),
        (LGBMClassifier(), LightGBMFit),
        (LGBMRegressor(), LightGBMFit),
    ],
    ids=lambda value: type(value).__name__,
)
def test_boosting_libraries_have_adapters(estimator, adapter):
    assert type(fitting_of(estimator, {})) is adapter


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        Own(),
        XGBRFClassifier(),
        XGBRFRegressor(),
        LGBMRanker(),
        make_pipeline(XGBRegressor()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_others_are_fitted_by_their_own_fit(estimator):
    assert type(fitting_of(estimator, {})) is EstimatorFit


@pytest.mark.parametrize("estimator", [Ridge(), XGBRegressor()], ids=["sklearn", "xgboost"])
def test_estimator_and_arguments_of_fit_are_handed_on(estimator):
    params = {"sample_weight": None}
    fitting = fitting_of(estimator, params)
    assert fitting.estimator is estimator
    assert fitting.params == params


def test_boosting_libraries_are_optional():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['xgboost', 'lightgbm'])); import nearbayes"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
