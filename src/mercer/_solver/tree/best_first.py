"""Growth of a tree that always makes the split of largest gain, up to a number of leaves."""

import heapq

import numpy as np

from mercer._solver.tree.assembly import GrowthState, take_state
from mercer._solver.tree.growth import Growth, Level
from mercer._types import Array


def grow_best_first(growth: Growth, max_leaves: int | None) -> GrowthState:
    """Split, again and again, the leaf whose split lowers the weighted impurity most; of equal ones the oldest.

    The two children of a node make a level of their own. The random draws of a node depend on the path from the root
    alone, so that a tree that never reaches `max_leaves` is the one that grows level by level.
    """
    # A heap of (-gain, level, index in its level, split) for every leaf that can be split. Levels are numbered in the
    # order of growth, so that of equal gains the oldest leaf comes first, and two arrays are never compared.
    waiting: list[tuple[float, int, int, Array]] = []
    _offer(growth, 0, waiting)
    leaves = 1
    while waiting and (max_leaves is None or leaves < max_leaves):
        # The largest decrease first; the heap orders by its negative.
        _, number, place, best = heapq.heappop(waiting)
        level, at = growth.levels[number], np.array([place])
        # The two children make a level of their own, so that one routine divides rows in both ways of growth.
        growth.levels.append(growth.divide(level, at, best, growth.n_nodes))
        growth.n_nodes += 2
        leaves += 1
        _offer(growth, len(growth.levels) - 1, waiting)
    return take_state(growth)


def _offer(growth: Growth, number: int, waiting: list[tuple[float, int, int, Array]]) -> None:
    """Push the best split of each node of the level `number` on the heap `waiting`."""
    level: Level = growth.levels[number]
    at = growth.find_splittable(level)
    if len(at) == 0:
        return
    best = growth.search(level, at)
    for place, split in zip(at.tolist(), best):
        if split[1] >= 0:
            heapq.heappush(waiting, (-float(split[0]), number, place, split[None]))
