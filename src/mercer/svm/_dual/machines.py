"""Solving the duals of support vector machines: one program, or the many of one-against-one classifiers.

Small programs have their kernel matrix whole and are solved side by side, some at a time; large ones in blocks, one
after the other, see :mod:`mercer.svm._dual.block_descent`. Values are float32 while rounding cannot be seen at the
tolerance asked for, else float64; coefficients and slopes are float64 always.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Certificate, Solution, Step
from mercer._source.threads import run_numbered
from mercer.errors import DataError
from mercer.svm._dual.block_descent import BlockDescent, Settings, descend, fresh_slopes
from mercer.svm._dual.gram_rows import Gram, Square
from mercer.svm._dual.nested_descent import NestedDescent
from mercer.svm._dual.program import DualProgram
from mercer.svm._dual.team_descent import TeamDescent

__all__ = ["DualMachines", "MachineState", "copied_state"]

Array = Any
Squares = dict[tuple[int, bool], Any]
# Up to so many coefficients a program has its kernel matrix whole: 32 MB of float64.
SMALL = 2048
# Up to so many its values are float64 whatever the tolerance: they cost nothing.
_EXACT = 512
# Small programs of one step, and entries of slopes that one of them may touch in it: some 50 ms.
_TOGETHER, _TOUCHED = 16, 4e7
# float32 values show where the length of the coefficients, times half their last place, nears the tolerance.
_ROUNDING, _VISIBLE = 2.0**-22, 0.1
# Squared distance between combinations of two classes, as a share of the largest k(x, x), that counts as none.
_TOUCHING = 1e-9
# A tolerance below which float32 values are not tried.
_FINE = 1e-4


@plain
@dataclass(frozen=True, eq=False)
class MachineState:
    """Coefficients and slopes of all programs, one after the other; per program the pair steps, the violation, whether
    it is settled and whether its values are float64. Of the one that is solved in blocks: the last working set,
    which rows were left out when and what their slopes have not seen, the rounds, and whether rows came back before.
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
    """The solver of some programs over one set of rows."""

    programs: tuple[DualProgram, ...]
    gram: Gram
    settings: Settings

    @cached_property
    def places(self) -> list[slice]:
        """Where each program's coefficients are."""
        ends = np.cumsum([0, *(len(one) for one in self.programs)])
        return [slice(int(first), int(last)) for first, last in pairwise(ends)]

    def solve(self, state: MachineState | None = None) -> Solver:
        """Solve all programs from their starts, or from a state of an earlier run."""
        state = self._first() if state is None else state
        small = [k for k, one in enumerate(self.programs) if len(one) <= SMALL]
        shared: Squares = {}
        for first in range(0, len(small), _TOGETHER):
            some = small[first : first + _TOGETHER]
            squares: Squares = {}
            self._share(state, some, shared)
            while any(self._is_open(state, k) for k in some):
                state = self._side_by_side(state, [k for k in some if self._is_open(state, k)], squares, shared)
                yield self._step(state)
        for k, program in enumerate(self.programs):
            if len(program) > SMALL and self._is_open(state, k):
                yield from (self._step(state := one) for one in self._in_blocks(state, k))
        return Solution(state, bool(state.settled.all()), self.certify(state))

    def _first(self, exact: bool = False) -> MachineState:
        """The state at the starts of all programs."""
        b = np.concatenate([one.start for one in self.programs])
        slopes = np.empty_like(b)
        fine = exact or self.settings.tol < _FINE or self.gram.given
        values = np.array([fine or len(one) <= _EXACT for one in self.programs])
        for one, place, fine in zip(self.programs, self.places, values, strict=True):
            slopes[place] = fresh_slopes(one, self.gram, b[place], np.float64 if fine else np.float32)
        none, count = np.empty(0, dtype=np.intp), len(self.programs)
        ended = (np.zeros(count, dtype=np.int64), np.full(count, np.inf), np.zeros(count, dtype=bool))
        return MachineState(b, slopes, *ended, values, none, none, np.empty(0), 0, False)

    def _left(self, state: MachineState, k: int) -> float:
        """Pair steps that a program may still take."""
        return np.inf if self.settings.max_iter is None else self.settings.max_iter - state.steps[k]

    def _is_open(self, state: MachineState, k: int) -> bool:
        return not state.settled[k] and self._left(state, k) > 0

    def _is_coarse(self, program: DualProgram, b: Array) -> bool:
        """Whether the rounding of float32 values could be seen."""
        noise = _ROUNDING * float(np.sqrt(np.sum(b * b))) * self.gram.largest
        return noise > _VISIBLE * self.settings.tol

    def _share(self, state: MachineState, some: list[int], shared: Squares) -> None:
        """Make the values within each set of rows that several programs have, as long as they fit."""
        wanted = {}
        for k in some:
            one = self.programs[k]
            sides = (one.rows[: one.first], one.rows[one.first :])
            wanted |= {(name, bool(state.exact[k])): rows for name, rows in zip(one.families, sides, strict=False)}
        missing = [key for key in wanted if key not in shared]
        sizes = [len(wanted[key]) ** 2 * (8 if key[1] else 4) for key in missing]
        if (
            len(self.programs) < 2
            or sum(sizes) + sum(one.nbytes for one in shared.values()) > self.settings.cache_bytes
        ):
            return
        found: list[Array] = []

        def work(number: int) -> Array:
            key = missing[number]
            return self.gram.square(wanted[key], np.float64 if key[1] else np.float32)

        run_numbered(work, len(missing), self.gram.threads, found.append)
        shared.update(zip(missing, found, strict=True))

    def _square(self, k: int, fine: bool, shared: Squares) -> Square:
        """The kernel matrix of a small program."""
        one = self.programs[k]
        keys = [(name, fine) for name in one.families]
        if keys and all(key in shared for key in keys):
            return self.gram.pair_square(one.rows, one.first, (shared[keys[0]], shared[keys[1]]))
        return Square.whole(self.gram.square(one.rows, np.float64 if fine else np.float32))

    def _side_by_side(self, state: MachineState, some: list[int], squares: Squares, shared: Squares) -> MachineState:
        """Pair steps in some small programs, on all threads."""
        state = copied_state(state)

        def work(number: int) -> None:
            k = some[number]
            program, place, fine = self.programs[k], self.places[k], bool(state.exact[k])
            b, slope = state.coefficients[place], state.slopes[place]
            if (k, fine) not in squares:
                squares[k, fine] = self._square(k, fine, shared)
            square, best = squares[k, fine], np.empty(2)
            most = int(min(_TOUCHED / len(program) + 1, self._left(state, k)))
            taken = descend(program, square, self.settings.tol, most, b, slope, *program.moves(b), best)
            state.steps[k] += taken
            state.violations[k] = max(best[1], 0.0)
            settled = taken < most or state.violations[k] <= self.settings.tol
            if settled and not fine and self._is_coarse(program, b):
                state.exact[k], settled = True, False
                self.gram.leave(squares.pop((k, fine)).values)
                slope[:] = fresh_slopes(program, self.gram, b, np.float64)
            state.settled[k] = settled
            if settled:
                self.gram.leave(squares.pop((k, fine)).values)

        run_numbered(work, len(some), self.gram.threads)
        return state

    def _in_blocks(self, state: MachineState, k: int) -> Iterator[MachineState]:
        """Rounds on one large program."""
        program, place = self.programs[k], self.places[k]
        state = copied_state(state)
        b, slope = state.coefficients[place].copy(), state.slopes[place].copy()
        whole = not len(state.left)
        left = np.full(len(program), -1) if whole else state.left.copy()
        pending = np.empty((0, len(program))) if whole else state.pending.copy()
        dtype = np.float64 if state.exact[k] else np.float32
        under_way = (b, slope, left, state.working, pending, state.rounds)
        kind: type[BlockDescent] = TeamDescent if TeamDescent.serves(self.gram, dtype) else BlockDescent
        kind = NestedDescent if self.gram.holds_squares else kind
        with closing(kind(program, self.gram, self.settings, dtype, *under_way)) as descent:
            yield from self._rounds(state, k, descent)

    def _rounds(self, state: MachineState, k: int, descent: BlockDescent) -> Iterator[MachineState]:
        program, tol, unshrunk = self.programs[k], self.settings.tol, state.unshrunk
        violation, exact = descent.violation(), bool(state.exact[k])
        while self._is_open(state, k):
            taken = 0
            if violation > tol:
                taken = descent.round(violation, int(min(self._left(state, k), 2**40)))
            violation = descent.violation()
            stalled = taken == 0
            if (violation <= tol or stalled) and not descent.is_whole:
                descent.unshrink()
                unshrunk, violation, stalled = True, descent.violation(), False
            if violation <= tol and not exact and self._is_coarse(program, descent.b):
                exact, stalled = True, False
                descent.refresh(np.float64)
                violation = descent.violation()
            elif violation > tol and not unshrunk:
                descent.shrink()
            state = self._recorded(state, k, descent, taken, violation, exact, unshrunk, stalled)
            yield state

    def _recorded(
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
        """The state after a round; a settled program leaves nothing under way."""
        settled = (violation <= self.settings.tol and descent.is_whole) or stalled
        ended = settled or (self.settings.max_iter is not None and state.steps[k] + taken >= self.settings.max_iter)
        if ended and not descent.is_whole:
            descent.unshrink()
            violation = descent.violation()
        none = np.empty(0, dtype=np.intp)
        under_way: tuple[Any, ...] = (none, none, np.empty(0), 0, False)
        if not ended:
            left = none if descent.is_whole else descent.left.copy()
            under_way = (descent.working, left, descent.pending.copy(), descent.rounds, unshrunk)
        state = copied_state(state, self.places[k], (descent.b, descent.slope), under_way)
        state.steps[k] += taken
        state.violations[k], state.exact[k], state.settled[k] = violation, exact, settled
        return state

    def parts(self, state: MachineState) -> Iterator[tuple[DualProgram, Array, Array]]:
        """Each program with its coefficients and slopes."""
        for program, place in zip(self.programs, self.places, strict=True):
            yield program, state.coefficients[place], state.slopes[place]

    def _check_bounded(self, state: MachineState) -> None:
        """Raise if boxes without an end let coefficients run away: two convex combinations of rows meet."""
        for k, (program, b, slope) in enumerate(self.parts(state)):
            if state.settled[k] or program.ridge is not None or np.isfinite(program.widths):
                continue
            total = 0.5 * float(np.sum(np.abs(b)))
            squared = float(np.sum(b * (slope - program.linear))) / max(total, 1e-300) ** 2
            if total == 0 or squared > _TOUCHING * self.gram.largest:
                continue
            sides = [_largest(program.rows, sign * b) for sign in (1.0, -1.0)]
            first, second = (", ".join(str(row) for row in np.sort(side).tolist()) for side in sides)
            message = (
                f"{self.settings.subject}: C=inf asks for a hard margin, but the classes cannot be separated in this "
                f"feature space: combinations of rows {first} and of rows {second}, of two classes, are "
                f"{max(squared, 0.0) ** 0.5:.1g} apart. Use a finite C."
            )
            raise DataError(message)

    def _step(self, state: MachineState) -> Step:
        self._check_bounded(state)
        objective = sum(program.objective(b, slope) for program, b, slope in self.parts(state))
        certificate = None if len(state.left) else self.certify(state)
        extra = {
            "violation": float(state.violations.max()),
            "gap": np.nan if certificate is None else certificate.value,
            "n_support": float(np.count_nonzero(state.coefficients != 0)),
            "pair_steps": float(state.steps.sum()),
        }
        return Step(objective, state, certificate, extra)

    def certify(self, state: MachineState) -> Certificate:
        """The duality gap, beside what the tolerance on violations allows it to be; or the violation itself."""
        gap = sum(program.gap(b, slope) for program, b, slope in self.parts(state))
        widths = sum(one.widths for one in self.programs)
        if not np.isfinite(gap) or not np.isfinite(widths):
            worst = max(program.violation(b, slope) for program, b, slope in self.parts(state))
            statement = (
                "No pair of rows breaks the optimality conditions by more than this; boxes without an end have no gap."
            )
            return Certificate.of("KKT violation", worst, self.settings.tol, statement)
        statement = (
            "The dual objective is within this of its optimum, and the penalised loss too: primal minus dual, summed "
            "over machines; the tolerance is tol times the sum of all boxes."
        )
        return Certificate.of("duality gap", gap, self.settings.tol * widths, statement)


def _largest(rows: Array, b: Array) -> Array:
    """The rows of the largest positive coefficients, three at most."""
    order = np.argsort(-b, kind="stable")[:3]
    return rows[order[b[order] > 0]]


def copied_state(
    state: MachineState, place: slice | None = None, found: tuple[Array, ...] = (), under_way: tuple[Any, ...] = ()
) -> MachineState:
    """A state whose arrays may be written to: earlier ones are kept by watches.

    At a place it has the coefficients and slopes that were found; `under_way` is what comes after `exact`.
    """
    whole = {}
    for name, own in zip(("coefficients", "slopes"), found or (None, None), strict=True):
        if own is not None and len(own) == len(state.coefficients):
            whole[name] = own.copy()
        else:
            whole[name] = getattr(state, name).copy()
            if own is not None:
                whole[name][place] = own
    names = ("working", "left", "pending", "rounds", "unshrunk")
    small = {name: getattr(state, name).copy() for name in ("steps", "violations", "settled", "exact")}
    return replace(state, **whole, **small, **dict(zip(names, under_way, strict=False)))
