"""A convolutional network in PyTorch, and what its draws predict for rotated digits.

A small network learns scikit-learn's digits from 300 upright images. Its martingale posterior is
then evaluated on other digits, upright and rotated. The picture shows the predictions of the draws
for one digit as it is rotated. Draws disagree several times more about rotated digits than about
upright ones, but not enough: far from the training images, draws can also agree on wrong answers.

Run with ``python examples/torch_digits.py``; needs ``pip install 'nearbayes[torch,plot]'``.
"""

from pathlib import Path

import numpy as np
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from torch import nn

import nearbayes as nb

ANGLES = np.arange(0, 181, 15)
PICTURE = Path(__file__).parents[1] / "docs" / "torch_digits.png"


def network():
    return nn.Sequential(
        nn.Conv2d(1, 8, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


def images(n_train=300, n_test=200):
    """Digits of shape (n, 1, 8, 8), scaled to 0 to 1: a training set and a test set."""
    X, y = load_digits(return_X_y=True)
    X = (X / 16).reshape(-1, 1, 8, 8)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    return X[train], y[train], X[test], y[test]


def turned(X, angle):
    return np.clip(rotate(X, angle, axes=(3, 2), reshape=False, order=1), 0, 1)


def entropy(p):
    return -np.sum(p * np.log(np.maximum(p, 1e-12)), axis=-1)


def disagreement(p):
    """Epistemic uncertainty in nats: entropy of the mean minus mean entropy of the draws."""
    return entropy(p.mean(axis=0)) - entropy(p).mean(axis=0)


def draw(picture, angles, digit, probabilities, uncertainty, accuracy):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(9, 6.2), layout="constrained")
    top, middle, bottom = figure.subfigures(3, 1, height_ratios=(1, 2.1, 2.1))
    for axis, angle in zip(top.subplots(1, len(angles)), angles, strict=True):
        axis.imshow(turned(digit[None], angle)[0, 0], cmap="gray_r", vmin=0, vmax=1)
        axis.set_title(f"{angle}°", fontsize=9)
        axis.set_axis_off()
    axis = middle.subplots()
    seen = np.argsort(-probabilities.mean(axis=0).max(axis=0))[:4]
    for place, label in enumerate(np.sort(seen)):
        p = probabilities[:, :, label]
        axis.plot(angles, p.mean(axis=0), color=f"C{place}", label=f"is a {label}")
        axis.plot(angles, p.T, color=f"C{place}", alpha=0.25, linewidth=0.7)
    axis.set(ylabel="probability (thin: draws)", xticks=angles, ylim=(-0.02, 1.02))
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    left, right = bottom.subplots(1, 2)
    left.plot(angles, uncertainty.mean(axis=1), color="C3")
    left.set(xlabel="turned by (degrees)", ylabel="disagreement of draws (nats)", ylim=0)
    right.plot(angles, accuracy, color="C2")
    right.set(xlabel="turned by (degrees)", ylabel="share of right answers", ylim=(0, 1))
    for each in (left, right):
        each.set_xticks(angles[::2])
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def main(n_draws=16, n_jobs=None, picture=PICTURE):
    X, y, X_new, y_new = images()
    algorithm = nb.neural.TorchAlgorithm(
        network(), nn.CrossEntropyLoss(), learning_rate=1e-2, max_passes=60
    )
    posterior = nb.martingale_posterior(
        algorithm, (X, y), n_draws=n_draws, n_jobs=n_jobs, random_state=0
    )
    p = np.stack([posterior.predict(turned(X_new, angle)) for angle in ANGLES], axis=1)
    uncertainty = np.stack([disagreement(p[:, k]) for k in range(len(ANGLES))])
    accuracy = (p.mean(axis=0).argmax(axis=-1) == y_new).mean(axis=1)
    chosen = np.flatnonzero(y_new == 6)[0]
    if picture is not None:
        draw(picture, ANGLES, X_new[chosen], p[:, :, chosen], uncertainty, accuracy)
    passes = posterior.algorithm.stopping.n_passes
    print(f"{len(posterior)} draws of a network trained for {passes} passes over {len(y)} images")
    for k in range(0, len(ANGLES), 3):
        print(
            f"turned by {ANGLES[k]:3d} degrees: {accuracy[k]:.0%} right, draws disagree by "
            f"{uncertainty[k].mean():.2f} nats"
        )
    return {"posterior": posterior, "uncertainty": uncertainty, "accuracy": accuracy, "p": p}


if __name__ == "__main__":
    main()
