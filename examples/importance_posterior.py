"""Which feature is more important? A posterior of importances instead of one ranking."""

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

import nearbayes as nb


def main(n_draws: int = 30, n_jobs: int = 2) -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    tree = GradientBoostingRegressor(n_estimators=40, max_depth=2)
    how = {"schedule": nb.Schedule.arithmetic(horizon=1.0, block=0.25), "n_jobs": n_jobs}
    model = nb.PosteriorRegressor(tree, n_draws=n_draws, random_state=0, **how).fit(X, y)
    importance = model.functional(lambda fitted: fitted.feature_importances_)

    order = np.argsort(-importance.mean)
    bounds = importance.interval(0.9).clip(0)  # a share is not negative
    draws = importance.adjusted()  # with the same spread as the intervals
    print("importance, 90 % interval, and probability of being larger than the next:")
    more = {}
    for first, second in pairwise(order[:6]):
        pair = (X.columns[first], X.columns[second])
        more[pair] = float((draws[:, first] > draws[:, second]).mean())
        low, high = bounds[first]
        value = f"{importance.mean[first]:.2f}   {low:.2f} to {high:.2f}"
        print(f"  {pair[0]:4s} {value}   P(larger than {pair[1]}) = {more[pair]:.2f}")
    return {"names": X.columns[order].tolist(), "importance": importance, "more": more}


if __name__ == "__main__":
    main()
