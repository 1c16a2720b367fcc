"""Lasso and elastic net on the scatter of the columns: one pass over the rows, wherever they are, and no more."""

from collections.abc import Generator
from typing import Any

import numpy as np

from mercer._native.linear import descent as native
from mercer._types import Array
from mercer.linear_model._solvers.lasso.face_move import to_face_minimum
from mercer.linear_model._solvers.lasso.price import Price
from mercer.linear_model._solvers.lasso.sweep_order import Orders

# Iterates that are extrapolated from, as in Bertrand and Massias (2021).
_MEMORY = 5
# Sweeps between two moves to the minimum over the coefficients in use, if few are in use.
_FIRST_TURN = 10
# If many are in use, one sweep for each eight of them, since a move costs their cube and a sweep a square. On
# 1000 x 5000 rows, elastic net down to 545 coefficients in five folds, that takes 2.1 s of one core, against 2.5 s with
# ten sweeps.
_MOVESHARE = 8


def descend_gram(problem: Any, G: Array, linear: Array, price: Price, goal: float, small: float, most: int) -> None:
    """Sweep over `problem.w` at most `most` times, with slopes in `problem.q`; G is (m, m) or has longer rows.

    Sweeps find which coefficients are zero; every so often a move takes the others to their minimum.
    """
    m, since = len(linear), 0
    # A move to the face minimum costs a factorisation; it is tried the less often the more coefficients are in use.
    turn = max(_FIRST_TURN, int(np.count_nonzero(problem.w)) // _MOVESHARE)
    record = np.empty((2, _MEMORY + 1, m))
    scratch = record[0], record[1], np.empty(_MEMORY), np.empty((_MEMORY, _MEMORY))
    # A call takes 10 ms at most, so that Ctrl-C is noticed.
    longest = _MEMORY * max(1, 2**22 // max(1, m * m))
    while problem.sweeps < most and not problem.settled:
        chunk = min(most - problem.sweeps, turn - since, longest)
        order = problem.orders.draw(m, chunk)
        taken = native.gram_descent(
            G, linear, problem.squares, price, order, goal, small, chunk, problem.w, problem.q, scratch
        )
        problem.sweeps += taken
        # Fewer sweeps than allowed: the duality gap is below the goal.
        problem.settled = taken < chunk
        since += taken
        if since == turn and not problem.settled:
            to_face_minimum(G, linear, problem.w, problem.q, price)
            since = 0


class GramDescent:
    """One problem on the scatter S = X^T X of its columns, for any penalty.

    Parameters
    ----------
    moments : MomentSums
        Of the rows and the targets.
    target : int
        The number of the target.
    orders : Orders
        In which order coordinates are visited.
    """

    method = "gram"
    # Sweeps in the first round of a single fit.
    pace = 1

    def __init__(self, moments: Any, target: int, orders: Orders) -> None:
        self.G = np.ascontiguousarray(moments.scatter)
        self.linear = np.ascontiguousarray(moments.cross[:, target])
        self.squares = float(moments.y_scatter[target])
        self.orders = orders
        self.w = np.zeros(len(self.linear))
        self.q = self.linear
        self.gap, self.sweeps, self.settled = np.inf, 0, False

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

    def objective(self, price: Price) -> float:
        """Return the objective at the last judged point."""
        return 0.5 * self._residual_squares() + price.of(self.w)

    def round(self, price: Price, goal: float, small: float, most: int) -> Generator[Any, Any, None]:
        """Sweep at most `most` times, and compute the gap reached."""
        used = np.flatnonzero(self.w)
        # Taken afresh, so that a fit resumed here goes on with the same bits.
        self.q = self.linear - self.w[used] @ self.G[used]
        self.sweeps, self.settled = 0, False
        descend_gram(self, self.G, self.linear, price, goal, small, most)
        self.gap = native.duality_gap(self.w, self.q, self._residual_squares(), *price, 0.0, 0.0)
        self.settled |= most == 0 and self.gap <= goal
        return
        yield

    def _residual_squares(self) -> float:
        return max(0.0, self.squares - float(self.w @ (self.linear + self.q)))
