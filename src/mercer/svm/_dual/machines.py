"""Solve the duals of support vector machines: one program, or the many of one-against-one classifiers.

Small programs have their whole kernel matrix in memory and are solved in parallel, some at a time; large ones are
solved in blocks, one after the other, see :mod:`mercer.svm._dual.block_descent`. Kernel values are float32 while their
rounding is small beside the tolerance, else float64; coefficients and slopes are always float64.
"""

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Certificate, Solution, Step
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.errors import DataError
from mercer.svm._dual.block_descent import BlockDescent, Settings, compute_slopes, descend, sum_square
from mercer.svm._dual.gram_rows import Gram, Square
from mercer.svm._dual.program import DualProgram
from mercer.svm._dual.shrunk_descent import descend_shrunk
from mercer.svm._dual.team_descent import TeamDescent

Squares = dict[tuple[int, bool], Any]
# Most coefficients of a program whose whole kernel matrix is in memory: 32 MB of float64.
SMALL = 2048
# Most coefficients of a program whose values are float64 whatever the tolerance: they cost nothing.
_EXACT = 512
# Small programs that are solved at a time.
_TOGETHER = 16
# Entries of slopes that a small program may change in one step of the history: some 50 ms.
_TOUCHED = 4e7
# Relative rounding of float32 values. Times the norm of the coefficients and the largest value, it is the noise of a
# slope.
_ROUNDING = 2.0**-22
# Largest share of the tolerance that this noise may have before values become float64.
_VISIBLE = 0.1
# Squared distance between combinations of two classes, as a share of the largest k(x, x), that counts as zero.
_TOUCHING = 1e-9
# A tolerance below which float32 values are not tried.
_FINE = 1e-4
# Relative rounding of a slope in float64, four units in the last place. Times the sum of absolute coefficients and the
# largest value it is a violation that no step can lower.
_NOISE = 2.0**-50
# Most pair steps of a program whose user sets no limit, and most per coefficient: far beyond what converges.
_MOST_STEPS = 10_000_000
_MOST_PER_ROW = 100


def limit_steps(max_iter: int | None, size: int) -> int:
    """Return the most steps of a program of `size` coefficients: the user's limit, or one far beyond convergence."""
    return max(_MOST_STEPS, _MOST_PER_ROW * size) if max_iter is None else max_iter


def raise_tolerance(tol: float, coefficients: Array, largest: float) -> float:
    """Return the violation at which a program is solved: `tol`, or what rounding leaves where that is more.

    `largest` is the largest kernel value of a row with itself.
    """
    return max(tol, _NOISE * float(np.abs(coefficients).sum()) * largest)


@plain
@dataclass(frozen=True, eq=False)
class MachineState:
    """The state of all programs.

    Attributes
    ----------
    coefficients, slopes : ndarray
        Those of all programs, one program after the other.
    steps, violations, settled, exact : ndarray of shape (programs,)
        Pair steps taken, largest violation, whether the program is solved, whether its kernel values are float64.
    working, left, pending, rounds : ndarray, ndarray, ndarray, int
        The program that is being solved in blocks, see :class:`~mercer.svm._dual.block_descent.BlockDescent`.
    unshrunk : bool
        Whether its rows have been left out and have come back; then no row is left out again.
    """

    coefficients: Array
    slopes: Array
    steps: Array
    violations: Array
    settled: Array
    exact: Array
    working: Array
    left: Array
    pending: Array
    rounds: int
    unshrunk: bool


@dataclass(frozen=True, eq=False)
class DualMachines:
    """The solver of one or more programs over one set of rows."""

    programs: tuple[DualProgram, ...]
    gram: Gram
    settings: Settings

    @cached_property
    def places(self) -> list[slice]:
        """The slice of all coefficients that belongs to each program."""
        ends = [0, *accumulate(len(program) for program in self.programs)]
        return [slice(first, last) for first, last in pairwise(ends)]

    def solve(self, state: MachineState | None = None) -> Solver:
        """Solve all programs from their starts, or from a state of an earlier run."""
        squares: Squares = {}
        state = self._make_first(squares) if state is None else state
        step: Step | None = None
        # Small programs first, some at a time: their squares are in memory together.
        small = [k for k, program in enumerate(self.programs) if len(program) <= SMALL]
        shared: Squares = {}
        for first in range(0, len(small), _TOGETHER):
            some = small[first : first + _TOGETHER]
            self._make_shared(state, some, shared)
            while any(self._is_open(state, k) for k in some):
                state = self._solve_small(state, [k for k in some if self._is_open(state, k)], squares, shared)
                step = self._make_step(state)
                yield step
            squares.clear()
        for k, program in enumerate(self.programs):
            if len(program) > SMALL and self._is_open(state, k):
                for after in self._solve_large(state, k):
                    state, step = after, self._make_step(after)
                    yield step
        # The last step has the certificate of the state that is returned, unless rows were left out in it.
        certificate = None if step is None else step.certificate
        certificate = self.certify(state) if certificate is None else certificate
        return Solution(state, bool(state.settled.all()), certificate)

    def _make_first(self, squares: Squares, exact: bool = False) -> MachineState:
        """Return the state at the starts of all programs; kernel matrices that it needs are added to `squares`."""
        b = np.concatenate([program.start for program in self.programs])
        slopes = np.empty_like(b)
        # Tolerances near the rounding of float32, and kernel values that the user gave, need float64.
        fine = exact or self.settings.tol < _FINE or self.gram.given
        values = np.array([fine or len(program) <= _EXACT for program in self.programs])
        for k, (place, fine) in enumerate(zip(self.places, values, strict=True)):
            slopes[place] = self._compute_first_slopes(k, b[place], bool(fine), squares)
        none, count = np.empty(0, dtype=np.intp), len(self.programs)
        ended = (np.zeros(count, dtype=np.int64), np.full(count, np.inf), np.zeros(count, dtype=bool))
        return MachineState(b, slopes, *ended, values, none, none, np.empty(0), 0, False)

    def _compute_first_slopes(self, k: int, b: Array, fine: bool, squares: Squares) -> Array:
        """Return the slopes of a program at its start `b`."""
        program, dtype = self.programs[k], np.float64 if fine else np.float32
        if len(self.programs) > 1 or len(program) > SMALL or self.gram.on_device or not b.any():
            return compute_slopes(program, self.gram, b, dtype)
        # A single small program needs its kernel matrix at once: the values of its start are read there.
        square = squares[k, fine] = self._make_square(k, fine, {})
        return sum_square(program, square.values, b)

    def _count_left(self, state: MachineState, k: int) -> float:
        """Return how many pair steps a program may still take."""
        return limit_steps(self.settings.max_iter, len(self.programs[k])) - state.steps[k]

    def _find_tolerance(self, b: Array) -> float:
        """Return the violation at which a program is solved: `tol`, or what rounding leaves where that is more."""
        return raise_tolerance(self.settings.tol, b, self.gram.largest)

    def _is_open(self, state: MachineState, k: int) -> bool:
        """Return whether a program is neither solved nor at its limit of steps."""
        return not state.settled[k] and self._count_left(state, k) > 0

    def _is_coarse(self, program: DualProgram, b: Array) -> bool:
        """Return whether the noise that float32 values leave in slopes is visible at the tolerance."""
        noise = _ROUNDING * float(np.sqrt(np.sum(b * b))) * self.gram.largest
        return noise > _VISIBLE * self.settings.tol

    def _make_shared(self, state: MachineState, some: list[int], shared: Squares) -> None:
        """Compute the kernel matrix of each set of rows that several programs share, if all fit in the cache."""
        if len(self.programs) < 2:
            return
        wanted: dict[tuple[int, bool], Array] = {}
        for k in some:
            program = self.programs[k]
            # A program of a pair has the rows of two classes; the square of a class serves all its pairs.
            sides = (program.rows[: program.first], program.rows[program.first :])
            wanted |= {(name, bool(state.exact[k])): rows for name, rows in zip(program.families, sides, strict=False)}
        missing = [key for key in wanted if key not in shared]
        # 8 or 4 bytes for each value of a square.
        sizes = [len(wanted[key]) ** 2 * (8 if key[1] else 4) for key in missing]
        if sum(sizes) + sum(square.nbytes for square in shared.values()) > self.settings.cache_bytes:
            return
        made: list[Array] = []

        def work(number: int) -> Array:
            key = missing[number]
            return self.gram.make_square(wanted[key], np.float64 if key[1] else np.float32)

        run_numbered(work, len(missing), self.gram.threads, made.append)
        shared.update(zip(missing, made, strict=True))

    def _make_square(self, k: int, fine: bool, shared: Squares) -> Square:
        """Return the kernel matrix of a small program, from shared ones if they are there."""
        program = self.programs[k]
        keys = [(name, fine) for name in program.families]
        if keys and all(key in shared for key in keys):
            return self.gram.make_pair_square(program.rows, program.first, (shared[keys[0]], shared[keys[1]]))
        return Square.whole(self.gram.make_square(program.rows, np.float64 if fine else np.float32))

    def _solve_small(self, state: MachineState, some: list[int], squares: Squares, shared: Squares) -> MachineState:
        """Take pair steps in the small programs `some`, on all threads; return the new state."""
        state = copy_state(state)

        def work(number: int) -> None:
            k = some[number]
            program, place, fine = self.programs[k], self.places[k], bool(state.exact[k])
            b, slope = state.coefficients[place], state.slopes[place]
            if (k, fine) not in squares:
                squares[k, fine] = self._make_square(k, fine, shared)
            square, best = squares[k, fine], np.empty(2)
            # Steps of one call, so that it lasts some 50 ms.
            most = int(min(_TOUCHED / len(program) + 1, self._count_left(state, k)))
            tol = self._find_tolerance(b)
            solve = descend_shrunk if self.settings.shrinking else descend
            taken = solve(program, square, tol, most, b, slope, *program.moves(b), best)
            state.steps[k] += taken
            state.violations[k] = max(best[1], 0.0)
            # Fewer steps than allowed: no pair violates the tolerance any more.
            settled = taken < most or state.violations[k] <= tol
            # Solved for float32 values, whose rounding is not small enough beside the tolerance: go on in float64.
            if settled and not fine and self._is_coarse(program, b):
                state.exact[k], settled = True, False
                self.gram.return_memory(squares.pop((k, fine)).values)
                slope[:] = compute_slopes(program, self.gram, b, np.float64)
            state.settled[k] = settled
            if settled:
                self.gram.return_memory(squares.pop((k, fine)).values)

        run_numbered(work, len(some), self.gram.threads)
        return state

    def _solve_large(self, state: MachineState, k: int) -> Iterator[MachineState]:
        """Solve a large program in blocks; yield the state after each round."""
        program, place = self.programs[k], self.places[k]
        state = copy_state(state)
        b, slope = state.coefficients[place].copy(), state.slopes[place].copy()
        # A fresh start, or one from a checkpoint with rows left out.
        whole = not len(state.left)
        left = np.full(len(program), -1) if whole else state.left.copy()
        pending = np.empty((0, len(program))) if whole else state.pending.copy()
        dtype = np.float64 if state.exact[k] else np.float32
        under_way = (b, slope, left, state.working, pending, state.rounds)
        kind: type[BlockDescent] = TeamDescent if TeamDescent.serves(self.gram, dtype) else BlockDescent
        with closing(kind(program, self.gram, self.settings, dtype, *under_way)) as descent:
            yield from self._run_rounds(state, k, descent)

    def _run_rounds(self, state: MachineState, k: int, descent: BlockDescent) -> Iterator[MachineState]:
        """Run rounds of a descent until the program is solved, with a check of all rows before it may end."""
        program, unshrunk = self.programs[k], state.unshrunk
        violation, exact = descent.violation(), bool(state.exact[k])
        while self._is_open(state, k):
            taken, tol = 0, self._find_tolerance(descent.b)
            # Rows that are still active may already satisfy the tolerance.
            if violation > tol:
                taken = descent.round(violation, int(min(self._count_left(state, k), 2**40)))
            violation = descent.violation()
            stalled = taken == 0
            # Rows that were left out must be checked before the program may end.
            if (violation <= tol or stalled) and not descent.is_whole:
                descent.unshrink()
                unshrunk, violation, stalled = True, descent.violation(), False
            # The slopes are computed anew from float64 values, so the violation may rise again.
            if violation <= tol and not exact and self._is_coarse(program, descent.b):
                exact, stalled = True, False
                descent.refresh(np.float64)
                violation = descent.violation()
            # After the first unshrinking rows stay: leaving them out again would repeat the check.
            elif violation > tol and not unshrunk:
                descent.shrink()
            state = self._record_round(state, k, descent, taken, violation, exact, unshrunk, stalled)
            yield state

    def _record_round(
        self,
        state: MachineState,
        k: int,
        descent: BlockDescent,
        taken: int,
        violation: float,
        exact: bool,
        unshrunk: bool,
        stalled: bool,
    ) -> MachineState:
        """Return the state after a round; a program that has ended stores no working set and no rows left out."""
        settled = (violation <= self._find_tolerance(descent.b) and descent.is_whole) or stalled
        ended = settled or taken >= self._count_left(state, k)
        # The final state has the slopes of all rows.
        if ended and not descent.is_whole:
            descent.unshrink()
            violation = descent.violation()
        none = np.empty(0, dtype=np.intp)
        under_way: tuple[Any, ...] = (none, none, np.empty(0), 0, False)
        if not ended:
            left = none if descent.is_whole else descent.left.copy()
            under_way = (descent.working, left, descent.pending.copy(), descent.rounds, unshrunk)
        state = copy_state(state, self.places[k], (descent.b, descent.slope), under_way)
        state.steps[k] += taken
        state.violations[k], state.exact[k], state.settled[k] = violation, exact, settled
        return state

    def parts(self, state: MachineState) -> Iterator[tuple[DualProgram, Array, Array]]:
        """Yield each program with its coefficients and slopes."""
        for program, place in zip(self.programs, self.places, strict=True):
            yield program, state.coefficients[place], state.slopes[place]

    def _check_bounded(self, state: MachineState) -> None:
        """Raise if coefficients without an upper bound diverge because convex combinations of two classes meet."""
        for k, (program, b, slope) in enumerate(self.parts(state)):
            if program.ridge is not None or math.isfinite(program.widths) or state.settled[k]:
                continue
            # Each class has half of the sum of |b|; b over that are weights of two convex combinations.
            total = 0.5 * float(np.sum(np.abs(b)))
            # b'Kb over the square of the total is the squared distance between the two combinations.
            squared = float(np.sum(b * (slope - program.linear))) / max(total, 1e-300) ** 2
            if total == 0 or squared > _TOUCHING * self.gram.largest:
                continue
            sides = [_find_largest(program.rows, sign * b) for sign in (1.0, -1.0)]
            first, second = (", ".join(str(row) for row in np.sort(side).tolist()) for side in sides)
            raise DataError(
                f"{self.settings.subject}: C=inf asks for a hard margin, but the classes cannot be separated in this "
                f"feature space: combinations of rows {first} and of rows {second}, of two classes, are "
                f"{max(squared, 0.0) ** 0.5:.1g} apart. Use a finite C."
            )

    def _make_step(self, state: MachineState) -> Step:
        """Return a step of the history: objective, duality gap if all rows take part, and counts."""
        self._check_bounded(state)
        objective = sum(program.objective(b, slope) for program, b, slope in self.parts(state))
        # Slopes of rows left out are not up to date, so there is no gap to compute.
        certificate = None if len(state.left) else self.certify(state)
        extra = {
            "violation": float(state.violations.max()),
            "gap": np.nan if certificate is None else certificate.value,
            "n_support": float(np.count_nonzero(state.coefficients)),
            "pair_steps": float(state.steps.sum()),
        }
        return Step(objective, state, certificate, extra)

    def certify(self, state: MachineState) -> Certificate:
        """Return the duality gap with the bound that the tolerance implies, or the violation if boxes are infinite."""
        gap = sum(program.gap(b, slope) for program, b, slope in self.parts(state))
        widths = sum(program.widths for program in self.programs)
        if not (math.isfinite(gap) and math.isfinite(widths)):
            worst = max(program.violation(b, slope) for program, b, slope in self.parts(state))
            statement = (
                "No pair of rows breaks the optimality conditions by more than this; boxes without an end have no gap."
            )
            return Certificate.of("KKT violation", worst, self.settings.tol, statement)
        statement = (
            "The dual objective is within this of its optimum, and the penalised loss too: primal minus dual, summed "
            "over machines; the tolerance is tol, or the rounding of slopes where that is more, times the sum of all "
            "boxes."
        )
        allowed = sum(self._find_tolerance(b) * program.widths for program, b, _ in self.parts(state))
        return Certificate.of("duality gap", gap, allowed, statement)


def _find_largest(rows: Array, b: Array) -> Array:
    """Return the rows of the largest positive coefficients, three at most."""
    order = np.argsort(-b, kind="stable")[:3]
    return rows[order[b[order] > 0]]


def copy_state(
    state: MachineState, place: slice | None = None, solved: tuple[Array, ...] = (), under_way: tuple[Any, ...] = ()
) -> MachineState:
    """Return a state whose arrays may be written to: watches keep earlier states.

    At `place` it has the coefficients and slopes `solved`; `under_way` are the attributes after `exact`.
    """
    whole: dict[str, Any] = {}
    for name, own in zip(("coefficients", "slopes"), solved or (None, None), strict=True):
        # Copies are made only of what will not be replaced whole.
        if own is not None and len(own) == len(state.coefficients):
            whole[name] = own.copy()
        else:
            whole[name] = getattr(state, name).copy()
            if own is not None:
                whole[name][place] = own
    names = ("working", "left", "pending", "rounds", "unshrunk")
    small: dict[str, Any] = {name: getattr(state, name).copy() for name in ("steps", "violations", "settled", "exact")}
    rest = {name: getattr(state, name) for name in names} | dict(zip(names, under_way, strict=False))
    return MachineState(**whole, **small, **rest)
