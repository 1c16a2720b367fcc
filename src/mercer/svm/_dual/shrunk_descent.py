"""Small machines: pair descent with all rows, and between with those alone that may still move (shrinking).

A step changes the slopes of all rows of its program. Where a fit takes many steps, most rows lie at a bound from which
no partner could move them: with a linear kernel all but a few dozen of a thousand. They are left out for a while; steps
with all rows follow, which find those that were left out wrongly.
"""

import numpy as np

from mercer._native.dual import pair_descent as native
from mercer._types import Array
from mercer.svm._dual.block_descent import SHARE, descend, find_stuck
from mercer.svm._dual.gram_rows import Square
from mercer.svm._dual.program import DualProgram

# Fewest rows of a program that leaves some out: with fewer, a step takes as long as choosing its pair.
_FEWEST = 256
# Steps with all rows before the first time, per row: easy programs end before.
_FIRST = 1.0
# And after each time.
_BETWEEN = 0.125
# Largest share of the rows that is worth a copy of their kernel values.
_WORTH = 0.5


def descend_shrunk(
    program: DualProgram,
    square: Square,
    goal: float,
    most: int,
    b: Array,
    slope: Array,
    rise: Array,
    fall: Array,
    best: Array,
) -> int:
    """Take pair steps as `descend` does, most of them among the rows that may still move; return their number."""
    n = len(b)
    if n < _FEWEST or len(square.ready):
        # Rows of a square that are made when they are first read cannot be copied before.
        return descend(program, square, goal, most, b, slope, rise, fall, best)
    taken, share = 0, _FIRST
    while taken < most:
        burst = min(most - taken, int(share * n))
        steps = descend(program, square, goal, burst, b, slope, rise, fall, best)
        taken, share = taken + steps, _BETWEEN
        # Fewer steps than allowed: no pair of all rows violates the goal any more.
        if steps < burst:
            break
        active = np.flatnonzero(~find_stuck(program, slope, rise, fall))
        if taken < most and len(active) <= _WORTH * n:
            state = (b, slope, rise, fall)
            taken += _descend_part(program, square, max(SHARE * best[1], 0.5 * goal), most - taken, active, state)
    return taken


def _descend_part(
    program: DualProgram,
    square: Square,
    goal: float,
    most: int,
    active: Array,
    state: tuple[Array, Array, Array, Array],
) -> int:
    """Take steps among the rows `active`, and add what they change to the slopes of all rows."""
    b, slope, rise, fall = state
    K = np.ascontiguousarray(square.values[np.ix_(active, active)])
    inner = b[active], slope[active], rise[active], fall[active]
    taken = descend(program.part(active), Square.whole(K), goal, most, *inner, np.empty(2))
    change = inner[0] - b[active]
    moved = np.flatnonzero(change)
    sums = np.zeros(len(b))
    native.add_rows(square.values, active[moved], change[moved], 0, len(b), sums)
    slope += sums
    # Slopes within the part are known from its steps, with the ridge.
    for values, part in zip(state, inner):
        values[active] = part
    return taken
