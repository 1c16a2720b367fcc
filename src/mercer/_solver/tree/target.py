"""Targets of a tree in the form that split searches sum: integers, so that sums are exact."""

import math
from dataclasses import dataclass

import numpy as np

from mercer._native.tree import node_rows, tree_order
from mercer._types import Array

# Kinds of impurity; the first three are those of ``impurity``.
SQUARES = 0
ENTROPY = 1
POISSON = 2
ABSOLUTE = 3
# Sums of scaled numbers stay below 2^52, half the range in which float64 holds every integer.
_MOST_BITS = 52
# Targets are ranked only for medians.
_NO_RANKS = np.zeros((0, 0), np.int32)
_NO_NUMBERS = np.zeros((0, 0))
_NO_SLOTS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Described:
    """Weight, value and impurity of nodes, and whether all targets of a node are equal."""

    weights: Array
    values: Array
    impurity: Array
    pure: Array


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """Labels: the weight of each class is summed in a slot of its own.

    ``unit`` is the factor from the gain of a search to weighted impurity; ``first_slots`` are the slots where the
    classes of each output begin, ``labels`` the slots of each row. For Gini's index of two classes a single sum is
    enough: with s the weight of the second class less that of the first, the squares of both weights sum to
    (w^2 + s^2) / 2. Amounts then have either sign.
    """

    labels: Array
    weight: Array
    scaled: Array
    first_slots: Array
    kind: int
    unit: float
    weight_step: float
    exact_squares: bool
    slots: Array
    amounts: Array
    n_slots: int
    ranks: Array

    @property
    def is_signed(self) -> bool:
        return self.n_slots == 1

    @property
    def bounded_slot(self) -> int:
        return 0 if self.is_signed else 1

    @property
    def order_slot(self) -> int:
        """The slot whose share orders categories, so that the best set is a run of them; -1 if none does."""
        return 0 if self.is_signed else 1 if self.n_slots == 2 and self.n_outputs == 1 else -1

    @property
    def n_outputs(self) -> int:
        return len(self.first_slots) - 1

    def describe(self, rows: Array, starts: Array, stops: Array) -> Described:
        """Sum the rows of nodes."""
        counts, weights = np.empty((len(starts), self.first_slots[-1])), np.empty(len(starts))
        node_rows.describe_classes(rows, starts, stops, self.labels, self.weight, counts, weights)
        begins = self.first_slots[:-1]
        pure = (np.maximum.reduceat(counts, begins, axis=1) == weights[:, None]).all(axis=1)
        return self.describe_sums(weights, counts, pure)

    @property
    def n_numbers(self) -> int:
        """How many numbers besides its weight describe a node."""
        return int(self.first_slots[-1])

    @property
    def rows_described(self) -> tuple[Array, Array, Array, Array]:
        """The labels of rows, no numbers, their weights, and the slots where the classes of each output begin."""
        return self.labels, _NO_NUMBERS, self.weight, self.first_slots

    def describe_sums(self, weights: Array, counts: Array, pure: Array) -> Described:
        """Return values and impurities of nodes with these weights and class weights `counts`."""
        fractions = counts / weights[:, None]
        if self.kind == SQUARES:
            terms = fractions**2
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                terms = np.where(fractions > 0, fractions * np.log2(fractions), 0.0)
        begins = self.first_slots[:-1]
        # The mean over outputs.
        sums = np.add.reduceat(terms, begins, axis=1)
        sums = sums[:, 0] if self.n_outputs == 1 else sums.mean(axis=1)
        impurity = np.maximum(1.0 - sums, 0.0) if self.kind == SQUARES else np.maximum(-sums, 0.0)
        impurity[pure] = 0.0
        return Described(weights, fractions, impurity, pure)

    def scale_bounded(self, values: Array) -> Array:
        """Return the values that monotone constraints bound, in the units of the search."""
        return 2 * values[:, 1] - 1 if self.is_signed else values[:, 1]

    def clip(self, values: Array, bounds: Array) -> Array:
        """Clip `values` to `bounds`, which are in the units of the search."""
        bounds = (bounds + 1) / 2 if self.is_signed else bounds
        second = np.clip(values[:, 1], bounds[:, 0], bounds[:, 1])
        return np.stack([1.0 - second, second], axis=1)


@dataclass(frozen=True, eq=False)
class ValueTarget:
    """Numbers: the weighted targets of each output are summed in its slot, in units of ``step`` from ``origin``."""

    targets: Array
    slots: Array
    weight: Array
    scaled: Array
    amounts: Array
    kind: int
    unit: float
    weight_step: float
    origin: Array
    step: float
    ranks: Array
    exact_squares = False
    bounded_slot = 0

    @property
    def order_slot(self) -> int:
        """The slot whose mean orders categories, so that the best set is a run of them; -1 if none does."""
        return 0 if self.n_outputs == 1 else -1

    @property
    def n_outputs(self) -> int:
        return self.targets.shape[1]

    @property
    def n_slots(self) -> int:
        return self.targets.shape[1]

    def describe(self, rows: Array, starts: Array, stops: Array) -> Described:
        """Sum the rows of nodes."""
        described, weights = np.empty((len(starts), self.n_numbers)), np.empty(len(starts))
        equal = np.empty(len(starts), np.uint8)
        node_rows.describe_values(rows, starts, stops, self.targets, self.weight, described, equal, weights)
        if self.kind == POISSON:
            # Poisson nodes are judged by their deviance, absolute ones by distances from the median.
            means = described[:, : self.n_outputs]
            described[:, self.n_outputs :] = self._deviance(rows, starts, stops, means, weights)[:, None]
        elif self.kind == ABSOLUTE:
            # The third row of keys holds the least and greatest code.
            keys = np.empty((3, max(2, int((stops - starts).max(initial=0)))), np.int64)
            node_rows.describe_medians(
                *(rows, starts, stops, self.ranks, self.targets, self.scaled, self.weight, keys, described)
            )
        return self.describe_sums(weights, described, equal.view(np.bool_))

    @property
    def n_numbers(self) -> int:
        """How many numbers besides its weight describe a node."""
        return 2 * self.n_outputs

    @property
    def rows_described(self) -> tuple[Array, Array, Array, Array]:
        """No labels of rows, their targets and weights, and no slots of classes."""
        return _NO_RANKS, self.targets, self.weight, _NO_SLOTS

    def describe_sums(self, weights: Array, numbers: Array, pure: Array) -> Described:
        """Return values and impurities of nodes with these weights and, in `numbers`, means and variances."""
        impurity = np.maximum(numbers[:, self.n_outputs :], 0.0)
        # The mean over outputs.
        impurity = impurity[:, 0] if self.n_outputs == 1 else impurity.mean(axis=1)
        return Described(weights, numbers[:, : self.n_outputs], np.where(pure, 0.0, impurity), pure)

    def _deviance(self, rows: Array, starts: Array, stops: Array, means: Array, weights: Array) -> Array:
        """Return half the mean Poisson deviance of each node: the weighted mean of y log(y / mean)."""
        y, result = self.targets, np.empty(len(starts))
        for t in range(len(starts)):
            own = rows[starts[t] : stops[t]]
            with np.errstate(divide="ignore", invalid="ignore"):
                terms = np.where(y[own] > 0, y[own] * np.log(y[own] / means[t]), 0.0)
            result[t] = (self.weight[own] @ terms).mean() / weights[t]
        return np.maximum(result, 0.0)

    def scale_bounded(self, values: Array) -> Array:
        """Return the values that monotone constraints bound, in the units of the search."""
        return (values[:, 0] - self.origin[0]) / self.step

    def clip(self, values: Array, bounds: Array) -> Array:
        """Clip `values` to `bounds`, which are in the units of the search."""
        return np.clip(values, bounds[:, :1] * self.step + self.origin, bounds[:, 1:] * self.step + self.origin)


@dataclass(frozen=True, eq=False)
class NoTarget:
    """Nothing is summed: nodes are described by the number of their rows."""

    kind = SQUARES
    unit = weight_step = 1.0
    n_outputs, n_slots, n_numbers = 1, 0, 0
    bounded_slot, order_slot = 0, -1
    exact_squares = False
    slots = ranks = _NO_RANKS
    amounts = _NO_NUMBERS
    weight = scaled = np.zeros(0)
    rows_described = _NO_RANKS, _NO_NUMBERS, weight, _NO_SLOTS


NO_TARGET = NoTarget()


def _scale_weight(weight: Array, are_whole: bool) -> tuple[Array, float, float]:
    """Return weights as integer multiples of a step, the step, and the sum of the weights as they were."""
    total = float(weight.sum())
    if are_whole and total < 2.0 ** (_MOST_BITS - 2):
        return weight, 1.0, total
    # The step is a power of two near 2^-44 of the total, so that a common factor 2^k of all weights changes no integer.
    # No positive weight is rounded to zero.
    step = 2.0 ** math.ceil(math.log2(total) - 44)
    return np.maximum(np.rint(weight / step), np.where(weight > 0, 1.0, 0.0)), step, total


def make_class_target(labels: Array, n_classes: Array, weight: Array, criterion: str) -> ClassTarget:
    """Make the target of classes `labels`, which count from zero in each column, with weights."""
    # The classes of every output have slots of their own, one after another.
    first = np.concatenate([[0], np.cumsum(n_classes)])
    slots = np.ascontiguousarray(labels + first[:-1], dtype=np.int32)
    scaled, step, _ = _scale_weight(weight, bool((weight == np.floor(weight)).all()))
    kind = SQUARES if criterion == "gini" else ENTROPY
    # Worths are sums of squares or of x log x of integer weights; the unit turns them back to impurities.
    unit = step / len(n_classes) / (1.0 if kind == SQUARES else math.log(2.0))
    # Squares of sums below 2^26 are below 2^52, hence exact.
    exact = kind == SQUARES and float(scaled.sum()) < 2.0**26
    # Two classes need one slot: the weight of one class minus that of the other.
    if kind == SQUARES and n_classes.tolist() == [2]:
        parts = np.zeros_like(slots), (2.0 * slots - 1.0) * scaled[:, None], 1, _NO_RANKS
        return ClassTarget(slots, weight, scaled, first, kind, unit / 2, step, False, *parts)
    amounts = np.repeat(scaled[:, None], slots.shape[1], axis=1)
    return ClassTarget(slots, weight, scaled, first, kind, unit, step, exact, slots, amounts, int(first[-1]), _NO_RANKS)


def make_value_target(y: Array, weight: Array, criterion: str) -> ValueTarget:
    """Make the target of numeric `y`, a column for each output, with weights."""
    low, high = np.empty((2, y.shape[1]))
    are_whole = tree_order.find_range(y, weight, low, high)
    scaled, weight_step, total = _scale_weight(weight, are_whole)
    # The middle of the range does not depend on the order of rows or on how often one is repeated.
    origin = np.zeros(y.shape[1]) if criterion == "poisson" else low / 2 + high / 2
    # |high - origin| and |low - origin|, where low <= origin <= high but for rounding.
    reach = max([1e-300, *np.abs(high - origin).tolist(), *np.abs(low - origin).tolist()])
    # |sum w (y - origin) / step| <= weight reach / step <= 2^52.
    step = 2.0 ** math.ceil(math.log2(reach) + math.log2(total) - _MOST_BITS)
    amounts, slots = np.empty(y.shape), np.empty(y.shape, np.int32)
    tree_order.scale_targets(y, weight, origin, step, weight_step == 1.0, amounts, slots)
    kinds = {"squared_error": SQUARES, "friedman_mse": SQUARES, "poisson": POISSON, "absolute_error": ABSOLUTE}
    kind = kinds[criterion]
    unit = (step**2 / weight_step if kind == SQUARES else step) / y.shape[1]
    ranks = _NO_RANKS
    if kind == ABSOLUTE:
        ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in y.T]).astype(np.int32)
    return ValueTarget(
        y,
        slots,
        weight,
        scaled,
        amounts,
        kind,
        unit,
        weight_step,
        origin,
        step / weight_step,
        ranks,
    )
