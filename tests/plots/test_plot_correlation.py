import numpy as np
import pytest

import nearbayes as nb
from nearbayes.draws.functional import Functional

DRAWS = np.random.default_rng(0).normal(size=(40, 3)) @ np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])


def test_the_matrix_is_that_of_the_draws(ax):
    slopes = Functional(DRAWS, 1.3)
    assert nb.plots.correlation(slopes, ["a", "b", "c"], ax=ax) is ax
    np.testing.assert_allclose(ax.images[0].get_array(), np.corrcoef(DRAWS.T))
    assert ax.images[0].get_clim() == (-1, 1)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b", "c"]
    written = [text.get_text() for text in ax.texts]
    assert written == [f"{value:.2f}" for value in np.corrcoef(DRAWS.T).ravel()]


def test_entries_that_do_not_vary_are_left_empty(ax):
    nb.plots.correlation(Functional(np.column_stack([DRAWS, np.ones(40)])), ax=ax)
    assert ax.images[0].get_array().mask[:, 3].all()
    assert len(ax.texts) == 9


def test_large_matrices_have_no_numbers(ax):
    nb.plots.correlation(Functional(np.random.default_rng(1).normal(size=(30, 13))), ax=ax)
    assert len(ax.texts) == 0


def test_one_entry_has_nothing_to_correlate_with():
    with pytest.raises(ValueError, match="must have at least 2 entries, got 1"):
        nb.plots.correlation(Functional(DRAWS[:, 0]))
