"""What happens to the units of some rows, or to some weights: activations, losses with their derivatives, steps.

Arrays are flat; see dense_steps.py for the numbers of activations, losses and methods.
"""

import cython

from mercer._native.network import products
from mercer._native.shared import inline, loss_numbers, row_losses

real = cython.fused_type(cython.float, cython.double)

# The slope of leaky ReLU below zero.
LEAK = 0.01
# Scores beyond this are clipped in losses over exponentials, so that a wild step gives a large loss, not infinity.
HIGHEST = 80.0


def activate(
    values: real[::1],
    at: cython.Py_ssize_t,
    theta: real[::1],
    bias: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    out: cython.Py_ssize_t,
    kind: cython.int,
) -> cython.void:
    """Add the bias to n rows of `out` values, and apply the activation function."""
    z: real
    leak: real = LEAK
    for row in range(n):
        place = at + row * out
        for j in range(out):
            values[place + j] += theta[bias + j]
        # One branch for a row, none within the loops, so that each loop is vectorised.
        if kind == 1:
            for j in range(out):
                values[place + j] = inline.expit(values[place + j])
        elif kind == 2:
            for j in range(out):
                values[place + j] = inline.tanh(values[place + j])
        elif kind == 3:
            for j in range(out):
                z = values[place + j]
                values[place + j] = z if z > 0 else 0
        elif kind == 4:
            for j in range(out):
                z = values[place + j]
                values[place + j] = z if z > 0 else leak * z
        elif kind == 5:
            for j in range(out):
                z = values[place + j]
                # ELU: exp(z) - 1 below zero, by expm1, which keeps the digits near zero.
                values[place + j] = z if z > 0 else inline.expm1(z)
        elif kind == 6:
            for j in range(out):
                values[place + j] = inline.log1pexp(values[place + j])


def return_slopes(
    deltas: real[::1],
    at: cython.Py_ssize_t,
    values: real[::1],
    place: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    kind: cython.int,
) -> cython.void:
    """Multiply derivatives by those of the activation function, which its values give."""
    a: real
    leak: real = LEAK
    if kind == 1:
        for j in range(size):
            # The logistic function has the slope a (1 - a).
            a = values[place + j]
            deltas[at + j] *= a * (1 - a)
    elif kind == 2:
        for j in range(size):
            # tanh has the slope 1 - a^2.
            a = values[place + j]
            deltas[at + j] *= 1 - a * a
    elif kind == 3:
        for j in range(size):
            deltas[at + j] = deltas[at + j] if values[place + j] > 0 else 0
    elif kind == 4:
        for j in range(size):
            deltas[at + j] = deltas[at + j] if values[place + j] > 0 else leak * deltas[at + j]
    elif kind == 5:
        for j in range(size):
            # Below zero a = exp(z) - 1, so the slope exp(z) is a + 1.
            a = values[place + j]
            deltas[at + j] *= 1 if a > 0 else a + 1
    elif kind == 6:
        # The derivative is the logistic function of z, and exp(-a) = 1 / (1 + exp(z)).
        for j in range(size):
            deltas[at + j] *= -inline.expm1(-values[place + j])


def meet_softmax(
    values: real[::1],
    at: cython.Py_ssize_t,
    deltas: real[::1],
    place: cython.Py_ssize_t,
    k: cython.Py_ssize_t,
    label: cython.Py_ssize_t,
    share: cython.double,
) -> cython.double:
    """Write share (p - y), the derivative of cross-entropy after softmax; return -log p of the label."""
    highest: real = values[at]
    total: cython.double = 0.0
    # The largest score is taken off, so that no exponential overflows.
    for j in range(1, k):
        highest = values[at + j] if values[at + j] > highest else highest
    for j in range(k):
        deltas[place + j] = inline.exp(values[at + j] - highest)
    # A sum in double, whatever the type of the values.
    for j in range(k):
        total += deltas[place + j]
    for j in range(k):
        # p_j minus one at the label, times the weight of the row over that of the batch.
        deltas[place + j] = share * (deltas[place + j] / total)
    deltas[place + label] -= share
    return inline.log(total) + (highest - values[at + label])


def meet_each(
    values: real[::1],
    at: cython.Py_ssize_t,
    deltas: real[::1],
    place: cython.Py_ssize_t,
    targets: cython.const[real][::1],
    kind: cython.int,
    shape: cython.double,
    share: cython.double,
) -> cython.double:
    """Write the derivatives of a loss of each output by itself, see ``row_losses``; return the row's loss."""
    loss: cython.double = 0.0
    for j in range(targets.shape[0]):
        z = values[at + j]
        y = targets[j]
        if loss_numbers.EXPONENTIAL <= kind <= loss_numbers.TWEEDIE:
            # The bound keeps exponentials finite where training diverges.
            z = z if z < HIGHEST else HIGHEST
            z = z if z > -HIGHEST else -HIGHEST
        loss += row_losses.find_value(kind, shape, y, z)
        deltas[place + j] = share * row_losses.find_slope(kind, shape, y, z)
    return loss


def penalise(
    theta: real[::1], gradient: real[::1], at: cython.Py_ssize_t, size: cython.Py_ssize_t, strength: cython.double
) -> cython.double:
    """Add the derivative of strength |w|^2 / 2 to the gradient, and return |w|^2."""
    factor: real = strength
    if strength == 0.0 or size == 0:
        return 0.0
    for j in range(at, at + size):
        gradient[j] += factor * theta[j]
    return inline.dot(theta[at : at + size], theta[at : at + size])


def move(
    theta: real[::1],
    gradient: real[::1],
    mean: real[::1],
    square: real[::1],
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    method: cython.int,
    given_rate: cython.double,
    rules: cython.const[cython.double][::1],
) -> cython.void:
    """Take the step of some weights; `mean` is the velocity of momentum methods."""
    rate: real = given_rate
    keep: real = rules[1]
    take: real = 1.0 - rules[1]
    keep_square: real = rules[2]
    take_square: real = 1.0 - rules[2]
    epsilon: real = rules[3]
    # Adam; the bias corrections are in the rate.
    if method == 3:
        for j in range(at, at + size):
            mean[j] = keep * mean[j] + take * gradient[j]
            square[j] = keep_square * square[j] + take_square * (gradient[j] * gradient[j])
            theta[j] -= rate * mean[j] / (products.root(square[j]) + epsilon)
    # Nesterov: v = m v - r g, then the step m v - r g looks one step ahead.
    elif method == 2:
        for j in range(at, at + size):
            mean[j] = keep * mean[j] - rate * gradient[j]
            theta[j] += keep * mean[j] - rate * gradient[j]
    # Momentum: v = m v - r g, and the step is v.
    elif method == 1:
        for j in range(at, at + size):
            mean[j] = keep * mean[j] - rate * gradient[j]
            theta[j] += mean[j]
