"""Large machines whose rows are on a device: working sets of thousands of rows, and rounds within a round.

A round over all rows costs a device transfers and launches whatever it does, and a larger working set needs fewer
rounds: once it holds all coefficients that end up free, a dozen are enough. Its square then stays on the device. The
set is itself solved in rounds; each of them fetches the square of a thousand rows.
"""

import numpy as np

from mercer._types import Array
from mercer.svm._dual.block_descent import SHARE, BlockDescent, choose, descend
from mercer.svm._dual.gram_rows import Square
from mercer.svm._dual.program import DualProgram

# Rows of a set within a set: their square is fetched in a tenth of a millisecond, and fits a second-level cache.
_SIZE = 1024
# Rounds within a round at most: some 200 ms.
_MOST_ROUNDS = 200


class NestedDescent(BlockDescent):
    """Descent on working sets whose squares stay on the device."""

    def _solve_set(
        self,
        program: DualProgram,
        rows: Array,
        goal: float,
        most: int,
        b: Array,
        slope: Array,
        rise: Array,
        fall: Array,
    ) -> int:
        square = self.gram.hold_square(rows, self.dtype)
        if square is not None and (taken := square.descend(program, goal, most, b, slope, rise, fall)) is not None:
            return taken
        if square is None or len(program) <= _SIZE:
            return super()._solve_set(program, rows, goal, most, b, slope, rise, fall)
        kept, steps = np.empty(0, dtype=np.intp), 0
        for _ in range(_MOST_ROUNDS):
            violation = program.violation(b, slope)
            if violation <= goal or steps >= most:
                break
            # The rows of the last set stay, as far as there is room, so that pairs across two sets are optimised
            # together.
            kept = choose(program, slope, rise, fall, kept, _SIZE)
            part, at = program.part(kept), b[kept]
            inner = (slope[kept], rise[kept], fall[kept])
            K = square.fetch_part(kept)
            taken = descend(part, Square.whole(K), max(SHARE * violation, goal), most - steps, at, *inner, np.empty(2))
            self.gram.return_memory(K)
            # No pair of the set can move by more than rounding.
            if taken == 0:
                break
            change = at - b[kept]
            moved = np.flatnonzero(change)
            slope += square.sum_products(kept[moved], change[moved])
            if program.ridge is not None:
                slope[kept] += program.ridge[kept] * change
            b[kept], rise[kept], fall[kept] = at, inner[1], inner[2]
            steps += taken
        return steps
