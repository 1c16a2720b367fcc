"""Block descent whose passes and pair steps are shared by worker threads that stay for the whole fit.

Computing kernel rows and adding them to slopes, marking which coefficients may move, searching for the worst violators
and computing the square of a working set are tasks of :mod:`mercer._native.dual.dual_rounds`, in tiles of columns. Each
column is summed in the order of the rows, so the result does not depend on tiles or threads. Between tasks the calling
thread descends on the square, and some of the others share its steps (see :mod:`mercer.svm._dual.team_descent`), with
the same bits. A task of a later round takes 50 microseconds, but starting 16 threads on 16 cores takes 800, so they are
started once.
"""

from contextlib import ExitStack
from functools import cache
from typing import Any

import numpy as np

from mercer._native.dual import dual_choice, dual_rounds
from mercer._source.threads import run_alongside
from mercer._types import Array
from mercer.svm._dual.block_descent import BlockDescent, choose
from mercer.svm._dual.gram_rows import Gram, Sweep, SweptRows
from mercer.svm._dual.program import DualProgram

# Most threads that share a descent.
_MOST = 8
# Fewest columns of a share: those of 1280 rows of floats then fit half a level-2 cache.
_COLUMNS = 160
# Least product of shares and rows. On two cores a step on 1280 rows took 1.7 us on one thread and 1.1 us shared by two,
# which saves 3 % of a fit and which one late thread cancels out; on 4096 rows 5.4 and 3.7. On 16 cores with 2560 rows:
# 4.2 us on one thread, 2.5, 2.0 and 1.8 shared by 2, 4 and 8; a fit on 100 000 x 50 rows took 3.0 s without, 2.3 with.
_WORTH = 4096
# Steps that the first descent takes alone, to measure them.
_APART = 64
# Most rounds without sharing after failures.
_LONGEST = 63
# Rows of a block of a square.
_BLOCK = 128
# Bytes of a line of a panel, the layout of rows in native code.
_PANEL = 128
# Bins in which candidates for a working set are counted.
_BINS = 256
# Nanoseconds that the calling thread works before it looks for Ctrl-C, by the rates below. A call takes a microsecond:
# 5 ms cost nothing.
_LONG = 5e6
# Nanoseconds to compute a kernel value, those for each column of X in it, and those to add a value to a slope.
_MADE = 1.0
_COLUMN = 0.02
_ADDED = 0.25
# Columns that a tile may have: multiples of those of a panel.
_WIDTHS = range(128, 513, 32)
# Most rows of one sweep: a multiple of four, some 7 ms for a tile.
_AT_ONCE = 8192
# Rows of the program for each thread: with fewer, another thread does not pay.
_SHARE = 128
_NO_ROWS = np.empty(0, np.intp)
_NO_CHANGE = np.empty(0)
_NO_SWEEP = Sweep(_NO_ROWS, _NO_ROWS)


def make_aligned(shape: tuple[int, ...]) -> Array:
    """Return zeros that begin at a multiple of 128 bytes, so that rows of 128 bytes share no cache line."""
    count = int(np.prod(shape)) * 8
    memory = np.zeros(count + 128, np.uint8)
    first = -memory.ctypes.data % 128
    return memory[first : first + count].view(np.float64).reshape(shape)


class StepSharing:
    """Decides how many threads share the steps of the next descent.

    Parameters
    ----------
    members : int
        Threads that there are, the calling one among them.
    """

    def __init__(self, members: int) -> None:
        self.members = min(members, _MOST)
        # Nanoseconds of a step on one thread per row of a set; rounds to go without sharing; failures in a row.
        self.alone, self.waiting, self.failures = np.inf, 0, 0
        self.copies = make_aligned((self.members, 4, 0))
        self.lines, self.account = make_aligned((2 + 2 * self.members, 16)), make_aligned((self.members, 16))

    def count_helpers(self, rows: int) -> int:
        """Return how many other threads are called to a descent on a set of `rows` rows."""
        if self.waiting:
            self.waiting -= 1
            return 0
        shares = min(self.members, rows // _COLUMNS)
        return shares - 1 if shares * rows >= _WORTH else 0

    def make_room(self, rows: int) -> tuple[Array, Array, Array]:
        """Return the arrays in which threads keep copies, exchange values and count; see ``shared_steps``."""
        if rows > self.copies.shape[2]:
            self.copies = make_aligned((self.members, 4, -(-rows // 16) * 16))
        return self.copies, self.lines, self.account

    def make_rules(self, kink: float, split: int, goal: float, most: int) -> Array:
        """Return the rules of a descent; ``pair_steps`` names their places."""
        return np.array([kink, split, goal, most, _APART if self.alone == np.inf else 0], dtype=np.float64)

    def note(self, rows: int) -> int:
        """Learn from the account of a descent whether to share the next ones; return the number of its steps."""
        _, _, steps, time, count, others_time, others_count, _, late = self.account[0, :9].tolist()
        # Too few steps alone are not enough to measure how long one takes.
        if count >= _APART:
            self.alone = min(self.alone, time / (count * rows))
        # Late, or slower than alone: wait for 4^failures - 1 rounds before the next trial.
        if late or others_time > others_count * rows * self.alone:
            self.waiting = min(4**self.failures - 1, _LONGEST)
            self.failures += 1
        elif others_count:
            self.failures = 0
        return int(steps)


class TeamDescent(BlockDescent):
    """Block descent with a kernel whose values native code computes from dense rows."""

    @staticmethod
    def serves(gram: Gram, dtype: Any) -> bool:
        """Return whether native code can compute this kernel in `dtype`."""
        return not gram.on_device and gram.find_profile(dtype) is not None

    def __post_init__(self) -> None:
        form = self.gram.find_profile(self.dtype).form
        # A thread for every _SHARE rows, since smaller shares do not pay for waiting.
        self._members = max(1, min(self.gram.threads, len(self.program) // _SHARE))
        self._counts = np.zeros((self._members, 4, _BINS), np.int32)
        self._work = dual_rounds.DualTasks(form, np.zeros(32 + 8 * self._members, np.int64), _BLOCK, self._counts)
        self._threads: ExitStack | None = None
        try:
            super().__post_init__()
        # Worker threads must not outlive an error in the constructor.
        except BaseException:
            self.close()
            raise

    def _make_table(self) -> SweptRows:
        return SweptRows(len(self.active), self._room_for_rows(), self.dtype)

    def _renew_table(self) -> None:
        super()._renew_table()
        self._work.hold_table(self.table.values)

    def close(self) -> None:
        """Stop the worker threads."""
        if self._threads is not None:
            self._threads.close()
        self._threads = None

    def _start_threads(self) -> None:
        """Start the worker threads, unless they run."""
        if self._threads is None:
            self._threads = ExitStack()
            self._work.call()
            self._threads.enter_context(run_alongside(self._work.help, self._work.dismiss, self._members))

    def _enter(self) -> None:
        super()._enter()
        self._start_threads()
        self._own = (self.b, self.slope) if self.is_whole else (self.b[self.active], self.slope[self.active])
        self._reach = np.full(4, np.nan)
        # The positions of the last working set, once there is one among these rows.
        self._kept: Array = None
        self._sharing = StepSharing(self._members)
        self._hold(self.part, self._own, self.table)
        self._mark()

    def _hold(self, part: DualProgram, own: tuple[Array, Array], table: SweptRows) -> None:
        """Let the threads work on a program, its coefficients and slopes."""
        m = len(part)
        self._moves = np.empty(m), np.empty(m)
        self._width = width = choose_width(m, self._members)
        # Tiles of columns: the unit of work that a thread takes.
        tiles = -(-m // width)
        self._listed, self._lengths = np.empty((4, tiles * width), np.intp), np.empty((tiles, 4), np.intp)
        self._ends = np.empty((tiles, 4))
        self._work.hold_tiles(width, self._listed, self._lengths, self._ends)
        self._work.hold_program(part.rows, part.lower, part.upper, part.kink, part.end_of_first, own + self._moves)
        self._hold_values(m)
        self._work.hold_table(table.values)
        # The rows are laid out once for the products of all rounds.
        self._work.offer_pack()
        self._advance(width * self._n_features)

    def _hold_values(self, m: int) -> None:
        """Give the threads all rows in the present type, room for the panels of m columns, and scratch."""
        prepared, dtype = self.gram.prepare_rows(self.dtype), np.dtype(self.dtype)
        self._n_features = d = prepared.rows.shape[1]
        across, widest = _PANEL // dtype.itemsize, max(self._width, _BLOCK)
        panels = np.empty((-(-m // across), d, across), dtype)
        own = np.empty((self._members * (_BLOCK // across), d, across), dtype)
        left, tiles = np.empty((self._members * 8, d), dtype), np.empty((self._members * 8, widest), dtype)
        values = (prepared.rows, prepared.squares, panels, np.empty(m, dtype), own, left, tiles)
        self._work.hold_values(int(dtype == np.float64), values)

    def _advance(self, item: float) -> None:
        """Take items until the task is done, each of them `item` nanoseconds long."""
        turns = max(1, int(_LONG / max(item, 1.0)))
        while self._work.advance(turns):
            pass

    def _mark(self, sweep: Sweep = _NO_SWEEP, rows: Array = _NO_ROWS, change: Array = _NO_CHANGE) -> None:
        """Add kernel rows times their change to the slopes, after computing the missing ones; mark possible moves."""
        self._work.offer_sweep(rows[sweep.missing], sweep.room, sweep.slots, change, sweep.groups)
        made = (_MADE + _COLUMN * self._n_features) * len(sweep.missing)
        self._advance(self._width * (made + _ADDED * len(sweep.slots) + 2.0))

    def violation(self) -> float:
        """Return the largest violation among the rows that take part."""
        ends = np.empty(4)
        dual_choice.widen(self._ends, ends)
        least, most, others_least, others_most = ends.tolist()
        return max(0.0, most - least, others_most - others_least if len(self.part.groups) > 1 else 0.0)

    def _read_state(self) -> tuple[Array, Array, Array, Array]:
        return *self._own, *self._moves

    def _make_square(self, rows: Array) -> Array:
        K = self.gram.take_memory(len(rows), self.dtype)
        lengths = self.gram.prepare_rows(self.dtype).squares[rows]
        self._work.offer_square(rows, lengths, np.arange(len(rows)), _list_blocks(-(-len(rows) // _BLOCK)), K)
        self._advance(_BLOCK**2 * (_MADE + _COLUMN * self._n_features))
        return K

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
        called = self._sharing.count_helpers(len(rows))
        if not called:
            return super()._solve_set(program, rows, goal, most, b, slope, rise, fall)
        K = self._make_square(rows)
        # The diagonal of the quadratic form is that of the kernel plus the ridge.
        self._inner[6] = K.diagonal()
        if program.ridge is not None:
            self._inner[6] += program.ridge
        self._work.hold_steps(*self._sharing.make_room(len(rows)))
        rules = self._sharing.make_rules(program.kink, program.end_of_first, goal, most)
        self._work.descend(self._inner, rules, called)
        self.gram.return_memory(K)
        return self._sharing.note(len(rows))

    def _extract(
        self, chosen: Array, b: Array, slope: Array, rise: Array, fall: Array
    ) -> tuple[DualProgram, Array, tuple[Array, Array, Array]]:
        part, out = self.part, np.empty((7, len(chosen)))
        dual_choice.gather(chosen, b, slope, rise, fall, part.lower, part.upper, out[:6])
        at, slope, rise, fall, lower, upper, _ = self._inner = out
        self._kept = chosen
        split = int(np.searchsorted(chosen, part.end_of_first))
        ridge = None if part.ridge is None else part.ridge[chosen]
        return DualProgram(chosen, None, lower, upper, None, part.kink, split, ridge), at, (slope, rise, fall)

    def _choose_set(self, slope: Array, rise: Array, fall: Array) -> Array:
        size, groups = self.size, self.part.groups
        if size == len(self.active):
            return np.arange(size)
        kept = self._kept
        if kept is None:
            last = np.zeros(len(self.program), dtype=bool)
            last[self.working] = True
            kept = np.flatnonzero(last[self.active])
        # Half of the set is kept from the round before at most; each group gives an equal share of the rest.
        share = -(-(size - min(len(kept), size // 2)) // len(groups))
        counts = np.array([min(share, group.stop - group.start) for group in groups])
        lists = np.empty((2 * len(groups), share), np.intp)
        # Too few candidates in the bins: search without them.
        if not self._search(counts.repeat(2), lists, slope, (rise, fall)):
            return choose(self.part, slope, rise, fall, kept, size)
        chosen, order = np.empty(size + 1, np.intp), np.empty((len(groups), 2 * share), np.intp)
        known = np.zeros(len(slope), np.uint8)
        return chosen[: dual_choice.choose(lists, counts, share, kept, rise, fall, known, order, chosen[:size])]

    def _search(self, wanted: Array, lists: Array, slope: Array, moves: tuple[Array, Array]) -> bool:
        """Write the `wanted` candidates that cost least to raise and to lower, of each group; False if there are fewer.

        Candidates are counted in bins from the least cost on, up to twice as far as the list reached last time; those
        in the first bins that hold enough are sorted.
        """
        edges, cuts = np.empty((4, 2)), np.empty(4, np.intp)
        if dual_choice.place_bins(self._ends, self._reach, _BINS, edges) < len(lists):
            return False
        self._work.offer_count(edges)
        # The cost of the task by row, which decides how much one call may take.
        self._advance(5.0 * self._width)
        if not dual_choice.cut(self._counts, wanted, cuts):
            return False
        self._work.offer_collect(cuts)
        self._advance(5.0 * self._width)
        for k, count in enumerate(wanted):
            values = np.empty(count)
            dual_choice.sort_candidates(
                self._listed[k], self._lengths, k, slope, moves[k % 2], values, lists[k, :count]
            )
            self._reach[k] = values[-1] - edges[k, 0]
        return True

    def _add(self, positions: Array, change: Array, known: Array) -> None:
        (b, slope), places = self._own, self.active[positions]
        b[positions] = self.b[places]
        # The set had all rows: their slopes are known from the descent itself.
        if len(known) == len(slope):
            slope[:] = known
            self._mark()
        else:
            if self.part.ridge is not None:
                slope[positions] += self.part.ridge[positions] * change
            self._mark(self.table.sweep(positions), self.part.rows[positions], change)
        if not self.is_whole:
            self.slope[self.active] = slope
            # Rows left out at earlier shrinkings have missed this change.
            for missed in self.pending:
                missed[places] += change

    def _sum_rows(self, used: Array, coefficients: Array, out: Array) -> Array:
        # All rows take part again after this, with another table.
        self.table, passing, sums = None, SweptRows(len(out), 0, self.dtype), np.zeros(len(out))
        self._hold(self.program.part(out), (np.zeros(len(out)), sums), passing)
        for first in range(0, len(used), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            rows = self.program.rows[used[some]]
            self._mark(passing.pass_by(len(rows)), rows, coefficients[some])
        return sums


def choose_width(columns: int, members: int) -> int:
    """Choose the columns of a tile such that all threads take the same number of tiles, and none is idle at the end.

    With tiles of 1024 columns, 98 for 100 000 rows, one of 16 threads in seven was idle. A tile costs as much as ten
    more columns: on 20 000 x 30 rows a value took 1.24 ns in tiles of 128 columns, and 1.18 ns in tiles of 320.
    """
    return min(_WIDTHS, key=lambda width: -(-columns // (width * members)) * (width + 10))


@cache
def _list_blocks(count: int) -> Array:
    """Return the block indices (row, column) of a square of `count` x `count` blocks, at and above its diagonal."""
    return np.array([(i, j) for j in range(count) for i in range(j + 1)], dtype=np.intp)
