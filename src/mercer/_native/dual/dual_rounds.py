"""A team of threads at the passes of block descent over all rows of a dual program.

Each pass is cut into items: tiles of columns, or blocks of the square of a working set. The leader publishes a pass,
all members take its items, the leader waits for the last; between passes it descends on the square, and others may take
shares of its steps. An item writes places of its own, or counts, so that which member did it cannot be seen. A class,
since a member must see the arrays of every pass; values are float or double, and the arrays of the other kind are then
empty.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.dual import candidates, dual_sweep, dual_tile, radial, shared_steps
    from cython.cimports.mercer._native.shared import team
else:
    from mercer._native.dual import candidates, dual_sweep, dual_tile, radial, shared_steps
    from mercer._native.shared import team

__all__ = ["Rounds"]

_PACK = cython.declare(cython.int, 0)
_SQUARE = cython.declare(cython.int, 1)
_SWEEP = cython.declare(cython.int, 2)
_COUNT = cython.declare(cython.int, 3)
_COLLECT = cython.declare(cython.int, 4)
_DESCEND = cython.declare(cython.int, 5)


@cython.cclass
class Rounds:
    """What a team works on.

    Parameters
    ----------
    profile : (4,)
        Kind, shape, scale and factor of a radial kernel, see kernel_values.py.
    control : (32,), see team.pxd
    block : int
        Rows of a block of a square, a multiple of those of a panel.
    counts : (members, 4, bins), int32
        Of each list of candidates (those to raise and to lower, of either group) how many there are in each bin.

    Of the other arrays, `found` (4, m) and `lengths` (tiles, 4) hold the places of candidates, those of a tile from its
    first column on, and their numbers; `ends` (tiles, 4) of each group the least that raising a coefficient costs and
    the most that lowering one gains.
    """

    X32: cython.const[cython.float][:, ::1]
    squares32: cython.const[cython.float][::1]
    panels32: cython.float[:, :, ::1]
    others32: cython.float[::1]
    own32: cython.float[:, :, :, ::1]
    left32: cython.float[:, :, ::1]
    tiles32: cython.float[:, :, ::1]
    table32: cython.float[:, ::1]
    K32: cython.float[:, ::1]
    lengths32: cython.const[cython.float][::1]
    X64: cython.const[cython.double][:, ::1]
    squares64: cython.const[cython.double][::1]
    panels64: cython.double[:, :, ::1]
    others64: cython.double[::1]
    own64: cython.double[:, :, :, ::1]
    left64: cython.double[:, :, ::1]
    tiles64: cython.double[:, :, ::1]
    table64: cython.double[:, ::1]
    K64: cython.double[:, ::1]
    lengths64: cython.const[cython.double][::1]
    wide: cython.int
    items: cython.Py_ssize_t
    profile: cython.const[cython.double][::1]
    kink: cython.double
    split: cython.Py_ssize_t
    width: cython.Py_ssize_t
    block: cython.Py_ssize_t
    kind: cython.int
    control: cython.longlong[::1]
    rows: cython.const[cython.Py_ssize_t][::1]
    lower: cython.const[cython.double][::1]
    upper: cython.const[cython.double][::1]
    b: cython.double[::1]
    slope: cython.double[::1]
    rise: cython.double[::1]
    fall: cython.double[::1]
    fresh: cython.const[cython.Py_ssize_t][::1]
    room: cython.const[cython.Py_ssize_t][::1]
    slots: cython.const[cython.Py_ssize_t][::1]
    change: cython.const[cython.double][::1]
    groups: cython.const[cython.Py_ssize_t][:, ::1]
    chosen: cython.const[cython.Py_ssize_t][::1]
    numbers: cython.const[cython.Py_ssize_t][::1]
    pairs: cython.const[cython.Py_ssize_t][:, ::1]
    edges: cython.const[cython.double][:, ::1]
    cuts: cython.const[cython.Py_ssize_t][::1]
    counts: cython.int[:, :, ::1]
    found: cython.Py_ssize_t[:, ::1]
    lengths: cython.Py_ssize_t[:, ::1]
    ends: cython.double[:, ::1]
    inner: cython.double[:, ::1]
    copies: cython.double[:, :, ::1]
    rules: cython.const[cython.double][::1]
    lines: cython.double[:, ::1]
    account: cython.double[:, ::1]

    def __init__(self, profile, control, block: cython.Py_ssize_t, counts):
        self.profile, self.control, self.block, self.counts = profile, control, block, counts

    def hold_tiles(self, width: cython.Py_ssize_t, found, lengths, ends):
        """Part columns in tiles of some width, a multiple of that of a panel, with room for what is found in them."""
        self.width, self.found, self.lengths, self.ends = width, found, lengths, ends

    def hold_values(self, wide: cython.int, values):
        """Make values from rows and their squares, with room for panels and members' scratch."""
        self.wide = wide
        if wide:
            self.X64, self.squares64, self.panels64, self.others64 = values[:4]
            self.own64, self.left64, self.tiles64 = values[4:]
        else:
            self.X32, self.squares32, self.panels32, self.others32 = values[:4]
            self.own32, self.left32, self.tiles32 = values[4:]

    def hold_table(self, table):
        """Keep rows of values, in the type of those held, in a table: as many columns as there are, or more."""
        if self.wide:
            self.table64 = table
        else:
            self.table32 = table

    def hold_program(self, rows, lower, upper, kink: cython.double, split: cython.Py_ssize_t, moving):
        """Work on these coefficients; `moving` are b, slope, rise and fall."""
        self.rows, self.lower, self.upper, self.kink, self.split = rows, lower, upper, kink, split
        self.b, self.slope, self.rise, self.fall = moving

    def hold_steps(self, copies, lines, account):
        """Have room for what members keep, tell and count while they share steps, see shared_steps.pxd."""
        self.copies, self.lines, self.account = copies, lines, account

    def help(self, member: cython.Py_ssize_t):
        """Take part in all work, until the team is dismissed."""
        with cython.nogil:
            self._follow(member)

    def call(self):
        """Begin to work with a team."""
        team.dismiss(self.control, 0)

    def dismiss(self):
        """Leave what work there is, and end."""
        team.publish(self.control, 0)
        team.dismiss(self.control, 1)

    def offer_pack(self):
        """Lay out all columns in panels."""
        self._offer(_PACK, self.ends.shape[0])

    def offer_square(self, chosen, lengths, numbers, pairs, K):
        """Make the square `K` of the rows `chosen`, of squared `lengths`, in pairs of blocks; `numbers` are 0, 1..."""
        self.chosen, self.numbers, self.pairs = chosen, numbers, pairs
        if self.wide:
            self.K64, self.lengths64 = K, lengths
        else:
            self.K32, self.lengths32 = K, lengths
        self._offer(_SQUARE, pairs.shape[0])

    def offer_sweep(self, fresh, room, slots, change, groups):
        """Write rows `fresh` to the table at `room`, add those in `slots` times their change to the slopes, mark moves.

        In `groups` (k, 2), see dual_tile.pxd: a place in the table may be used again by a later one. The ends of each
        tile are measured on the way.
        """
        self.fresh, self.room, self.slots, self.change, self.groups = fresh, room, slots, change, groups
        self._offer(_SWEEP, self.ends.shape[0])

    def offer_count(self, edges):
        """Count the candidates of each list in bins; `edges` (4, 2): the value where they begin, and bins per unit."""
        self.counts[:, :, :] = 0
        self.edges = edges
        self._offer(_COUNT, self.ends.shape[0])

    def offer_collect(self, cuts):
        """Write the places of candidates up to the bin of each list, none where that is -1."""
        self.cuts = cuts
        self._offer(_COLLECT, self.ends.shape[0])

    def descend(self, inner, rules, called: cython.Py_ssize_t):
        """Take pair steps on the square that was made last, and let some members share them, see shared_steps.pxd."""
        self.inner, self.rules = inner, rules
        with cython.nogil:
            shared_steps.expect(self.lines, self.account)
            self._offer(_DESCEND, called)
            if self.wide:
                shared_steps.lead(self.K64, self.inner, self.rules, self.lines, self.account, self.control, called)
            else:
                shared_steps.lead(self.K32, self.inner, self.rules, self.lines, self.account, self.control, called)

    def advance(self, turns: cython.Py_ssize_t) -> cython.int:
        """Take some items; when none is left, wait for all. Whether there is more to do."""
        more: cython.int
        with cython.nogil:
            more = self._advance(turns)
        return more

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _offer(self, kind: cython.int, items: cython.Py_ssize_t) -> cython.void:
        self.kind, self.items = kind, items
        team.publish(self.control, items)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _follow(self, member: cython.Py_ssize_t) -> cython.void:
        ticket: cython.longlong
        seen: cython.longlong = -1
        look: cython.Py_ssize_t
        done: cython.Py_ssize_t
        while True:
            look = done = 0
            while team.current(self.control) == seen:
                if team.is_over(self.control):
                    return
                # A descent takes about half a millisecond: whoever slept through its end would come late.
                team.rest(look // 4)
                look += 1
            ticket = team.claim(self.control)
            while team.item(ticket) >= 0:
                self._work(team.item(ticket), member)
                done += 1
                ticket = team.claim(self.control)
            team.finish(self.control, done)
            seen = team.work(ticket)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _advance(self, turns: cython.Py_ssize_t) -> cython.int:
        item: cython.Py_ssize_t
        look: cython.Py_ssize_t = 0
        done: cython.Py_ssize_t = 0
        while turns > 0:
            turns -= 1
            item = team.item(team.claim(self.control))
            if item < 0:
                team.finish(self.control, done)
                while not team.is_done(self.control, self.items):
                    team.rest(look)
                    look += 1
                return 0
            self._work(item, 0)
            done += 1
        team.finish(self.control, done)
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _work(self, item: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        first: cython.Py_ssize_t = item * self.width
        last: cython.Py_ssize_t = min(first + self.width, self.rows.shape[0])
        if self.kind == _PACK:
            if self.wide:
                radial.pack_columns(self.X64, self.squares64, self.rows, first, last, self.panels64, self.others64)
            else:
                radial.pack_columns(self.X32, self.squares32, self.rows, first, last, self.panels32, self.others32)
        elif self.kind == _SQUARE:
            self._fill_block(self.pairs[item, 0] * self.block, self.pairs[item, 1] * self.block, member)
        elif self.kind == _SWEEP:
            self._sweep(item, first, last, member)
        elif self.kind == _COUNT:
            candidates.count(first, last, self.split, self.slope, self.rise, self.fall, self.edges, self.counts[member])
        elif self.kind == _COLLECT:
            candidates.collect(
                first,
                last,
                self.split,
                self.slope,
                self.rise,
                self.fall,
                self.edges,
                self.counts.shape[2],
                self.cuts,
                self.found,
                self.lengths[item],
            )
        elif self.wide:
            shared_steps.join(self.K64, self.inner, self.copies, self.rules, self.lines, self.account, item + 1)
        else:
            shared_steps.join(self.K32, self.inner, self.copies, self.rules, self.lines, self.account, item + 1)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sweep(
        self, item: cython.Py_ssize_t, first: cython.Py_ssize_t, last: cython.Py_ssize_t, member: cython.Py_ssize_t
    ) -> cython.void:
        """Make what is missing of the rows that changed, in some columns; bring their slopes and moves up to date."""
        if self.wide:
            dual_tile.sweep(
                self.profile,
                self.X64,
                self.squares64,
                self.rows,
                first,
                last,
                self.panels64,
                self.others64,
                self.fresh,
                self.room,
                self.slots,
                self.change,
                self.groups,
                self.left64[member],
                self.tiles64[member],
                self.table64,
                self.slope,
            )
        else:
            dual_tile.sweep(
                self.profile,
                self.X32,
                self.squares32,
                self.rows,
                first,
                last,
                self.panels32,
                self.others32,
                self.fresh,
                self.room,
                self.slots,
                self.change,
                self.groups,
                self.left32[member],
                self.tiles32[member],
                self.table32,
                self.slope,
            )
        dual_sweep.mark(
            self.b,
            self.lower,
            self.upper,
            self.kink,
            self.slope,
            first,
            last,
            self.split,
            self.rise,
            self.fall,
            self.ends[item],
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fill_block(self, top: cython.Py_ssize_t, left: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        """Make a block of the square, and its mirror image."""
        n: cython.Py_ssize_t = self.chosen.shape[0]
        bottom: cython.Py_ssize_t = min(top + self.block, n)
        right: cython.Py_ssize_t = min(left + self.block, n)
        if self.wide:
            dual_tile.fill_block(
                self.profile,
                self.X64,
                self.squares64,
                self.chosen,
                self.lengths64,
                self.numbers,
                top,
                bottom,
                left,
                right,
                self.own64[member],
                self.left64[member],
                self.tiles64[member],
                self.K64,
            )
        else:
            dual_tile.fill_block(
                self.profile,
                self.X32,
                self.squares32,
                self.chosen,
                self.lengths32,
                self.numbers,
                top,
                bottom,
                left,
                right,
                self.own32[member],
                self.left32[member],
                self.tiles32[member],
                self.K32,
            )
