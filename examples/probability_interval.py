"""How certain are the probabilities of a boosted tree? 90 % intervals for five patients."""

from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import nearbayes as nb


def main(n_draws: int = 16, n_jobs: int = 2) -> dict[str, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    tree = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=8)
    model = nb.PosteriorClassifier(tree, n_draws=n_draws, n_jobs=n_jobs, random_state=0)
    model.fit(X_train, y_train)

    p = model.predict_proba(X_test)[:, 1]
    interval = model.predict_interval(X_test, coverage=0.9)[:, 1]
    doubtful = (interval[:, 0] < 0.5) & (interval[:, 1] > 0.5)
    wrong = (p > 0.5) != (y_test == 1)

    print("P(benign), 90 % interval, and the true class:")
    names = load_breast_cancer().target_names
    for row in range(5):
        low, high = interval[row]
        print(f"  {p[row]:.2f}   {low:.2f} to {high:.2f}   {names[y_test[row]]}")
    print(f"{doubtful.sum()} of {len(p)} intervals contain 0.5: these patients need another look.")
    print(f"{(wrong & doubtful).sum()} of the {wrong.sum()} misclassified patients are among them.")
    return {"p": p, "interval": interval, "doubtful": doubtful, "wrong": wrong}


if __name__ == "__main__":
    main()
