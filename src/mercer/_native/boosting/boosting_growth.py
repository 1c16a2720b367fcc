"""Growing a tree on rows known by their bins, by a team of threads that stay in native code.

Each row carries two 64-bit words: its gradient as a multiple of a quantum, and its curvature as a multiple of another
above the bits that count it. A histogram is two words for each bin of each column. Sums of whole numbers do not depend
on their order: any number of threads, and any cut of the rows, gives the same bits; and the histogram of a node less
that of one child is exactly that of the other.

Blocks have at most 2**16 rows. Within a block the rows of a node are consecutive in `order`, which holds their places
in the block, from spans[block, node, 0] to spans[block, node, 1]: who works on a block writes to no line of another.

A tree is a chain of pieces of work: the rows of the root, then for each split the rows that it parts, or afterwards
those of each child, and after either the columns of the histograms that follow; at last the scores of all rows. The
leader (boosting_leaves) offers a piece, all members take its items, and the leader waits for the last. A class, since a
member must see the arrays of every piece: as arguments they would fill a page each time.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.boosting import gains, leaves, slopes
    from cython.cimports.mercer._native.boosting import words as pairs
    from cython.cimports.mercer._native.shared import team
else:
    from mercer._native.boosting import gains, leaves, slopes
    from mercer._native.boosting import words as pairs
    from mercer._native.shared import team

__all__ = ["Ground"]


@cython.cclass
class Ground:
    """What a team works on.

    Parameters
    ----------
    rows : bins (n, d), columns (d, n), counts, words (n, 2), order (n,)
        Bins by row and by column: a split asks for one column of all its rows, a histogram for all columns of some.
        Counts (n,) say how many rows each stands for; empty, one each.
    rules : offsets (d + 1,), categorical (d,), monotone (d,), limits (7,), scales (2,), units (2,)
        Where the bins of a column begin, of which the last is that of missing values; 1 where values may only rise with
        the column, -1 where they may only fall, else 0; limits see leaves.pxd; units of the words in one of gradient
        and of curvature, and the inverse.
    room : parts, spare, sums, sorted_bins, used, totals, each (members, ...)
        A histogram; `unit` places; four numbers and a place for each bin of the widest column; whether rows were added,
        and the words of the rows added to the root: these two in cache lines of their own.
    asked : nodes (2, 6), allowed (2, d), best (2, d), cuts (2, d), chosen (2, d), n_chosen (2,)
        Two children, see gains.pxd; by which columns they may be split; what the best cut of each column saves, and
        which it is; the columns of histograms, rising, and how many: the first row for both children, unless each is
        added by itself.
    piece, control : (14,), (32,)
        The work offered, see leaves.pxd, and how it is shared, see team.pxd.
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
    used: cython.uchar[:, ::1]
    totals: cython.longlong[:, ::1]
    nodes: cython.const[cython.double][:, ::1]
    allowed: cython.const[cython.uchar][:, ::1]
    best: cython.double[:, ::1]
    cuts: cython.longlong[:, ::1]
    chosen: cython.const[cython.int][:, ::1]
    n_chosen: cython.const[cython.longlong][::1]
    piece: cython.const[cython.longlong][::1]
    control: cython.longlong[::1]
    spans: cython.int[:, :, ::1]
    numbers: cython.const[cython.longlong][:, ::1]
    tables: cython.const[cython.uchar][:, ::1]
    walks: cython.int[:, :, ::1]
    histograms: cython.longlong[:, ::1]
    gradients: cython.double[:, :, ::1]
    scores: cython.double[:, ::1]
    y: cython.const[cython.double][::1]
    weight: cython.const[cython.double][::1]
    losses: cython.double[:, ::1]
    drawn: cython.longlong[::1]
    scales: cython.const[cython.double][::1]
    units: cython.const[cython.double][::1]
    values: cython.const[cython.double][::1]
    cython.declare(shift=cython.int, bounded=cython.int, unit=cython.Py_ssize_t)
    cython.declare(seed=cython.ulonglong, share=cython.double)

    def __init__(self, rows, rules, room, asked, piece, control, shift: cython.int, unit: cython.Py_ssize_t):
        self.bins, self.columns, self.counts, self.words, self.order = rows
        self.offsets, self.categorical, self.monotone, self.limits, self.scales, self.units = rules
        self.parts, self.spare, self.sums, self.sorted_bins, self.used, self.totals = room
        self.nodes, self.allowed, self.best, self.cuts, self.chosen, self.n_chosen = asked
        self.piece, self.control, self.shift, self.unit = piece, control, shift, unit
        self.bounded = 1 if any(rules[2]) else 0

    def hold(self, spans, numbers, tables, walks, histograms):
        """Keep the rows of nodes (blocks, nodes, 2), what the leader says of them, and histograms in these arrays.

        Walks (members, 2, nodes) are for rows that are not drawn.
        """
        self.spans, self.numbers, self.tables = spans, numbers, tables
        self.walks, self.histograms = walks, histograms

    def aim(self, gradients, scores, y, weight, losses):
        """Set the scores (n, k), and where slopes.pxd writes what it makes of them."""
        self.gradients, self.scores, self.y, self.weight, self.losses = gradients, scores, y, weight, losses

    def draw(self, drawn, seed: cython.ulonglong, share: cython.double):
        """Set how often rows are drawn (n,), empty for once, for the trees that follow.

        It is written where the share of rows is above 0, from a seed, see words.h.
        """
        self.drawn, self.seed, self.share = drawn, seed, share

    def value(self, values):
        """Set what nodes add to the scores (nodes,), empty for nothing."""
        self.values = values

    def call(self):
        """Begin to work with a team."""
        team.dismiss(self.control, 0)

    def help(self, member: cython.Py_ssize_t):
        """Take part in all work, until the team is dismissed."""
        with cython.nogil:
            self._follow(member)

    def dismiss(self):
        """Leave what work there is, and end."""
        team.publish(self.control, 0)
        team.dismiss(self.control, 1)

    def advance(self, patience: cython.Py_ssize_t) -> cython.int:
        """Take items for about as many pairs; when none is left, wait for all. Whether there is more to do."""
        more: cython.int
        with cython.nogil:
            more = self._advance(patience)
        return more

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _follow(self, member: cython.Py_ssize_t) -> cython.void:
        ticket: cython.longlong
        # Until then there was no work for this member.
        seen: cython.longlong = -1
        look: cython.Py_ssize_t
        done: cython.Py_ssize_t
        while True:
            look = done = 0
            while team.current(self.control) == seen:
                if team.is_over(self.control):
                    return
                team.rest(look)
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
    def _advance(self, patience: cython.Py_ssize_t) -> cython.int:
        item: cython.Py_ssize_t
        look: cython.Py_ssize_t = 0
        done: cython.Py_ssize_t = 0
        while patience > 0:
            item = team.item(team.claim(self.control))
            if item < 0:
                team.finish(self.control, done)
                while not team.is_done(self.control, self.piece[leaves.ITEMS]):
                    team.rest(look)
                    look += 1
                return 0
            self._work(item, 0)
            done += 1
            patience -= self.piece[leaves.COST]
        team.finish(self.control, done)
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _work(self, item: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        """Do one item: a run of blocks, or of columns."""
        size: cython.Py_ssize_t = (
            self.spans.shape[0] if self.piece[leaves.KIND] != leaves.COLUMNS else self.n_chosen[self.piece[leaves.SIDE]]
        )
        number: cython.Py_ssize_t
        for number in range(item * size // self.piece[leaves.ITEMS], (item + 1) * size // self.piece[leaves.ITEMS]):
            if self.piece[leaves.KIND] == leaves.ROOT_ROWS:
                self._start_block(number, member)
            elif self.piece[leaves.KIND] == leaves.SPLIT_ROWS:
                self._split_block(number, member)
            elif self.piece[leaves.KIND] == leaves.CHILD_ROWS:
                self._add(
                    number,
                    self.spans[number, self.piece[leaves.NODE], 0],
                    self.spans[number, self.piece[leaves.NODE], 1],
                    member,
                )
            elif self.piece[leaves.KIND] == leaves.COLUMNS:
                self._search_column(self.chosen[self.piece[leaves.SIDE], number], member)
            else:
                self._move_block(number, member)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _add(
        self, block: cython.Py_ssize_t, first: cython.Py_ssize_t, last: cython.Py_ssize_t, member: cython.Py_ssize_t
    ) -> cython.void:
        start: cython.Py_ssize_t = block * self.unit
        n_chosen: cython.Py_ssize_t = self.n_chosen[self.piece[leaves.SIDE]]
        if first == last:
            return
        # A member empties its own histogram: what others have read is nearest to its core still.
        if self.used[member, 0] == 0:
            pairs.clear(self.offsets, self.chosen, self.piece[leaves.SIDE], n_chosen, self.parts, member)
            self.used[member, 0] = 1
        pairs.add_rows(
            self.bins,
            start,
            self.words,
            self.order,
            start + first,
            start + last,
            self.offsets,
            self.chosen,
            self.piece[leaves.SIDE],
            n_chosen,
            self.parts,
            member,
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _start_block(self, block: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        start: cython.Py_ssize_t = block * self.unit
        stop: cython.Py_ssize_t = min(start + self.unit, self.bins.shape[0])
        kept: cython.Py_ssize_t
        if self.share > 0.0:
            pairs.draw_rows(self.seed, start, stop, self.share, self.drawn)
        kept = pairs.quantise(
            self.gradients,
            self.piece[leaves.OUTPUT],
            self.counts,
            self.drawn,
            start,
            stop,
            self.scales,
            self.shift,
            self.words,
            self.order,
            self.totals,
            member,
        )
        self.spans[block, 0, 0] = 0
        self.spans[block, 0, 1] = cython.cast(cython.int, kept)
        if self.piece[leaves.BUILD] >= 0:
            self._add(block, 0, kept, member)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _split_block(self, block: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        start: cython.Py_ssize_t = block * self.unit
        child: cython.Py_ssize_t = self.piece[leaves.CHILD]
        first: cython.int = self.spans[block, self.piece[leaves.NODE], 0]
        last: cython.int = self.spans[block, self.piece[leaves.NODE], 1]
        middle: cython.Py_ssize_t = first + pairs.part_rows(
            self.columns,
            self.numbers[self.piece[leaves.NODE], leaves.FEATURE],
            start,
            self.tables,
            self.piece[leaves.NODE],
            self.order,
            first,
            last,
            self.spare,
            member,
        )
        self.spans[block, child, 0] = first
        self.spans[block, child, 1] = self.spans[block, child + 1, 0] = cython.cast(cython.int, middle)
        self.spans[block, child + 1, 1] = last
        if self.piece[leaves.BUILD] == 0:
            self._add(block, first, middle, member)
        elif self.piece[leaves.BUILD] == 1:
            self._add(block, middle, last, member)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _search_column(self, column: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        first: cython.Py_ssize_t = 2 * self.offsets[column]
        last: cython.Py_ssize_t = 2 * self.offsets[column + 1]
        pairs.gather(self.parts, self.used, first, last, self.histograms, self.piece[leaves.BUILT])
        if self.piece[leaves.WHOLE] >= 0:
            pairs.take(self.histograms, self.piece[leaves.WHOLE], self.piece[leaves.BUILT], first, last)
        if self.piece[leaves.SEARCH_LEFT] and self.allowed[0, column]:
            self._judge(column, member, 0)
        if self.piece[leaves.SEARCH_RIGHT] and self.allowed[1, column]:
            self._judge(column, member, 1)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _judge(self, column: cython.Py_ssize_t, member: cython.Py_ssize_t, side: cython.Py_ssize_t) -> cython.void:
        first: cython.Py_ssize_t = self.offsets[column]
        self.cuts[side, column] = gains.search_column(
            self.histograms,
            self.numbers[self.piece[leaves.CHILD] + side, leaves.SLOT],
            first,
            self.offsets[column + 1] - first - 1,
            self.categorical[column],
            self.monotone[column],
            self.nodes,
            side,
            self.limits,
            self.bounded,
            self.units,
            self.shift,
            self.sums,
            self.sorted_bins,
            member,
            self.best,
            column,
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _move_block(self, block: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        start: cython.Py_ssize_t = block * self.unit
        stop: cython.Py_ssize_t = min(start + self.unit, self.bins.shape[0])
        if self.values.shape[0] > 0:
            slopes.add_values(
                self.order,
                self.spans,
                self.numbers,
                self.piece[leaves.NODES],
                self.values,
                block,
                start,
                self.scores,
                self.piece[leaves.OUTPUT],
            )
            if self.drawn.shape[0] > 0:
                slopes.add_walked(
                    self.columns,
                    self.drawn,
                    start,
                    stop,
                    self.spans[block, 0, 1],
                    self.numbers,
                    leaves.FEATURE,
                    self.piece[leaves.NODES],
                    self.tables,
                    self.values,
                    self.scores,
                    self.piece[leaves.OUTPUT],
                    self.order,
                    self.spare,
                    self.walks,
                    member,
                )
        if self.piece[leaves.LOSS] > 0:
            slopes.look(
                self.piece[leaves.LOSS],
                self.scores,
                self.y,
                self.weight,
                start,
                stop,
                self.gradients,
                self.losses,
                block,
            )
