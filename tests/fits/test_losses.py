"""Losses of counts and positive outcomes, as each library writes them."""

import pytest
from lightgbm import LGBMRegressor
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import GammaRegressor, PoissonRegressor, Ridge, TweedieRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRegressor

from nearbayes.fits.adapters import fitting_of
from nearbayes.fits.losses import variance_power


class CatBoostRegressor(BaseEstimator):
    """As CatBoost's own, which is too heavy for this: lists what the user set."""

    def __init__(self, loss_function="RMSE"):
        self.loss_function = loss_function


@pytest.mark.parametrize(
    ("estimator", "power"),
    [
        (PoissonRegressor(), 1.0),
        (GammaRegressor(), 2.0),
        (TweedieRegressor(power=1.3), 1.3),
        (TweedieRegressor(power=0), None),
        (TweedieRegressor(power=3), None),
        (HistGradientBoostingRegressor(loss="poisson"), 1.0),
        (HistGradientBoostingRegressor(loss="gamma"), 2.0),
        (HistGradientBoostingRegressor(loss="absolute_error"), None),
        (XGBRegressor(objective="count:poisson"), 1.0),
        (XGBRegressor(objective="reg:gamma"), 2.0),
        (XGBRegressor(objective="reg:tweedie"), 1.5),
        (XGBRegressor(objective="reg:tweedie", tweedie_variance_power=1.2), 1.2),
        (XGBRegressor(gamma=0.5), None),
        (LGBMRegressor(objective="poisson"), 1.0),
        (LGBMRegressor(app="gamma"), 2.0),
        (LGBMRegressor(objective="tweedie", tweedie_variance_power=1.7), 1.7),
        (CatBoostRegressor(loss_function="Poisson"), 1.0),
        (CatBoostRegressor(loss_function="Tweedie:variance_power=1.9"), 1.9),
        (CatBoostRegressor(), None),
        (RandomForestRegressor(), None),
        (Ridge(), None),
    ],
)
def test_power_of_the_variance(estimator, power):
    assert variance_power(estimator) == power


def test_at_the_end_of_a_pipeline():
    assert fitting_of(make_pipeline(StandardScaler(), PoissonRegressor()), {}).variance_power == 1
