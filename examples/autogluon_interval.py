"""Posterior intervals for AutoGluon's predictions, as requested in autogluon#569.

Needs ``pip install 'nearbayes[autogluon]'``. AutoGluon is fitted 21 times, which takes a minute or
two.
"""

from __future__ import annotations

from autogluon.tabular import TabularPredictor
from sklearn.datasets import load_breast_cancer

import nearbayes as nb

MODELS = {"GBM": {}, "RF": {}}  # without `hyperparameters`, AutoGluon uses its default models


def main(n_draws: int = 10) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    predictor = TabularPredictor(label="benign", eval_metric="log_loss")  # configured, not fitted
    model = nb.PosteriorClassifier(predictor, n_draws=n_draws, random_state=0)
    model.fit(X[:-5], y[:-5], hyperparameters=MODELS)
    print(model.predict_interval(X[-5:], coverage=0.9)[:, 1].round(3))


if __name__ == "__main__":
    main()
