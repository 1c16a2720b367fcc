"""What a tree is to predict, in the form that split searches sum: whole numbers, so that sums are exact."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._native import node_rows

__all__ = ["ClassTarget", "Described", "ValueTarget", "class_target", "value_target"]

Array = Any
SQUARES, ENTROPY, POISSON, ABSOLUTE = 0, 1, 2, 3
# Sums of scaled numbers stay below this, half the range where float64 holds every integer.
_MOST_BITS = 52


@dataclass(frozen=True, eq=False)
class Described:
    """What is known of nodes: weight, value, impurity, and whether there is nothing left to tell apart."""

    weights: Array
    values: Array
    impurity: Array
    pure: Array


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """Labels: the weight of each class is summed in a slot of its own.

    ``unit`` turns what a split gains into weighted impurity; ``first_slots`` says where each output's classes begin.
    """

    slots: Array
    weight: Array
    scaled: Array
    first_slots: Array
    kind: int
    unit: float
    weight_step: float
    exact_squares: bool
    n_slots: int
    amounts: Array = field(init=False)
    bounded_slot = 1

    def __post_init__(self) -> None:
        amounts = np.repeat(self.scaled[:, None], self.slots.shape[1], axis=1)
        object.__setattr__(self, "amounts", amounts)

    @property
    def n_outputs(self) -> int:
        return len(self.first_slots) - 1

    def describe(self, rows: Array, starts: Array, stops: Array) -> Described:
        """Sum the rows of nodes."""
        counts, weights = np.empty((len(starts), self.n_slots)), np.empty(len(starts))
        node_rows.describe_classes(rows, starts, stops, self.slots, self.weight, counts, weights)
        fractions = counts / weights[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = fractions**2 if self.kind == SQUARES else fractions * np.log2(fractions)
        terms = np.where(fractions > 0, terms, 0.0)
        begins = self.first_slots[:-1]
        sums = np.add.reduceat(terms, begins, axis=1).mean(axis=1)
        impurity = np.maximum(1.0 - sums, 0.0) if self.kind == SQUARES else np.maximum(-sums, 0.0)
        pure = (np.maximum.reduceat(counts, begins, axis=1) == weights[:, None]).all(axis=1)
        impurity[pure] = 0.0
        return Described(weights, fractions, impurity, pure)

    def bounded(self, values: Array) -> Array:
        """The numbers that monotone constraints bound."""
        return values[:, 1]

    def clip(self, values: Array, bounds: Array) -> Array:
        """Values kept within bounds."""
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
    exact_squares = False
    bounded_slot = 0

    @property
    def n_outputs(self) -> int:
        return self.targets.shape[1]

    @property
    def n_slots(self) -> int:
        return self.targets.shape[1]

    def describe(self, rows: Array, starts: Array, stops: Array) -> Described:
        """Sum the rows of nodes."""
        shape = len(starts), self.n_outputs
        means, variances, weights = np.empty(shape), np.empty(shape), np.empty(shape[0])
        equal = np.empty(shape[0], np.uint8)
        node_rows.describe_values(rows, starts, stops, self.targets, self.weight, means, variances, equal, weights)
        impurity = np.maximum(variances, 0.0).mean(axis=1)
        if self.kind == POISSON:
            impurity = self._deviance(rows, starts, stops, means, weights)
        pure = equal.astype(bool)
        return Described(weights, means, np.where(pure, 0.0, impurity), pure)

    def _deviance(self, rows: Array, starts: Array, stops: Array, means: Array, weights: Array) -> Array:
        """Half the mean deviance: the mean of y log(y / mean)."""
        y, result = self.targets, np.empty(len(starts))
        for t in range(len(starts)):
            own = rows[starts[t] : stops[t]]
            with np.errstate(divide="ignore", invalid="ignore"):
                terms = np.where(y[own] > 0, y[own] * np.log(y[own] / means[t]), 0.0)
            result[t] = (self.weight[own] @ terms).mean() / weights[t]
        return np.maximum(result, 0.0)

    def bounded(self, values: Array) -> Array:
        """The numbers that monotone constraints bound, in the units of the search."""
        return (values[:, 0] - self.origin[0]) / self.step

    def clip(self, values: Array, bounds: Array) -> Array:
        """Values kept within bounds."""
        return np.clip(values, bounds[:, :1] * self.step + self.origin, bounds[:, 1:] * self.step + self.origin)


def _scaled_weight(weight: Array) -> tuple[Array, float]:
    """Weights as whole numbers, and what one of them is worth."""
    total = float(weight.sum())
    if total < 2.0 ** (_MOST_BITS - 2) and np.array_equal(weight, np.floor(weight)):
        return weight, 1.0
    # Fractions of the total leave the same numbers however the weights are scaled.
    step = 2.0 ** math.ceil(math.log2(total) - 44)
    return np.maximum(np.rint(weight / step), np.where(weight > 0, 1.0, 0.0)), step


def class_target(labels: Array, n_classes: Array, weight: Array, criterion: str) -> ClassTarget:
    """Labels, numbered from zero in each column, and weights."""
    first = np.concatenate([[0], np.cumsum(n_classes)])
    slots = np.ascontiguousarray(labels + first[:-1], dtype=np.int32)
    scaled, step = _scaled_weight(weight)
    kind = SQUARES if criterion == "gini" else ENTROPY
    unit = step / len(n_classes) / (1.0 if kind == SQUARES else math.log(2.0))
    exact = kind == SQUARES and float(scaled.sum()) < 2.0**26
    return ClassTarget(slots, weight, scaled, first, kind, unit, step, exact, int(first[-1]))


def value_target(y: Array, weight: Array, criterion: str) -> ValueTarget:
    """Numbers, a column for each output, and weights."""
    scaled, weight_step = _scaled_weight(weight)
    counted = y[weight > 0]
    low, high = counted.min(axis=0), counted.max(axis=0)
    # The middle of the range does not depend on the order of rows or on how often one is repeated.
    origin = np.zeros(y.shape[1]) if criterion == "poisson" else low / 2 + high / 2
    reach = max(float(np.maximum(np.abs(high - origin), np.abs(low - origin)).max()), 1e-300)
    step = 2.0 ** math.ceil(math.log2(reach) + math.log2(float(weight.sum())) - _MOST_BITS)
    if weight_step == 1.0:
        amounts = np.rint((y - origin) / step) * weight[:, None]
    else:
        amounts = np.rint(weight[:, None] * ((y - origin) / step))
    kind = {"squared_error": SQUARES, "friedman_mse": SQUARES, "poisson": POISSON}[criterion]
    unit = (step if kind == POISSON else step**2 / weight_step) / y.shape[1]
    slots = np.broadcast_to(np.arange(y.shape[1], dtype=np.int32), y.shape)
    return ValueTarget(
        y, np.ascontiguousarray(slots), weight, scaled, amounts, kind, unit, weight_step, origin, step / weight_step
    )
