"""Bounds and first coefficients of a solver: feasible ones, or those of an earlier fit to the same rows."""

import math
from typing import Any

import numpy as np

from mercer._source.namespace import to_numpy
from mercer._types import Array

# Bounds whose largest is between 2^-20 and 2^20 are used as they are: fits with ordinary weights keep their bits.
_ORDINARY = 20


def fill_bounds(upper: Array, total: float) -> Array:
    """Return coefficients in [0, upper] that sum to `total`: the first ones at their bound, the rest zero."""
    before = np.cumsum(upper) - upper
    return np.clip(total - before, 0.0, upper)


def scale_bounds(bounds: Array) -> Array:
    """Return bounds whose largest is far from 1 divided by a power of two, which changes no digit; others as they are.

    Slopes grow with the bounds, and `tol` does not: bounds of 1e300 would never meet it, and those of 1e-300 at once.
    """
    exponent = math.frexp(bounds.max())[1]
    return bounds if abs(exponent) <= _ORDINARY else np.ldexp(bounds, 1 - exponent)


def scale_into_bounds(b: Array, lower: Array, upper: Array) -> Array:
    """Return `b` times the largest factor of at most one that brings every coefficient into [lower, upper].

    One factor for all coefficients keeps a sum of zero at zero, which clipping them one by one would not.
    """
    nonzero = b != 0
    room = np.where(b > 0, upper, -lower)[nonzero] / np.abs(b[nonzero])
    return b * min(1.0, float(np.min(room, initial=1.0)))


def read_earlier_coefficients(machine: Any, n_rows: int) -> Array:
    """Return the coefficients of the last fit of `machine` by row, shape (heights of ``dual_coef_``, n_rows)."""
    table = np.zeros((machine.dual_coef_.shape[0], n_rows))
    table[:, to_numpy(machine.support_)] = machine._coefficients
    return table
