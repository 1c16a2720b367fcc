"""The dual as a quadratic program on working sets: some coefficients are free, the others fixed (Osuna et al., 1997).

The fixed rows act on the program of the active ones through the slopes alone. Each round solves the program of the
active rows, a few tens that break the optimality conditions most, by pair steps to a millionth of the tolerance. This
solver is for study. It computes kernel rows as it needs them, never all of them.
"""

import numpy as np

from mercer._solver.driver import Solver
from mercer._solver.step import Solution
from mercer._types import Array
from mercer.svm._dual.block_descent import choose, descend
from mercer.svm._dual.gram_rows import Square
from mercer.svm._dual.machines import DualMachines, MachineState, copy_state, raise_tolerance
from mercer.svm._dual.program import DualProgram

# Rows of a working set.
_SIZE = 64
# The violation left in a working set, as a share of the tolerance.
_LEFT = 1e-6
# Most pair steps in a working set, some 50 ms.
_STEPS = 100_000


class WorkingSetQp(DualMachines):
    """The solver: machines one after the other."""

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
