"""The uncompiled twin of ``impurity.pxd``."""

import math

from mercer._native.shared import inline

__all__ = ["allowed", "judge", "undivided", "worth"]


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


def judge(left, total, left_weight, rows, count, place, settings, bounds, best):
    """Keep a split if it is allowed and better than the best so far."""
    right_weight, slot = place[0] - left_weight, int(settings[7])
    if min(rows, count - rows) < settings[0] or min(left_weight, right_weight) < settings[1]:
        return
    if place[4] != 2.0:
        values = left[slot] / left_weight, (total[slot] - left[slot]) / right_weight
        if not allowed(*values, int(place[4]), bounds):
            return
    value = place[5]
    if math.isnan(value):
        value = worth(left, total, left_weight, right_weight, settings[2], int(settings[3]))
    if value > best[0]:
        best[0], best[1], best[2], best[3] = value, place[1], place[2], place[3]
