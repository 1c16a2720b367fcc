"""Constant scores of least loss: means, quantiles, and the root of the summed slopes."""

from typing import Any

import numpy as np

from mercer._types import Array

# Halvings of an interval: doubles have 53 bits.
HALVINGS = 60


def compute_mean(values: Array, weight: Array | None) -> float:
    """Return the mean; weights are repetitions."""
    return float(np.average(values, weights=weight))


def compute_quantile(values: Array, weight: Array | None, share: float) -> float:
    """Return the value below which `share` of the weight lies; the mean of two where both qualify."""
    order = np.argsort(values, kind="stable")
    values = values[order]
    reached = np.arange(1.0, len(values) + 1) if weight is None else np.cumsum(weight[order])
    goal = share * reached[-1]
    # Cumulative weights are rounded; allow for it when locating the quantile.
    near = 1e-12 * reached[-1]
    low = min(int(np.searchsorted(reached, goal - near)), len(values) - 1)
    high = min(int(np.searchsorted(reached, goal + near)), len(values) - 1)
    return float(0.5 * (values[low] + values[high]))


def find_root(loss: Any, scores: Array, y: Array, weight: Array | None) -> float:
    """Return the c at which the slopes of a convex loss at scores + c sum to zero, by bisection.

    It lies between steps that double until the sum changes its sign; a loss that falls for ever ends at the last one.
    """

    def sum_slopes(shift: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = loss.residual(scores + shift, y, np, checked=True)[:, 0]
            return float(np.sum(slopes if weight is None else weight * slopes))

    first = sum_slopes(0.0)
    if first == 0.0:
        return 0.0
    sign = -1.0 if first > 0 else 1.0
    # The unit of the targets is that of the first step, where scores are compared with them.
    low, high = 0.0, sign * (float(np.max(np.abs(y - scores[:, 0]))) / 2.0**20 or 1.0)
    for _ in range(HALVINGS):
        if not sign * sum_slopes(high) < 0.0:
            break
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if sign * sum_slopes(middle) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
