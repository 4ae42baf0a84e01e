"""L-BFGS for many problems: it ends where SciPy's ends, each problem on its own."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.optimize import rosen, rosen_der

from nearbayes.compiled.precision import compiled
from nearbayes.gp.lbfgs import minimise


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@cache  # a program is compiled once for an objective and a shape
def search(objective, max_steps=200, tolerance=1e-6, knows_curvature=False):
    def from_starts(starts, *known):
        options = {"max_steps": max_steps, "tolerance": tolerance}
        if knows_curvature:
            options["inverse_hessian"] = known[0]
        return jax.lax.map(lambda start: minimise(objective, start, **options), starts)

    return compiled(from_starts)


def minimised(objective, starts, inverse_hessian=None, **options):
    known = () if inverse_hessian is None else (inverse_hessian,)
    with jax.enable_x64(True):
        program = search(objective, **options, knows_curvature=bool(known))
        return jax.tree.map(np.asarray, program(starts, *known))


def test_rosenbrock_from_many_starts():
    starts = np.random.default_rng(0).normal(size=(8, 3))
    found = minimised(rosenbrock, starts)
    np.testing.assert_allclose(found.position, 1, atol=1e-4)
    scipy = [scipy_minimize(rosen, each, jac=rosen_der, method="L-BFGS-B").nit for each in starts]
    assert found.steps.sum() < 1.5 * sum(scipy)


def test_a_quadratic_of_any_scale():
    scales = np.array([1e-3, 1.0, 1e3])
    found = minimised(lambda x: jnp.sum(scales * (x - 2) ** 2), np.zeros((1, 3)), tolerance=1e-9)
    np.testing.assert_allclose(found.position, 2, atol=1e-4)


def test_a_problem_is_not_changed_by_its_neighbours():
    starts = np.random.default_rng(1).normal(size=(5, 2))
    together = minimised(rosenbrock, starts)
    for k in range(5):
        alone = minimised(rosenbrock, starts[k : k + 1])
        np.testing.assert_allclose(alone.position[0], together.position[k], atol=1e-9)
        assert alone.steps[0] == together.steps[k]


def test_no_step_goes_where_the_objective_is_not_finite():
    # the logarithm ends at 0, and the first step would go beyond it
    found = minimised(lambda x: jnp.sum(x - jnp.log(x)), np.array([[5.0], [0.01]]))
    np.testing.assert_allclose(found.position, 1, atol=1e-4)


def test_a_start_that_is_not_finite_ends_there():
    found = minimised(lambda x: jnp.sum(jnp.log(x)), np.array([[-1.0]]))
    assert found.steps[0] == 1
    assert np.isnan(found.value[0])


@pytest.mark.parametrize("most", [1, 5])
def test_steps_are_limited(most):
    assert minimised(rosenbrock, np.full((1, 4), -1.5), max_steps=most).steps[0] <= most


def quadratic(x):
    return jnp.sum(CURVATURES * (x - 2) ** 2) / 2


CURVATURES = np.array([0.02, 1.0, 30.0])


def test_the_inverse_hessian_is_learned():
    found = minimised(quadratic, np.zeros((1, 3)), tolerance=1e-9)
    np.testing.assert_allclose(
        found.inverse_hessian[0], np.diag(1 / CURVATURES), rtol=0.02, atol=0.02
    )


def test_with_the_inverse_hessian_a_quadratic_takes_one_step():
    found = minimised(quadratic, np.zeros((1, 3)), np.diag(1 / CURVATURES), tolerance=1e-9)
    assert found.steps[0] == 1
    np.testing.assert_allclose(found.position, 2, atol=1e-9)
    np.testing.assert_allclose(found.inverse_hessian[0], np.diag(1 / CURVATURES), atol=1e-9)


def test_what_a_search_learned_shortens_the_next():
    start = np.full((1, 4), -0.5)
    first = minimised(rosenbrock, start)
    moved = first.position + 0.01
    afresh = minimised(rosenbrock, moved)
    again = minimised(rosenbrock, moved, first.inverse_hessian[0])
    np.testing.assert_allclose(again.position, 1, atol=1e-4)
    assert again.steps[0] < 0.7 * afresh.steps[0]


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_a_wrong_inverse_hessian_is_only_slow(scale):
    wrong = scale * np.eye(4)
    found = minimised(rosenbrock, np.full((1, 4), -0.5), wrong, max_steps=400)
    np.testing.assert_allclose(found.position, 1, atol=1e-4)


def test_a_start_at_the_minimum_takes_no_step():
    assert minimised(rosenbrock, np.ones((1, 3))).steps[0] == 0
