"""Losses of one row and one score: value, slope and curvature, inlined by every native loop that descends on a loss.

The definition of each is its class in ``mercer._objective``, which names the number here and the one parameter,
`shape`: the corner of the hinge (1; 0 for the perceptron), Huber's delta, epsilon, a quantile, or a power. Targets are
those of the class: 0 and 1 for labels, whose margin is m = (2 y - 1) z. Adding a loss means one
branch in each function.
"""

import cython

from mercer._native.shared import inline as elementary
from mercer._native.shared.loss_numbers import (
    ABSOLUTE,
    EPSILON_INSENSITIVE,
    EXPONENTIAL,
    GAMMA,
    HINGE,
    HUBER,
    LOG_COSH,
    LOGISTIC,
    MODIFIED_HUBER,
    PINBALL,
    POISSON,
    SQUARED,
    SQUARED_EPSILON_INSENSITIVE,
    SQUARED_HINGE,
    TWEEDIE,
)

LOG_TWO = 0.6931471805599453


def find_value(loss: cython.int, shape: cython.double, y: cython.double, z: cython.double) -> cython.double:
    """Return the loss at the score z of a row with target y."""
    m: cython.double = (2.0 * y - 1.0) * z
    r: cython.double = y - z if y > z else z - y
    if loss == SQUARED:
        return 0.5 * r * r
    elif loss == LOGISTIC:
        return elementary.log1pexp(z) - y * z
    elif loss == HINGE:
        return shape - m if m < shape else 0.0
    elif loss == SQUARED_HINGE:
        return (1.0 - m) * (1.0 - m) if m < 1.0 else 0.0
    elif loss == MODIFIED_HUBER:
        return 0.0 if m >= 1.0 else ((1.0 - m) * (1.0 - m) if m >= -1.0 else -4.0 * m)
    elif loss == HUBER:
        return 0.5 * r * r if r <= shape else shape * (r - 0.5 * shape)
    elif loss == EPSILON_INSENSITIVE:
        return r - shape if r > shape else 0.0
    elif loss == SQUARED_EPSILON_INSENSITIVE:
        return (r - shape) * (r - shape) if r > shape else 0.0
    elif loss == ABSOLUTE:
        return r
    elif loss == PINBALL:
        return shape * r if y > z else (1.0 - shape) * r
    elif loss == EXPONENTIAL:
        return elementary.exp(-m)
    elif loss == POISSON:
        return elementary.exp(z) - y * z
    elif loss == GAMMA:
        return z + y * elementary.exp(-z)
    elif loss == TWEEDIE:
        p = 2.0 - shape
        return elementary.exp(p * z) / p - y * elementary.exp((p - 1.0) * z) / (p - 1.0)
    elif loss == LOG_COSH:
        return r + elementary.log1p(elementary.exp(-2.0 * r)) - LOG_TWO
    return 0.0


def find_slope(loss: cython.int, shape: cython.double, y: cython.double, z: cython.double) -> cython.double:
    """Return the derivative by the score z; at a corner, the slope that ``mercer._objective`` takes there."""
    t: cython.double = 2.0 * y - 1.0
    m: cython.double = t * z
    r: cython.double = z - y
    if loss == SQUARED:
        return r
    elif loss == LOGISTIC:
        return elementary.expit(z) - y
    elif loss == HINGE:
        return -t if m <= shape else 0.0
    elif loss == SQUARED_HINGE:
        return -2.0 * t * (1.0 - m) if m < 1.0 else 0.0
    elif loss == MODIFIED_HUBER:
        return 0.0 if m >= 1.0 else (-2.0 * t * (1.0 - m) if m >= -1.0 else -4.0 * t)
    elif loss == HUBER:
        return r if -shape <= r <= shape else (shape if r > 0 else -shape)
    elif loss == EPSILON_INSENSITIVE:
        return 0.0 if -shape <= r <= shape else (1.0 if r > 0 else -1.0)
    elif loss == SQUARED_EPSILON_INSENSITIVE:
        return 0.0 if -shape <= r <= shape else (2.0 * (r - shape) if r > 0 else 2.0 * (r + shape))
    elif loss == ABSOLUTE:
        return -1.0 if r < 0 else (1.0 if r > 0 else 0.0)
    elif loss == PINBALL:
        return -shape if r < 0 else (1.0 - shape if r > 0 else 0.0)
    elif loss == EXPONENTIAL:
        return -t * elementary.exp(-m)
    elif loss == POISSON:
        return elementary.exp(z) - y
    elif loss == GAMMA:
        return 1.0 - y * elementary.exp(-z)
    elif loss == TWEEDIE:
        return elementary.exp((2.0 - shape) * z) - y * elementary.exp((1.0 - shape) * z)
    elif loss == LOG_COSH:
        return elementary.tanh(r)
    return 0.0


def find_curvature(loss: cython.int, shape: cython.double, y: cython.double, z: cython.double) -> cython.double:
    """Return the second derivative by the score z; zero on straight pieces."""
    m: cython.double = (2.0 * y - 1.0) * z
    r: cython.double = y - z if y > z else z - y
    p: cython.double
    if loss == SQUARED:
        return 1.0
    elif loss == LOGISTIC:
        p = elementary.expit(z)
        return p * (1.0 - p)
    elif loss == SQUARED_HINGE:
        return 2.0 if m <= 1.0 else 0.0
    elif loss == MODIFIED_HUBER:
        return 2.0 if -1.0 < m <= 1.0 else 0.0
    elif loss == HUBER:
        return 1.0 if r < shape else 0.0
    elif loss == SQUARED_EPSILON_INSENSITIVE:
        return 2.0 if r > shape else 0.0
    elif loss == EXPONENTIAL:
        return elementary.exp(-m)
    elif loss == POISSON:
        return elementary.exp(z)
    elif loss == GAMMA:
        return y * elementary.exp(-z)
    elif loss == TWEEDIE:
        p = 2.0 - shape
        return p * elementary.exp(p * z) - (p - 1.0) * y * elementary.exp((p - 1.0) * z)
    elif loss == LOG_COSH:
        p = elementary.tanh(r)
        return 1.0 - p * p
    return 0.0


def fill_run(
    loss: cython.int,
    shape: cython.double,
    y: cython.p_double,
    z: cython.p_double,
    count: cython.Py_ssize_t,
    values: cython.p_double,
    slopes: cython.p_double,
    curvatures: cython.p_double,
) -> cython.void:
    """Write the values, slopes and curvatures of a run of rows."""
    for i in range(count):
        values[i] = find_value(loss, shape, y[i], z[i])
        slopes[i] = find_slope(loss, shape, y[i], z[i])
        curvatures[i] = find_curvature(loss, shape, y[i], z[i])


def measure_run(
    loss: cython.int,
    shape: cython.double,
    y: cython.p_double,
    z: cython.p_double,
    count: cython.Py_ssize_t,
    values: cython.p_double,
    slopes: cython.p_double,
    curvatures: cython.p_double,
) -> cython.void:
    """Do what :func:`fill_run` does, for arrays on the stack that no other pointer reaches.

    A loop over a loss that the compiler knows is vectorised: this is worth its code where a loss takes exponentials.
    """
    if loss == LOGISTIC:
        fill_run(LOGISTIC, shape, y, z, count, values, slopes, curvatures)
    elif loss == EXPONENTIAL:
        fill_run(EXPONENTIAL, shape, y, z, count, values, slopes, curvatures)
    elif loss == POISSON:
        fill_run(POISSON, shape, y, z, count, values, slopes, curvatures)
    elif loss == GAMMA:
        fill_run(GAMMA, shape, y, z, count, values, slopes, curvatures)
    elif loss == TWEEDIE:
        fill_run(TWEEDIE, shape, y, z, count, values, slopes, curvatures)
    elif loss == LOG_COSH:
        fill_run(LOG_COSH, shape, y, z, count, values, slopes, curvatures)
    else:
        fill_run(loss, shape, y, z, count, values, slopes, curvatures)
