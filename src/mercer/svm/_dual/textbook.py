"""The methods of the lecture notes, for study: pair by pair, and quadratic programs on working sets.

Sequential minimal optimisation as Platt (1998) wrote it takes one pair at a time, from an error cache, with its trace.
The errors E_i are the slopes of the program; c is the offset. A row breaks the conditions if raising its coefficient
costs less than c, or lowering it gains more. Sweeps over all rows alternate with sweeps over free ones; the partner of
a row is the one whose error differs most from its own, then any other. Each pair step is a step of the history, and the
whole kernel matrix is in memory.

Working sets (Osuna et al., 1997): some coefficients are free, the others fixed, and the fixed rows act on the program
of the active ones through the slopes alone. Each round solves the program of the active rows, a few tens that break the
optimality conditions most, by pair steps to a millionth of the tolerance. Kernel rows are computed as they are needed.
"""

import math
from collections.abc import Iterator

import numpy as np

from mercer._solver.driver import Solver
from mercer._solver.step import Solution, Step
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.svm._dual.block_descent import choose, descend
from mercer.svm._dual.gram_rows import Square
from mercer.svm._dual.machines import DualMachines, MachineState, copy_state, raise_tolerance
from mercer.svm._dual.program import DualProgram

# A step below this share of the two coefficients is rounding; so is a distance to a bound below this share of the box.
_SMALLEST = 1e-12
# Rows of a working set.
_SIZE = 64
# The violation left in a working set, as a share of the tolerance.
_LEFT = 1e-6
# Most pair steps in a working set, some 50 ms.
_STEPS = 100_000


class TextbookSmo(DualMachines):
    """Sequential minimal optimisation, machines one after the other."""

    def solve(self, state: MachineState | None = None) -> Solver:
        """Solve all programs from their starts, or from a state of an earlier run."""
        state = self._make_first({}, exact=True) if state is None else state
        for k, program in enumerate(self.programs):
            require_memory("solver='smo'", 8.0 * len(program) ** 2, "the kernel matrix", "use solver='block'")
            K = self.gram.make_square(program.rows, np.float64)
            if program.ridge is not None:
                K[np.diag_indices(len(K))] += program.ridge
            while self._is_open(state, k):
                state, pair = self._take_step(state, k, K)
                yield self._trace(state, pair)
        return Solution(state, bool(state.settled.all()), self.certify(state))

    def _take_step(self, state: MachineState, k: int, K: Array) -> tuple[MachineState, tuple[int, int, float]]:
        """Take the next pair step of a program; return the state, and (raised, lowered, size), -1 if there is none."""
        state, program, place = copy_state(state), self.programs[k], self.places[k]
        b, slope = state.coefficients[place], state.slopes[place]
        moved = (-1, -1, 0.0)
        # The first violator that has a partner to move with.
        for i in self._list_violators(program, b, slope, int(state.steps[k])):
            moved = self._move_with(program, b, slope, K, i)
            if moved[0] >= 0:
                break
        state.violations[k] = program.violation(b, slope)
        state.steps[k] += moved[0] >= 0
        # No pair can move any more: as optimal as rounding allows, which the certificate measures.
        state.settled[k] = moved[0] < 0 or state.violations[k] <= self.settings.tol
        return state, moved

    def _list_violators(self, program: DualProgram, b: Array, slope: Array, number: int) -> Iterator[int]:
        """Yield the rows that break the conditions, free ones first, from row `number` on."""
        rise, fall = program.moves(b)
        offsets = np.empty(len(b))
        for group in program.groups:
            low, high = np.max((slope + fall)[group], initial=-np.inf), np.min((slope + rise)[group], initial=np.inf)
            # The offset lies between the greatest gain of lowering and the least cost of raising; at the optimum these
            # meet.
            offsets[group] = 0.5 * (low + high) if np.isfinite(low + high) else (low if np.isfinite(low) else high)
        room = 0.5 * self.settings.tol
        breaks = (slope + rise < offsets - room) | (slope + fall > offsets + room)
        # Begins one row later at each step, as Platt's sweeps do, so that no row is always first.
        order = np.roll(np.arange(len(b)), -number)
        free = np.isfinite(rise) & np.isfinite(fall)
        yield from (int(i) for i in order[(breaks & free)[order]])
        yield from (int(i) for i in order[(breaks & ~free)[order]])

    def _move_with(self, program: DualProgram, b: Array, slope: Array, K: Array, i: int) -> tuple[int, int, float]:
        """Take a step of row `i` with the partner of the most different error that allows one, in place."""
        group = next(group for group in program.groups if group.start <= i < group.stop)
        partners = group.start + np.argsort(-np.abs(slope[group] - slope[i]), kind="stable")
        for j in (int(partner) for partner in partners if partner != i):
            # The order of a pair decides which coefficient rises: one of the two directions lowers the objective.
            for up, down in ((i, j), (j, i)):
                size = _find_size(program, b, slope, K, up, down)
                # Smaller steps are rounding, and would be taken for ever.
                if size > _SMALLEST * (abs(b[up]) + abs(b[down]) + _SMALLEST):
                    b[up] = _land(b[up] + size, program.lower[up], program.upper[up])
                    b[down] = _land(b[down] - size, program.lower[down], program.upper[down])
                    slope += size * (K[up] - K[down])
                    return up, down, size
        return -1, -1, 0.0

    def _trace(self, state: MachineState, pair: tuple[int, int, float]) -> Step:
        step = self._make_step(state)
        step.extra.update({"raised": float(pair[0]), "lowered": float(pair[1]), "size": pair[2]})
        return step


def _land(value: float, lower: float, upper: float) -> float:
    """Return a coefficient within its box; one within rounding of a bound is put there, or it would count as free."""
    slack = _SMALLEST * max(abs(lower), abs(upper)) if math.isfinite(lower) and math.isfinite(upper) else 0.0
    if value <= lower + slack:
        return lower
    return upper if value >= upper - slack else value


def _find_size(program: DualProgram, b: Array, slope: Array, K: Array, up: int, down: int) -> float:
    """Return how far to raise `up` and lower `down`: to the minimum of the parabola, a bound or a kink."""
    rise, fall = program.moves(b)
    gap = (slope[down] + fall[down]) - (slope[up] + rise[up])
    if not gap > 0:
        return 0.0
    # K may be singular, or not positive definite for some kernels: the step then ends at a bound.
    curvature = max(K[up, up] + K[down, down] - 2.0 * K[up, down], 1e-12)
    # At a kink the slope jumps: a step ends there, and the next one sees the other slope.
    above = -b[up] if program.kink and b[up] < 0 else program.upper[up] - b[up]
    below = b[down] if program.kink and b[down] > 0 else b[down] - program.lower[down]
    return float(min(gap / curvature, above, below))


class WorkingSetQp(DualMachines):
    """Quadratic programs on working sets, machines one after the other."""

    def solve(self, state: MachineState | None = None) -> Solver:
        """Solve all programs from their starts, or from a state of an earlier run."""
        state = self._make_first({}, exact=True) if state is None else state
        for k, program in enumerate(self.programs):
            while self._is_open(state, k):
                state = self._run_round(state, k, program)
                yield self._make_step(state)
        return Solution(state, bool(state.settled.all()), self.certify(state))

    def _run_round(self, state: MachineState, k: int, program: DualProgram) -> MachineState:
        """Solve the program of one working set; other coefficients are fixed. Return the new state."""
        state, place = copy_state(state), self.places[k]
        b, slope = state.coefficients[place], state.slopes[place]
        rise, fall = program.moves(b)
        none = np.empty(0, dtype=np.intp)
        # No rows are kept from the last round: every set is chosen afresh.
        chosen = choose(program, slope, rise, fall, none, min(_SIZE, len(b)))
        change = self._solve_set(program, b, slope, chosen) - b[chosen]
        b[chosen] += change
        # The fixed rows learn of the change through their slopes alone.
        slope += self.gram.sum_products(program.rows[chosen], change, program.rows, np.float64)
        if program.ridge is not None:
            slope[chosen] += program.ridge[chosen] * change
        state.steps[k] += 1
        before, state.violations[k] = state.violations[k], program.violation(b, slope)
        # The conditions hold as well as the kernel's rounding allows: another round would choose the same rows.
        stuck = np.abs(change).max() <= 1e-14 * (1.0 + np.abs(b).max()) and before == state.violations[k]
        state.settled[k] = state.violations[k] <= self.settings.tol or stuck
        return state

    def _solve_set(self, program: DualProgram, b: Array, slope: Array, chosen: Array) -> Array:
        """Return the optimal coefficients of the rows `chosen`, with the rest and the sum of each group fixed."""
        part, at = program.part(chosen), b[chosen]
        K = self.gram.make_square(part.rows, np.float64)
        goal = raise_tolerance(_LEFT * self.settings.tol, b, self.gram.largest)
        descend(part, Square.whole(K), goal, _STEPS, at, slope[chosen], *part.moves(at), np.empty(2))
        self.gram.return_memory(K)
        return at
