"""What evidence does to a junction tree: lengths of axes, sizes of messages, messages that need not be computed.

Cliques are numbered with children before parents. The variables of clique c are those from first[c] to first[c + 1],
the n_shared[c] ones that it shares with its parent first. An observed variable has its state in `code`, others have -1.
"""

import cython


def set_lengths(
    card: cython.Py_ssize_t[::1], code: cython.Py_ssize_t[::1], length: cython.Py_ssize_t[::1]
) -> cython.void:
    """Set the number of states that evidence leaves each variable."""
    for v in range(card.shape[0]):
        length[v] = 1 if code[v] >= 0 else card[v]


def set_sizes(
    first: cython.Py_ssize_t[::1],
    n_shared: cython.Py_ssize_t[::1],
    variables: cython.Py_ssize_t[::1],
    length: cython.Py_ssize_t[::1],
    size: cython.Py_ssize_t[::1],
) -> cython.void:
    """Set the number of entries of the messages between each clique and its parent."""
    for c in range(n_shared.shape[0]):
        size[c] = 1
        for j in range(first[c], first[c] + n_shared[c]):
            size[c] *= length[variables[j]]


def mark_touched(
    first_table: cython.Py_ssize_t[::1],
    table: cython.Py_ssize_t[::1],
    first_child: cython.Py_ssize_t[::1],
    child: cython.Py_ssize_t[::1],
    code: cython.Py_ssize_t[::1],
    soft: cython.Py_ssize_t[::1],
    touched: cython.Py_ssize_t[::1],
) -> cython.void:
    """Mark the cliques in or below which a variable is observed that has its table there."""
    for c in range(touched.shape[0]):
        touched[c] = 0
        for j in range(first_table[c], first_table[c + 1]):
            if code[table[j]] >= 0 or soft[table[j]] != 0:
                touched[c] = 1
        for j in range(first_child[c], first_child[c + 1]):
            if touched[child[j]]:
                touched[c] = 1


def mark_units(
    parent: cython.Py_ssize_t[::1],
    barren: cython.Py_ssize_t[::1],
    touched: cython.Py_ssize_t[::1],
    unit: cython.Py_ssize_t[::1],
    counts: cython.Py_ssize_t[::1],
) -> cython.void:
    """Mark the cliques whose message upwards is one everywhere, and those whose scale counts for the evidence.

    The tables below a message that is one everywhere sum to one, so the scales of the messages there do not count.
    """
    for c in range(parent.shape[0] - 1, -1, -1):
        unit[c] = barren[c] != 0 and touched[c] == 0
        counts[c] = unit[c] == 0 and (parent[c] < 0 or counts[parent[c]] != 0)


def trace_back(
    first: cython.Py_ssize_t[::1],
    n_shared: cython.Py_ssize_t[::1],
    variables: cython.Py_ssize_t[::1],
    offset: cython.Py_ssize_t[::1],
    length: cython.Py_ssize_t[::1],
    code: cython.Py_ssize_t[::1],
    best: cython.longlong[::1],
    states: cython.Py_ssize_t[::1],
) -> cython.void:
    """Write the best states, from the roots down, given the best cell for each entry of the messages upwards."""
    for c in range(n_shared.shape[0] - 1, -1, -1):
        # The separator's states are known from the parent; they number the entry whose best cell was noted.
        entry = 0
        for axis in range(first[c], first[c] + n_shared[c]):
            v = variables[axis]
            entry = entry * length[v] + (0 if length[v] == 1 else states[v])
        cell = best[offset[c] + entry]
        for axis in range(first[c + 1] - 1, first[c] - 1, -1):
            v = variables[axis]
            states[v] = cell % length[v] if code[v] < 0 else code[v]
            cell = cell // length[v]
