"""k-means on few rows: all draws of k-means++, and many steps of Lloyd's algorithm, in one native call each.

A pass over 150 rows takes some microseconds, and asking the driver for it ten times as long. The results have the bits
that passes one by one give.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.space import lloyd_steps, seeding
from mercer._solver.centres.assignment import AssignmentSums, Memory, RowMemory
from mercer._source import Source
from mercer._source.block import Block, DenseBlock
from mercer._source.threads import one_blas_thread
from mercer._types import Array

_NONE = np.empty(0)
# Rows of a panel, which vector code measures at once: a whole number of turns of four registers at every CPU level.
_LANES = 64
# Multiplications in one call: some 20 ms, so that Ctrl-C need not wait for long.
_LONGEST_CALL = 2**25
# Most steps in one call: the default of ``max_iter``, beyond which most runs need none.
_MOST_STEPS = 300
# Rows in a tile whose products with all candidates stay in the second-level cache.
_WIDTH = 256


def find_only_block(source: Source) -> DenseBlock | None:
    """Return the rows of a source in memory that has one block which native code can read; None for all others."""
    # A rehearsal counts the passes over the rows, so that they must be made one by one.
    if source.place != "memory" or source.is_sparse or source.readings is not None or source.n_blocks != 1:
        return None
    block: Block = source.block(0)
    return block if isinstance(block, DenseBlock) and block.is_native else None


@dataclass(frozen=True, eq=False)
class DrawnCentres:
    """A request: the row indices of the centres of k-means++, (k,); None if there are more rows than a call can take.

    Parameters
    ----------
    first : int
        The row of the first centre.
    places : (k - 1, c)
        Where along the masses of the rows the c candidates for each further centre lie, in [0, 1).
    """

    first: int
    places: Array

    def answer(self, source: Source) -> Array | None:
        block = find_only_block(source)
        if block is None or block.X.size * self.places.size > _LONGEST_CALL:
            return None
        (n, d), real, (steps, count) = block.X.shape, block.X.dtype, self.places.shape
        chosen = np.full(steps + 1, self.first, np.intp)
        width = min(_WIDTH, n)
        with one_blas_thread():
            seeding.draw_centres(
                block.X,
                _NONE if block.weight is None else block.weight,
                self.places,
                chosen,
                np.empty(count, np.intp),
                np.full(n, np.inf),
                np.empty(n),
                np.empty((count, d), real),
                np.empty(count),
                np.empty((width, d), real),
                np.empty((count, width), real),
                np.empty((1, count)),
            )
        return chosen


@dataclass(frozen=True, eq=False)
class StepsTaken:
    """What some steps of Lloyd's algorithm leave: the centres, their sums, and the cost and the shift of each step.

    ``costs[i]`` is the inertia before step i, ``shifts[i]`` the sum of squared moves in it.
    """

    centres: Array
    sums: AssignmentSums
    costs: list[float]
    shifts: list[float]


@dataclass(frozen=True, eq=False)
class LloydSteps:
    """A request: at most `most` steps from `centres`; None if there are more rows than such a call is for.

    The steps end when their squared moves sum to at most `tolerance`, and before one that finds a centre without rows.
    """

    memory: Memory
    centres: Array
    tolerance: float
    most: int

    def answer(self, source: Source) -> StepsTaken | None:
        memory, centres = self.memory, self.centres.copy()
        if not (isinstance(memory.rows, RowMemory) and memory.needs_no_bounds(centres)):
            return None
        block = find_only_block(source)
        if block is None or centres.dtype != block.X.dtype:
            return None
        (k, d), most = centres.shape, min(self.most, _MOST_STEPS, 1 + _LONGEST_CALL // (block.n * centres.size))
        sums, costs, shifts = np.empty((k, d + 2)), np.empty((most, k)), np.empty(most)
        scratch = np.empty((k, d)), np.empty((3, _LANES)), np.empty(_LANES, np.int32)
        trail = lloyd_steps.Trail((memory.rows.labels, memory.rows.distances), sums, (costs, shifts), scratch)
        weight = _NONE if block.weight is None else block.weight
        panels = memory.keep("panels", lambda: _pack_rows(block.X))
        steps = lloyd_steps.take_steps(panels, block.X, weight, centres, np.empty_like(centres), self.tolerance, trail)
        # The columns of the table: sums of rows, their weight, their cost.
        found = AssignmentSums(sums[:, d].copy(), sums[:, :d].copy(), sums[:, d + 1].copy(), block.n)
        memory.store(centres, found)
        return StepsTaken(centres, found, costs[:steps].sum(axis=1).tolist(), shifts[:steps].tolist())


def _pack_rows(X: Array) -> Any:
    """Return rows in panels of lanes, feature by feature, in float64; lanes without a row hold zeros."""
    n, d = X.shape
    panels = -(-n // _LANES)
    padded = np.zeros((panels * _LANES, d))
    padded[:n] = X
    return np.ascontiguousarray(padded.reshape(panels, _LANES, d).transpose(0, 2, 1))
