"""Orthogonal matching pursuit, column by column; see :mod:`mercer._native.linear.matching_pursuit`."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.linear import matching_pursuit as native
from mercer._plain import plain
from mercer._solver.step import Certificate
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.linear_model._solvers.greedy.column_products import ColumnProducts

# A column does not join whose part beyond the others is less than this share of it: rounding leaves as much.
_PIVOT = 1e-7
# Products with the residual below this share of the largest possible are rounding.
_ZERO = 1e-14
# Numbers that a call touches at most, some 10 ms, after which Ctrl-C is noticed.
_WORK = 2**23
# What rounding may leave of products that are zero, as a share of the largest at the start.
_EXACT = 1e-8

# How native code ends: with the squared residual asked for.
_ARRIVED = 1
# For want of the products of the column that joins.
_ASKS = 2
# Because columns in use determine the next.
DEPENDENT = 3
ORTHOGONAL = (
    "The residual is orthogonal to the columns in use: the largest product of one with it, as a share of the largest "
    "product at the start. It does not say that no other columns would do better."
)


@plain
@dataclass(frozen=True, eq=False)
class PursuitRecord:
    """Where a pursuit is: what native code reads, and the coefficients and squared residuals so far."""

    columns: Array
    slots: Array
    factor: Array
    order: Array
    marks: Array
    counts: Array
    knots: Array
    squares: Array
    ended: int
    fetched: Array


class MatchingPursuit:
    """The pursuit of one target.

    Parameters
    ----------
    subject : str
        Who asks, for errors.
    most : int
        The most columns to use.
    tol : float
        The squared residual at which to end; -inf for none.
    moments : MomentSums
    target : int
        The number of the target.
    products : ColumnProducts
    """

    def __init__(
        self, subject: str, most: int, tol: float, moments: Any, target: int, products: ColumnProducts
    ) -> None:
        cross = np.ascontiguousarray(moments.cross[:, target])
        d, self.total, self.tol, self.most = len(cross), float(moments.weight), tol, int(most)
        require_memory(subject, 8 * most * (2 * most + d), "the pursuit", "allow fewer coefficients")
        self.products, self.y_squares = products, float(moments.y_scatter[target])
        self.columns = np.zeros((4, d))
        self.columns[0] = self.columns[2] = cross
        self.slots, self.factor = np.zeros((2, most)), np.zeros((most, most))
        self.order, self.marks = np.zeros(most, dtype=np.intp), np.zeros(d, dtype=np.int8)
        self.counts = np.array([0, -1], dtype=np.intp)
        self.knots, self.squares = np.zeros((most + 1, d)), np.zeros(most + 1)
        self.squares[0] = self.y_squares
        scatter = moments.scatter if moments.scatter.ndim == 1 else np.diagonal(moments.scatter)
        self.least = _ZERO * float(np.sqrt(np.max(scatter, initial=0.0) * self.y_squares))
        self.ended = 0

    @property
    def is_over(self) -> bool:
        """Whether there are no more steps to take."""
        return self.ended in (_ARRIVED, DEPENDENT) or self.n_steps >= self.most

    @property
    def has_arrived(self) -> bool:
        """Whether the squared residual is what was asked for, or nothing was."""
        return self.tol < 0 or bool(self.squares[self.n_steps] <= self.tol)

    @property
    def n_steps(self) -> int:
        """Columns in use."""
        return int(self.counts[0])

    @property
    def coef(self) -> Array:
        """The coefficients."""
        return self.columns[1]

    @property
    def coefs(self) -> Array:
        """The coefficients without a column, with one, two and so on."""
        return self.knots[: self.n_steps + 1]

    def objectives(self) -> Array:
        """Return half the mean squared residual after each column."""
        return 0.5 * np.maximum(self.squares[: self.n_steps + 1], 0.0) / self.total

    def measures(self) -> dict[str, Array]:
        """Return what the history lists besides the objective: nothing."""
        return {}

    def walk(self, steps: int) -> Generator[Any, Any, None]:
        """Take some columns more into use, or as many as there are."""
        wanted = min(self.n_steps + steps, self.most)
        while self.n_steps < wanted and not self.is_over:
            per_call = max(1, _WORK // max(1, self.columns.shape[1] * (1 + self.n_steps)))
            rules = np.array([min(wanted, self.n_steps + per_call), self.tol, self.least, _PIVOT])
            self.ended = int(native.pursue(
                self.products.rows, self.products.place, self.columns, self.slots, self.factor, self.order, self.marks,
                self.counts, rules, self.knots, self.squares,
            ))  # fmt: skip
            if self.squares[self.n_steps] <= self.tol:
                self.ended = _ARRIVED
            elif self.ended == _ASKS:
                yield from self.products.fetch(int(self.counts[1]))

    def record(self) -> PursuitRecord:
        """Return all that a resumed run needs."""
        used = self.n_steps + 1
        return PursuitRecord(
            self.columns.copy(), self.slots.copy(), self.factor.copy(), self.order.copy(), self.marks.copy(),
            self.counts.copy(), self.knots[:used].copy(), self.squares[:used].copy(), self.ended,
            self.products.list_fetched(),
        )  # fmt: skip

    def restore(self, record: PursuitRecord) -> Generator[Any, Any, None]:
        """Go to an earlier record."""
        yield from self.products.fetch_again(record.fetched)
        arrays = (record.columns, record.slots, record.factor, record.order, record.marks, record.counts)
        self.columns, self.slots, self.factor, self.order, self.marks, self.counts = (one.copy() for one in arrays)
        count = len(record.squares)
        self.knots[:count], self.squares[:count], self.ended = record.knots, record.squares, record.ended

    def certify(self, others: list["MatchingPursuit"]) -> Certificate:
        """Return the certificate of this pursuit and those of other targets."""
        value = max(path.measure_at(path.coef) for path in (self, *others))
        return Certificate.of("residual", value, _EXACT, ORTHOGONAL)

    @property
    def exact(self) -> float:
        """What is asked of the measure."""
        return _EXACT

    def measure_at(self, coef: Array) -> float:
        """Return the largest product of a column in use with the residual, as a share of the largest at the start."""
        used = np.flatnonzero(coef)
        cross = self.columns[2]
        products = self.products.rows[self.products.place[used]]
        slopes = cross[used] - coef[used] @ products[:, used]
        top = float(np.abs(cross).max(initial=0.0))
        return float(np.abs(slopes).max(initial=0.0)) / (top or 1.0)
