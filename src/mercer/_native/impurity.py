"""The uncompiled twin of ``impurity.pxd``."""

import math

from mercer._native import inline

__all__ = ["allowed", "undivided", "worth"]


def _x_log_x(x):
    return float(x) * float(inline.log(x)) if x > 0.0 else 0.0


def worth(left, total, left_weight, right_weight, outputs, kind):
    """The worth of a split by the sums of its left side."""
    right = [whole - part for whole, part in zip(total, left)]
    if kind == 2 and (min(left) <= 0.0 or min(right) <= 0.0):
        return -math.inf
    return undivided(left, left_weight, outputs, kind) + undivided(right, right_weight, outputs, kind)


def undivided(total, weight, outputs, kind):
    """The worth of a node left whole."""
    result = 0.0
    for one in total:
        if kind == 0:
            result += one * one
        elif kind == 1:
            result += _x_log_x(one)
        elif one > 0.0:
            result += one * float(inline.log(one / weight))
    if kind == 0:
        return result / weight
    return result - outputs * _x_log_x(weight) if kind == 1 else result


def allowed(low, high, sign, bounds):
    """Whether the values of the two sides keep the order that `sign` asks for, and the bounds set higher up."""
    if min(low, high) < bounds[0] or max(low, high) > bounds[1]:
        return False
    return (high - low) * sign >= 0.0
