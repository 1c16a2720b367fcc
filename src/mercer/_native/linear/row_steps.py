"""How far a stochastic step of a linear model goes: learning rates, pushes of a row, and a cumulative l1 penalty."""

import cython

from mercer._native.shared import inline as elementary
from mercer._native.shared import loss_numbers, row_losses

real = cython.fused_type(cython.float, cython.double)
# Schedules of the learning rate: 0 is constant, 3 and 4 are passive-aggressive steps of kind I and II.
OPTIMAL = 1
INVERSE_SCALING = 2
PASSIVE_AGGRESSIVE = 3
# Steeper slopes are clipped, so that one huge row gives large coefficients and not infinite ones.
STEEPEST = 1e12
# The logistic loss at a score of zero.
LOG_TWO = 0.6931471805599453


def find_loss_at_zero(loss: cython.int, shape: cython.double, y: cython.double) -> cython.double:
    """Return the loss at a score of zero of a row with target y; of labels the logistic loss is a constant."""
    return LOG_TWO if loss == loss_numbers.LOGISTIC else row_losses.find_value(loss, shape, y, 0.0)


def find_push(
    loss: cython.int,
    shape: cython.double,
    schedule: cython.int,
    rate: cython.double,
    y: cython.double,
    z: cython.double,
    length: cython.double,
) -> cython.double:
    """Return the factor of a row in the step of the coefficients; `length` is the row's squared norm.

    A gradient step has the factor -rate slope. Passive-aggressive steps (Crammer et al., 2006) go just as far as makes
    the loss zero, loss / |x|^2, but at most `rate` (kind I), or are softened: loss / (|x|^2 + 1 / (2 rate)) (kind II).
    """
    if schedule < PASSIVE_AGGRESSIVE:
        steep = row_losses.find_slope(loss, shape, y, z)
        steep = STEEPEST if steep > STEEPEST else (-STEEPEST if steep < -STEEPEST else steep)
        return -rate * steep
    steep = row_losses.find_value(loss, shape, y, z)
    if schedule == PASSIVE_AGGRESSIVE:
        steep = 0.0 if length == 0.0 else steep / length
        steep = rate if steep > rate else steep
    else:
        steep = steep / (length + 0.5 / rate)
    if loss == loss_numbers.HINGE:
        return steep * (2.0 * y - 1.0)
    return -steep if y < z else steep


def find_rate(
    schedule: cython.int, power: cython.double, origin: cython.double, rate: cython.double, t: cython.double
) -> cython.double:
    """Return the learning rate of step t: `rate`, rate / t^power, or 1 / (alpha (origin + t - 1)) with alpha `rate`."""
    if schedule == OPTIMAL:
        return 1.0 / (rate * (origin + t - 1.0))
    if schedule == INVERSE_SCALING:
        return rate * elementary.exp(-power * elementary.log(t))
    return rate


def multiply_row(data: cython.const[real][::1], first: cython.Py_ssize_t, v: cython.double[::1]) -> cython.double:
    """Return the dot product of v with the dense row that starts at `first`, over eight accumulators."""
    part = cython.declare(cython.double[8])
    whole: cython.Py_ssize_t = v.shape[0] - v.shape[0] % 8
    for lane in range(8):
        part[lane] = 0.0
    for j in range(0, whole, 8):
        for lane in range(8):
            part[lane] += data[first + j + lane] * v[j + lane]
    for j in range(whole, v.shape[0]):
        part[j - whole] += data[first + j] * v[j]
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))


def penalise(
    j: cython.Py_ssize_t,
    v: cython.double[::1],
    owed: cython.double[::1],
    lag: cython.double[::1],
    due: cython.double,
    mass: cython.double,
) -> cython.void:
    """Move a coefficient towards zero, at most to it, by the part of `due` that has not been paid."""
    before: cython.double = v[j]
    after: cython.double = before
    if before > 0:
        after = before - (due + owed[j])
        after = after if after > 0 else 0.0
    elif before < 0:
        after = before + (due - owed[j])
        after = after if after < 0 else 0.0
    v[j] = after
    owed[j] += after - before
    if lag.shape[0] > 0:
        lag[j] += mass * (after - before)
