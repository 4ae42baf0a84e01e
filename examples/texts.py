"""Classify texts, with intervals, and show which words the model uses."""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.signal
import scipy.stats
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import nearbayes as nb

MODULES = (scipy.linalg, scipy.signal, scipy.stats)
NEW = ["Solve a system of equations.", "Remove noise before the analysis."]


def texts_of_scipy() -> tuple[list[str], list[str]]:
    """First sentences of SciPy's functions, and the module of each."""
    texts, labels = [], []
    for module in MODULES:
        for name in module.__all__:
            text = (getattr(module, name).__doc__ or "").strip().partition("\n\n")[0]
            if len(text) > 20:
                texts.append(" ".join(text.split()))
                labels.append(module.__name__.removeprefix("scipy."))
    return texts, labels


def main(n_draws: int = 50) -> dict[str, Any]:
    """Fit to three quarters of the texts, and look at the others."""
    texts, labels = texts_of_scipy()
    train, test, y_train, y_test = train_test_split(texts, labels, random_state=0, stratify=labels)
    estimator = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10))
    model = nb.PosteriorClassifier(estimator, n_draws=n_draws, random_state=0)
    model.fit(train, y_train)  # a list of texts: the vectoriser gets it unchanged

    right = model.predict(test) == np.array(y_test)
    print(f"{len(train)} texts; of {len(test)} others {right.mean():.0%} are classified correctly")
    p, interval = model.predict_proba(NEW), model.predict_interval(NEW, coverage=0.9)
    for text, probabilities, bounds in zip(NEW, p, interval, strict=True):
        print(text)
        for name, mean, (low, high) in zip(model.classes_, probabilities, bounds, strict=True):
            print(f"  {name:7s} {mean:.2f}  90 % interval {low:.2f} to {high:.2f}")

    words = model.functional(lambda fitted: fitted[-1].coef_[-1])  # for scipy.stats
    names = model.estimators_[0][0].get_feature_names_out()
    low, high = words.interval(0.9).T
    sure = np.flatnonzero((low > 0) | (high < 0))
    print(f"words that are clearly for or against stats: {len(sure)} of {len(names)}")
    for j in sure[np.argsort(-np.abs(words.mean[sure]))][:6]:
        print(f"  {names[j]:14s} {words.mean[j]:+.2f}  ({low[j]:+.2f} to {high[j]:+.2f})")
    return {"right": right, "p": p, "interval": interval, "names": names, "words": words}


if __name__ == "__main__":
    main()
