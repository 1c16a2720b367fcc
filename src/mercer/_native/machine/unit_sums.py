"""What happens to the units of some rows of a machine: draws, sums of softplus, and sums over rows with signs.

Arrays are flat. A draw takes its random number from a counter: a hash of the key and of the unit's number. The hash is
two rounds of multiplications and shifts of 32-bit words ("prospector" constants of C. Wellons, of least known bias),
with one word of the key before each round.
"""

import cython

from mercer._native.shared import inline

real = cython.fused_type(cython.float, cython.double)


def hash_word(word: cython.uint) -> cython.uint:
    """Return a word whose bits each depend on every bit of `word`."""
    first: cython.uint = 0x21F0AAAD
    second: cython.uint = 0x735A2D97
    # All 32 bits; the literal itself is too large for a C int. The masks change nothing in C, where words wrap around
    # by themselves; Python's integers need them.
    mask: cython.uint = 0x7FFFFFFF
    mask = 2 * mask + 1
    word = word ^ (word >> 16)
    word = (word * first) & mask
    word = word ^ (word >> 15)
    word = (word * second) & mask
    return word ^ (word >> 15)


def draw_row(
    scores: real[::1],
    at: cython.Py_ssize_t,
    bias: real[::1],
    begin: cython.Py_ssize_t,
    states: real[::1],
    place: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    low_key: cython.uint,
    high_key: cython.uint,
) -> cython.void:
    """Draw states of 0 or 1 of some units from their scores; `count` is the number of the first one."""
    chance: real
    # Uniform in [0, 1) with 24 bits, exact in float32 and float64: both precisions draw alike.
    scale: real = 2.0**-24
    for j in range(size):
        word = cython.cast(cython.uint, count + j)
        word = hash_word(hash_word(word ^ low_key) ^ high_key)
        # As a signed number: CPUs convert these to floating point at once.
        number = cython.cast(cython.int, word >> 8)
        chance = number * scale
        states[place + j] = 1.0 if chance < inline.expit(scores[at + j] + bias[begin + j]) else 0.0


def sum_units(x: real[::1], factors: real[::1]) -> cython.double:
    """Return the sum of log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)); both arguments are changed.

    The factors 1 + exp(-|x|) lie in (1, 2]: they are multiplied before one logarithm is taken.
    """
    k: cython.Py_ssize_t = factors.shape[0]
    total: cython.double = 0.0
    # Four products side by side, which do not wait for each other.
    first: cython.double = 1.0
    second: cython.double = 1.0
    third: cython.double = 1.0
    fourth: cython.double = 1.0
    for j in range(k):
        factors[j] = 1 + inline.exp(-x[j] if x[j] > 0 else x[j])
        x[j] = x[j] if x[j] > 0 else 0
    for j in range(0, k - 3, 4):
        total += (x[j] + x[j + 1]) + (x[j + 2] + x[j + 3])
        first *= factors[j]
        second *= factors[j + 1]
        third *= factors[j + 2]
        fourth *= factors[j + 3]
        # One logarithm for 512 units: their product is at most 2^512, far below the largest number.
        if j % 512 == 508:
            total += inline.log((first * second) * (third * fourth))
            first = second = third = fourth = 1.0
    # The last k % 4 units join the first product.
    for j in range(k - k % 4, k):
        total += x[j]
        first *= factors[j]
    return total + inline.log((first * second) * (third * fourth))


def sum_gain(
    scores: real[::1],
    at: cython.Py_ssize_t,
    bias: real[::1],
    begin: cython.Py_ssize_t,
    weights: real[::1],
    place: cython.Py_ssize_t,
    step: cython.double,
    scratch: real[::1],
    free: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.double:
    """Return by how much the sum of log(1 + exp(score + bias)) grows if `step` times the weights is added."""
    factor: real = step
    for j in range(size):
        scratch[free + j] = scores[at + j] + bias[begin + j] + factor * weights[place + j]
    after = sum_units(scratch[free : free + size], scratch[free + size : free + 2 * size])
    for j in range(size):
        scratch[free + j] = scores[at + j] + bias[begin + j]
    return after - sum_units(scratch[free : free + size], scratch[free + size : free + 2 * size])


def sign_units(
    scores: real[::1],
    bias: real[::1],
    signs: real[::1],
    begin: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    k: cython.Py_ssize_t,
    scratch: real[::1],
    given_rate: cython.double,
) -> cython.void:
    """Replace the scores of units from `begin` on, of n rows, by signed probabilities; add rate times their sums to
    the biases.
    """
    sign: real
    rate: real = given_rate
    for j in range(size):
        scratch[2 * begin + j] = 0
    for i in range(n):
        at = i * k + begin
        sign = signs[i]
        for j in range(size):
            # The gradient of the biases is the sum over rows minus the sum over chains: signs are positive and negative
            # weights.
            scores[at + j] = sign * inline.expit(scores[at + j] + bias[begin + j])
        for j in range(size):
            scratch[2 * begin + j] += scores[at + j]
    for j in range(size):
        bias[begin + j] += rate * scratch[2 * begin + j]


def add_signed(
    values: real[::1],
    signs: real[::1],
    bias: real[::1],
    begin: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    d: cython.Py_ssize_t,
    scratch: real[::1],
    free: cython.Py_ssize_t,
    given_rate: cython.double,
) -> cython.void:
    """Add rate times the signed sums over n rows of the values from `begin` on to the biases."""
    sign: real
    rate: real = given_rate
    for j in range(size):
        scratch[free + j] = 0
    for i in range(n):
        sign = signs[i]
        for j in range(size):
            scratch[free + j] += sign * values[i * d + begin + j]
    for j in range(size):
        bias[begin + j] += rate * scratch[free + j]
