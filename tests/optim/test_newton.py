"""Newton's method and conjugate gradients: exact on quadratics, and careful where a function is not convex."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from mercer.optim import (
    HIMMELBLAU,
    ROSENBROCK,
    SADDLE,
    ConjugateGradient,
    GradientNorm,
    MaxIter,
    Newton,
    minimize,
)
from mercer.optim._methods.newton import newton_direction


def quadratic(d, seed=0):
    random = np.random.default_rng(seed)
    B = random.normal(size=(d, d))
    A, b = B @ B.T + np.eye(d), random.normal(size=d)
    return A, b, (lambda x: 0.5 * x @ A @ x - b @ x), (lambda x: A @ x - b)


@pytest.mark.catalogue("OP-03")
def test_a_quadratic_takes_one_step():
    A, b, fun, grad = quadratic(7)
    result = minimize(fun, np.ones(7), grad=grad, hess=lambda x: A, method=Newton(damping=1.0), stop=MaxIter(1))
    np.testing.assert_allclose(result.x, np.linalg.solve(A, b), rtol=1e-9)
    searched = minimize(fun, np.ones(7), grad=grad, hess=lambda x: A, method="newton")
    assert searched.n_iter == 1
    half = minimize(fun, np.ones(7), grad=grad, hess=lambda x: A, method=Newton(damping=0.5), stop=MaxIter(1))
    np.testing.assert_allclose(half.x, 0.5 * (np.ones(7) + np.linalg.solve(A, b)), rtol=1e-9)


@pytest.mark.catalogue("OP-03")
def test_steps_are_long_where_it_is_flat_and_short_where_it_is_steep():
    direction, reflected = newton_direction(np.diag([100.0, 0.01]), np.array([1.0, 1.0]))
    np.testing.assert_allclose(direction, [-0.01, -100.0])
    assert reflected == 0


@pytest.mark.catalogue("OP-03")
def test_logistic_regression_converges_quadratically():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    sign = 2.0 * y - 1.0

    def parts(w):
        p = 1.0 / (1.0 + np.exp(sign * (X @ w)))
        return p, np.mean(np.logaddexp(0.0, -sign * (X @ w))) + 0.005 * w @ w

    def grad(w):
        return -X.T @ (sign * parts(w)[0]) / len(y) + 0.01 * w

    def hess(w):
        p = parts(w)[0]
        return X.T @ ((p * (1 - p))[:, None] * X) / len(y) + 0.01 * np.eye(X.shape[1])

    result = minimize(
        lambda w: parts(w)[1], np.zeros(30), grad=grad, hess=hess, method="newton",
        stop=MaxIter(50) | GradientNorm(1e-12), keep_path=True,
    )  # fmt: skip
    assert result.converged
    error = np.linalg.norm(result.path[:-1] - result.x, axis=1)
    # Digits double: once near, each error is of the order of the square of the one before.
    near = error[(error < 0.3) & (error > 1e-7)]
    assert len(near) >= 2
    assert np.all(near[1:] < 5.0 * near[:-1] ** 2)


@pytest.mark.catalogue("OP-03")
def test_a_saddle_is_left_where_the_pure_method_would_stay():
    start = [0.5, 1e-3]
    result = minimize(SADDLE, start, grad=SADDLE.gradient, hess=SADDLE.hessian, method="newton")
    assert result.history["reflected"][0] == 1.0
    np.testing.assert_allclose(np.abs(result.x), [0.0, 1.0], atol=1e-6)
    assert SADDLE(result.x) == pytest.approx(-0.25)


def test_products_of_the_hessian_will_do_and_so_will_differences():
    start = np.array([-1.2, 1.0])
    products = minimize(
        ROSENBROCK,
        start,
        grad=ROSENBROCK.gradient,
        method="newton",
        hess_product=lambda x, v: ROSENBROCK.hessian(x) @ v,
    )
    differences = minimize(ROSENBROCK, start, grad=ROSENBROCK.gradient, method="newton")
    assert differences.derivatives == {"gradient": "given", "hessian": "central differences"}
    for result in (products, differences):
        assert result.converged
        np.testing.assert_allclose(result.x, 1.0, atol=1e-6)
        assert result.n_hessians > 0
    bent = minimize(
        HIMMELBLAU, [0.1, 0.1], grad=HIMMELBLAU.gradient, method="newton",
        hess_product=lambda x, v: HIMMELBLAU.hessian(x) @ v,
    )  # fmt: skip
    assert bent.history["reflected"][0] == 1.0
    assert bent.value < 1e-10


@pytest.mark.catalogue("OP-11")
@pytest.mark.parametrize("search", ["exact", "parabola"])
@pytest.mark.parametrize("seed", range(3))
def test_a_quadratic_takes_as_many_steps_as_it_has_parameters(search, seed):
    A, _, fun, grad = quadratic(6, seed)
    result = minimize(
        fun, np.zeros(6), grad=grad, method=ConjugateGradient(line_search=search), stop=MaxIter(6), keep_path=True
    )
    assert np.abs(grad(result.x)).max() < 1e-11
    directions = np.diff(result.path, axis=0)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    conjugacy = directions @ A @ directions.T
    assert np.abs(conjugacy - np.diag(np.diag(conjugacy))).max() < 1e-6 * np.diag(conjugacy).max()
    gradients = np.array([grad(x) for x in result.path[:-1]])
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    assert np.abs(gradients @ gradients.T - np.eye(6)).max() < 1e-6


@pytest.mark.catalogue("OP-11")
def test_beta_is_that_of_polak_and_ribiere():
    _, _, fun, grad = quadratic(5)
    bent = (lambda x: fun(x) + 0.1 * np.sum(x**4)), (lambda x: grad(x) + 0.4 * x**3)
    path = minimize(
        bent[0],
        np.ones(5),
        grad=bent[1],
        method=ConjugateGradient(line_search="exact"),
        stop=MaxIter(2),
        keep_path=True,
    ).path
    before, after = bent[1](path[0]), bent[1](path[1])
    direction = -after + after @ (after - before) / (before @ before) * -before
    moved = path[2] - path[1]
    assert moved @ direction / np.linalg.norm(moved) / np.linalg.norm(direction) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.catalogue("OP-11")
def test_it_restarts_along_the_gradient_and_never_rises():
    result = minimize(
        ROSENBROCK, [-1.2, 1.0], grad=ROSENBROCK.gradient, method=ConjugateGradient(restart=3),
        stop=MaxIter(2000) | GradientNorm(1e-8),
    )  # fmt: skip
    assert result.converged
    assert np.all(np.diff(result.history["objective"]) <= 0)
    assert np.max(np.diff(np.flatnonzero(result.history["restarted"]))) <= 3
