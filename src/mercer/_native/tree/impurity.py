"""The uncompiled twin of ``impurity.pxd``."""

import math

from mercer._native.shared import inline

SQUARES = 0
ENTROPY = 1
POISSON = 2
_NO_ORDER = 2


def _x_log_x(x):
    return float(x) * float(inline.log(x)) if x > 0.0 else 0.0


def compute_worth(left, total, left_weight, right_weight, outputs, kind):
    """Return the worth of both sides of a split with the sums `left`; -inf if a Poisson mean were not positive."""
    right = [whole - part for whole, part in zip(total, left)]
    if kind == POISSON and (min(left) <= 0.0 or min(right) <= 0.0):
        return -math.inf
    return compute_whole_worth(left, left_weight, outputs, kind) + compute_whole_worth(
        right, right_weight, outputs, kind
    )


def compute_whole_worth(total, weight, outputs, kind):
    """Return the worth of a node with the sums `total` that is not split."""
    result = 0.0
    for value in total:
        # Variance: sum_o (sum of targets)^2 / weight.
        if kind == SQUARES:
            result += value * value
        # Entropy: sum_c w_c log w_c - W log W for each output, which is -W times the entropy.
        elif kind == ENTROPY:
            result += _x_log_x(value)
        # Poisson deviance: sum w y log(mean).
        elif value > 0.0:
            result += value * float(inline.log(value / weight))
    if kind == SQUARES:
        return result / weight
    return result - outputs * _x_log_x(weight) if kind == ENTROPY else result


def is_allowed(node, low, high):
    """Return whether the values of the two sides keep the order `node.sign` and the bounds set higher in the tree."""
    if min(low, high) < node.low or max(low, high) > node.high:
        return False
    return (high - low) * node.sign >= 0.0


def may_split(node, limits, left_weight, rows):
    """Return whether a split with `rows` rows of `left_weight` on the left is allowed."""
    right_weight, slot = node.weight - left_weight, limits.bounded_slot
    if min(rows, node.count - rows) < limits.min_rows or min(left_weight, right_weight) < limits.min_weight:
        return False
    low, high = node.left[slot] / left_weight, (node.total[slot] - node.left[slot]) / right_weight
    return node.sign == _NO_ORDER or is_allowed(node, low, high)


def keep_better(node, worth):
    """Keep the candidate split of `node` if its worth is greater than that of the best so far."""
    if worth > node.best_worth:
        node.best_worth, node.best_feature, node.best_cut, node.best_side = worth, node.feature, node.cut, node.side


def judge(node, limits, left_weight, rows):
    """Keep the candidate split of `node`, with the sums ``node.left``, if it is allowed and the best so far."""
    if may_split(node, limits, left_weight, rows):
        weights = left_weight, node.weight - left_weight
        keep_better(node, compute_worth(node.left, node.total, *weights, limits.n_outputs, limits.impurity))
