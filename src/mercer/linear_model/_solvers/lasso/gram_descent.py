"""Lasso and elastic net on the Gram matrix of the columns: coordinate descent that never touches the rows.

The problem is |y - X w|^2 / 2 + l1 |w|_1 + l2 |w|^2 / 2 with G = X^T X and ``linear`` = X^T y. With w goes its slope
q = X^T (y - X w) = linear - G w, which a sweep keeps true. Sweeps find which coefficients are zero; every so often a
move takes the others to the minimum on their face: with their signs s held, the objective is a quadratic with the
minimum (G_AA + l2 I)^-1 (X_A^T y - l1 s). Coefficients that would change sign on the way there go to zero, all at once
where that lies lower, else only the first of them; neither can raise the objective.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from mercer._native.linear import descent as native
from mercer._types import Array

# Iterates that Anderson's extrapolation mixes, as in Bertrand and Massias (2021).
MEMORY = 5
# Sweeps between two moves to the minimum on the face, if few coefficients are in use.
_FIRST_TURN = 10
# If many are in use, one sweep for each eight of them, since a move costs their cube and a sweep a square. On
# 1000 x 5000 rows, elastic net down to 545 coefficients in five folds, that takes 2.1 s of one core, against 2.5 s with
# ten sweeps.
_SWEEP_SHARE = 8
# Coefficients in use beyond which a Cholesky factor (0.2 s at this size) would delay Ctrl-C.
_LARGEST_FACE = 2000
# The share of the mean of the diagonal that is added to it, so that dependent columns have a factor.
_RIDGE = 1e-10


class Penalty(NamedTuple):
    """The penalty l1 |w|_1 + l2 |w|^2 / 2, over w >= 0 where `positive`, as native code takes it."""

    l1: float
    l2: float
    positive: bool

    def value(self, w: Array) -> float:
        """Return the penalty of coefficients."""
        return self.l1 * float(np.abs(w).sum()) + 0.5 * self.l2 * float(w @ w)

    def orient(self, slopes: Array) -> Array:
        """Return what l1 bounds: the absolute slopes, or the slopes themselves if coefficients are positive."""
        return slopes if self.positive else np.abs(slopes)


@dataclass
class Orders:
    """Orders in which coordinates are visited: cyclic, or drawn with replacement from the seed and their index."""

    seed: tuple[int, ...] | None = None
    n_drawn: int = 0

    def draw(self, size: int, sweeps: int) -> np.ndarray:
        """Draw orders for the next sweeps over `size` coordinates; one row if all are alike."""
        if self.seed is None:
            return np.arange(size)[None]
        random = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.n_drawn,)))
        self.n_drawn += 1
        return random.integers(0, size, size=(sweeps, size), dtype=np.intp)


class DescentProblem:
    """One target, for any penalty: its coefficients `w`, their slopes `q`, and the duality gap of the last round.

    Parameters
    ----------
    moments : MomentSums
        Of the rows and the targets.
    target : int
        The number of the target.
    orders : Orders
    """

    def __init__(self, moments: Any, target: int, orders: Orders) -> None:
        self.linear = np.ascontiguousarray(moments.cross[:, target])
        self.squares = float(moments.y_scatter[target])
        self.orders = orders
        self.w = self.q = np.empty(0)
        self.gap, self.sweeps, self.settled = np.inf, 0, False

    def _descend_gram(
        self, G: Array, linear: Array, penalty: Penalty, goal: float, small: float, max_sweeps: int
    ) -> None:
        """Sweep over `w` until the gap is at most `goal` and moves are `small`; G is (m, m) or has longer rows."""
        m, since = len(linear), 0
        # A move on the face costs a factorisation; it is tried the less often the more coefficients are in use.
        turn = max(_FIRST_TURN, int(np.count_nonzero(self.w)) // _SWEEP_SHARE)
        iterates = np.empty((2, MEMORY + 1, m))
        scratch = iterates[0], iterates[1], np.empty(MEMORY), np.empty((MEMORY, MEMORY))
        # A call takes 10 ms at most, so that Ctrl-C is noticed.
        longest = MEMORY * max(1, 2**22 // max(1, m * m))
        while self.sweeps < max_sweeps and not self.settled:
            chunk = min(max_sweeps - self.sweeps, turn - since, longest)
            order = self.orders.draw(m, chunk)
            taken = native.gram_descent(
                G, linear, self.squares, penalty, order, goal, small, chunk, self.w, self.q, scratch
            )
            self.sweeps += taken
            # Fewer sweeps than allowed: the duality gap is below the goal.
            self.settled = taken < chunk
            since += taken
            if since == turn and not self.settled:
                move_to_face_minimum(G, linear, self.w, self.q, penalty)
                since = 0


class GramDescent(DescentProblem):
    """One problem on the Gram matrix of all columns, which one pass over the rows has summed, wherever they are."""

    method = "gram"
    # Sweeps in the first round of a single fit.
    pace = 1

    def __init__(self, moments: Any, target: int, orders: Orders) -> None:
        super().__init__(moments, target, orders)
        self.G = np.ascontiguousarray(moments.scatter)
        self.w, self.q = np.zeros(len(self.linear)), self.linear

    @property
    def coef(self) -> Array:
        """All coefficients."""
        return self.w.copy()

    def start(self, coef: Array) -> Generator[Any, Any, None]:
        """Go to given coefficients."""
        self.w = np.array(coef, dtype=np.float64)
        return
        yield

    def record(self) -> tuple[Array, ...]:
        """Return the arrays, besides the coefficients, that a resumed run needs: none."""
        return ()

    def restore(self) -> Generator[Any, Any, None]:
        """Go to an earlier record."""
        return
        yield

    def objective(self, penalty: Penalty) -> float:
        """Return the objective at the end of the last round."""
        return 0.5 * self._residual_squares() + penalty.value(self.w)

    def round(self, penalty: Penalty, goal: float, small: float, max_sweeps: int) -> Generator[Any, Any, None]:
        """Sweep at most `max_sweeps` times, and compute the gap reached."""
        used = np.flatnonzero(self.w)
        # Taken afresh, so that a fit resumed here goes on with the same bits.
        self.q = self.linear - self.w[used] @ self.G[used]
        self.sweeps, self.settled = 0, False
        self._descend_gram(self.G, self.linear, penalty, goal, small, max_sweeps)
        self.gap = native.duality_gap(self.w, self.q, self._residual_squares(), *penalty, 0.0, 0.0)
        self.settled |= max_sweeps == 0 and self.gap <= goal
        return
        yield

    def _residual_squares(self) -> float:
        return max(0.0, self.squares - float(self.w @ (self.linear + self.q)))


def move_to_face_minimum(G: Array, linear: Array, w: Array, q: Array, penalty: Penalty) -> None:
    """Move `w` in place, and its slopes q = linear - G w with it; `G` may be wider than w is long."""
    m, used = len(w), np.flatnonzero(w)
    # No coefficient in use, or a system too large to factorise in passing.
    if not 0 < len(used) <= _LARGEST_FACE:
        return
    here, signs = w[used], np.sign(w[used])
    # The gradient of the face's quadratic: q - l2 w - l1 s.
    step = _solve_ridge(G[np.ix_(used, used)], q[used] - penalty.l2 * here - penalty.l1 * signs, penalty.l2)
    if step is None:
        return
    target = here + step
    kept = target * signs > 0
    objective = _compute_objective(here, linear[used], q[used], penalty)
    # All that change sign to zero at once, or only as far as the first of them.
    for trial in (np.where(kept, target, 0.0), _stop_at_zero(here, target, kept)):
        slopes = linear - trial @ G[used, :m]
        if _compute_objective(trial, linear[used], slopes[used], penalty) < objective:
            w[used], q[:] = trial, slopes
            return


def _solve_ridge(matrix: Array, right: Array, l2: float) -> Array | None:
    """Solve (matrix + l2 I) x = right; return None if the matrix is not positive definite to rounding."""
    # A small part of the diagonal is added so that dependent columns do not fail; the move is then a step of a proximal
    # method, which still decreases the objective.
    matrix.flat[:: len(matrix) + 1] += l2 + _RIDGE * float(np.trace(matrix)) / len(matrix)
    factor, failed = lapack.dpotrf(matrix.T, lower=False, overwrite_a=True, clean=False)
    if failed:
        return None
    solution = lapack.dpotrs(factor, right, lower=False)[0]
    return solution if np.isfinite(solution).all() else None


def _stop_at_zero(here: Array, target: Array, kept: Array) -> Array:
    """Return the point on the way to the target where the first coefficient becomes zero."""
    shares = np.where(kept, np.inf, here / np.where(kept, 1.0, here - target))
    first = int(np.argmin(shares))
    if kept[first]:
        return target
    point = here + shares[first] * (target - here)
    point[first] = 0.0
    return point


def _compute_objective(w: Array, linear: Array, slopes: Array, penalty: Penalty) -> float:
    """Return the objective up to |y|^2 / 2."""
    return penalty.value(w) - 0.5 * float(w @ (linear + slopes))
