"""What a split is worth, and whether it is allowed.

A node has a vector of sums s (the weight of a class, or the weighted targets of an output) and a weight w. Its worth
is minus its weighted impurity, plus a term that is additive over rows (such as sum w_i y_i^2) and therefore the same
for a node and for its two sides together. So worth(left) + worth(right) - worth(node) is the gain of a split:

    Gini: -w (1 - sum (s / w)^2) = sum s^2 / w - w
    squared error: -sum w_i (y_i - s / w)^2 = s^2 / w - sum w_i y_i^2
    entropy: sum s log(s / w) = sum s log s - w log w, for each output
    Poisson: -sum w_i y_i log(y_i / (s / w)) = s log(s / w) - sum w_i y_i log y_i
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from mercer._native.shared import inline as elementary
from mercer._native.tree import growth_records as records

if TYPE_CHECKING:
    from mercer._native.tree.node_search import Limits, Node

# Kinds of impurity and their worth: sum s^2 / w (Gini's index, squared error), sum s log s - outputs w log w, and
# sum s log(s / w), the Poisson deviance.
SQUARES = 0
ENTROPY = 1
POISSON = 2


def x_log_x(x: cython.double) -> cython.double:
    """Return x log x, and its limit 0 at 0."""
    return x * elementary.log(x) if x > 0.0 else 0.0


def compute_worth(
    left: cython.const[cython.double][::1],
    total: cython.const[cython.double][::1],
    left_weight: cython.double,
    right_weight: cython.double,
    outputs: cython.double,
    kind: cython.int,
) -> cython.double:
    """Return the worth of both sides of a split with the sums `left`; -inf if a Poisson mean were not positive."""
    left_part: cython.double = 0.0
    right_part: cython.double = 0.0
    if kind == SQUARES:
        for s in range(total.shape[0]):
            right = total[s] - left[s]
            left_part += left[s] * left[s]
            right_part += right * right
        return left_part / left_weight + right_part / right_weight
    if kind == ENTROPY:
        for s in range(total.shape[0]):
            left_part += x_log_x(left[s])
            right_part += x_log_x(total[s] - left[s])
        return (left_part - outputs * x_log_x(left_weight)) + (right_part - outputs * x_log_x(right_weight))
    for s in range(total.shape[0]):
        right = total[s] - left[s]
        if left[s] <= 0.0 or right <= 0.0:
            # Overflows to minus infinity.
            return -1e308 * 10.0
        left_part += left[s] * elementary.log(left[s] / left_weight)
        right_part += right * elementary.log(right / right_weight)
    return left_part + right_part


def compute_whole_worth(
    total: cython.const[cython.double][::1], weight: cython.double, outputs: cython.double, kind: cython.int
) -> cython.double:
    """Return the worth of a node with the sums `total` that is not split."""
    sum: cython.double = 0.0
    for s in range(total.shape[0]):
        if kind == SQUARES:
            sum += total[s] * total[s]
        elif kind == ENTROPY:
            sum += x_log_x(total[s])
        elif total[s] > 0.0:
            sum += total[s] * elementary.log(total[s] / weight)
    if kind == SQUARES:
        return sum / weight
    return sum - outputs * x_log_x(weight) if kind == ENTROPY else sum


def is_allowed(node: Node, low: cython.double, high: cython.double) -> cython.bint:
    """Return whether the values of the two sides keep the order `node.sign` and the bounds set higher in the tree."""
    if low < node.low or low > node.high or high < node.low or high > node.high:
        return False
    # Sign 1: right mean >= left mean; -1: right mean <= left mean; 0: any order.
    return (high - low) * node.sign >= 0.0


def may_split(node: Node, limits: Limits, left_weight: cython.double, rows: cython.double) -> cython.bint:
    """Return whether a split with `rows` rows of `left_weight` on the left is allowed."""
    right_weight: cython.double = node.weight - left_weight
    slot: cython.Py_ssize_t = limits.bounded_slot
    if rows < limits.min_rows or node.count - rows < limits.min_rows:
        return False
    if left_weight < limits.min_weight or right_weight < limits.min_weight:
        return False
    return node.sign == records.NO_ORDER or is_allowed(
        node, node.left[slot] / left_weight, (node.total[slot] - node.left[slot]) / right_weight
    )


def keep_better(node: Node, worth: cython.double) -> cython.void:
    """Keep the candidate split of `node` if its worth is greater than that of the best so far.

    Of equal splits the first one tried is kept: sums are exact, so equal splits have equal worth bit by bit.
    """
    if worth > node.best_worth:
        node.best_worth = worth
        node.best_feature = node.feature
        node.best_cut = node.cut
        node.best_side = node.side


def judge(node: Node, limits: Limits, left_weight: cython.double, rows: cython.double) -> cython.void:
    """Keep the candidate split of `node`, with the sums ``node.left``, if it is allowed and the best so far."""
    right_weight: cython.double = node.weight - left_weight
    if may_split(node, limits, left_weight, rows):
        keep_better(
            node, compute_worth(node.left, node.total, left_weight, right_weight, limits.n_outputs, limits.impurity)
        )
