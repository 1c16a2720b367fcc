"""Trees of cells over the points of a map, as native code wants them."""

from functools import lru_cache

import numpy as np

from mercer._native.embedding import map_tasks
from mercer._types import Array

# Points in a leaf: the lanes of native code.
LEAF = 16


@lru_cache(maxsize=4)
def number_nodes(leaves: int) -> tuple[Array, Array, Array]:
    """Return the first leaf and the number of leaves of each node, and the node of each leaf.

    A node of k leaves is followed by the 2 ceil(k/2) - 1 nodes of its first half, then by those of its second.
    """
    firsts, counts = np.zeros(2 * leaves - 1, np.int32), np.zeros(2 * leaves - 1, np.int32)
    level, starts, sizes = np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, leaves, np.int64)
    while len(level):
        firsts[level], counts[level] = starts, sizes
        parents = sizes > 1
        level, starts, sizes = level[parents], starts[parents], sizes[parents]
        halves = (sizes + 1) // 2
        level = np.concatenate([level + 1, level + 2 * halves])
        starts, sizes = np.concatenate([starts, starts + halves]), np.concatenate([halves, sizes - halves])
    return firsts, counts, np.flatnonzero(counts == 1).astype(np.int32)


def make_tree(n: int, d: int, angle: float) -> tuple[map_tasks.MapTree, Array]:
    """Return a tree over `n` points in `d` dimensions, and the order of its points, which it shares."""
    firsts, counts, leaves = number_nodes(-(-n // LEAF))
    order = np.arange(n, dtype=np.int32)
    arrays = [
        np.zeros((len(leaves), d, LEAF), np.float32),
        np.zeros((len(firsts), 2, d), np.float32),
        np.zeros(len(firsts), np.float32),
        np.zeros((len(firsts), 2 + d + d * (d + 1) // 2), np.float32),
        np.zeros(n, np.float32),
    ]
    return map_tasks.MapTree(order, firsts, counts, leaves, arrays, angle), order
