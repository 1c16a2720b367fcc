"""Sets that are joined two by two: each item points to another of its set, up to the root, which points to itself."""

import cython


def root_of(parent: cython.int[::1], x: cython.int) -> cython.int:
    """Return the root of the set of `x`, and halve the path to it."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x
