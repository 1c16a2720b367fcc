"""Growing a tree on rows known by their bins, by a team of threads that stay in native code.

Each row carries two 64-bit words: its gradient as a multiple of a quantum, and its curvature as a multiple of another
above the bits that count it. A histogram is two words for each bin of each column. Sums of whole numbers do not depend
on their order: any number of threads, and any cut of the rows, gives the same bits; and the histogram of a node less
that of one child is exactly that of the other.

Blocks have at most 2**16 rows. Within a block the rows of a node are consecutive in `order`, which holds their places
in the block, from begin[node, block] to stop[node, block].

A tree is a chain of pieces of work: the rows of the root, then for each split the rows that it parts, or afterwards
those of one child, and after either the columns of the histograms that follow. The leader publishes a piece, all
members take its items, the leader waits for the last. A class, since a member must see the arrays of every piece: as
arguments they would fill a page each time.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native import gains, team
    from cython.cimports.mercer._native import words as pairs
else:
    from mercer._native import gains, team
    from mercer._native import words as pairs

__all__ = ["Ground"]

_ROOT = cython.declare(cython.int, 0)
_SPLIT = cython.declare(cython.int, 1)
_BUILD = cython.declare(cython.int, 2)
_COLUMNS = cython.declare(cython.int, 3)


@cython.cclass
class Ground:
    """What a team works on.

    Parameters
    ----------
    rows : bins (n, d), columns (d, n), counts, words (n, 2), order (n,)
        Bins by row and by column: a split asks for one column of all its rows, a histogram for all columns of some.
        Counts (n,) say how many rows each stands for; empty, one each.
    rules : offsets (d + 1,), categorical (d,), monotone (d,), limits (5,)
        Where the bins of a column begin, of which the last is that of missing values; 1 where values may only rise with
        the column, -1 where they may only fall, else 0; limits see gains.pxd.
    room : parts, spare, sums, sorted_bins, used, totals, each (members, ...)
        A histogram; `unit` places; four numbers and a place for each bin of the widest column; whether rows
        were added; and the words of the rows added to the root.
    asked : nodes (2, 6), allowed (2, d), best (2, d), cuts (2, d)
        Two children, see gains.pxd; by which columns they may be split; what the best cut of each column saves, and
        which it is.
    control : (24,)
        See team.pxd.
    shift, unit : int
        Bits of the second word that count rows; rows in a block.
    """

    bins: cython.const[cython.uchar][:, ::1]
    columns: cython.const[cython.uchar][:, ::1]
    counts: cython.const[cython.longlong][::1]
    offsets: cython.const[cython.int][::1]
    categorical: cython.const[cython.uchar][::1]
    monotone: cython.const[cython.int][::1]
    limits: cython.const[cython.double][::1]
    words: cython.longlong[:, ::1]
    order: cython.ushort[::1]
    parts: cython.longlong[:, ::1]
    spare: cython.ushort[:, ::1]
    sums: cython.double[:, :, ::1]
    sorted_bins: cython.int[:, ::1]
    nodes: cython.double[:, ::1]
    allowed: cython.uchar[:, ::1]
    control: cython.longlong[::1]
    used: cython.uchar[::1]
    totals: cython.longlong[:, ::1]
    best: cython.double[:, ::1]
    cuts: cython.longlong[:, ::1]
    begin: cython.int[:, ::1]
    stop: cython.int[:, ::1]
    histograms: cython.longlong[:, ::1]
    gradients: cython.const[cython.double][:, ::1]
    drawn: cython.const[cython.longlong][::1]
    scales: cython.const[cython.double][::1]
    units: cython.const[cython.double][::1]
    goes_left: cython.const[cython.uchar][::1]
    chosen: cython.const[cython.int][::1]
    shift: cython.int
    bounded: cython.int
    unit: cython.Py_ssize_t
    kind: cython.int
    items: cython.Py_ssize_t
    feature: cython.Py_ssize_t
    node: cython.Py_ssize_t
    left: cython.Py_ssize_t
    build: cython.Py_ssize_t
    whole: cython.Py_ssize_t
    built: cython.Py_ssize_t
    left_slot: cython.Py_ssize_t
    right_slot: cython.Py_ssize_t

    def __init__(self, rows, rules, room, asked, control, shift: cython.int, unit: cython.Py_ssize_t):
        self.bins, self.columns, self.counts, self.words, self.order = rows
        self.offsets, self.categorical, self.monotone, self.limits = rules
        self.parts, self.spare, self.sums, self.sorted_bins, self.used, self.totals = room
        self.nodes, self.allowed, self.best, self.cuts = asked
        self.control, self.shift, self.unit = control, shift, unit
        self.bounded = 1 if any(rules[2]) else 0

    def hold(self, begin, stop, histograms):
        """Keep the rows of nodes (nodes, blocks), and the histograms of open leaves, in these arrays."""
        self.begin, self.stop, self.histograms = begin, stop, histograms

    def prepare(self, gradients, drawn, scales, units):
        """Set the gradients (n, 2) of a tree, how often rows are drawn (empty: once), and the units of words."""
        self.gradients, self.drawn, self.scales, self.units = gradients, drawn, scales, units

    def restrict(self, chosen):
        """Add rows to these columns of histograms (int32, rising) only, and search no others, from now on."""
        self.chosen = chosen

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

    def offer_root(self, build: cython.Py_ssize_t, items: cython.Py_ssize_t):
        """Put all rows, or those drawn, in the root, and add them to the members' histograms unless `build` is -1."""
        self.totals[:, :] = 0
        self.build = build
        self._offer(_ROOT, items)

    def offer_split(
        self,
        node: cython.Py_ssize_t,
        left: cython.Py_ssize_t,
        feature: cython.Py_ssize_t,
        goes_left,
        build: cython.Py_ssize_t,
        items: cython.Py_ssize_t,
    ):
        """Part the rows of a node by a column, of which some bins go left, between the child `left` and the next.

        The rows of one of them are added to the members' histograms: `build` is 0 for the left one, 1 for the right,
        and -1 for none.
        """
        self.node, self.left, self.feature, self.goes_left, self.build = node, left, feature, goes_left, build
        self._offer(_SPLIT, items)

    def offer_build(self, node: cython.Py_ssize_t, items: cython.Py_ssize_t):
        """Add the rows of a node to the members' histograms."""
        self.node = node
        self._offer(_BUILD, items)

    def offer_columns(
        self,
        whole: cython.Py_ssize_t,
        built: cython.Py_ssize_t,
        left_slot: cython.Py_ssize_t,
        right_slot: cython.Py_ssize_t,
        items: cython.Py_ssize_t,
    ):
        """Sum the members' histograms as `built`, take them off `whole` unless that is -1, and search two histograms.

        All are rows of `histograms`; those to search may be -1.
        """
        self.whole, self.built, self.left_slot, self.right_slot = whole, built, left_slot, right_slot
        self._offer(_COLUMNS, items)

    def advance(self, turns: cython.Py_ssize_t) -> cython.int:
        """Take some items; when none is left, wait for all. Whether there is more to do."""
        more: cython.int
        with cython.nogil:
            more = self._advance(turns)
        return more

    def choose(
        self,
        side: cython.Py_ssize_t,
        slot: cython.Py_ssize_t,
        goes_left: cython.uchar[::1],
        places: cython.longlong[::1],
    ) -> cython.double:
        """What the best split of a child saves. Which bins go left is written.

        And to `places`: column or -1, bin or categories taken, whether missing values go left, words of the left child.
        """
        column: cython.Py_ssize_t
        first: cython.Py_ssize_t
        most: cython.double = self.nodes[side, 5]
        places[0] = -1
        for column in range(self.bins.shape[1]):
            # Among splits of one gain the lowest column wins.
            if self.allowed[side, column] and self.cuts[side, column] >= 0 and self.best[side, column] > most:
                most = self.best[side, column]
                places[0] = column
        if places[0] < 0:
            return most
        first = self.offsets[places[0]]
        gains.describe_cut(
            self.histograms[slot],
            first,
            self.offsets[places[0] + 1] - first - 1,
            self.cuts[side, places[0]],
            self.nodes[side],
            self.limits,
            self.units,
            self.shift,
            self.sums[0, 3],
            self.sorted_bins[0],
            goes_left,
            places,
        )
        return most

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _offer(self, kind: cython.int, items: cython.Py_ssize_t) -> cython.void:
        member: cython.Py_ssize_t
        if kind != _COLUMNS:
            for member in range(self.used.shape[0]):
                self.used[member] = 0
        self.kind = kind
        self.items = items
        team.publish(self.control, items)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _follow(self, member: cython.Py_ssize_t) -> cython.void:
        ticket: cython.longlong
        # Until then there was no work for this member.
        seen: cython.longlong = -1
        look: cython.Py_ssize_t
        while True:
            look = 0
            while team.current(self.control) == seen:
                if team.is_over(self.control):
                    return
                team.rest(look)
                look += 1
            ticket = team.claim(self.control)
            while team.item(ticket) >= 0:
                self._work(team.item(ticket), member)
                team.finish(self.control)
                ticket = team.claim(self.control)
            seen = team.work(ticket)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _advance(self, turns: cython.Py_ssize_t) -> cython.int:
        item: cython.Py_ssize_t
        look: cython.Py_ssize_t = 0
        while turns > 0:
            turns -= 1
            item = team.item(team.claim(self.control))
            if item < 0:
                while not team.is_done(self.control):
                    team.rest(look)
                    look += 1
                return 0
            self._work(item, 0)
            team.finish(self.control)
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _work(self, item: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        """Do one item: a run of blocks, or of columns."""
        size: cython.Py_ssize_t = self.begin.shape[1] if self.kind != _COLUMNS else self.chosen.shape[0]
        number: cython.Py_ssize_t
        for number in range(item * size // self.items, (item + 1) * size // self.items):
            if self.kind == _ROOT:
                self._start_block(number, member)
            elif self.kind == _SPLIT:
                self._split_block(number, member)
            elif self.kind == _BUILD:
                self._add(number, self.begin[self.node, number], self.stop[self.node, number], member)
            else:
                self._search_column(self.chosen[number], member)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _add(
        self, block: cython.Py_ssize_t, first: cython.Py_ssize_t, last: cython.Py_ssize_t, member: cython.Py_ssize_t
    ) -> cython.void:
        start: cython.Py_ssize_t = block * self.unit
        part: cython.longlong[::1] = self.parts[member]
        # A member empties its own histogram: what others have read is nearest to its core still.
        if self.used[member] == 0:
            pairs.clear(self.offsets, self.chosen, part)
            self.used[member] = 1
        first += start
        last += start
        pairs.add_rows(self.bins, start, self.words, self.order, first, last, self.offsets, self.chosen, part)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _start_block(self, block: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        start: cython.Py_ssize_t = block * self.unit
        stop: cython.Py_ssize_t = min(start + self.unit, self.bins.shape[0])
        kept: cython.Py_ssize_t
        totals: cython.longlong[::1] = self.totals[member]
        kept = pairs.quantise(
            self.gradients,
            self.counts,
            self.drawn,
            start,
            stop,
            self.scales,
            self.shift,
            self.words,
            self.order,
            totals,
        )
        self.begin[0, block] = 0
        self.stop[0, block] = cython.cast(cython.int, kept)
        if self.build >= 0:
            self._add(block, 0, kept, member)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _split_block(self, block: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        start: cython.Py_ssize_t = block * self.unit
        first: cython.int = self.begin[self.node, block]
        last: cython.int = self.stop[self.node, block]
        middle: cython.int = first
        spare: cython.ushort[::1] = self.spare[member]
        middle += cython.cast(
            cython.int,
            pairs.part_rows(self.columns, self.feature, start, self.goes_left, self.order, first, last, spare),
        )
        self.begin[self.left, block] = first
        self.stop[self.left, block] = middle
        self.begin[self.left + 1, block] = middle
        self.stop[self.left + 1, block] = last
        if self.build == 0:
            self._add(block, first, middle, member)
        elif self.build == 1:
            self._add(block, middle, last, member)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _search_column(self, column: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        first: cython.Py_ssize_t = 2 * self.offsets[column]
        last: cython.Py_ssize_t = 2 * self.offsets[column + 1]
        pairs.gather(self.parts, self.used, first, last, self.histograms[self.built])
        if self.whole >= 0:
            pairs.take(self.histograms[self.whole], self.histograms[self.built], first, last)
        if self.left_slot >= 0 and self.allowed[0, column]:
            self._judge(column, member, 0, self.left_slot)
        if self.right_slot >= 0 and self.allowed[1, column]:
            self._judge(column, member, 1, self.right_slot)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _judge(
        self, column: cython.Py_ssize_t, member: cython.Py_ssize_t, side: cython.Py_ssize_t, slot: cython.Py_ssize_t
    ) -> cython.void:
        first: cython.Py_ssize_t = self.offsets[column]
        self.cuts[side, column] = gains.search_column(
            self.histograms[slot],
            first,
            self.offsets[column + 1] - first - 1,
            self.categorical[column],
            self.monotone[column],
            self.nodes[side],
            self.limits,
            self.bounded,
            self.units,
            self.shift,
            self.sums[member],
            self.sorted_bins[member],
            self.best[side],
            column,
        )
