from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from nearbayes.inspection.columns import column_of
from nearbayes.inspection.dependence import partial_dependence, predictive_band


def test_the_predictive_band_covers_new_outcomes_of_those_rows(regressor, table):
    column = column_of(table[:1], 1)
    (one,) = partial_dependence(regressor, column, coverage=0.8)
    exact = regressor.predict_interval(table[:1], 0.8)[0]
    width = exact[1] - exact[0]
    np.testing.assert_allclose(
        predictive_band(regressor, column, coverage=0.8)[0], exact, atol=0.06 * width
    )
    np.testing.assert_allclose(
        one.credible[0], regressor.predict_interval(table[:1], 0.8, kind="credible")[0]
    )


def test_calibrated_models_have_calibrated_bands(calibrated, table):
    (one,) = partial_dependence(calibrated, column_of(table[:1], 1), coverage=0.8)
    same = calibrated.functional(lambda fitted: fitted.predict_proba(table[:1])[:, 1], link="logit")
    np.testing.assert_allclose(one.credible, same.interval(0.8))
    assert same.spread == "calibrated"


def test_several_levels_and_few_draws(calibrated, table):
    column = column_of(table[:9], 0)
    (one,) = partial_dependence(calibrated, column, coverage=(0.5, 0.9), most_draws=3)
    assert one.credible.shape == (9, 2, 2)
    models = [calibrated.posterior_.models[k] for k in (0, 2, 3)]  # evenly spaced among four
    predict, imposed = calibrated.posterior_.algorithm.predict, column.imposed_on(np.arange(9))
    draws = np.stack([predict(model, imposed)[:, 1].reshape(9, 9).mean(axis=1) for model in models])
    np.testing.assert_allclose(one.mean, draws.mean(axis=0))
    few = replace(calibrated.posterior_, models=models).apply(
        lambda fitted: fitted.predict_proba(imposed)[:, 1].reshape(9, 9).mean(axis=1), link="logit"
    )
    np.testing.assert_allclose(one.credible, few.interval((0.5, 0.9)))
    assert len(calibrated.posterior_) == 4  # the model keeps its draws


def test_sparse_tables_are_as_good_as_dense_ones(two_classes, table):
    dense = partial_dependence(two_classes, column_of(table[:9], 1))
    thin = partial_dependence(two_classes, column_of(sparse.csr_matrix(table[:9]), 1))
    np.testing.assert_allclose(thin[0].mean, dense[0].mean)


def test_too_many_rows_are_thinned(regressor, table):
    many = np.tile(table, (5, 1))
    column = column_of(many, 2, most=2)
    rows = np.linspace(0, 299, 100).round().astype(int)
    (one,) = partial_dependence(regressor, column)
    first = many[rows].copy()
    first[:, 2] = column.grid[0]
    draws = regressor.posterior_.predict(first).mean(axis=1)
    assert one.mean[0] == pytest.approx(draws.mean())
    expected = regressor.posterior_.of_predictions(draws).interval()
    np.testing.assert_allclose(one.credible[0], expected)


def test_columns_of_another_table_are_refused(regressor, table):
    with pytest.raises(ValueError, match="2 features, but PosteriorRegressor is expecting 3"):
        partial_dependence(regressor, column_of(table[:, :2], 0))
