"""Large machines: pair descent on blocks of hundreds of rows, chosen anew each round.

A round chooses a working set, half of it the rows that break the optimality conditions most and half kept from the
round before, computes the kernel values among them, lets :mod:`mercer._native.dual.pair_descent` solve the small
program on that square, and adds the kernel rows of the changed coefficients to the slopes of all rows. Rows at a bound
that no partner could move are left out until the end (shrinking); what their slopes have missed is added before the fit
stops.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._native.dual import dual_choice
from mercer._native.dual import pair_descent as native
from mercer._types import Array
from mercer.svm._dual.gram_rows import Gram, Square
from mercer.svm._dual.program import DualProgram

# A round ends when the violation within the working set is this share of that at its beginning. On 20 000 x 30 rows,
# sets of 1024 rows take 73 rounds at 0.1 and 162 at 0.3; at 0.05 they take 65, with half as many steps again in each.
SHARE = 0.1
# Slopes that the pair steps of a round may change on the host: some 60 ms.
_TOUCHED = 25_600_000
# Pair steps of a round on a device.
_STEPS = 20_000
# Most rows that take part all at once: their slopes are then known without kernel rows, and no round is lost.
WHOLE = 2048
# Working-set size: _GROWTH sqrt(n), so that its square is a constant share of all values. It grows with the number of
# rounds (by rounds / _RAMP, since easy programs end before) up to _MARGIN times the free coefficients: a fit ends soon
# once the set holds all of them. On 40 000 x 30 rows 2560 coefficients end up free: sets of 1280 take 181 rounds and
# 74 000 steps, those that grow 40 rounds and 41 000 steps.
_GROWTH = 11.0
_MARGIN = 1.25
_RAMP = 16
# Sizes are multiples of it: the rows of a block of a square.
_MULTIPLE = 128
# Largest share of the cache that the square of a working set may take; kernel rows have the rest.
_SQUARE_SHARE = 0.75
# Growth of the working set for which memory is set aside: a table of kernel rows is lost when it must make way.
_RESERVE = 1.5
# Rounds between two searches for rows to leave out.
_PATIENCE = 8
# Least share of rows to leave out that is worth a new table.
_WORTH = 0.25
# Most violators that a heap finds; more are found by partitioning all rows.
_HEAP = 1024


@dataclass(frozen=True)
class Settings:
    """How programs are solved.

    Attributes
    ----------
    tol : float
        Largest violation of the optimality conditions at the end.
    max_iter : int or None
        Most pair steps of a program; None for no limit.
    cache_bytes : float
        Memory for kernel values.
    shrinking : bool
        Whether rows may be left out.
    subject : str
        Name of the estimator, for errors.
    """

    tol: float = 1e-3
    max_iter: int | None = None
    cache_bytes: float = 200 * 2**20
    shrinking: bool = True
    subject: str = "SVC"


@dataclass
class BlockDescent:
    """A program that is being solved: coefficients and slopes of all rows, and which rows take part.

    ``left`` (m,) is the index of the shrinking at which a row was left out, -1 for rows that take part. ``pending``
    (shrinkings, m) is the change of the coefficients since each shrinking, which the slopes of the rows left out then
    do not have yet.
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
        """Rows of a working set: the free ones and a quarter more, if the cache has room; all rows if they are few."""
        n, m, bound = len(self.program), len(self.active), self._largest_set
        usual = self.gram.count_set(self.dtype, len(self.program.groups))
        usual = usual if n >= 4 * usual else usual // 2
        wanted = max(_GROWTH * n**0.5, usual)
        wanted = max(wanted, min(_MARGIN * self.free, wanted * self.rounds / _RAMP))
        size = max(usual, min(-(-int(wanted) // _MULTIPLE) * _MULTIPLE, bound))
        return m if m <= max(WHOLE, size, min(_MARGIN * size, bound)) else size

    @property
    def _largest_set(self) -> int:
        """Most rows whose square fits its share of the cache; sets on a device do not grow."""
        most = (_SQUARE_SHARE * self.settings.cache_bytes / np.dtype(self.dtype).itemsize) ** 0.5
        return 0 if self.gram.on_device else int(most) // _MULTIPLE * _MULTIPLE

    def violation(self) -> float:
        """Return the largest violation among the rows that take part."""
        return self.part.violation(*self._take_part())

    def _enter(self) -> None:
        """Let the rows that are not left out take part."""
        self.active = np.flatnonzero(self.left < 0)
        self.part = self.program if self.is_whole else self.program.part(self.active)
        self.free = self.program.count_free(self.b)
        self.table = self._make_table()

    def _room_for_rows(self) -> int:
        """Return the bytes of the cache that kernel rows may take beside the square of a set that may still grow."""
        itemsize, cache, size = np.dtype(self.dtype).itemsize, self.settings.cache_bytes, self.size
        self._reserved = int(max(size, min(_RESERVE * size, self._largest_set)))
        return int(max(cache - itemsize * self._reserved**2, (1.0 - _SQUARE_SHARE) * cache))

    def _make_table(self) -> Any:
        """Return a table of kernel rows, or None if it cannot hold half a working set.

        Most rounds change fewer coefficients than that.
        """
        capacity = self._room_for_rows() // (np.dtype(self.dtype).itemsize * len(self.active))
        if self.gram.on_device or len(self.active) <= self.size or capacity < self.size // 2:
            return None
        return self.gram.make_table(self.part.rows, capacity, self.dtype)

    def _renew_table(self) -> None:
        """Make way for the square of a working set that has grown."""
        self.table = self._make_table()

    def round(self, violation: float, most: int) -> int:
        """Choose and solve a working set, update all slopes; return the number of pair steps."""
        # The table of kernel rows holds more once rows have been left out.
        if self._reserved < self.size < len(self.active):
            self._renew_table()
        present = self._read_state()
        chosen = self._choose_set(*present[1:])
        small, at, inner = self._extract(chosen, *present)
        before = at.copy()
        # If the set has all rows, their slopes stay exact, so one round solves the program.
        share = SHARE if len(chosen) < len(self.active) else 0.0
        # The small program need not be solved more exactly than the whole one will be soon.
        goal = max(share * violation, 0.5 * self.settings.tol)
        most = min(most, _STEPS if self.gram.on_device else _TOUCHED // len(chosen))
        steps = self._solve_set(small, self.part.rows[chosen], goal, most, at, *inner)
        change = at - before
        # Only rows whose coefficient has moved change the slopes.
        moved = np.flatnonzero(change)
        self.working = self.active[chosen]
        self.b[self.working] = at
        self.free += small.count_free(at) - small.count_free(before)
        self._add(chosen[moved], change[moved], inner[0])
        self.rounds += 1
        return steps

    def _read_state(self) -> tuple[Array, Array, Array, Array]:
        """Return b, slope, rise and fall of the rows that take part."""
        b, slope = self._take_part()
        return b, slope, *self.part.moves(b)

    def _take_part(self) -> tuple[Array, Array]:
        """Return coefficients and slopes of the rows that take part."""
        return (self.b, self.slope) if self.is_whole else (self.b[self.active], self.slope[self.active])

    def _extract(
        self, chosen: Array, b: Array, slope: Array, rise: Array, fall: Array
    ) -> tuple[DualProgram, Array, tuple[Array, Array, Array]]:
        """Return the program of a working set, its coefficients, and its slopes, rises and falls."""
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
        """Solve the program of a working set, in place; return the number of steps."""
        taken = self.gram.descend(program, rows, self.dtype, goal, most, b, slope, rise, fall)
        if taken is not None:
            return taken
        K = self._make_square(rows)
        steps = descend(program, Square.whole(K), goal, most, b, slope, rise, fall, np.empty(2))
        self.gram.return_memory(K)
        return steps

    def _make_square(self, rows: Array) -> Array:
        """Return the kernel matrix of a working set."""
        return self.gram.make_square(rows, self.dtype)

    def _choose_set(self, slope: Array, rise: Array, fall: Array) -> Array:
        """Return the positions of the working set among the rows that take part."""
        if self.size == len(self.active):
            return np.arange(self.size)
        last = np.zeros(len(self.program), dtype=bool)
        last[self.working] = True
        kept = np.flatnonzero(last[self.active])
        return choose(self.part, slope, rise, fall, kept, self.size)

    def _add(self, positions: Array, change: Array, known: Array) -> None:
        """Add a change of coefficients to all slopes; `known` are the new slopes of the working set."""
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
        """Leave out rows at a bound that no partner could move, if they are at least a share _WORTH of all."""
        if not self.settings.shrinking or self.rounds % _PATIENCE or len(self.active) <= 2 * self.size:
            return
        stays = ~find_stuck(self.part, *self._read_state()[1:])
        if np.count_nonzero(~stays) >= _WORTH * len(stays) and np.count_nonzero(stays) > self.size:
            # Each shrinking keeps the changes that rows left out have missed since then.
            self.left[self.active[~stays]] = len(self.pending)
            self.pending = np.concatenate([self.pending, np.zeros((1, len(self.program)))])
            self._enter()

    def unshrink(self) -> None:
        """Add the pending changes to the slopes of rows left out, and let all rows take part again."""
        for time, missed in enumerate(self.pending):
            out, changed = np.flatnonzero(self.left == time), np.flatnonzero(missed)
            self.slope[out] += self._sum_rows(changed, missed[changed], out)
        self._rejoin()

    def _sum_rows(self, used: Array, coefficients: Array, out: Array) -> Array:
        """Return sum_j b_j k(x_j, x_i) over the positions j of `used`, for each position i of `out`."""
        rows = self.program.rows
        return self.gram.sum_products(rows[used], coefficients, rows[out], self.dtype)

    def _rejoin(self) -> None:
        self.left, self.pending = np.full(len(self.program), -1), np.empty((0, len(self.program)))
        self._enter()

    def close(self) -> None:
        """Release what was held for the rounds."""

    def refresh(self, dtype: Any) -> None:
        """Compute all slopes anew from kernel values in `dtype`, and go on with that type."""
        self.dtype, out = dtype, np.arange(len(self.program))
        self.slope = _add_sums(self.program, self.b, lambda used: self._sum_rows(used, self.b[used], out))
        self._rejoin()


def find_stuck(program: DualProgram, slope: Array, rise: Array, fall: Array) -> Array:
    """Return which rows lie at a bound from which no partner in their group could move them."""
    stuck = np.zeros(len(slope), dtype=bool)
    for group in program.groups:
        # Raising costs at least `lowest`, and lowering gains at most `highest`, in this group.
        costs, gains = (slope + rise)[group], (slope + fall)[group]
        lowest, highest = np.min(costs, initial=np.inf), np.max(gains, initial=-np.inf)
        # At the upper bound and worth less to lower than any raise costs, or at the lower bound and dearer to raise
        # than any lowering gains.
        stuck[group] = (np.isinf(rise[group]) & (gains < lowest)) | (np.isinf(fall[group]) & (costs > highest))
    return stuck


def compute_slopes(program: DualProgram, gram: Gram, b: Array, dtype: Any) -> Array:
    """Return the slopes (K + ridge) b + linear."""
    return _add_sums(program, b, lambda used: gram.sum_products(program.rows[used], b[used], program.rows, dtype))


def sum_square(program: DualProgram, K: Array, b: Array) -> Array:
    """Return the slopes (K + ridge) b + linear from the kernel matrix, with the bits of `compute_slopes`."""

    def add_up(used: Array) -> Array:
        sums = np.zeros(len(b))
        native.add_rows(K, used, b[used], 0, len(b), sums)
        return sums

    return _add_sums(program, b, add_up)


def _add_sums(program: DualProgram, b: Array, sums: Callable[[Array], Array]) -> Array:
    """Compute slopes, with the kernel sums over the nonzero coefficients computed by `sums`."""
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
    """Take pair steps on a program whose kernel matrix is at hand, in place; return their number.

    `best` (2,) gets the promise of the best pair at the end, and the largest violation.
    """
    inner = np.empty((7, len(b)))
    inner[0], inner[1], inner[2], inner[3] = b, slope, rise, fall
    inner[4], inner[5], inner[6] = program.lower, program.upper, square.values.diagonal()
    if program.ridge is not None:
        inner[6] += program.ridge
    rules = np.array([program.kink, program.end_of_first, goal, most])
    steps = native.descend(square.values, square.left, square.right, square.ready, inner, rules, best)
    b[:], slope[:], rise[:], fall[:] = inner[:4]
    return steps


def choose(part: DualProgram, slope: Array, rise: Array, fall: Array, kept: Array, size: int) -> Array:
    """Return the positions of a working set, in rising order: the worst violators, then those kept, free ones first."""
    fresh, groups = size - min(len(kept), size // 2), part.groups
    share = -(-fresh // len(groups))
    counts = np.array([min(share, group.stop - group.start) for group in groups])
    lists = np.empty((2 * len(groups), share), np.intp)
    for k, group in enumerate(groups):
        lists[2 * k, : counts[k]] = _find_least(slope, rise, 1.0, group, counts[k])
        lists[2 * k + 1, : counts[k]] = _find_least(slope, fall, -1.0, group, counts[k])
    # Shares are rounded up, so two groups may take one row more than `size` together.
    chosen, order = np.empty(size + 1, np.intp), np.empty((len(groups), 2 * share), np.intp)
    known = np.zeros(len(slope), np.uint8)
    return chosen[: dual_choice.choose(lists, counts, share, kept, rise, fall, known, order, chosen[:size])]


def _find_least(slope: Array, lift: Array, sign: float, group: slice, count: int) -> Array:
    """Return the `count` places of a group where sign (slope + lift) is least, in rising order of that value."""
    # A heap of `count` values costs less than a partition of all of them.
    if count <= _HEAP:
        places, values = np.empty(count, dtype=np.intp), np.empty(count)
        native.find_least(slope, lift, sign, group.start, group.stop, values, places)
        return places
    # Sorted places first, so that the stable sort below breaks ties by the lowest place.
    values = sign * (slope[group] + lift[group])
    places = np.sort(np.argpartition(values, count - 1)[:count])
    values = values[places]
    order = np.argsort(values)
    if (np.diff(values[order]) == 0).any():
        # Sort stably only if there are ties; an unstable sort takes a tenth of the time.
        order = np.argsort(values, kind="stable")
    return places[order] + group.start
