"""Hill climbing on a Gaussian density to its attractors, and joining attractors by paths of dense rows."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mercer._native.space import box_search
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.neighbours.space_tree import WIDTH, SpaceTree
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.cluster._numbering import number_by_first_rows

# Squared radius of a sum, in bandwidths: a row farther away adds less than exp(-40) = 4e-18 of a row at the centre.
_CUT = 80.0
# Rows in one native call: some milliseconds of work.
_RUN = 512


class GaussianDensity:
    """A Gaussian kernel density of weighted rows, and its mean-shift step.

    Parameters
    ----------
    tree : SpaceTree
        The rows.
    weight : ndarray of shape (n,) or None
    bandwidth : float
    """

    def __init__(self, tree: SpaceTree, weight: Array, bandwidth: float) -> None:
        self.tree, self.bandwidth = tree, bandwidth
        self.placed = np.zeros(len(tree.leaves) * WIDTH)
        self.placed[: tree.n] = 1.0 if weight is None else weight[tree.order]
        total = tree.n if weight is None else float(np.sum(weight))
        # log of (2 pi h^2)^(-d/2) / W.
        self.log_scale = -math.log(total) - tree.d * (math.log(bandwidth) + 0.5 * math.log(2 * math.pi))

    def climb(self, rows: Array, group: int = WIDTH) -> tuple[Array, Array]:
        """Return the log density at each row, and its next point: the mean of all rows weighted by their Gaussians.

        Rows in groups share a walk down the tree; with `group` 1 a row's result does not depend on the rows beside it.
        """
        sums, means = np.empty(len(rows)), np.empty(rows.shape)

        def work(run: int) -> None:
            part = slice(run * _RUN, (run + 1) * _RUN)
            box_search.climb(
                np.ascontiguousarray(rows[part], np.float64), self.tree.leaves, self.tree.walk(group), self.placed,
                # exp(-|x - y|^2 / (2 h^2)), and rows beyond the cut are left out.
                0.5 / self.bandwidth**2, _CUT * self.bandwidth**2, np.empty((group, self.tree.d + 1, WIDTH)),
                sums[part], means[part],
            )  # fmt: skip

        if len(rows) <= _RUN:
            work(0)
        else:
            run_numbered(work, -(-len(rows) // _RUN), self.tree.threads)
        with np.errstate(divide="ignore"):
            return np.log(sums) + self.log_scale, means


@plain
@dataclass(frozen=True)
class HillState:
    """The point each row has reached, its log density, its last move in bandwidths, and whether it still moves.

    `first_log_density` is the log density at the rows themselves, which the first step finds; None before it, and in
    checkpoints of older versions.
    """

    points: Any
    log_density: Any
    moves: Any
    moving: Any
    first_log_density: Any = None


@dataclass(frozen=True, eq=False)
class Ascent:
    """The solver: move every row to the weighted mean of the rows around it (mean shift), until all moves are small."""

    density: GaussianDensity
    weight: Array
    tol: float
    max_iter: int
    group: int = WIDTH

    def start(self, rows: Array) -> HillState:
        """Return the state before the first step."""
        return HillState(rows, np.full(len(rows), -np.inf), np.full(len(rows), np.inf), np.ones(len(rows), bool))

    def advance(self, state: HillState) -> HillState:
        """Take one step with all rows that still move; return the new state."""
        moving = np.flatnonzero(state.moving)
        log_density, means = self.density.climb(state.points[moving], self.group)
        # Moves in units of the bandwidth.
        moves = np.sqrt(np.sum((means - state.points[moving]) ** 2, axis=1)) / self.density.bandwidth
        on = moves > self.tol
        points, reached, lengths, still = (
            part.copy() for part in (state.points, state.log_density, state.moves, state.moving)
        )
        # No row has moved before the first step: the density that it finds is that at the rows.
        begins = state.first_log_density is None and np.isinf(state.moves).all()
        at_rows = log_density if begins else state.first_log_density
        # The density never falls along a path; rounding may make it seem so near the end.
        reached[moving] = np.maximum(reached[moving], log_density)
        points[moving[on]] = means[on]
        lengths[moving] = moves
        still[moving[~on]] = False
        return HillState(points, reached, lengths, still, at_rows)

    def solve(self, state: HillState) -> Solver:
        """Climb from `state` until no row moves or ``max_iter`` steps are made."""
        for _ in range(self.max_iter):
            if not state.moving.any():
                break
            state = self.advance(state)
            objective = float(np.average(state.log_density, weights=self.weight))
            yield Step(objective, state, self._certificate(state), {"moving": float(np.count_nonzero(state.moving))})
        return Solution(state, not state.moving.any(), self._certificate(state))

    def _certificate(self, state: HillState) -> Certificate:
        statement = "The longest last move of a row, in bandwidths: zero proves that all rows are at attractors."
        return Certificate.of("fixed point", state.moves.max(), self.tol, statement)


def attractors_of(points: Array, log_density: Array, bandwidth: float, threads: int) -> tuple[Array, Array]:
    """Return the attractor of each row, numbered from the densest down, and the densest row of each attractor.

    Paths to the same attractor end near it, not on it: ends within half a bandwidth of each other are one attractor.
    """
    tree = SpaceTree(points, threads, "DENCLUE")
    components = np.empty(tree.n, np.int32)
    components[tree.order] = tree.components(0.5 * bandwidth, np.ones(tree.n, bool))
    groups = number_by_first_rows(components)
    order = np.lexsort((-log_density, groups))
    tops = order[np.unique(groups[order], return_index=True)[1]]
    # Densities equal up to rounding count as equal; then coordinates decide, so that the order of rows does not.
    rank = np.lexsort((*points[tops].T[::-1], -np.round(log_density[tops], 9)))
    index = np.empty(len(tops), np.int64)
    index[rank] = np.arange(len(tops))
    return index[groups], tops[rank]


def clusters_of(tree: SpaceTree, groups: Array, peaks: Array, dense: Array, bandwidth: float) -> Array:
    """Return the cluster of each attractor, -1 for noise; a path of dense rows joins attractors to one cluster.

    Consecutive rows of a path are within a bandwidth of each other; `dense` says which rows are above the noise level,
    and `peaks` which attractors are.
    """
    components = np.empty(tree.n, np.int32)
    components[tree.order] = tree.components(bandwidth, dense[tree.order])
    rows = np.flatnonzero(dense)
    size = len(peaks) + tree.n
    # A bipartite graph: each dense row links its attractor to its component of dense rows.
    links = coo_array((np.ones(len(rows), np.int8), (groups[rows], len(peaks) + components[rows])), (size, size))
    parts = connected_components(links, directed=False)[1][: len(peaks)]
    return number_by_first_rows(np.where(peaks, parts, -1))
