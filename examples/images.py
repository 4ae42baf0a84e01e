"""Classify images of digits, and leave the doubtful ones to people."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import nearbayes as nb


def pixels(images: NDArray[np.float64]) -> NDArray[np.float64]:
    """One row per image."""
    return images.reshape(len(images), -1)


def main(n_draws: int = 50) -> dict[str, Any]:
    """Fit to 300 images, and classify the others."""
    digits = load_digits()
    images, new, y, y_new = train_test_split(
        digits.images, digits.target, train_size=300, random_state=0, stratify=digits.target
    )
    estimator = make_pipeline(
        FunctionTransformer(pixels), PCA(20, random_state=0), LogisticRegression(max_iter=1_000)
    )
    model = nb.PosteriorClassifier(estimator, n_draws=n_draws, random_state=0)
    model.fit(images, y)  # shape (300, 8, 8): the estimator gets the images unchanged

    right = model.predict(new) == y_new
    bounds, rows = model.predict_interval(new, coverage=0.9), np.arange(len(new))
    first = model.predict_proba(new).argmax(axis=1)
    others = bounds[:, :, 1].copy()
    others[rows, first] = 0
    doubtful = others.max(axis=1) > bounds[rows, first, 0]  # another digit may be likelier
    print(f"{len(y)} images; {right.mean():.1%} of {len(new)} others are classified correctly")
    print(f"doubtful: {doubtful.sum()} images, of which {right[doubtful].mean():.0%} are correct")
    print(f"the others: {right[~doubtful].mean():.1%} are correct")
    return {"right": right, "doubtful": doubtful}


if __name__ == "__main__":
    main()
