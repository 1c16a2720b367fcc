"""Ridge with more columns than rows, in closed form by its dual: n equations instead of d.

With rows scaled by the roots of their weights, coef = X_c^T a where (X_c X_c^T + alpha I) a = y_c. The Gram matrix is
made tile by tile, and means are taken off it by algebra unless they dwarf the spread.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._solver.driver import Solver
from mercer._solver.linear_state import LinearState, gradient_certificate
from mercer._solver.request import HEAVY, Dense, Factored, Map, Tiles
from mercer._solver.step import Solution, Step
from mercer._source import Block
from mercer._statistic.products import Residual, TransposeProduct, multiply_rows
from mercer._types import Array
from mercer.linear_model._solvers.closed_form.normal_equations import Factors

# Columns multiplied at a time: two panels of 256 such rows stay in the second-level cache while they are centred.
_PANEL = 1024
# Centring by algebra loses this factor in precision at most; beyond it rows are centred before they are multiplied.
_LARGE_MEAN = 1e3
# Reciprocal condition below which a Cholesky factor has no correct digits.
_SINGULAR = 1e-14
# Below this reciprocal condition the Gram matrix lost more digits than its residual shows: use the rows instead.
_REFINE_BELOW = 1e-7


def by_dual_equations(
    alpha: Array, y: Array, weight: Array, centre: bool, tolerance: float, otherwise: Callable[[], Solver]
) -> Solver:
    """Solve for all targets (columns of `y`); `weight` is one number per row or None.

    `otherwise` makes the solver that takes over where the equations are singular to rounding.
    """
    n_rows, weighted = y.shape[0], weight is not None
    weight = weight if weighted else np.ones(n_rows)
    root, share = np.sqrt(weight)[:, None], (weight / weight.sum())[:, None]
    y_mean = share[:, 0] @ y if centre else np.zeros(y.shape[1])
    # Rows and targets times the root of the weight make weighted least squares plain.
    right = root * (y - y_mean)
    gram, mean = yield from centre_gram(n_rows, share, centre)
    if weighted:
        gram *= root * root.T
    factors = yield Factored(partial(Factors, gram, alpha), n_rows > HEAVY)
    # Singular to rounding: another solver takes over.
    if factors.condition < _SINGULAR:
        return (yield from otherwise())
    dual, residual = yield Dense(partial(_solve, gram, factors, alpha, right))
    coef, mean = yield from dual_coefficients(root * dual, share, centre, mean)
    if factors.condition >= _REFINE_BELOW:
        certificate, objective = yield Dense(partial(_judge, gram, dual, residual, alpha, right, tolerance))
    else:
        # Two steps of iterative refinement with the residual of the rows themselves.
        for _ in range(2):
            fitted = yield Map(partial(_fitted, coef=coef, mean=mean))
            dual += yield Dense(partial(factors.solve, right - root * fitted - alpha * dual))
            coef, mean = yield from dual_coefficients(root * dual, share, centre, mean)
        sums = yield Residual(coef, mean, y_mean)
        size = float(np.trace(gram))
        certificate = gradient_certificate(sums.product - alpha * coef, size, float(np.sum(right**2)), tolerance)
        objective = float(np.sum(sums.squares) + np.sum(alpha * coef * coef))
    state = LinearState(coef, y_mean - mean @ coef, "cholesky")
    yield Step(objective, state, certificate)
    return Solution(state, True, certificate)


def centre_gram(n_rows: int, share: Array, centre: bool) -> Generator[Any, Any, tuple[Array, Array | None]]:
    """Compute the Gram matrix of rows less their weighted mean: K - u 1^T - 1 u^T + share . u, with u = K share.

    Where the mean was so large that rows had to be centred first, it comes back too.
    """
    gram = yield Tiles(Product(None), np.empty((n_rows, n_rows)))
    if not centre:
        return gram, None
    mean = None
    along = yield Dense(partial(np.matmul, gram, share))
    squared_mean = float(share[:, 0] @ along[:, 0])
    # Means that dwarf the spread would cancel in the algebra: the Gram matrix is made again from centred rows.
    if squared_mean > _LARGE_MEAN * (float(share[:, 0] @ np.diagonal(gram)) - squared_mean):
        mean = (yield TransposeProduct(share))[:, 0]
        gram = yield Tiles(Product(mean), gram)
        along = yield Dense(partial(np.matmul, gram, share))
        squared_mean = float(share[:, 0] @ along[:, 0])
    # (x_i - m).(x_j - m) = K_ij - u_i - u_j + share.u.
    gram -= along
    gram -= along.T
    gram += squared_mean
    return gram, mean


def dual_coefficients(dual: Array, share: Array, centre: bool, mean: Array | None) -> Generator[Any, Any, tuple]:
    """Compute X_c^T dual and the mean of the rows, in one pass."""
    if mean is not None:
        return (yield TransposeProduct(dual, mean)), mean
    products = yield TransposeProduct(np.hstack([dual, share]))
    mean = products[:, -1] if centre else np.zeros(products.shape[0])
    return products[:, :-1] - mean[:, None] * np.sum(dual, axis=0), mean


def _fitted(block: Block, coef: Array, mean: Array) -> Array:
    if block.is_sparse:
        return block.matmul(coef) - mean @ coef
    return block.centre(mean) @ coef


@dataclass(frozen=True)
class Product:
    """Inner products of the rows of two blocks, less `shift` where given; float64 whatever the rows."""

    shift: Array | None

    def __call__(self, left: Block, right: Block) -> Array:
        if left.is_sparse:
            return (left.X.astype(np.float64, copy=False) @ right.X.T).toarray()
        if self.shift is None and left.X.dtype == np.float64:
            return multiply_rows(left.X, left.X if left.start == right.start else right.X)
        shift = np.zeros(left.X.shape[1]) if self.shift is None else self.shift
        product = np.zeros((left.n, right.n))
        # Panel by panel, so that centred copies take a bounded amount of memory.
        for start in range(0, shift.shape[0], _PANEL):
            columns = slice(start, start + _PANEL)
            rows = left.X[:, columns] - shift[columns]
            others = rows if left.start == right.start else right.X[:, columns] - shift[columns]
            product += multiply_rows(rows, others)
        return product


def _solve(gram: Array, factors: Factors, alpha: Array, y: Array) -> tuple[Array, Array]:
    """Return the duals after one correction, and the residual of the equations."""
    dual = factors.solve(y)
    dual += factors.solve(y - gram @ dual - alpha * dual)
    return dual, y - gram @ dual - alpha * dual


def _judge(gram: Array, dual: Array, residual: Array, alpha: Array, y: Array, tolerance: float) -> tuple:
    """Return certificate and objective from the Gram matrix: with coef = X_c^T a the gradient is X_c^T `residual`."""
    fitted = gram @ dual
    gradient = np.sqrt(np.maximum(np.sum(residual * (gram @ residual), axis=0), 0.0))
    objective = np.sum((y - fitted) ** 2) + np.sum(alpha * np.sum(dual * fitted, axis=0))
    return gradient_certificate(gradient, float(np.trace(gram)), float(np.sum(y * y)), tolerance), float(objective)
