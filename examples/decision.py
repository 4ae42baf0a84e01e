"""Choose an action for each patient when the class probabilities are uncertain."""

from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nearbayes as nb

ACTIONS = ("operate", "biopsy", "send home")
COST = np.array([[1.0, 6.0], [2.0, 1.5], [20.0, 0.0]])  # per action: if malignant, if benign


def main(n_draws: int = 50) -> dict[str, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, test_size=0.7)
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    model = nb.PosteriorClassifier(estimator, n_draws=n_draws, random_state=0)
    model.fit(X_train, y_train)

    p = model.posterior_.predictions(X_test).adjusted()  # (n_draws, n_rows, n_classes)
    cost = p @ COST.T  # cost of each action in each draw: (n_draws, n_rows, n_actions)
    chosen = cost.mean(axis=0).argmin(axis=1)
    rows = np.arange(len(chosen))
    is_best = (cost.argmin(axis=2) == chosen).mean(axis=0)
    regret = (cost[:, rows, chosen] - cost.min(axis=2)).mean(axis=0)
    paid = COST[chosen, y_test]

    for action, name in enumerate(ACTIONS):
        print(f"{name:9s} {np.sum(chosen == action):4d} patients")
    alone = COST[:, y_test].mean(axis=1).min()
    print(f"mean cost {paid.mean():.2f}; {alone:.2f} with the same best action for all")
    print("least certain: action, P(it is best), regret if the probabilities were known")
    for row in np.argsort(-regret)[:5]:
        print(f"  {ACTIONS[chosen[row]]:9s} {is_best[row]:.2f}   {regret[row]:.3f}")
    return {"cost": cost, "chosen": chosen, "is_best": is_best, "regret": regret, "paid": paid}


if __name__ == "__main__":
    main()
