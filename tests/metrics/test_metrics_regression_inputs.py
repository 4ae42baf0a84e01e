import re

import numpy as np
import pytest

from nearbayes.metrics import (
    crps_gaussian,
    crps_gaussian_mixture,
    crps_samples,
    nlpd_gaussian_mixture,
)

MIXTURES = [crps_gaussian_mixture, nlpd_gaussian_mixture]
Y, M, S = [0.0, 1.0], np.zeros((3, 2)), np.ones((3, 2))
POINT = "score a point forecast with crps_samples"
BAD_MIXTURE = [
    (([0.0, np.nan], M, S), "y must not hold NaN: got 1 of 2 values NaN"),
    (([[0.0, 1.0]], M, S), "y must be one-dimensional with at least one value: got shape (1, 2)"),
    (([], M, S), "y must be one-dimensional with at least one value: got shape (0,)"),
    (
        (Y, M.T, S.T),
        "means must have draws first, shape (n_draws, 2) for the 2 rows of y: got shape (2, 3)",
    ),
    (
        (Y, [0.0, 1.0], 1.0),
        "means must have draws first, shape (n_draws, 2) for the 2 rows of y: got shape (2,)",
    ),
    (
        (Y, np.empty((0, 2)), 1.0),
        "means must have draws first, shape (n_draws, 2) for the 2 rows of y: got shape (0, 2)",
    ),
    ((Y, M + np.inf, S), "means must be finite: got 6 infinite of 6 values"),
    ((Y, M, np.ones(3)), "sds must broadcast to shape (3, 2): got shape (3,)"),
    ((Y, M, 0.0), f"sds must be above zero: got 0.0; {POINT}"),
    ((Y, M, [1.0, -2.0]), f"sds must be above zero: got -2.0; {POINT}"),
    ((Y, M, S, [1.0, 1.0, np.nan]), "weights must not hold NaN: got 1 of 3 values NaN"),
    ((Y, M, S, [1.0, 1.0]), "weights must have one value per draw: got 2 for 3 draws"),
    (
        (Y, M, S, [1.0, 1.0, -0.5]),
        "weights must be at least zero and not all zero: got -0.5 as the smallest",
    ),
    (
        (Y, M, S, [0.0, 0.0, 0.0]),
        "weights must be at least zero and not all zero: got 0.0 as the smallest",
    ),
]


@pytest.mark.parametrize("score", MIXTURES)
@pytest.mark.parametrize(("arguments", "message"), BAD_MIXTURE, ids=range(len(BAD_MIXTURE)))
def test_bad_mixture_is_named(score, arguments, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        score(*arguments)


BAD_GAUSSIAN = [
    (
        (["a", "b"], 0.0, 1.0),
        "y must be an array of numbers: could not convert string to float: 'a'",
    ),
    ((Y, [0.0, 1.0, 2.0], 1.0), "means must broadcast to shape (2,): got shape (3,)"),
    ((Y, [0.0, np.nan], 1.0), "means must not hold NaN: got 1 of 2 values NaN"),
    ((Y, 0.0, [1.0, 0.0]), f"sds must be above zero: got 0.0; {POINT}"),
    ((Y, 0.0, np.ones((2, 2))), "sds must broadcast to shape (2,): got shape (2, 2)"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_GAUSSIAN, ids=range(len(BAD_GAUSSIAN)))
def test_bad_gaussian_is_named(arguments, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        crps_gaussian(*arguments)


BAD_SAMPLES = [
    (
        (Y, np.zeros((2, 3))),
        "samples must have draws first, shape (n_samples, 2) for the 2 rows of y: got shape (2, 3)",
    ),
    ((Y, np.full((3, 2), np.inf)), "samples must be finite: got 6 infinite of 6 values"),
    (([np.nan, 0.0], M), "y must not hold NaN: got 1 of 2 values NaN"),
    ((Y, np.zeros((1, 2))), "samples must hold at least two draws for fair=True: got 1"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_SAMPLES, ids=range(len(BAD_SAMPLES)))
def test_bad_samples_are_named(arguments, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        crps_samples(*arguments, fair=True)
