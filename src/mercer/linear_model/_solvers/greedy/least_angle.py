"""Least angle regression and the lasso's path, knot by knot; see :mod:`mercer._native.linear.least_angle`.

Heights are S alpha, with S the sum of the weights: alpha is the penalty at which the lasso has a knot's coefficients.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.linear import descent
from mercer._native.linear import least_angle as native
from mercer._plain import plain
from mercer._solver.step import Certificate
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.linear_model._solvers.greedy.column_products import ColumnProducts

# A column does not join whose part beyond the others is less than this share of it: rounding leaves as much.
_PIVOT = 1e-7
# Knots between which Ctrl-C is noticed: a call takes some 10 ms.
_WORK = 2**23
# How well the optimality conditions hold at the end, as a share of the largest slope at the start (of squares, for a
# gap): what rounding leaves of thousands of knots.
_EXACT = 1e-8

# How native code ends: at the lowest penalty.
_ENDED = 1
# For want of the products of the column that joins.
_ASKS = 2
# Because columns join and leave without a step.
_STUCK = 3
ANGLES = (
    "Columns in use have products with the residual of one size, and no other column has a larger one: the largest "
    "departure, as a share of the largest product at the start."
)
GAP = (
    "The objective exceeds its minimum by this at most: the duality gap at a feasible point made of the residual, for "
    "objectives divided by the sum of the weights."
)


@dataclass(frozen=True)
class PathRules:
    """What path to walk, and how far.

    Attributes
    ----------
    subject : str
        Who asks, for errors.
    lasso : bool
        Whether a coefficient that reaches zero leaves; otherwise it goes on to the other side.
    positive : bool
        Whether coefficients must not be negative.
    eps : float
        The least pivot of the Cholesky factor, as a share of a column's length.
    most : int
        The most steps.
    lowest : float
        The penalty at which the path ends.
    whole : bool
        Whether all knots are kept, or the last alone.
    """

    subject: str
    lasso: bool
    positive: bool
    eps: float
    most: int
    lowest: float
    whole: bool = True


@plain
@dataclass(frozen=True, eq=False)
class PathRecord:
    """Where a path is: what native code reads, and the knots so far."""

    columns: Array
    slots: Array
    factor: Array
    order: Array
    marks: Array
    counts: Array
    numbers: Array
    knots: Array
    heights: Array
    ended: int
    fetched: Array


class LeastAnglePath:
    """The path of one target.

    Parameters
    ----------
    rules : PathRules
    moments : MomentSums
    target : int
        The number of the target.
    products : ColumnProducts
    n_rows : int
        The number of rows, or of columns where it is not known: no more columns can be in use.
    """

    def __init__(self, rules: PathRules, moments: Any, target: int, products: ColumnProducts, n_rows: int) -> None:
        cross = np.ascontiguousarray(moments.cross[:, target])
        d, self.total = len(cross), float(moments.weight)
        # Each step uses one column more at most.
        most = int(min(rules.most, d, n_rows))
        n_bytes = 8 * most * most + 8 * d * (min(rules.most, 2 * d) if rules.whole else 1)
        require_memory(rules.subject, n_bytes, "the path", "allow fewer steps, or set fit_path=False")
        self.rules, self.cross, self.products = rules, cross, products
        self.squares = float(moments.y_scatter[target])
        top = float((cross if rules.positive else np.abs(cross)).max(initial=0.0))
        self.columns = np.zeros((3, d))
        self.columns[0] = cross
        self.slots, self.factor = np.zeros((2, most)), np.zeros((most, most))
        self.order, self.marks = np.zeros(most, dtype=np.intp), np.zeros(d, dtype=np.int8)
        join = int(np.argmax(cross if rules.positive else np.abs(cross))) if top > 0 else -1
        self.counts = np.array([0, -1, join, 1], dtype=np.intp)
        self.numbers = np.array([top, self.squares, 0.0, top])
        self.knots, self.heights = np.zeros((16 if rules.whole else 1, d)), np.zeros((16, 3))
        self.heights[0, :2] = top, self.squares
        # Below what rounding makes of products that are zero there is no path.
        self.floor = max(self.total * rules.lowest, 0.0)
        scale = float(np.sqrt(np.max(_diagonal(moments.scatter), initial=0.0) * self.squares))
        if top <= max(self.floor, np.finfo(np.float64).resolution * scale):
            self.heights[0, 0] = self.numbers[0] = self.floor
        self.ended = _ENDED if self.numbers[0] <= self.floor else 0

    @property
    def is_over(self) -> bool:
        """Whether there are no more steps to take."""
        return self.ended in (_ENDED, _STUCK) or self.n_steps >= self.rules.most

    @property
    def has_arrived(self) -> bool:
        """Whether the path has come to the lowest penalty, or least angles to as many columns as were asked for."""
        return self.ended == _ENDED or (self.is_over and not self.rules.lasso)

    @property
    def n_steps(self) -> int:
        """Steps taken: knots without the first."""
        return int(self.counts[3]) - 1

    @property
    def alphas(self) -> Array:
        """The penalty at each knot."""
        return self.heights[: self.counts[3], 0] / self.total

    @property
    def coefs(self) -> Array:
        """The coefficients at each knot, (knots, d), or at the last alone."""
        return self.knots[: self.counts[3] if self.rules.whole else 1]

    @property
    def coef(self) -> Array:
        """The coefficients at the last knot."""
        return self.columns[1]

    @property
    def active(self) -> Array:
        """The columns in use, in the order in which they joined."""
        return self.order[: self.counts[0]]

    @property
    def n_refused(self) -> int:
        """How many columns did not join because those in use determine them."""
        return int(np.count_nonzero(self.marks == 2))

    def objectives(self) -> Array:
        """Return the objective at every knot: that of the lasso at the lowest penalty, or half the squared residual."""
        heights, price = self.heights[: self.counts[3]], self.rules.lowest if self.rules.lasso else 0.0
        return 0.5 * np.maximum(heights[:, 1], 0.0) / self.total + price * heights[:, 2]

    def measures(self) -> dict[str, Array]:
        """Return what the history lists besides the objective, for every knot."""
        return {"alpha": self.alphas}

    def walk(self, steps: int) -> Generator[Any, Any, None]:
        """Take some steps more, or as many as there are."""
        wanted = min(self.n_steps + steps, self.rules.most) + 1
        d = len(self.cross)
        while self.counts[3] < wanted and not self.is_over:
            per_call = max(1, _WORK // max(1, d * (1 + int(self.counts[0]))))
            until = int(min(wanted, self.counts[3] + per_call))
            self._make_room(until)
            rules = np.array([until, self.floor, self.rules.lasso, self.rules.positive, self.rules.eps, _PIVOT])
            self.ended = int(native.take_steps(
                self.products.rows, self.products.place, self.columns, self.slots, self.factor, self.order, self.marks,
                self.counts, self.numbers, rules, self.knots, self.heights,
            ))  # fmt: skip
            if self.numbers[0] <= self.floor:
                self.ended = _ENDED
            elif self.ended == _ASKS:
                yield from self.products.fetch(int(self.counts[2]))

    def _make_room(self, knots: int) -> None:
        if knots > len(self.heights):
            size = max(knots, 3 * len(self.heights) // 2)
            self.heights = _grow_table(self.heights, size)
            if self.rules.whole:
                self.knots = _grow_table(self.knots, size)

    def record(self) -> PathRecord:
        """Return all that a resumed run needs."""
        count = int(self.counts[3])
        return PathRecord(
            self.columns.copy(), self.slots.copy(), self.factor.copy(), self.order.copy(), self.marks.copy(),
            self.counts.copy(), self.numbers.copy(), self.coefs.copy(), self.heights[:count].copy(), self.ended,
            self.products.list_fetched(),
        )  # fmt: skip

    def restore(self, record: PathRecord) -> Generator[Any, Any, None]:
        """Go to an earlier record."""
        yield from self.products.fetch_again(record.fetched)
        arrays = (record.columns, record.slots, record.factor, record.order, record.marks, record.counts)
        self.columns, self.slots, self.factor, self.order, self.marks, self.counts = (one.copy() for one in arrays)
        self.numbers, self.knots, self.heights = (one.copy() for one in (record.numbers, record.knots, record.heights))
        self.ended = record.ended

    def slopes(self, coef: Array) -> Array:
        """Compute the slopes at some coefficients afresh, without what rounding has added up on the way."""
        used = np.flatnonzero(coef)
        return self.cross - coef[used] @ self.products.rows[self.products.place[used]]

    def certify(self, others: list["LeastAnglePath"]) -> Certificate:
        """Return the certificate of this path and those of other targets, where they are."""
        paths = [self, *others]
        ends = [path.floor if self.rules.lasso else float(path.numbers[0]) for path in paths]
        measured = [path.measure_at(path.coef, end) for path, end in zip(paths, ends, strict=True)]
        return certify(self.rules.lasso and self.floor > 0, measured)

    def measure_at(self, coef: Array, height: float) -> tuple[float, float]:
        """Return how far some coefficients are from those of the path at a height, and what is asked for."""
        slopes, top = self.slopes(coef), float(self.numbers[3])
        if self.rules.lasso and height > 0:
            squares = max(0.0, self.squares - float(coef @ (self.cross + slopes)))
            price = (height, 0.0, self.rules.positive)
            gap = float(descent.duality_gap(coef, slopes, squares, *price, 0.0, 0.0))
            return gap / self.total, _EXACT * self.squares / self.total
        # A lasso without a penalty is least squares: all slopes are zero at its end.
        uneven = np.maximum((slopes if self.rules.positive else np.abs(slopes)) - height, 0.0)
        used = coef != 0
        uneven[used] = np.abs(np.abs(slopes[used]) - height)
        return float(uneven.max(initial=0.0)) / (top or 1.0), _EXACT


def certify(by_gap: bool, measured: list[tuple[float, float]]) -> Certificate:
    """Return the certificate of some targets: a duality gap, or how far slopes are from what they should be."""
    values, goals = zip(*measured, strict=True)
    if by_gap:
        return Certificate.of("duality gap", sum(values), sum(goals), GAP)
    return Certificate.of("residual", max(values), max(goals), ANGLES)


def _grow_table(table: Array, size: int) -> Array:
    wider = np.zeros((size, table.shape[1]))
    wider[: len(table)] = table
    return wider


def _diagonal(scatter: Array) -> Array:
    return scatter if scatter.ndim == 1 else np.diagonal(scatter)
