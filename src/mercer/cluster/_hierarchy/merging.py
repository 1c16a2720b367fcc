"""Solvers of hierarchical clustering: each merges pairs of clusters until one is left.

All yield the merges made so far. Merges already written are not changed, so a step's state is a view; a resumed fit
makes the merges of its state again, without yielding them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.space import agglomeration, points
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._types import Array
from mercer.cluster._distances import LANES, pack_points, unpack_points

# The indices that the native code uses.
LINKAGES = {"complete": 0, "average": 1, "weighted": 2, "ward": 3, "centroid": 4, "median": 5}
# Linkages that work on squared distances; heights are their roots.
SQUARED = ("ward", "centroid", "median")
# Values that one native call may read: some tens of milliseconds.
_WORK = 2**26
# Panels and matrices are packed again when less than this share of their slots is still in use.
_IN_USE = 0.7
_STATEMENT = (
    "The tree is the one that its rule of merging defines, up to rounding and ties; "
    "nothing bounds how far a partition cut from it is from the best one."
)


@plain
@dataclass(frozen=True)
class Merges:
    """Merges in the order in which they were made: a row of each of the two clusters, and the height."""

    pairs: Any
    heights: Any


def yield_steps(calls: Iterator[Merges], n: int, start: Merges | None) -> Solver:
    """Yield a step after each of `calls`, except those whose merges `start` already has."""
    known = 0 if start is None else len(start.heights)
    merges = Merges(np.empty((0, 2), dtype=np.intp), np.empty(0))
    # The merges are the same on each run, so a resumed fit repeats them and reports only what is new.
    for merges in calls:
        made = len(merges.heights)
        if made > known:
            known = made
            height = float(np.max(merges.heights, initial=0.0))
            # The objective is the number of clusters that are left.
            yield Step(float(n - made), merges, Certificate.none(_STATEMENT), {"height": height})
    return Solution(merges, True, Certificate.none(_STATEMENT))


def run_alone(solver: Solver) -> Merges:
    """Return the final state of a solver that makes no requests."""
    while True:
        try:
            next(solver)
        except StopIteration as end:
            return end.value.state


def _turns(left: int, cost: Callable[[int], float]) -> Iterator[int]:
    """Yield the number of merges of each native call; ``cost(left)`` is the cost of a merge with `left` clusters."""
    while left > 1:
        count = int(min(left - 1, max(1, _WORK // max(1.0, cost(left)))))
        yield count
        left -= count


def span_matrix(matrix: Array) -> Iterator[Merges]:
    """Yield the merges of single linkage from a matrix, by Prim's algorithm."""
    n = len(matrix)
    pairs, heights = np.empty((n - 1, 2), dtype=np.intp), np.empty(n - 1)
    keys, absent, made, slot = np.full(n, np.inf), np.zeros(n), 0, 0
    for count in _turns(n, lambda left: 2.0 * n):
        part = slice(made, made + count)
        slot = agglomeration.span_matrix(matrix, keys, absent, slot, pairs[part], heights[part])
        made += count
        yield Merges(pairs[:made], heights[:made])


def span_points(X: Array) -> Iterator[Merges]:
    """Yield the merges of single linkage of rows by Prim's algorithm, in O(n) memory."""
    n, d = X.shape
    panels = pack_points(X)
    pairs, heights = np.empty((n - 1, 2), dtype=np.intp), np.empty(n - 1)
    keys, names = _pad(np.full(n, np.inf)), _pad(np.arange(n, dtype=np.intp), 0)
    point, scratch = np.empty(d), np.empty(LANES)
    made = slot = 0
    for count in _turns(n, lambda left: 1.5 * left * (d + 2)):
        part = slice(made, made + count)
        slot = points.span_points(panels, keys, names, slot, point, scratch, pairs[part], heights[part])
        made += count
        yield Merges(pairs[:made], heights[:made])
        # Most slots are empty: pack the points that are left, so that searches read less.
        if n - made < _IN_USE * len(names):
            # Points in the tree are erased; the one added last is still needed to measure from.
            keep = np.flatnonzero(np.isfinite(panels[:, 0, :]).ravel())
            panels, keys, names = pack_points(unpack_points(panels)[keep]), _pad(keys[keep]), _pad(names[keep], 0)
            slot = int(np.searchsorted(keep, slot))


def merge_points(X: Array, weight: Array | None) -> Iterator[Merges]:
    """Yield the merges of Ward's hierarchy of rows by a nearest-neighbour chain, in O(n) memory."""
    n, d = X.shape
    panels = pack_points(X)
    sizes = _pad(np.ones(n) if weight is None else weight, 0.0)
    names, chain, length = np.arange(len(sizes), dtype=np.intp), np.empty(n + 1, dtype=np.intp), 0
    pairs, heights = np.empty((n - 1, 2), dtype=np.intp), np.empty(n - 1)
    scratch = (np.empty((2, d)), np.empty(LANES), np.empty(1))
    made, count = 0, np.empty(1, dtype=np.intp)
    while made < n - 1:
        searches = _searches(len(names) * (d + 4))
        rest = (pairs[made:], heights[made:], count)
        length = points.chain_points(panels, sizes, names, chain, length, searches, *scratch, *rest)
        made += int(count[0])
        yield Merges(pairs[:made], heights[:made])
        # Slots of merged clusters stay empty; packing the others keeps the searches short.
        if n - made < _IN_USE * len(names):
            keep = np.flatnonzero(sizes)
            panels, sizes, names = pack_points(unpack_points(panels)[keep]), _pad(sizes[keep], 0.0), names[keep]
            names = _pad(names, 0)
            # The chain holds positions of slots, which the packing has changed.
            chain[:length] = np.searchsorted(keep, chain[:length])


def _searches(cost: float) -> int:
    """Return the number of nearest-neighbour searches in a call if one costs `cost`; a merge takes about three."""
    return int(max(4.0, _WORK / cost))


def _pad(values: Array, rest: float = np.inf) -> Array:
    """Return `values` extended by `rest` to a whole number of panels."""
    whole = np.full(-(-len(values) // LANES) * LANES, rest, dtype=values.dtype)
    whole[: len(values)] = values
    return whole


def merge_matrix(matrix: Array, linkage: str, weight: Array | None) -> Iterator[Merges]:
    """Yield the merges of any linkage but single; `matrix`, squared for the linkages in SQUARED, is overwritten."""
    n = len(matrix)
    # A slot is never its own nearest neighbour.
    np.fill_diagonal(matrix, np.inf)
    sizes, absent = np.ones(n) if weight is None else weight.copy(), np.zeros(n)
    names, chain, length = np.arange(n, dtype=np.intp), np.empty(n + 1, dtype=np.intp), 0
    pairs, heights = np.empty((n - 1, 2), dtype=np.intp), np.empty(n - 1)
    # Centroid and median linkage may bring a merge nearer to a third cluster than its parts were, so chains are not
    # valid.
    code, made, reducible = LINKAGES[linkage], 0, linkage not in ("centroid", "median")
    nearest, bounds = np.empty(n, dtype=np.intp), np.empty(n)
    if not reducible:
        agglomeration.find_nearest(matrix, absent, nearest, bounds, 0, n)
    count = np.empty(1, dtype=np.intp)
    while made < n - 1:
        if reducible:
            rest = (pairs[made:], heights[made:], count)
            searches = _searches(2 * len(matrix))
            length = agglomeration.chain_matrix(matrix, sizes, absent, names, code, chain, length, searches, *rest)
        else:
            # Merges in one call, so that it lasts some 50 ms.
            count[0] = min(n - 1 - made, _searches(6 * n))
            lines = (pairs[made : made + count[0]], heights[made : made + count[0]])
            agglomeration.pair_nearest(matrix, sizes, absent, nearest, bounds, names, code, *lines)
        part = slice(made, made + int(count[0]))
        if linkage in SQUARED:
            heights[part] = np.sqrt(heights[part])
        made += int(count[0])
        yield Merges(pairs[:made], heights[:made])
        if reducible and 1 < n - made < _IN_USE * len(matrix):
            keep = np.flatnonzero(sizes)
            matrix, sizes, absent, names = _compact(matrix, keep), sizes[keep], absent[keep], names[keep]
            chain[:length] = np.searchsorted(keep, chain[:length])


def _compact(matrix: Array, keep: Array) -> Array:
    """Return the rows and columns `keep` of a square matrix, moved to the front of the same memory."""
    m = len(keep)
    front = matrix.reshape(-1)[: m * m].reshape(m, m)
    # Line i of the front ends before line keep[i] of the matrix does, so no value is overwritten that is still needed.
    for i, row in enumerate(keep):
        front[i] = matrix[row, keep]
    return front
