"""Newton's method: solve with the Hessian, or with its products alone, and search along the direction found."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from mercer._base.parameter import Nothing, Real, Rule
from mercer._plain import plain
from mercer._solver import Dense, Solution, Solver
from mercer._solver.line_search import search
from mercer._solver.newton import solve_by_products
from mercer.optim._function import Evaluate, FunctionPoint, FunctionProblem, Hessian, HessianProduct
from mercer.optim._method import Method, certify_gradient, make_step

# Eigenvalues smaller than this share of the largest are taken for it: steps stay finite where the function is flat.
_FLAT = 1e-8


@plain
@dataclass(frozen=True, eq=False)
class FunctionNewtonState:
    """Parameters, value and gradient there, and the steps taken."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    n_steps: int


@dataclass(frozen=True)
class Newton(Method):
    """Newton's method: x <- x - step * H^-1 grad f(x), with H the Hessian at x.

    Steps are long where the function is flat and short where it is steep, so its scaling does not matter; near a
    minimum the number of right digits doubles each time. Where H is not positive definite its eigenvalues are replaced
    by their absolute values (the column ``reflected`` of the history counts them), so that saddles are left and not
    approached. With ``hess_product`` alone the equation is solved by conjugate gradients, which stop at directions of
    negative curvature.

    Parameters
    ----------
    damping : a number in (0, 1] or None, default=None
        A fixed step, 1 being the pure method; None searches along the direction (Wolfe's conditions).

    Notes
    -----
    Each step costs d^2 numbers of memory and O(d^3) time for d parameters; by products O(d) memory. Without ``hess``
    the Hessian comes from 2 d gradients.

    References
    ----------
    Nocedal and Wright (2006), Numerical optimization, chapters 3 and 7; Dauphin et al. (2014), Identifying and
    attacking the saddle point problem.

    Examples
    --------
    >>> from mercer.optim import ROSENBROCK, minimize
    >>> result = minimize(ROSENBROCK, [-1.2, 1.0], grad=ROSENBROCK.gradient, hess=ROSENBROCK.hessian, method="newton")
    >>> result.x.round(6), result.n_iter < 30
    (array([1., 1.]), True)
    """

    damping: float | None = None
    name: ClassVar[str] = "newton"
    rules: ClassVar[dict[str, Rule]] = {"damping": Real(0, 1, closed="right") | Nothing()}
    uses: ClassVar[frozenset[str]] = frozenset({"hess", "hess_product"})
    any_library: ClassVar[bool] = False
    state: ClassVar[type] = FunctionNewtonState

    def solve(self, start: np.ndarray | FunctionNewtonState) -> Solver:
        return _newton(self.damping, start)


def _newton(damping: float | None, start: np.ndarray | FunctionNewtonState) -> Generator[Any, Any, Solution]:
    if isinstance(start, FunctionNewtonState):
        state = start
    else:
        point = yield Evaluate(start)
        state = FunctionNewtonState(start, point.objective, point.gradient, 0)
    while True:
        # The point is rebuilt from the state: a run that is continued takes the same steps, with the same bits.
        point = FunctionPoint(state.x, state.value, state.gradient)
        direction, reflected = yield from _direct(point)
        if damping is None:
            reached = yield from search(FunctionProblem(), point, direction)
        else:
            reached = yield Evaluate(state.x + damping * direction)
        if reached is None or not np.isfinite(reached.objective):
            # Neither search nor damping leads to a lower finite value: the state before is the answer.
            return Solution(state, False, certify_gradient(state.gradient), "no lower point")
        before = state.x
        state = FunctionNewtonState(reached.parameters, reached.objective, reached.gradient, state.n_steps + 1)
        yield make_step(state, before, reflected=float(reflected))


def _direct(point: FunctionPoint) -> Generator[Any, Any, tuple[np.ndarray, int]]:
    """Return the direction of the step, and how many directions of negative curvature were met."""
    matrix = yield Hessian(point.parameters)
    if matrix is None:

        def multiply(vector: np.ndarray) -> Generator[Any, Any, np.ndarray]:
            return (yield HessianProduct(point.parameters, vector))

        step, ended = yield from solve_by_products(multiply, point.gradient)
        return step, int(ended)
    direction, reflected = yield Dense(lambda: newton_direction(matrix, point.gradient.reshape(-1)))
    return direction.reshape(point.gradient.shape), reflected


def newton_direction(matrix: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, int]:
    """Return minus the inverse of the matrix times the gradient, and the number of eigenvalues changed for it."""
    try:
        factor = cho_factor(matrix, lower=True)
        # The squared diagonal of the factor bounds the smallest eigenvalue; a nearly singular matrix would give a huge
        # step.
        if np.min(np.abs(np.diagonal(factor[0]))) ** 2 > _FLAT * np.max(np.abs(matrix)):
            return -cho_solve(factor, gradient), 0
    except np.linalg.LinAlgError:
        pass
    # Replacing eigenvalues by their magnitude turns steps towards a saddle or maximum into descent (saddle-free
    # Newton).
    values, vectors = eigh(matrix)
    size = np.abs(values)
    # Nearly flat directions get a curvature of at least `floor`, so that the step stays finite.
    floor = _FLAT * size.max() if size.max() > 0 else 1.0
    shares = (vectors.T @ gradient) / np.maximum(size, floor)
    return -(vectors @ shares), int(np.sum(values < 0))
