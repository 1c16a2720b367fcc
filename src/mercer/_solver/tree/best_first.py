"""Growth of a tree by the split that gains most, until it has as many leaves as it may."""

import heapq

import numpy as np

from mercer._solver.tree.assembly import GrowthState, take_state
from mercer._solver.tree.growth import Growth, Level
from mercer._types import Array

__all__ = ["grow_best_first"]


def grow_best_first(growth: Growth, max_leaves: int | None) -> GrowthState:
    """Split the node whose split lowers the weighted impurity most, again and again; of equals the oldest.

    Two children make a level of their own. What a split draws at random hangs on the way to its node alone, so that a
    tree with leaves to spare is the one that grows level by level.
    """
    waiting: list[tuple[float, int, int, Array]] = []
    _offer(growth, 0, waiting)
    leaves = 1
    while waiting and (max_leaves is None or leaves < max_leaves):
        _, number, place, best = heapq.heappop(waiting)
        level, at = growth.levels[number], np.array([place])
        growth.levels.append(growth.divide(level, at, best, growth.n_nodes))
        growth.n_nodes += 2
        leaves += 1
        _offer(growth, len(growth.levels) - 1, waiting)
    return take_state(growth)


def _offer(growth: Growth, number: int, waiting: list[tuple[float, int, int, Array]]) -> None:
    """Search the best splits of a level's nodes and put them where the best is taken from."""
    level: Level = growth.levels[number]
    at = growth.splittable(level)
    if len(at) == 0:
        return
    best = growth.search(level, at)
    for place, split in zip(at.tolist(), best):
        if split[1] >= 0:
            heapq.heappush(waiting, (-float(split[0]), number, place, split[None]))
