"""Chunks of a large clique: ranges of rows that threads work on at the same time, with sums of fixed order.

A clique is cut along its first axis with more than one state. Results that have this axis are written by one chunk
each. The others are summed by every chunk into entries of its own, which are added up afterwards in the order of the
chunks. So the bits do not depend on the number of threads. Small cliques have one chunk.
"""

import cython

from mercer._native.graph import clique_axes, table_rows

# Cells of a clique from which it is cut: some 0.3 ms of work, ten times what passing a chunk to a thread takes.
LARGE_CLIQUE = 262144
# Most chunks of a clique.
MOST_CHUNKS = 8


def choose_cut(
    variables: cython.Py_ssize_t[::1],
    length: cython.Py_ssize_t[::1],
    origin: cython.Py_ssize_t,
    split: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the first axis before `split` with more than one state, or 0."""
    for axis in range(split):
        if length[variables[origin + axis]] > 1:
            return axis
    return 0


def count_chunks(outer: cython.Py_ssize_t, inner: cython.Py_ssize_t, states: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the number of chunks of a clique with `outer` rows, cut along an axis with that many states."""
    if outer * inner < LARGE_CLIQUE or outer < states:
        return 1
    return min(states, MOST_CHUNKS)


def share_slots(
    slots: cython.Py_ssize_t[:, ::1],
    first: cython.Py_ssize_t,
    n_slots: cython.Py_ssize_t,
    copies: cython.Py_ssize_t[:, :, ::1],
    n_chunks: cython.Py_ssize_t,
    work: cython.double[::1],
    spare: cython.Py_ssize_t,
) -> cython.void:
    """Copy the operands for each chunk; results from `first` on that lack the cut axis get entries from `spare` on."""
    for j in range(n_chunks):
        for k in range(n_slots):
            for column in range(slots.shape[1]):
                copies[j, k, column] = slots[k, column]
            if k >= first and not slots[k, clique_axes.HAS_CUT]:
                copies[j, k, clique_axes.BASE] = spare
                table_rows.fill(work, spare, slots[k, clique_axes.SIZE], 0.0)
                spare += slots[k, clique_axes.SIZE]


def add_chunks(
    slots: cython.Py_ssize_t[:, ::1],
    first: cython.Py_ssize_t,
    n_slots: cython.Py_ssize_t,
    copies: cython.Py_ssize_t[:, :, ::1],
    n_chunks: cython.Py_ssize_t,
    work: cython.double[::1],
) -> cython.void:
    """Add what the chunks summed by themselves to the results, chunk by chunk."""
    for j in range(n_chunks):
        for k in range(first, n_slots):
            if not slots[k, clique_axes.HAS_CUT]:
                for i in range(slots[k, clique_axes.SIZE]):
                    work[slots[k, clique_axes.BASE] + i] += work[copies[j, k, clique_axes.BASE] + i]
