"""A draw of one of some states with given log weights, shared by the native samplers."""

import cython

from mercer._native.shared import inline as elementary


def draw_state(log_weights: cython.double[::1], q: cython.Py_ssize_t, chance: cython.double) -> cython.Py_ssize_t:
    """Return a state of `q`, drawn by a number uniform in [0, 1); the log weights become cumulative weights."""
    most: cython.double = log_weights[0]
    for a in range(1, q):
        most = log_weights[a] if log_weights[a] > most else most
    log_weights[0] = elementary.exp(log_weights[0] - most)
    for a in range(1, q):
        log_weights[a] = log_weights[a - 1] + elementary.exp(log_weights[a] - most)
    # The last state takes what rounding leaves over.
    for a in range(q - 1):
        if chance * log_weights[q - 1] < log_weights[a]:
            return a
    return q - 1
