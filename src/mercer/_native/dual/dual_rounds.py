"""The tasks of block descent on a dual program that worker threads share.

Each task is a pass over all rows, or over the square of a working set, cut into items: tiles of columns, or blocks of
the square. The leader offers a task, all threads take its items, and the leader waits for the last. Between passes the
leader descends on the square, and other threads may take shares of its steps. An item writes places of its own, or
counts, so the result does not depend on which thread did it.

The arrays of a task are held by classes, since a thread must find the arrays of every task. Kernel values are float or
double: one of `FloatTiles` and `DoubleTiles`, which hold the arrays of that type, is chosen when rows are given.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.dual import candidates, dual_sweep, radial, shared_steps
    from cython.cimports.mercer._native.shared import team, team_items
else:
    from mercer._native.dual import candidates, dual_sweep, radial, shared_steps
    from mercer._native.shared import team, team_items

# Kinds of task.
_PACK = cython.declare(cython.int, 0)
_SQUARE = cython.declare(cython.int, 1)
_SWEEP = cython.declare(cython.int, 2)
_COUNT = cython.declare(cython.int, 3)
_COLLECT = cython.declare(cython.int, 4)
_DESCEND = cython.declare(cython.int, 5)
# A thread that waits goes to sleep this many times later than usual: a descent of the leader takes half a millisecond,
# and a thread that slept through its end would come late to the next pass.
_PATIENCE = cython.declare(cython.Py_ssize_t, 4)
# Rows whose kernel values are made together, see ``radial``: each thread has scratch for as many.
_TOGETHER = cython.declare(cython.Py_ssize_t, 8)


@cython.cclass
class Program:
    """A dual program: its kernel (`profile`, see kernel_values.py), rows, bounds, coefficients and slopes."""

    profile: cython.const[cython.double][::1]
    rows: cython.const[cython.Py_ssize_t][::1]
    lower: cython.const[cython.double][::1]
    upper: cython.const[cython.double][::1]
    cython.declare(b=cython.double[::1], slope=cython.double[::1], rise=cython.double[::1], fall=cython.double[::1])
    cython.declare(kink=cython.double, split=cython.Py_ssize_t)


@cython.cclass
class RowUpdate:
    """The kernel rows of a sweep: those to make, where in the table, and what to add to slopes; see `offer_sweep`."""

    fresh: cython.const[cython.Py_ssize_t][::1]
    room: cython.const[cython.Py_ssize_t][::1]
    slots: cython.const[cython.Py_ssize_t][::1]
    change: cython.const[cython.double][::1]
    groups: cython.const[cython.Py_ssize_t][:, ::1]


@cython.cclass
class Square:
    """The rows of a working set, as blocks of its kernel matrix: `pairs` of block indices; `places` are 0, 1, 2..."""

    chosen: cython.const[cython.Py_ssize_t][::1]
    places: cython.const[cython.Py_ssize_t][::1]
    pairs: cython.const[cython.Py_ssize_t][:, ::1]
    block: cython.Py_ssize_t


@cython.cclass
class Descent:
    """The state of a descent on a working set that threads share; see shared_steps.py."""

    rules: cython.const[cython.double][::1]
    cython.declare(inner=cython.double[:, ::1], copies=cython.double[:, :, ::1])
    cython.declare(lines=cython.double[:, ::1], accounts=cython.double[:, ::1])


@cython.cclass
class FloatTiles:
    """Kernel values in float.

    `X` and `squares` are rows and their squared lengths; `panels` and `others` the same of the program's columns, laid
    out by `pack`; `own` the panels of a block, `left` and `tile` scratch, each with a part for every thread; `table`
    has kernel rows, `K` the square of a working set and `lengths` the squared lengths of its rows.
    """

    X: cython.const[cython.float][:, ::1]
    squares: cython.const[cython.float][::1]
    lengths: cython.const[cython.float][::1]
    cython.declare(panels=cython.float[:, :, ::1], own=cython.float[:, :, ::1], others=cython.float[::1])
    cython.declare(
        left=cython.float[:, ::1], tile=cython.float[:, ::1], table=cython.float[:, ::1], K=cython.float[:, ::1]
    )

    def __init__(self, values):
        self.X, self.squares, self.panels, self.others, self.own, self.left, self.tile = values

    def hold_table(self, table):
        """Keep kernel rows in this table."""
        self.table = table

    def hold_square(self, K, lengths):
        """Write the square of a working set to `K`."""
        self.K, self.lengths = K, lengths


@cython.cclass
class DoubleTiles:
    """Kernel values in double; the arrays are those of `FloatTiles`. Cython has no generic classes."""

    X: cython.const[cython.double][:, ::1]
    squares: cython.const[cython.double][::1]
    lengths: cython.const[cython.double][::1]
    cython.declare(panels=cython.double[:, :, ::1], own=cython.double[:, :, ::1], others=cython.double[::1])
    cython.declare(
        left=cython.double[:, ::1], tile=cython.double[:, ::1], table=cython.double[:, ::1], K=cython.double[:, ::1]
    )

    def __init__(self, values):
        self.X, self.squares, self.panels, self.others, self.own, self.left, self.tile = values

    def hold_table(self, table):
        """Keep kernel rows in this table."""
        self.table = table

    def hold_square(self, K, lengths):
        """Write the square of a working set to `K`."""
        self.K, self.lengths = K, lengths


Tiles = cython.fused_type(FloatTiles, DoubleTiles)


@cython.cclass
class DualTasks:
    """The tasks that threads share, and the arrays that they work on.

    Parameters
    ----------
    profile : (4,): kind, shape, scale and factor of a radial kernel, see kernel_values.py
    control : (32 + 8 threads,), see team.pxd
    block : rows of a block of a square, a multiple of those of a panel
    counts : (threads, 4, bins), int32: candidates in each bin of each list, see candidates.py
    """

    floats: FloatTiles
    doubles: DoubleTiles
    program: Program
    update: RowUpdate
    square: Square
    descent: Descent
    cython.declare(wide=cython.int, kind=cython.int, items=cython.Py_ssize_t, width=cython.Py_ssize_t)
    control: cython.longlong[::1]
    edges: cython.const[cython.double][:, ::1]
    cuts: cython.const[cython.Py_ssize_t][::1]
    cython.declare(counts=cython.int[:, :, ::1], ends=cython.double[:, ::1])
    cython.declare(listed=cython.Py_ssize_t[:, ::1], lengths=cython.Py_ssize_t[:, ::1])

    def __init__(self, profile, control, block: cython.Py_ssize_t, counts):
        self.program, self.update, self.square, self.descent = Program(), RowUpdate(), Square(), Descent()
        self.program.profile, self.square.block = profile, block
        self.control, self.counts = control, counts

    def hold_tiles(self, width: cython.Py_ssize_t, listed, lengths, ends):
        """Cut columns into tiles of `width`, a multiple of that of a panel.

        `listed` (4, m) and `lengths` (tiles, 4) get the candidates of each list, from the first column of their tile
        on, and their number; `ends` (tiles, 4) the least cost of raising and the greatest gain of lowering, of each
        group.
        """
        self.width, self.listed, self.lengths, self.ends = width, listed, lengths, ends

    def hold_values(self, wide: cython.int, values):
        """Make kernel values from rows, in double if `wide`, else in float; `values` see FloatTiles."""
        self.wide = wide
        self.doubles, self.floats = (DoubleTiles(values), None) if wide else (None, FloatTiles(values))

    def hold_table(self, table):
        """Keep kernel rows, in the type of the values, in a table with as many columns as the program, or more."""
        (self.doubles if self.wide else self.floats).hold_table(table)

    def hold_program(self, rows, lower, upper, kink: cython.double, split: cython.Py_ssize_t, moving):
        """Hold the coefficients to work on; `moving` are b, slope, rise and fall."""
        program: Program = self.program
        program.rows, program.lower, program.upper, program.kink, program.split = rows, lower, upper, kink, split
        program.b, program.slope, program.rise, program.fall = moving

    def hold_steps(self, copies, lines, accounts):
        """Keep what threads copy, exchange and count while they share steps, see shared_steps.py."""
        descent: Descent = self.descent
        descent.copies, descent.lines, descent.accounts = copies, lines, accounts

    def help(self, member: cython.Py_ssize_t):
        """Take items of all tasks as worker thread `member`, until the threads are stopped."""
        with cython.nogil:
            item = team_items.await_item(self.control, member, _PATIENCE)
            while item >= 0:
                self._work(item, member)
                item = team_items.await_item(self.control, member, _PATIENCE)

    def call(self):
        """Allow worker threads to begin."""
        team.set_stopped(self.control, 0)

    def dismiss(self):
        """Stop the worker threads, whatever they have not begun."""
        team_items.stop_workers(self.control)

    def offer_pack(self):
        """Lay out all columns in panels."""
        self._offer(_PACK, self.ends.shape[0])

    def offer_square(self, chosen, lengths, places, pairs, K):
        """Make the square `K` of the rows `chosen`, of squared `lengths`, in `pairs` of blocks; `places` are 0, 1..."""
        square: Square = self.square
        square.chosen, square.places, square.pairs = chosen, places, pairs
        (self.doubles if self.wide else self.floats).hold_square(K, lengths)
        self._offer(_SQUARE, pairs.shape[0])

    def offer_sweep(self, fresh, room, slots, change, groups):
        """Write the rows `fresh` to rows `room` of the table, add rows `slots` times `change` to slopes, mark moves.

        `groups` (g, 2) has the rows made and the rows added when each group is done; a later group may reuse a row of
        the table. The ends of each tile are measured on the way.
        """
        update: RowUpdate = self.update
        update.fresh, update.room, update.slots, update.change, update.groups = fresh, room, slots, change, groups
        self._offer(_SWEEP, self.ends.shape[0])

    def offer_count(self, edges):
        """Count the candidates of each list in bins; `edges` (4, 2): the value where they begin, and bins per unit."""
        self.counts[:, :, :] = 0
        self.edges = edges
        self._offer(_COUNT, self.ends.shape[0])

    def offer_collect(self, cuts):
        """Write the places of the candidates of each list up to bin `cuts` (4,), none where that is -1."""
        self.cuts = cuts
        self._offer(_COLLECT, self.ends.shape[0])

    def descend(self, inner, rules, called: cython.Py_ssize_t):
        """Take pair steps on the square made last, and let `called` threads share them; see shared_steps.py."""
        descent: Descent = self.descent
        descent.inner, descent.rules = inner, rules
        with cython.nogil:
            # Lines and accounts of the last descent would look like messages of this one.
            shared_steps.clear(descent.lines, descent.accounts)
            self._offer(_DESCEND, called)
            if self.wide:
                _lead(self.doubles, descent, self.control, called)
            else:
                _lead(self.floats, descent, self.control, called)

    def advance(self, turns: cython.Py_ssize_t) -> cython.int:
        """Take `turns` items of the task, or all and wait until it is done; return whether there may be more to do."""
        item: cython.Py_ssize_t = 0
        # `turns` bounds one call, so that Python regains control for Ctrl-C.
        with cython.nogil:
            while turns > 0 and item >= 0:
                item = team_items.take_item(self.control, self.items)
                if item >= 0:
                    self._work(item, 0)
                    turns -= 1
            team_items.report_items(self.control, 0)
        return item >= 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _offer(self, kind: cython.int, items: cython.Py_ssize_t) -> cython.void:
        self.kind, self.items = kind, items
        team.publish(self.control, items)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _work(self, item: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        """Do one item of the task: a tile of columns, a block of the square, or a share of the steps."""
        # Items of passes over rows are tiles of `width` columns; the last may be narrower.
        first: cython.Py_ssize_t = item * self.width
        last: cython.Py_ssize_t = min(first + self.width, self.program.rows.shape[0])
        if self.kind == _COUNT:
            candidates.count(
                first, last, self.program.split, self.program.slope, self.program.rise, self.program.fall,
                self.edges, self.counts[member],
            )  # fmt: skip
        elif self.kind == _COLLECT:
            candidates.collect(
                first, last, self.program.split, self.program.slope, self.program.rise, self.program.fall,
                self.edges, self.counts.shape[2], self.cuts, self.listed, self.lengths[item],
            )  # fmt: skip
        elif self.wide:
            _work_values(self.doubles, self, item, first, last, member)
        else:
            _work_values(self.floats, self, item, first, last, member)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _work_values(
    tiles: Tiles,
    tasks: DualTasks,
    item: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    member: cython.Py_ssize_t,
) -> cython.void:
    """Do an item that needs kernel values."""
    if tasks.kind == _PACK:
        radial.pack_columns(tiles.X, tiles.squares, tasks.program.rows, first, last, tiles.panels, tiles.others)
    elif tasks.kind == _SQUARE:
        _fill_block(tiles, tasks.program, tasks.square, item, member)
    elif tasks.kind == _SWEEP:
        _sweep(tiles, tasks.program, tasks.update, first, last, member)
        dual_sweep.mark(
            tasks.program.b, tasks.program.lower, tasks.program.upper, tasks.program.kink, tasks.program.slope,
            first, last, tasks.program.split, tasks.program.rise, tasks.program.fall, tasks.ends[item],
        )  # fmt: skip
    else:
        # The leader has share 0.
        shared_steps.join(
            tiles.K, tasks.descent.inner, tasks.descent.copies, tasks.descent.rules, tasks.descent.lines,
            tasks.descent.accounts, item + 1,
        )  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sweep(
    tiles: Tiles,
    program: Program,
    update: RowUpdate,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    member: cython.Py_ssize_t,
) -> cython.void:
    """Make rows in groups and add each group to the slopes, in columns from `first` to `last`.

    A group is added while a core has it in its own cache: 0.12 ns a value, beside 0.27 ns from memory. Rows are added
    four at a time, so groups end at multiples of four but for the last: sums do not depend on how rows are grouped.
    """
    made: cython.Py_ssize_t = 0
    added: cython.Py_ssize_t = 0
    extent = cython.declare(radial.Extent)
    extent.begin, extent.end, extent.offset = first, last, first
    extent.panel, extent.scratch = first // tiles.panels.shape[2], _TOGETHER * member
    # The k-th group ends at row groups[k, 0] of those made and at groups[k, 1] of those added; cached rows are only
    # added.
    for k in range(update.groups.shape[0]):
        extent.first, extent.last = made, update.groups[k, 0]
        radial.fill(
            program.profile, tiles.X, tiles.squares, update.fresh, update.room, program.rows, tiles.panels,
            tiles.others, extent, tiles.left, tiles.tile, tiles.table,
        )  # fmt: skip
        made = update.groups[k, 0]
        dual_sweep.add(tiles.table, update.slots, update.change, added, update.groups[k, 1], first, last, program.slope)
        added = update.groups[k, 1]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_block(
    tiles: Tiles, program: Program, square: Square, item: cython.Py_ssize_t, member: cython.Py_ssize_t
) -> cython.void:
    """Make a block of the square, and its mirror image."""
    # The square is symmetric: of two blocks that mirror each other only one is made.
    n: cython.Py_ssize_t = square.chosen.shape[0]
    top: cython.Py_ssize_t = square.pairs[item, 0] * square.block
    left: cython.Py_ssize_t = square.pairs[item, 1] * square.block
    bottom: cython.Py_ssize_t = min(top + square.block, n)
    right: cython.Py_ssize_t = min(left + square.block, n)
    # Panels of one thread: all panels divided by the number of threads. Each thread has eight rows of scratch.
    own: cython.Py_ssize_t = tiles.own.shape[0] // (tiles.left.shape[0] // _TOGETHER)
    extent = cython.declare(radial.Extent)
    extent.first, extent.last, extent.begin, extent.end = top, bottom, left, right
    extent.panel, extent.offset, extent.scratch = own * member, left, _TOGETHER * member
    radial.pack(tiles.X, square.chosen, left, right - left, tiles.own, own * member)
    radial.fill(
        program.profile, tiles.X, tiles.squares, square.chosen, square.places, square.chosen, tiles.own,
        tiles.lengths, extent, tiles.left, tiles.tile, tiles.K,
    )  # fmt: skip
    if top != left:
        dual_sweep.mirror(tiles.K, top, bottom, left, right)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lead(tiles: Tiles, descent: Descent, control: cython.longlong[::1], called: cython.Py_ssize_t) -> cython.void:
    shared_steps.lead(tiles.K, descent.inner, descent.rules, descent.lines, descent.accounts, control, called)
