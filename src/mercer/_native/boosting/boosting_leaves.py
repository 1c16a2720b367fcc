"""The leader's part in growing a tree: which leaf is split next, and what the team does for it.

Between two pieces of work everybody waits for the leader. So nodes are rows of tables, and what the interpreter does
is to name the step: some microseconds for a split in all.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.boosting import gains, leaves
    from cython.cimports.mercer._native.shared import team
else:
    from mercer._native.boosting import gains, leaves
    from mercer._native.shared import team

__all__ = ["Leader"]

# What there is to do after a leaf was opened: nothing, since none is left; part its rows; and search its children; but
# make room before.
cython.declare(_NOTHING=cython.int, _PART=cython.int, _SEARCH=cython.int, _ROOM=cython.int)
_NOTHING, _PART, _SEARCH, _ROOM = 0, 1, 2, 3
# What parting a row costs beside adding it to the bins of its columns, what its loss costs, and a column; in pairs.
_PARTING = cython.declare(cython.Py_ssize_t, 4)
_SLOPE = cython.declare(cython.Py_ssize_t, 16)
_COLUMN = cython.declare(cython.Py_ssize_t, 16384)
_MOST_ITEMS = cython.declare(cython.Py_ssize_t, 2048)
_ENDLESS = cython.declare(cython.double, float("inf"))


@cython.cclass
class Leader:
    """Opens leaves, and offers what a ground (boosting_growth) works on.

    Parameters
    ----------
    rules : offsets (d + 1,), monotone (d,), limits (7,), units (2,)
    room : sums, sorted_bins, used, totals, each (members, ...)
    asked : nodes (2, 6), allowed (2, d), best (2, d), cuts (2, d), n_chosen (2,)
        As of a ground.
    question : (6,)
        Written: about which parent, or -1, its first child, the column that parts it, whether each child may be split;
        and how many nodes there are.
    piece, control : (14,), (32,)
        The work offered, see leaves.pxd, and how it is shared, see team.pxd.
    shape : rows, blocks, bits of the second word that count rows, least pairs of words added in an item of work
    """

    offsets: cython.const[cython.int][::1]
    monotone: cython.const[cython.int][::1]
    limits: cython.const[cython.double][::1]
    units: cython.const[cython.double][::1]
    sums: cython.double[:, :, ::1]
    sorted_bins: cython.int[:, ::1]
    used: cython.uchar[:, ::1]
    totals: cython.longlong[:, ::1]
    nodes: cython.double[:, ::1]
    allowed: cython.const[cython.uchar][:, ::1]
    best: cython.const[cython.double][:, ::1]
    cuts: cython.const[cython.longlong][:, ::1]
    n_chosen: cython.const[cython.longlong][::1]
    question: cython.longlong[::1]
    piece: cython.longlong[::1]
    control: cython.longlong[::1]
    numbers: cython.longlong[:, ::1]
    reals: cython.double[:, ::1]
    tables: cython.uchar[:, ::1]
    queue: cython.int[::1]
    histograms: cython.const[cython.longlong][:, ::1]
    free: cython.int[::1]
    cython.declare(n=cython.Py_ssize_t, d=cython.Py_ssize_t, n_blocks=cython.Py_ssize_t, shift=cython.int)
    cython.declare(grain=cython.Py_ssize_t)
    cython.declare(left=cython.Py_ssize_t, sides=cython.Py_ssize_t, direct=cython.int, n_nodes=cython.Py_ssize_t)
    cython.declare(n_leaves=cython.Py_ssize_t, n_queued=cython.Py_ssize_t, n_free=cython.Py_ssize_t)

    def __init__(self, rules, room, asked, question, piece, control, shape):
        self.offsets, self.monotone, self.limits, self.units = rules
        self.sums, self.sorted_bins, self.used, self.totals = room
        self.nodes, self.allowed, self.best, self.cuts, self.n_chosen = asked
        self.question, self.piece, self.control = question, piece, control
        self.n, self.n_blocks, self.shift, self.grain = shape
        self.d = self.allowed.shape[1]

    def hold(self, numbers, reals, tables, queue):
        """Keep nodes in these arrays, see leaves.pxd; which bins go left (nodes, bins), and a queue (nodes,)."""
        self.numbers, self.reals, self.tables, self.queue = numbers, reals, tables, queue

    def keep(self, histograms, free, n_free: cython.Py_ssize_t):
        """Keep the histograms of open leaves here, of which so many are free."""
        self.histograms, self.free, self.n_free = histograms, free, n_free

    def free_slots(self) -> cython.Py_ssize_t:
        """How many histograms are free."""
        return self.n_free

    def sow(self, output: cython.Py_ssize_t, direct: cython.int):
        """Begin a tree for a score: offer all rows. If `direct`, children will be added each by itself."""
        slot: cython.Py_ssize_t
        self.totals[:, :] = 0
        self.direct, self.n_nodes, self.n_leaves, self.n_queued = direct, 1, 1, 0
        self.n_free = self.histograms.shape[0]
        for slot in range(self.n_free):
            self.free[slot] = cython.cast(cython.int, slot)
        self.piece[leaves.OUTPUT], self.piece[leaves.SIDE], self.piece[leaves.BUILD] = output, 0, -1 if direct else 0
        self._offer(leaves.ROOT_ROWS, self.n * (_PARTING if direct else self.n_chosen[0]))

    def plant(self) -> cython.int:
        """Make the root; whether it is to be searched."""
        gradient: cython.longlong = 0
        rest: cython.longlong = 0
        member: cython.Py_ssize_t
        for member in range(self.totals.shape[0]):
            gradient += self.totals[member, 0]
            rest += self.totals[member, 1]
        leaves.plant(
            self.numbers, self.reals, 0, gradient, rest, 0, -_ENDLESS, _ENDLESS, self.limits, self.units, self.shift
        )
        self.n_free -= 1
        self.numbers[0, leaves.SLOT] = self.free[self.n_free]
        self.left, self.sides = 0, 1
        self.piece[leaves.CHILD], self.piece[leaves.BUILT], self.piece[leaves.WHOLE] = 0, self.free[self.n_free], -1
        self.question[0], self.question[1], self.question[2], self.question[4] = -1, 0, -1, 0
        self.question[3] = leaves.may_split(self.numbers, self.reals, 0, self.limits)
        return cython.cast(cython.int, self.question[3])

    def open(self) -> cython.int:
        """Queue what was found, and open the leaf that gains most; what there is to do."""
        node: cython.Py_ssize_t
        side: cython.Py_ssize_t
        for side in range(self.sides):
            self._queue(self.left + side, side)
        self.sides = 0
        self.question[5] = self.piece[leaves.NODES] = self.n_nodes
        if self.n_queued == 0 or self.n_leaves >= self.limits[5]:
            return _NOTHING
        if self.n_nodes + 2 > self.numbers.shape[0] or self.n_free == 0:
            return _ROOM
        node = leaves.pop(self.queue, self.n_queued, self.reals)
        self.left = self.n_nodes
        self.n_queued, self.n_nodes, self.n_leaves = self.n_queued - 1, self.n_nodes + 2, self.n_leaves + 1
        self._fork(node, self.left, self.numbers[node, leaves.FEATURE])
        if self.n_leaves < self.limits[5] and (self.question[3] or self.question[4]):
            return _SEARCH
        self.question[3] = self.question[4] = 0
        return _PART

    def part(self):
        """Offer the rows of the leaf opened; those of its smaller child are added if there is to be a search."""
        node: cython.Py_ssize_t = self.question[0]
        small: cython.Py_ssize_t = (
            1 if self.numbers[self.left, leaves.COUNT] > self.numbers[self.left + 1, leaves.COUNT] else 0
        )
        searched: cython.int = 1 if self.question[3] or self.question[4] else 0
        slot: cython.longlong = self.numbers[node, leaves.SLOT]
        work: cython.Py_ssize_t = self._rows(node) * _PARTING
        self.piece[leaves.NODE], self.piece[leaves.CHILD], self.piece[leaves.SIDE] = node, self.left, 0
        self.piece[leaves.BUILD] = small if searched and not self.direct else -1
        if searched:
            self.n_free -= 1
            self.sides = 2
            self.piece[leaves.BUILT], self.piece[leaves.WHOLE] = self.free[self.n_free], slot
            self.numbers[self.left + small, leaves.SLOT] = self.free[self.n_free]
            self.numbers[self.left + 1 - small, leaves.SLOT] = slot
        else:
            self._release(slot)
        if self.piece[leaves.BUILD] >= 0:
            work += self._rows(self.left + small) * self.n_chosen[0]
        self._offer(leaves.SPLIT_ROWS, work)

    def add(self, side: cython.Py_ssize_t):
        """Offer the rows of a child, to be added by themselves."""
        node: cython.Py_ssize_t = self.left + side
        self.piece[leaves.NODE], self.piece[leaves.SIDE] = node, side
        self.piece[leaves.BUILT], self.piece[leaves.WHOLE] = self.numbers[node, leaves.SLOT], -1
        self._offer(leaves.CHILD_ROWS, self._rows(node) * (_PARTING + self.n_chosen[side]))

    def search(self, left: cython.int, right: cython.int):
        """Offer the columns of what was added, and search one child, or both."""
        self.piece[leaves.SEARCH_LEFT], self.piece[leaves.SEARCH_RIGHT] = left, right
        if left:
            leaves.describe(self.numbers, self.reals, self.left, self.limits, self.nodes, 0)
        if right:
            leaves.describe(self.numbers, self.reals, self.left + 1, self.limits, self.nodes, 1)
        self._offer(leaves.COLUMNS, self.n_chosen[self.piece[leaves.SIDE]] * _COLUMN)

    def move(self, loss: cython.int, n_scores: cython.Py_ssize_t):
        """Offer the scores of all rows, and the gradients of a loss at them, unless that is 0."""
        self.piece[leaves.LOSS] = loss
        self._offer(leaves.SCORES, self.n * (_SLOPE * n_scores if loss else _PARTING))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fork(self, node: cython.Py_ssize_t, left: cython.Py_ssize_t, feature: cython.Py_ssize_t) -> cython.void:
        """Make two leaves below a node, and ask about them."""
        direction: cython.int = self.monotone[feature]
        leaves.fork(self.numbers, self.reals, node, left, direction, self.limits, self.units, self.shift)
        self.question[0] = node
        self.question[1] = left
        self.question[2] = feature
        self.question[3] = leaves.may_split(self.numbers, self.reals, left, self.limits)
        self.question[4] = leaves.may_split(self.numbers, self.reals, left + 1, self.limits)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _rows(self, node: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The rows of a node, or more: where rows stand for several, there are fewer than are counted."""
        return min(self.numbers[node, leaves.COUNT], self.n)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _release(self, slot: cython.longlong) -> cython.void:
        """Take back the place of a histogram that nobody needs."""
        self.free[self.n_free] = cython.cast(cython.int, slot)
        self.n_free += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _queue(self, node: cython.Py_ssize_t, side: cython.Py_ssize_t) -> cython.void:
        """Queue a node with its best split, or release its histogram."""
        column: cython.Py_ssize_t
        feature: cython.Py_ssize_t = -1
        slot: cython.longlong = self.numbers[node, leaves.SLOT]
        most: cython.double = self.nodes[side, 5]
        if self.question[3 + side]:
            for column in range(self.d):
                # Among splits of one gain the lowest column wins.
                if self.allowed[side, column] and self.cuts[side, column] >= 0 and self.best[side, column] > most:
                    most = self.best[side, column]
                    feature = column
        if feature < 0:
            self._release(slot)
            return
        gains.describe_cut(
            self.histograms,
            slot,
            self.offsets[feature],
            self.offsets[feature + 1] - self.offsets[feature] - 1,
            self.cuts[side, feature],
            self.nodes[side, 2],
            self.limits,
            self.units,
            self.shift,
            self.sums,
            self.sorted_bins,
            self.tables,
            self.numbers,
            node,
            leaves.BIN,
        )
        self.numbers[node, leaves.FEATURE] = feature
        self.reals[node, leaves.GAIN] = most - leaves.saving(self.reals, node, self.limits)
        leaves.push(self.queue, self.n_queued, self.reals, node)
        self.n_queued += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _offer(self, kind: cython.int, work: cython.Py_ssize_t) -> cython.void:
        """Offer a piece of work of as many pairs."""
        member: cython.Py_ssize_t
        items: cython.Py_ssize_t
        least: cython.Py_ssize_t
        n_chosen: cython.Py_ssize_t = self.n_chosen[self.piece[leaves.SIDE]]
        if kind == leaves.COLUMNS:
            items = min(n_chosen, _MOST_ITEMS)
        else:
            # With less than half of a histogram's bins to add, emptying and summing it would cost more than it saves.
            least = max(self.grain, self.offsets[self.d] * n_chosen // self.d // 2)
            items = max(1, min(self.n_blocks, work // least))
            for member in range(self.used.shape[0]):
                self.used[member, 0] = 0
        self.piece[leaves.KIND] = kind
        self.piece[leaves.ITEMS] = items
        self.piece[leaves.COST] = work // items + 1
        team.publish(self.control, items)
