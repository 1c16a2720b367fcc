"""The dual as a quadratic program on working sets: some coefficients are free, the others fixed (Osuna et al., 1997).

The matrix of the program falls into blocks of active and fixed rows; the fixed ones act through the slopes alone. Each
round solves the program of the active rows, a few tens that break the optimality conditions most, exactly by
:mod:`mercer.svm._dual.interior_point`. For study; kernel rows are made as they are needed, never all of them.
"""

from typing import Any

import numpy as np

from mercer._solver.driver import Solver
from mercer._solver.step import Solution
from mercer.svm._dual.block_descent import choose
from mercer.svm._dual.interior_point import solve_box_program
from mercer.svm._dual.machines import DualMachines, MachineState, copied_state
from mercer.svm._dual.program import DualProgram

__all__ = ["WorkingSetQp"]

Array = Any
# Rows of a working set.
_SIZE = 64


class WorkingSetQp(DualMachines):
    """The solver: machines one after the other."""

    def solve(self, state: MachineState | None = None) -> Solver:
        """Solve all programs from their starts, or from a state of an earlier run."""
        state = self._first(exact=True) if state is None else state
        for k, program in enumerate(self.programs):
            while self._is_open(state, k):
                state = self._one_round(state, k, program)
                yield self._step(state)
        return Solution(state, bool(state.settled.all()), self.certify(state))

    def _one_round(self, state: MachineState, k: int, program: DualProgram) -> MachineState:
        """Solve the program of one working set; the others are held."""
        state, place = copied_state(state), self.places[k]
        b, slope = state.coefficients[place], state.slopes[place]
        rise, fall = program.moves(b)
        none = np.empty(0, dtype=np.intp)
        chosen = choose(program, slope, rise, fall, none, min(_SIZE, len(b)))
        change = self._solved(program, b, slope, chosen) - b[chosen]
        b[chosen] += change
        slope += self.gram.products(program.rows[chosen], change, program.rows, np.float64)
        if program.ridge is not None:
            slope[chosen] += program.ridge[chosen] * change
        state.steps[k] += 1
        before, state.violations[k] = state.violations[k], program.violation(b, slope)
        stuck = np.abs(change).max() <= 1e-14 * (1.0 + np.abs(b).max()) and before == state.violations[k]
        state.settled[k] = state.violations[k] <= self.settings.tol or stuck
        return state

    def _solved(self, program: DualProgram, b: Array, slope: Array, chosen: Array) -> Array:
        """The best coefficients of some rows, with the rest held and the sums of each group kept."""
        part, at = program.part(chosen), b[chosen]
        K = self.gram.square(part.rows, np.float64).copy()
        if part.ridge is not None:
            K[np.diag_indices(len(K))] += part.ridge
        A = np.zeros((len(part.groups), len(at)))
        for row, group in zip(A, part.groups, strict=True):
            row[group] = 1.0
        linear = slope[chosen] - K @ at
        if not part.kink:
            return _snapped(solve_box_program(K, linear, A, part.lower, part.upper, at), part)
        # b = u - v with u, v >= 0 turns the kink into two slopes.
        H, both = np.block([[K, -K], [-K, K]]), np.concatenate([linear + part.kink, part.kink - linear])
        upper = np.concatenate([np.maximum(part.upper, 0.0), np.maximum(-part.lower, 0.0)])
        start = np.concatenate([np.maximum(at, 0.0), np.maximum(-at, 0.0)])
        found = solve_box_program(H, both, np.hstack([A, -A]), np.zeros(len(upper)), upper, start)
        return _snapped(found[: len(at)] - found[len(at) :], part)


def _snapped(b: Array, part: DualProgram) -> Array:
    """Coefficients a hair from a bound, or from the kink, put there; the change goes to the freest of a group."""
    wide = np.where(np.isfinite(part.upper - part.lower), part.upper - part.lower, np.maximum(np.abs(b), 1.0))
    hair, old = 1e-9 * wide, b.copy()
    b = np.where(b - part.lower <= hair, part.lower, b)
    b = np.where(part.upper - b <= hair, part.upper, b)
    b = np.where(np.abs(b) <= hair, 0.0, b) if part.kink else b
    for group in part.groups:
        room = np.minimum(b - part.lower, part.upper - b)[group]
        freest = group.start + int(np.argmax(room))
        b[freest] += float(np.sum(old[group]) - np.sum(b[group]))
    return np.clip(b, part.lower, part.upper)
