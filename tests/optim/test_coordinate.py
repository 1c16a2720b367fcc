"""Coordinate search, alone and in pairs under a constraint; proximal gradient with its certificate."""

import numpy as np
import pytest

from mercer._objective import ElasticNetPenalty
from mercer.errors import DataError
from mercer.optim import (
    CoordinateSearch,
    GradientNorm,
    MaxIter,
    ProximalGradient,
    SmallStep,
    minimize,
    solve_equality,
)

B = np.random.default_rng(0).normal(size=(5, 5))
H, c = B @ B.T + np.eye(5), np.random.default_rng(1).normal(size=5)


def quadratic(x):
    return 0.5 * x @ H @ x + c @ x


@pytest.mark.catalogue("OP-20")
def test_a_separable_function_takes_one_sweep():
    centres = np.array([2.0, -1.0, 0.5])
    result = minimize(
        lambda x: (x[0] - 2.0) ** 2 + 3 * (x[1] + 1.0) ** 4 + np.cosh(x[2] - 0.5), np.zeros(3), stop=MaxIter(1),
        method="coordinate_search",
    )  # fmt: skip
    np.testing.assert_allclose(result.x, centres, atol=2e-3)
    assert result.n_gradients == 0


@pytest.mark.catalogue("OP-20")
@pytest.mark.parametrize("order", ["cyclic", "random"])
def test_the_value_never_rises_and_ends_at_the_minimum(order):
    stop = MaxIter(20_000) | SmallStep(1e-9)
    result = minimize(quadratic, np.ones(5), method=CoordinateSearch(order, random_state=0), stop=stop)
    assert result.converged
    assert np.all(np.diff(result.history["objective"]) <= 0)
    np.testing.assert_allclose(result.x, -np.linalg.solve(H, c), atol=1e-4)
    assert result.certificate.kind == "fixed point"
    assert result.certificate.value == result.history["step_norm"][-1]


@pytest.mark.catalogue("OP-20")
def test_under_a_constraint_pairs_move_and_single_coordinates_cannot():
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    start = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    result = minimize(
        quadratic, start, method=CoordinateSearch(constraint=y), stop=MaxIter(400) | SmallStep(1e-8), keep_path=True
    )
    np.testing.assert_allclose(result.path @ y, 0.0, atol=1e-10)
    expected = solve_equality(H, c, y[None], [0.0])
    np.testing.assert_allclose(result.x, expected.x, atol=1e-4)
    # Any move of one coordinate leaves the constraint, so with one coordinate there is nothing to do.
    assert np.all(np.abs((start + 0.1 * np.eye(5)) @ y) > 0.09)
    alone = minimize(
        lambda x: float((x[0] - 3.0) ** 2), [1.0], method=CoordinateSearch(constraint=[1.0]), stop=MaxIter(2)
    )
    assert alone.x[0] == 1.0


def test_a_coordinate_without_weight_in_the_constraint_is_free():
    result = minimize(
        lambda x: float((x[0] - 1) ** 2 + (x[1] - 1) ** 2 + (x[2] - 4) ** 2), np.zeros(3),
        method=CoordinateSearch(constraint=[1.0, 1.0, 0.0]),
    )  # fmt: skip
    np.testing.assert_allclose(result.x, [0.0, 0.0, 4.0], atol=1e-5)
    with pytest.raises(DataError, match=r"constraint must hold 3 finite numbers, one for each parameter"):
        minimize(quadratic, np.zeros(3), method=CoordinateSearch(constraint=[1.0, 1.0]))


def lasso(n=40, d=15, seed=1):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    y = X[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * random.normal(size=n)
    penalty = ElasticNetPenalty(np.full(d, 0.3), np.zeros(d))
    return (lambda w: 0.5 * np.mean((X @ w - y) ** 2)), (lambda w: X.T @ (X @ w - y) / n), penalty


@pytest.mark.parametrize("accelerated", [True, False])
def test_the_lasso_by_proximal_gradient_meets_its_subgradient_conditions(accelerated):
    fun, grad, penalty = lasso()
    result = minimize(
        fun, np.zeros(15), grad=grad, penalty=penalty, method=ProximalGradient(accelerated),
        stop=MaxIter(5000) | GradientNorm(1e-10),
    )  # fmt: skip
    assert result.converged
    assert result.certificate.kind == "proximal gradient norm"
    assert np.abs(penalty.least_subgradient(result.x, grad(result.x))).max() <= 2.0 * 1e-10 * np.sqrt(15)
    assert np.all(np.diff(result.history["objective"]) <= 1e-14)
    assert 3 <= np.count_nonzero(result.x) < 15
    assert result.value == pytest.approx(fun(result.x) + penalty.value(result.x))


def test_momentum_makes_it_faster_on_an_ill_conditioned_function():
    scales = np.logspace(0, 4, 30)

    def steps(accelerated):
        return minimize(
            lambda x: 0.5 * float(scales @ (x - 1.0) ** 2), np.zeros(30), grad=lambda x: scales * (x - 1.0),
            bounds=(None, 9.0), method=ProximalGradient(accelerated), stop=MaxIter(100_000) | GradientNorm(1e-6),
        ).n_iter  # fmt: skip

    assert 5 * steps(True) < steps(False)


def test_bounds_are_never_crossed_and_their_gradient_points_out():
    result = minimize(
        quadratic, np.full(5, 9.0), grad=lambda x: H @ x + c, bounds=(0.0, [1.0, 1.0, 0.1, 5.0, 5.0]),
        method="proximal_gradient", stop=MaxIter(5000) | GradientNorm(1e-9), keep_path=True,
    )  # fmt: skip
    assert result.path[1:].min() >= 0.0
    assert np.all(result.path[1:] <= [1.0, 1.0, 0.1, 5.0, 5.0])
    slope = H @ result.x + c
    inside = (result.x > 0) & (result.x < [1.0, 1.0, 0.1, 5.0, 5.0])
    np.testing.assert_allclose(slope[inside], 0.0, atol=1e-7)
    assert np.all(slope[result.x == 0] >= 0)
    with pytest.raises(DataError, match=r"bounds must have low <= high everywhere; got \(1, 0\)"):
        minimize(quadratic, np.zeros(5), bounds=(1, 0), method="proximal_gradient")
