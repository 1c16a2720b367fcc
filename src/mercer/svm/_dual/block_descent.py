"""Large machines: pair descent on blocks of hundreds of rows, chosen anew each round.

A round picks a working set, half of it the rows that break the optimality conditions most and half kept from the round
before, has the values among them made, lets :mod:`mercer._native.dual.pair_descent` solve the small program on that
square, and adds the kernel rows of what changed to the slopes of all rows. Rows that sit at a bound, beyond doubt, are
left out until the end (shrinking); what their slopes have missed is added before the fit may stop.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._native.dual import dual_choice
from mercer._native.dual import pair_descent as native
from mercer.svm._dual.gram_rows import Gram, Square
from mercer.svm._dual.program import DualProgram

__all__ = ["BlockDescent", "Settings", "choose"]

Array = Any
# A round ends when the violation within the working set is this share of that at its beginning. On 20 000 x 30 rows:
# 73 rounds of 1024 rows at 0.1, 162 at 0.3; 65 at 0.05, of which each takes half as many steps again.
SHARE = 0.1
# Slopes that the pair steps of a round may touch, some 60 ms; and steps on a device.
_TOUCHED, _STEPS = 25_600_000, 20_000
# Up to so many rows take part all at once: their slopes are then known without kernel rows, and no round is lost.
WHOLE = 2048
# A working set has so many times the root of the number of rows: its square then has the same share of all values made.
# A fit ends soon once it holds all coefficients that are free, and so many times more; after so many rounds it may grow
# up to that, twice as far after twice as many, since easy programs end before. Of 40 000 x 30 rows 2560 end up free:
# sets of 1280 take 181 rounds, 120 of them about the free ones, and 74 000 steps; those that grow take 40 and 41 000.
_GROWTH, _MARGIN, _RAMP, _MULTIPLE = 11.0, 1.25, 16, 128
# A square that grows has this share of the cache at most, and kernel rows what it leaves: enough for one so many times
# as long is set aside, since these are lost when they must make way.
_SQUARE_SHARE, _RESERVE = 0.75, 1.5
# Rounds between two looks for rows to leave out, and the share that must go to be worth a new table.
_PATIENCE, _WORTH = 8, 0.25
# More violators than so many are found by parting all rows instead of by a heap.
_HEAP = 1024


@dataclass(frozen=True)
class Settings:
    """How programs are solved: the tolerance on violations, pair steps at most (None: any), bytes for rows,
    whether rows may be left out, and who asks, for errors."""

    tol: float = 1e-3
    max_iter: int | None = None
    cache_bytes: float = 200 * 2**20
    shrinking: bool = True
    subject: str = "SVC"


@dataclass
class BlockDescent:
    """A program under way: coefficients and slopes of all rows, and which of them take part.

    ``left`` says of each row with how many others' leaving it was left out, -1 for none; ``pending`` (times, m) is what
    coefficients have changed by since each such time, which the slopes of the rows that left then have not seen.
    """

    program: DualProgram
    gram: Gram
    settings: Settings
    dtype: Any
    b: Array
    slope: Array
    left: Array
    working: Array
    pending: Array
    rounds: int = 0
    active: Array = field(init=False)
    part: DualProgram = field(init=False)
    free: int = field(init=False, default=0)
    table: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._enter()

    @property
    def is_whole(self) -> bool:
        """Whether all rows take part."""
        return len(self.active) == len(self.program)

    @property
    def size(self) -> int:
        """Rows of a working set: those free and a quarter more, where the cache lets them; all, where these are few."""
        n, m, usual, bound = len(self.program), len(self.active), self.gram.set_size, self._largest_set
        usual = usual if n >= 4 * usual else usual // 2
        wanted = max(_GROWTH * n**0.5, usual)
        wanted = max(wanted, min(_MARGIN * self.free, wanted * self.rounds / _RAMP))
        size = max(usual, min(-(-int(wanted) // _MULTIPLE) * _MULTIPLE, bound))
        return m if m <= max(WHOLE, size, min(_MARGIN * size, bound)) else size

    @property
    def _largest_set(self) -> int:
        """Rows of which the square has its share of the cache; those that stay on a device do not grow."""
        most = (_SQUARE_SHARE * self.settings.cache_bytes / np.dtype(self.dtype).itemsize) ** 0.5
        return 0 if self.gram.holds_squares else int(most) // _MULTIPLE * _MULTIPLE

    def violation(self) -> float:
        """The largest among the rows that take part."""
        return self.part.violation(*self._taking_part())

    def _enter(self) -> None:
        """Let the rows that have not left take part."""
        self.active = np.flatnonzero(self.left < 0)
        self.part = self.program if self.is_whole else self.program.part(self.active)
        self.free = self.program.count_free(self.b)
        self.table = self._new_table()

    def _room_for_rows(self) -> int:
        """Bytes that the square of a working set leaves of the cache; more is set aside for it than it takes now."""
        itemsize, cache, size = np.dtype(self.dtype).itemsize, self.settings.cache_bytes, self.size
        self._reserved = int(max(size, min(_RESERVE * size, self._largest_set)))
        return int(max(cache - itemsize * self._reserved**2, (1.0 - _SQUARE_SHARE) * cache))

    def _new_table(self) -> Any:
        """Kernel rows that are kept, or none: half of a working set, of which fewer change in most rounds, or more."""
        capacity = self._room_for_rows() // (np.dtype(self.dtype).itemsize * len(self.active))
        if not self.gram.keeps_rows or len(self.active) <= self.size or capacity < self.size // 2:
            return None
        return self.gram.table(self.part.rows, capacity, self.dtype)

    def _renew_table(self) -> None:
        """Make way for the square of a working set that has grown."""
        self.table = self._new_table()

    def round(self, violation: float, most: int) -> int:
        """One round; return the pair steps taken."""
        if self._reserved < self.size < len(self.active):
            self._renew_table()
        present = self._present()
        chosen = self._chosen(*present[1:])
        small, at, inner = self._inside(chosen, *present)
        before = at.copy()
        # What is known of all rows is solved to the end.
        share = SHARE if len(chosen) < len(self.active) else 0.0
        goal = max(share * violation, 0.5 * self.settings.tol)
        most = min(most, _STEPS if self.gram.holds_squares else _TOUCHED // len(chosen))
        steps = self._solve_set(small, self.part.rows[chosen], goal, most, at, *inner)
        change = at - before
        moved = np.flatnonzero(change)
        self.working = self.active[chosen]
        self.b[self.working] = at
        self.free += small.count_free(at) - small.count_free(before)
        self._add(chosen[moved], change[moved], inner[0])
        self.rounds += 1
        return steps

    def _present(self) -> tuple[Array, Array, Array, Array]:
        """Coefficients and slopes of the rows that take part, and what is added when they rise and fall."""
        b, slope = self._taking_part()
        return b, slope, *self.part.moves(b)

    def _taking_part(self) -> tuple[Array, Array]:
        """Coefficients and slopes of the rows that take part."""
        return (self.b, self.slope) if self.is_whole else (self.b[self.active], self.slope[self.active])

    def _inside(
        self, chosen: Array, b: Array, slope: Array, rise: Array, fall: Array
    ) -> tuple[DualProgram, Array, tuple[Array, Array, Array]]:
        """The program of a working set, its coefficients, and its slopes and moves."""
        return self.part.part(chosen), b[chosen], (slope[chosen], rise[chosen], fall[chosen])

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
        """Solve the program of a working set, in place; the number of steps."""
        K = self._square(rows)
        steps = descend(program, Square.whole(K), goal, most, b, slope, rise, fall, np.empty(2))
        self.gram.leave(K)
        return steps

    def _square(self, rows: Array) -> Array:
        """The values between the rows of a working set."""
        return self.gram.square(rows, self.dtype)

    def _chosen(self, slope: Array, rise: Array, fall: Array) -> Array:
        """The positions of the working set, among the rows that take part."""
        if self.size == len(self.active):
            return np.arange(self.size)
        last = np.zeros(len(self.program), dtype=bool)
        last[self.working] = True
        kept = np.flatnonzero(last[self.active])
        return choose(self.part, slope, rise, fall, kept, self.size)

    def _add(self, positions: Array, change: Array, known: Array) -> None:
        """Bring slopes up to date with a change of coefficients; `known` are those of the working set."""
        slope = self.slope if self.is_whole else self.slope[self.active]
        if len(known) == len(slope):
            slope[:] = known
        else:
            self._add_rows(positions, change, slope)
        if not self.is_whole:
            self.slope[self.active] = slope
            self.pending[:, self.active[positions]] += change

    def _add_rows(self, positions: Array, change: Array, slope: Array) -> None:
        if self.table is None or len(positions) > len(self.table.kept):
            self.gram.add_products(self.part.rows[positions], change, self.part.rows, self.dtype, slope)
        else:
            self.table.add(positions, change, slope)
        if self.part.ridge is not None:
            slope[positions] += self.part.ridge[positions] * change

    def shrink(self) -> None:
        """Leave out rows at a bound that no partner could make move, if they are many."""
        if not self.settings.shrinking or self.rounds % _PATIENCE or len(self.active) <= 2 * self.size:
            return
        b, slope, rise, fall = self._present()
        stays = np.ones(len(b), dtype=bool)
        for group in self.part.groups:
            lowest = np.min((slope + rise)[group], initial=np.inf)
            highest = np.max((slope + fall)[group], initial=-np.inf)
            stuck = (np.isinf(rise[group]) & ((slope + fall)[group] < lowest)) | (
                np.isinf(fall[group]) & ((slope + rise)[group] > highest)
            )
            stays[group] = ~stuck
        if np.count_nonzero(~stays) >= _WORTH * len(stays) and np.count_nonzero(stays) > self.size:
            self.left[self.active[~stays]] = len(self.pending)
            self.pending = np.concatenate([self.pending, np.zeros((1, len(self.program)))])
            self._enter()

    def unshrink(self) -> None:
        """Bring the slopes of rows left out up to date, and let all take part again."""
        for time, missed in enumerate(self.pending):
            out, changed = np.flatnonzero(self.left == time), np.flatnonzero(missed)
            self.slope[out] += self._sums(changed, missed[changed], out)
        self._rejoin()

    def _sums(self, used: Array, coefficients: Array, out: Array) -> Array:
        """The sums over some coefficients of the program of each times its kernel values with others."""
        rows = self.program.rows
        return self.gram.products(rows[used], coefficients, rows[out], self.dtype)

    def _rejoin(self) -> None:
        self.left, self.pending = np.full(len(self.program), -1), np.empty((0, len(self.program)))
        self._enter()

    def close(self) -> None:
        """Let go of what was held for the rounds."""

    def refresh(self, dtype: Any) -> None:
        """Make all slopes afresh from values in a type, and go on with that."""
        self.dtype, out = dtype, np.arange(len(self.program))
        self.slope = _slopes(self.program, self.b, lambda used: self._sums(used, self.b[used], out))
        self._rejoin()


def fresh_slopes(program: DualProgram, gram: Gram, b: Array, dtype: Any) -> Array:
    """The slopes K b + linear at given coefficients."""
    return _slopes(program, b, lambda used: gram.products(program.rows[used], b[used], program.rows, dtype))


def _slopes(program: DualProgram, b: Array, sums: Callable[[Array], Array]) -> Array:
    """The same, by who makes the sums over some coefficients."""
    used = np.flatnonzero(b)
    if not len(used):
        return program.linear.copy()
    slope = program.linear + sums(used)
    return slope if program.ridge is None else slope + program.ridge * b


def descend(
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
    """Pair descent on a program whose kernel matrix is at hand, in place; the number of steps."""
    diagonal = square.values.diagonal().astype(np.float64)
    if program.ridge is not None:
        diagonal += program.ridge
    bounds = (program.lower, program.upper, program.kink, program.end_of_first)
    values = (square.values, square.left, square.right, square.ready)
    return native.descend(*values, diagonal, *bounds, goal, most, b, slope, rise, fall, best)


def choose(part: DualProgram, slope: Array, rise: Array, fall: Array, kept: Array, size: int) -> Array:
    """The positions of a working set, in rising order: the worst violators, then those kept, free ones first."""
    fresh, groups = size - min(len(kept), size // 2), part.groups
    share = -(-fresh // len(groups))
    counts = np.array([min(share, group.stop - group.start) for group in groups])
    lists = np.empty((2 * len(groups), share), np.intp)
    for k, group in enumerate(groups):
        lists[2 * k, : counts[k]] = _least(slope, rise, 1.0, group, counts[k])
        lists[2 * k + 1, : counts[k]] = _least(slope, fall, -1.0, group, counts[k])
    # Two groups may have one more between them.
    chosen, order = np.empty(size + 1, np.intp), np.empty((len(groups), 2 * share), np.intp)
    known = np.zeros(len(slope), np.uint8)
    return chosen[: dual_choice.choose(lists, counts, share, kept, rise, fall, known, order, chosen[:size])]


def _least(slope: Array, lift: Array, sign: float, group: slice, count: int) -> Array:
    """Where sign (slope + lift) is least in a group, in rising order."""
    if count <= _HEAP:
        places, values = np.empty(count, dtype=np.intp), np.empty(count)
        native.find_least(slope, lift, sign, group.start, group.stop, values, places)
        return places
    values = sign * (slope[group] + lift[group])
    places = np.sort(np.argpartition(values, count - 1)[:count])
    values = values[places]
    order = np.argsort(values)
    if (np.diff(values[order]) == 0).any():
        # Equals go by place; where there are none, a sort that need not mind takes a tenth of the time.
        order = np.argsort(values, kind="stable")
    return places[order] + group.start
