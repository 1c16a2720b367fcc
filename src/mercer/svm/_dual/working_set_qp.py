"""The dual as a quadratic program on working sets: some coefficients are free, the others fixed (Osuna et al., 1997).

The fixed rows act on the program of the active ones through the slopes alone. Each round solves the program of the
active rows, a few tens that break the optimality conditions most, exactly by :mod:`mercer.svm._dual.interior_point`.
This solver is for study. It computes kernel rows as it needs them, never all of them.
"""

import numpy as np

from mercer._solver.driver import Solver
from mercer._solver.step import Solution
from mercer._types import Array
from mercer.svm._dual.block_descent import choose
from mercer.svm._dual.interior_point import solve_box_program
from mercer.svm._dual.machines import DualMachines, MachineState, copy_state
from mercer.svm._dual.program import DualProgram

# Rows of a working set.
_SIZE = 64


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
        K = self.gram.make_square(part.rows, np.float64).copy()
        if part.ridge is not None:
            K[np.diag_indices(len(K))] += part.ridge
        A = np.zeros((len(part.groups), len(at)))
        for row, group in zip(A, part.groups, strict=True):
            row[group] = 1.0
        # slope = K b + q over all rows: without the part of the active rows, what is left is their linear term.
        linear = slope[chosen] - K @ at
        if not part.kink:
            return _snap(solve_box_program(K, linear, A, part.lower, part.upper, at), part)
        # b = u - v with u, v >= 0 turns the kink into two slopes.
        H, both = np.block([[K, -K], [-K, K]]), np.concatenate([linear + part.kink, part.kink - linear])
        upper = np.concatenate([np.maximum(part.upper, 0.0), np.maximum(-part.lower, 0.0)])
        start = np.concatenate([np.maximum(at, 0.0), np.maximum(-at, 0.0)])
        parts = solve_box_program(H, both, np.hstack([A, -A]), np.zeros(len(upper)), upper, start)
        return _snap(parts[: len(at)] - parts[len(at) :], part)


def _snap(b: Array, part: DualProgram) -> Array:
    """Move coefficients within rounding of a bound, or of the kink, to it; the freest one of a group keeps the sum."""
    wide = np.where(np.isfinite(part.upper - part.lower), part.upper - part.lower, np.maximum(np.abs(b), 1.0))
    # The interior point stops just short of bounds; a coefficient that is at none would count as free for ever.
    hair, old = 1e-9 * wide, b.copy()
    b = np.where(b - part.lower <= hair, part.lower, b)
    b = np.where(part.upper - b <= hair, part.upper, b)
    b = np.where(np.abs(b) <= hair, 0.0, b) if part.kink else b
    for group in part.groups:
        room = np.minimum(b - part.lower, part.upper - b)[group]
        freest = group.start + int(np.argmax(room))
        b[freest] += float(np.sum(old[group]) - np.sum(b[group]))
    return np.clip(b, part.lower, part.upper)
