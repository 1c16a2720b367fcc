"""Newton's method with a line search: the full Hessian by Cholesky, or its products by conjugate gradients."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer._objective import Softmax
from mercer._plain import plain
from mercer._solver.lbfgs import PROMISE
from mercer._solver.line_search import search
from mercer._solver.linear_problem import LinearProblem, Point
from mercer._solver.metric import Metric, survey
from mercer._solver.request import HEAVY, Dense
from mercer._solver.step import Solution
from mercer._solver.vector import inner
from mercer._statistic.loss import CurvatureProduct, LossCurvature


@plain
@dataclass(frozen=True, eq=False)
class NewtonState:
    """Parameters (k, d + 1) and the steps taken."""

    parameters: np.ndarray
    n_steps: int


Directions = Callable[[Point], Generator[Any, Any, np.ndarray]]


def newton_cholesky(
    problem: LinearProblem, start: NewtonState | np.ndarray, max_iter: int
) -> Generator[Any, Any, Solution]:
    """Take Newton steps with the full Hessian, formed in one pass and factored."""

    def direction(point: Point) -> Generator[Any, Any, np.ndarray]:
        curvature = yield LossCurvature(problem.loss, point.parameters)
        return (yield Dense(lambda: _solve_full(problem, curvature, point.gradient), heavy=curvature.shape[0] > HEAVY))

    return (yield from _newton(problem, start, max_iter, lambda metric: direction))


def newton_cg(problem: LinearProblem, start: NewtonState | np.ndarray, max_iter: int) -> Generator[Any, Any, Solution]:
    """Take Newton steps by conjugate gradients in the metric of the data, one pass per Hessian product."""
    return (
        yield from _newton(problem, start, max_iter, lambda metric: lambda point: _conjugate(problem, metric, point))
    )


def _newton(
    problem: LinearProblem,
    start: NewtonState | np.ndarray,
    max_iter: int,
    directions: Callable[[Metric], Directions],
) -> Generator[Any, Any, Solution]:
    state = start if isinstance(start, NewtonState) else NewtonState(start, 0)
    moments, metric = yield from survey(problem, problem.shape[1] - 1)
    direct = directions(metric)
    point = yield from problem.evaluate(state.parameters)
    certificate = problem.certify(point, moments)
    while True:
        # What a step in the metric of the data promises to gain: a measure of what is left that does not depend on
        # the scale of the columns, as the entries of the gradient do.
        promise = 0.5 * float(np.sum(point.gradient * metric.solve(point.gradient)))
        solved = problem.is_solved(point, certificate) and promise <= PROMISE * problem.tol
        if solved or state.n_steps >= max_iter:
            return Solution(state, solved, certificate)
        accepted = yield from search(problem, point, (yield from direct(point)))
        if accepted is None:
            # The line search found no lower place: more steps would not either.
            return Solution(state, False, certificate, "line_search")
        point, state = accepted, NewtonState(accepted.parameters, state.n_steps + 1)
        certificate = problem.certify(point, moments)
        yield problem.step(point, state, certificate)


def _solve_full(problem: LinearProblem, curvature: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return minus the inverse Hessian of J times the gradient."""
    k, width = gradient.shape
    # The Hessian of the mean loss, plus that of the penalty on its diagonal.
    hessian = curvature / problem.total_weight
    hessian[np.diag_indices_from(hessian)] += np.tile(problem.penalty.l2, k)
    used = np.ones(width, dtype=bool) if problem.fit_intercept else np.arange(width) < width - 1
    if isinstance(problem.loss, Softmax):
        # A constant added to all classes' scores changes nothing: the gradient is zero there, and the Hessian singular.
        blocks = hessian.reshape(k, width, k, width)
        index = np.arange(width)
        blocks[:, index, :, index] += np.mean(np.diagonal(hessian)) / k
    # Without an intercept its rows and columns are left out.
    keep = np.tile(used, k)
    step = np.zeros(k * width)
    step[keep] = solve_semidefinite(
        hessian[np.ix_(keep, keep)] if not used.all() else hessian, -gradient.reshape(-1)[keep]
    )
    return step.reshape(k, width)


def solve_semidefinite(matrix: np.ndarray, right: np.ndarray, lift: float = 0.0) -> np.ndarray:
    """Solve with a matrix that is positive semi-definite up to rounding, columns scaled to one diagonal.

    A `lift` is added to that diagonal; where the matrix has no factor, the least ridge with which it has one.
    """
    diagonal = np.diagonal(matrix)
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    unit = matrix / root / root[:, None]
    while True:
        factor, failed = dpotrf(unit + lift * np.eye(len(unit)) if lift else unit, lower=1)
        if not failed:
            return dpotrs(factor, right / root, lower=1)[0] / root
        # First the size of rounding, then a hundred times more.
        lift = max(1e-13, 100.0 * lift)


def _conjugate(problem: LinearProblem, metric: Metric, point: Point) -> Generator[Any, Any, np.ndarray]:
    """Return Newton's step by conjugate gradients in the metric of the data, one pass for each product."""

    def multiply(vector: np.ndarray) -> Generator[Any, Any, np.ndarray]:
        sums = yield CurvatureProduct(problem.loss, point.parameters, vector)
        image = sums / problem.total_weight + problem.penalty.l2 * vector
        if not problem.fit_intercept:
            image[:, -1] = 0.0
        return image

    return (yield from solve_by_products(multiply, point.gradient, metric.solve))[0]


def solve_by_products(
    multiply: Callable[[Any], Generator[Any, Any, Any]],
    gradient: Any,
    solve: Callable[[Any], Any] = lambda vector: vector,
) -> Generator[Any, Any, tuple[Any, bool]]:
    """Solve the Newton equation by conjugate gradients, to a residual that shrinks with the gradient (superlinear).

    Returns the step, and whether a direction without curvature ended the search: for a convex function rounding.

    Parameters
    ----------
    multiply : callable
        From a vector to a generator that returns the Hessian times it.
    gradient : array
    solve : callable
        Applies the inverse of the metric in which directions are conjugate.
    """
    residual = -gradient
    result, direction = 0.0 * gradient, solve(residual)
    product = inner(residual, direction)
    # The residual norm may be min(1/4, |g|^(1/2)) |g| in this metric (Dembo, Eisenstat and Steihaug, 1982): loose far
    # from the minimum, ever tighter near it. `product` is its square.
    goal = min(0.25, product**0.25) ** 2 * product
    # Exact arithmetic would need as many steps as there are parameters; rounding a few more.
    for number in range(20 + residual.size):
        image = yield from multiply(direction)
        curvature = inner(direction, image)
        if curvature <= 0:
            # What was found before is still a descent direction; at the first step, the one at hand is.
            return (result if number else direction), True
        result = result + product / curvature * direction
        residual = residual - product / curvature * image
        solved = solve(residual)
        previous, product = product, inner(residual, solved)
        if product <= goal:
            break
        direction = solved + product / previous * direction
    return result, False
