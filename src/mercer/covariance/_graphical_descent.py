"""The solver of the graphical lasso: sweeps over the columns of the dual, with a duality gap after each.

Minimised is tr(S P) - log det P + alpha sum_{i != j} |P_ij| over positive definite P. The dual point is a covariance W
with the diagonal of S and |W_ij - S_ij| <= alpha elsewhere; the gap is the objective at P less log det W + p.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mercer._native.linear import graphical_descent
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._types import Array
from mercer.errors import DataError

STATEMENT = (
    "The penalised negative log-likelihood exceeds its minimum by this at most: the duality gap at the covariance, cut "
    "off at the bounds of the dual."
)
# As in scikit-learn, covariances begin at this share of their values, so that a singular matrix becomes regular.
_START = 0.95
# Columns from which the factorisations of a gap, and a sweep, take long enough to deserve a thread of their own.
_HEAVY = 200
# Operations of a native call at most: some 20 ms.
_CALL = 2**24
# Sweeps of descent on a column at most.
_MOST_SWEEPS = 100


@plain
@dataclass(frozen=True, eq=False)
class GraphicalState:
    """Covariance W, the lasso coefficients of each column, the precision P, the objective and the gap, and sweeps."""

    location: Array
    covariance: Array
    coefficients: Array
    precision: Array
    objective: float
    gap: float
    sweeps: int


@dataclass(frozen=True, eq=False)
class GraphicalProblem:
    """The problem for a covariance S and a penalty, and the tolerances."""

    S: Array
    alpha: float
    tol: float
    inner_tol: float

    def begin(self, earlier: GraphicalState | None = None) -> tuple[Array, Array]:
        """Return the covariance and the coefficients to begin with: those of another penalty, or of S itself."""
        if earlier is not None:
            return earlier.covariance.copy(), earlier.coefficients.copy()
        W = _START * self.S
        np.fill_diagonal(W, np.diagonal(self.S))
        return W, np.zeros(W.shape)

    def sweep(self, W: Array, B: Array) -> None:
        """Take every column of W to its maximum once."""
        p = len(W)
        off = np.abs(self.S).sum() - np.abs(np.diagonal(self.S)).sum()
        # Slopes are covariances: they are settled to a share of their mean size.
        goal = self.inner_tol * float(off) / max(1, p * (p - 1))
        scratch, columns = np.empty(p), max(1, _CALL // (4 * p * p))
        for first in range(0, p, columns):
            graphical_descent.sweep_columns(
                self.S, self.alpha, goal, _MOST_SWEEPS, first, min(p, first + columns), W, B, scratch
            )

    def judge(self, W: Array, B: Array) -> tuple[Array, float, float]:
        """Return the precision, its objective and the duality gap; both are infinite where it is not definite."""
        diagonal = np.diagonal(W)
        left = diagonal - np.einsum("ij,ij->i", W, B)
        if not (left > 0).all():
            return np.full(W.shape, np.nan), math.inf, math.inf
        P = -B / left[:, None]
        P = 0.5 * (P + P.T)
        np.fill_diagonal(P, 1.0 / left)
        own = _find_log_determinant(P)
        value = float(np.vdot(self.S, P)) + self.alpha * (float(np.abs(P).sum()) - float(np.trace(P)))
        dual = np.clip(W, self.S - self.alpha, self.S + self.alpha)
        np.fill_diagonal(dual, np.diagonal(self.S))
        bound = _find_log_determinant(dual)
        if own is None or bound is None:
            return P, math.inf, math.inf
        objective = value - own
        return P, objective, max(0.0, objective - bound - len(W))

    def solve(self, location: Array, max_iter: int, start: GraphicalState | None) -> Solver[GraphicalState]:
        """Sweep until the gap is at most the tolerance."""
        resumed = start is not None and start.sweeps > 0
        W, B = self.begin(start)
        state, heavy = start, len(W) > _HEAVY
        for number in range(start.sweeps if resumed and start is not None else 0, max(1, max_iter)):
            yield Dense(lambda: self.sweep(W, B), heavy=heavy)
            P, objective, gap = yield Dense(lambda: self.judge(W, B), heavy=heavy)
            state = GraphicalState(location, W.copy(), B.copy(), P, objective, gap, number + 1)
            certificate = self.certify(gap)
            yield Step(objective, state, certificate, {"gap": gap})
            if certificate.satisfied:
                return Solution(state, True, certificate)
        assert state is not None
        return Solution(state, False, self.certify(state.gap))

    def walk(self, max_iter: int, earlier: GraphicalState | None) -> GraphicalState:
        """Return the state after at most `max_iter` sweeps from the state of another penalty: a point of a path."""
        W, B = self.begin(earlier)
        P, objective, gap = W, math.inf, math.inf
        for _ in range(max_iter):
            self.sweep(W, B)
            P, objective, gap = self.judge(W, B)
            if gap <= self.tol:
                break
        return GraphicalState(np.zeros(len(W)), W, B, P, objective, gap, 0)

    def finish(self, location: Array, max_iter: int) -> tuple[GraphicalState, Array]:
        """Return the state after at most `max_iter` sweeps from the covariance, and the objective and gap of each."""
        W, B = self.begin()
        costs: list[tuple[float, float]] = []
        while len(costs) < max_iter:
            self.sweep(W, B)
            P, objective, gap = self.judge(W, B)
            costs.append((objective, gap))
            if gap <= self.tol:
                break
        return GraphicalState(location, W, B, P, objective, gap, len(costs)), np.array(costs)

    def certify(self, gap: float) -> Certificate:
        """Return the certificate of a gap."""
        return Certificate.of("duality gap", gap, self.tol, STATEMENT)


def solve_directly(problem: GraphicalProblem, location: Array) -> Solver[GraphicalState]:
    """Invert the covariance, where nothing is penalised: one step."""
    S = problem.S

    def invert() -> tuple[Array | None, float]:
        # With ones on the diagonal the factor loses no digits to the units of the columns.
        unit = np.sqrt(np.diagonal(S))
        factor, failed = lapack.dpotrf(S / unit[:, None] / unit, lower=1)
        if failed:
            return None, math.inf
        lower = lapack.dpotri(factor, lower=1)[0]
        inverse = np.tril(lower) + np.tril(lower, -1).T
        logarithm = 2.0 * float(np.log(np.diagonal(factor)).sum() + np.log(unit).sum())
        return inverse / unit[:, None] / unit, logarithm

    P, logarithm = yield Dense(invert, heavy=len(S) > _HEAVY)
    if P is None:
        raise DataError(
            f"GraphicalLasso: without a penalty the covariance of {len(S)} columns must have full rank to be "
            f"inverted; it has not. Set alpha > 0, give more rows, or drop columns that others determine."
        )
    state = GraphicalState(location, S, np.zeros(S.shape), P, len(S) + logarithm, 0.0, 0)
    certificate = problem.certify(0.0)
    yield Step(state.objective, state, certificate, {"gap": 0.0})
    return Solution(state, True, certificate)


def _find_log_determinant(matrix: Array) -> float | None:
    """Return the logarithm of the determinant of a positive definite matrix; None if it is none."""
    factor, failed = lapack.dpotrf(matrix, lower=1, clean=0)
    return None if failed else 2.0 * float(np.log(np.diagonal(factor)).sum())


def find_largest_alpha(S: Array) -> float:
    """Return the penalty from which on all columns are independent: the largest covariance of two columns."""
    off = np.abs(S)
    np.fill_diagonal(off, 0.0)
    return float(off.max(initial=0.0))


def score_precision(S: Array, state: GraphicalState) -> float:
    """Return the mean log-likelihood of rows with covariance S under a precision; -inf where it is not definite."""
    logarithm: Any = _find_log_determinant(state.precision) if math.isfinite(state.objective) else None
    if logarithm is None:
        return -math.inf
    return 0.5 * (logarithm - float(np.vdot(S, state.precision)) - len(S) * math.log(2.0 * math.pi))
