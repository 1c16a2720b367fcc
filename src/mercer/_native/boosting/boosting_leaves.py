"""The leader's part in growing a tree: which leaf is split next, and which task the threads do for it.

Between two tasks all threads wait for the leader. So nodes are rows of tables, and the interpreter only names the next
step: a split takes some microseconds of the leader's time in all.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.boosting import gains, layout, leaves
    from cython.cimports.mercer._native.shared import team
else:
    from mercer._native.boosting import gains, layout, leaves
    from mercer._native.shared import team

# What follows after a leaf was opened: nothing, since no leaf is left to split; split its rows; split them and search
# its children; or make room for more nodes or histograms before.
_NOTHING = cython.declare(cython.int, 0)
_SPLIT = cython.declare(cython.int, 1)
_SEARCH = cython.declare(cython.int, 2)
_ROOM = cython.declare(cython.int, 3)
# Costs, in pairs of words added to a histogram: of moving a row to a child, of its loss, and of searching a column.
_SPLIT_COST = cython.declare(cython.Py_ssize_t, 4)
_LOSS_COST = cython.declare(cython.Py_ssize_t, 16)
_COLUMN_COST = cython.declare(cython.Py_ssize_t, 16384)
_MOST_ITEMS = cython.declare(cython.Py_ssize_t, 2048)
_UNBOUNDED = cython.declare(cython.double, float("inf"))
# Places in `question`, what the leader asks Python about: the parent (-1 for the root), its first child, the column
# that splits it, whether each child may be split; and the number of nodes.
_PARENT = cython.declare(cython.Py_ssize_t, 0)
_FIRST_CHILD = cython.declare(cython.Py_ssize_t, 1)
_COLUMN = cython.declare(cython.Py_ssize_t, 2)
_LEFT_WANTED = cython.declare(cython.Py_ssize_t, 3)
_RIGHT_WANTED = cython.declare(cython.Py_ssize_t, 4)
_N_NODES = cython.declare(cython.Py_ssize_t, 5)


@cython.cclass
class TreeLeader:
    """Opens leaves, and offers the tasks of a `TreeTasks` (``boosting_growth``), whose arrays it shares.

    Parameters
    ----------
    rules : features (4, d + 1), limits (7,), quanta (5,)
    room : sums, sorted_bins, used, totals, each (threads, ...)
    asked : nodes (2, 6), allowed (2, d), best (2, d), cuts (2, d), n_chosen (2,)
    question : (6,), written: parent, first child, column, whether each child may be split, number of nodes
    task, control : (14,), (32 + 8 threads,)
    shape : rows, blocks, least pairs of words added in an item of work
    """

    features: cython.const[cython.int][:, ::1]
    limits: cython.const[cython.double][::1]
    quanta: cython.const[cython.double][::1]
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
    task: cython.longlong[::1]
    control: cython.longlong[::1]
    numbers: cython.longlong[:, ::1]
    reals: cython.double[:, ::1]
    tables: cython.uchar[:, ::1]
    queue: cython.int[::1]
    histograms: cython.const[cython.longlong][:, ::1]
    free: cython.int[::1]
    cython.declare(n=cython.Py_ssize_t, d=cython.Py_ssize_t, n_blocks=cython.Py_ssize_t, grain=cython.Py_ssize_t)
    cython.declare(left=cython.Py_ssize_t, sides=cython.Py_ssize_t, direct=cython.int, n_nodes=cython.Py_ssize_t)
    cython.declare(n_leaves=cython.Py_ssize_t, n_queued=cython.Py_ssize_t, n_free=cython.Py_ssize_t)

    def __init__(self, rules, room, asked, question, task, control, shape):
        self.features, self.limits, self.quanta = rules
        self.sums, self.sorted_bins, self.used, self.totals = room
        self.nodes, self.allowed, self.best, self.cuts, self.n_chosen = asked
        self.question, self.task, self.control = question, task, control
        self.n, self.n_blocks, self.grain = shape
        self.d = self.allowed.shape[1]

    def hold_nodes(self, numbers, reals, tables, queue):
        """Keep nodes in these arrays, see ``layout``; which bins go left (nodes, bins), and a queue (nodes,)."""
        self.numbers, self.reals, self.tables, self.queue = numbers, reals, tables, queue

    def hold_histograms(self, histograms, free, n_free: cython.Py_ssize_t):
        """Keep the histograms of open leaves here; the first `n_free` of `free` are the rows not in use."""
        self.histograms, self.free, self.n_free = histograms, free, n_free

    def count_free(self) -> cython.Py_ssize_t:
        """Return how many histograms are free."""
        return self.n_free

    def start_tree(self, output: cython.Py_ssize_t, direct: cython.int):
        """Begin a tree for score `output`: offer all rows. If `direct`, each child will be added by itself."""
        slot: cython.Py_ssize_t
        self.totals[:, :] = 0
        self.direct, self.n_nodes, self.n_leaves, self.n_queued = direct, 1, 1, 0
        self.n_free = self.histograms.shape[0]
        for slot in range(self.n_free):
            self.free[slot] = cython.cast(cython.int, slot)
        self.task[layout.OUTPUT], self.task[layout.SIDE], self.task[layout.BUILD] = output, 0, -1 if direct else 0
        self._offer(layout.ROOT_ROWS, self.n * (_SPLIT_COST if direct else self.n_chosen[0]))

    def make_root(self) -> cython.int:
        """Make the root from the words of all rows; return whether it may be split."""
        gradient: cython.longlong = 0
        rest: cython.longlong = 0
        member: cython.Py_ssize_t
        # Each thread has summed the words of the rows that it quantised; sums of integers have no order.
        for member in range(self.totals.shape[0]):
            gradient += self.totals[member, 0]
            rest += self.totals[member, 1]
        leaves.make_leaf(
            self.numbers, self.reals, 0, gradient, rest, 0, -_UNBOUNDED, _UNBOUNDED, self.limits, self.quanta
        )
        self.n_free -= 1
        # Histograms live in a fixed number of slots; the list `free` is a stack of those not in use.
        self.numbers[0, layout.SLOT] = self.free[self.n_free]
        self.left, self.sides = 0, 1
        # WHOLE is the slot of the parent's histogram, from which the other child is subtracted; the root has none.
        self.task[layout.CHILD], self.task[layout.BUILT], self.task[layout.WHOLE] = 0, self.free[self.n_free], -1
        self.question[_PARENT], self.question[_FIRST_CHILD], self.question[_COLUMN] = -1, 0, -1
        self.question[_LEFT_WANTED] = leaves.may_split(self.numbers, self.reals, 0, self.limits)
        self.question[_RIGHT_WANTED] = 0
        return cython.cast(cython.int, self.question[_LEFT_WANTED])

    def open_leaf(self) -> cython.int:
        """Queue the leaves just searched, and open the leaf that gains most; return what follows."""
        node: cython.Py_ssize_t
        side: cython.Py_ssize_t
        for side in range(self.sides):
            self._queue(self.left + side, side)
        self.sides = 0
        self.question[_N_NODES] = self.task[layout.NODES] = self.n_nodes
        if self.n_queued == 0 or self.n_leaves >= self.limits[layout.MAX_LEAVES]:
            return _NOTHING
        # Asked before the queue changes: the caller enlarges the arrays and calls again.
        if self.n_nodes + 2 > self.numbers.shape[0] or self.n_free == 0:
            return _ROOM
        node = leaves.pop(self.queue, self.n_queued, self.reals)
        self.left = self.n_nodes
        self.n_queued, self.n_nodes, self.n_leaves = self.n_queued - 1, self.n_nodes + 2, self.n_leaves + 1
        self._fork(node, self.left, self.numbers[node, layout.FEATURE])
        # If the tree is full after this split, its children stay leaves, and nothing needs to be searched.
        if self.n_leaves < self.limits[layout.MAX_LEAVES] and (
            self.question[_LEFT_WANTED] or self.question[_RIGHT_WANTED]
        ):
            return _SEARCH
        self.question[_LEFT_WANTED] = self.question[_RIGHT_WANTED] = 0
        return _SPLIT

    def offer_split(self):
        """Offer the rows of the leaf opened; those of its smaller child are added if a child is to be searched."""
        node: cython.Py_ssize_t = self.question[_PARENT]
        # The child with fewer rows is summed from its rows: at most half of the parent's rows are read.
        small: cython.Py_ssize_t = (
            1 if self.numbers[self.left, layout.COUNT] > self.numbers[self.left + 1, layout.COUNT] else 0
        )
        searched: cython.int = 1 if self.question[_LEFT_WANTED] or self.question[_RIGHT_WANTED] else 0
        slot: cython.longlong = self.numbers[node, layout.SLOT]
        # The cost of a task decides into how many items it is cut.
        work: cython.Py_ssize_t = self._bound_rows(node) * _SPLIT_COST
        self.task[layout.NODE], self.task[layout.CHILD], self.task[layout.SIDE] = node, self.left, 0
        self.task[layout.BUILD] = small if searched and not self.direct else -1
        if searched:
            self.n_free -= 1
            self.sides = 2
            # The larger child takes over the place of the parent, whose histogram becomes its own by subtraction.
            self.task[layout.BUILT], self.task[layout.WHOLE] = self.free[self.n_free], slot
            self.numbers[self.left + small, layout.SLOT] = self.free[self.n_free]
            self.numbers[self.left + 1 - small, layout.SLOT] = slot
        else:
            self._release(slot)
        if self.task[layout.BUILD] >= 0:
            work += self._bound_rows(self.left + small) * self.n_chosen[0]
        self._offer(layout.SPLIT_ROWS, work)

    def offer_child(self, side: cython.Py_ssize_t):
        """Offer the rows of one child, to be added to a histogram of their own."""
        node: cython.Py_ssize_t = self.left + side
        self.task[layout.NODE], self.task[layout.SIDE] = node, side
        self.task[layout.BUILT], self.task[layout.WHOLE] = self.numbers[node, layout.SLOT], -1
        self._offer(layout.CHILD_ROWS, self._bound_rows(node) * (_SPLIT_COST + self.n_chosen[side]))

    def offer_search(self, left: cython.int, right: cython.int):
        """Offer the columns of the histogram just added, to search the left child, the right one, or both."""
        self.task[layout.SEARCH_LEFT], self.task[layout.SEARCH_RIGHT] = left, right
        if left:
            leaves.describe(self.numbers, self.reals, self.left, self.limits, self.nodes, 0)
        if right:
            leaves.describe(self.numbers, self.reals, self.left + 1, self.limits, self.nodes, 1)
        self._offer(layout.COLUMNS, self.n_chosen[self.task[layout.SIDE]] * _COLUMN_COST)

    def offer_scores(self, loss: cython.int, n_scores: cython.Py_ssize_t):
        """Offer the scores of all rows, and the gradients of a loss (see ``slopes``) at them, unless that is 0."""
        self.task[layout.LOSS] = loss
        self._offer(layout.SCORES, self.n * (_LOSS_COST * n_scores if loss else _SPLIT_COST))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fork(self, node: cython.Py_ssize_t, left: cython.Py_ssize_t, feature: cython.Py_ssize_t) -> cython.void:
        """Make two leaves below a node, and ask whether they may be split."""
        direction: cython.int = self.features[layout.DIRECTION, feature]
        leaves.fork(self.numbers, self.reals, node, left, direction, self.limits, self.quanta)
        self.question[_PARENT] = node
        self.question[_FIRST_CHILD] = left
        self.question[_COLUMN] = feature
        self.question[_LEFT_WANTED] = leaves.may_split(self.numbers, self.reals, left, self.limits)
        self.question[_RIGHT_WANTED] = leaves.may_split(self.numbers, self.reals, left + 1, self.limits)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _bound_rows(self, node: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return an upper bound of the rows of a node: where rows stand for several, fewer are stored than counted."""
        return min(self.numbers[node, layout.COUNT], self.n)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _release(self, slot: cython.longlong) -> cython.void:
        """Mark the place of a histogram as free."""
        self.free[self.n_free] = cython.cast(cython.int, slot)
        self.n_free += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _queue(self, node: cython.Py_ssize_t, side: cython.Py_ssize_t) -> cython.void:
        """Queue a node with its best split, or release its histogram."""
        column: cython.Py_ssize_t
        feature: cython.Py_ssize_t = -1
        slot: cython.longlong = self.numbers[node, layout.SLOT]
        most: cython.double = self.nodes[side, layout.ASKED_SAVING]
        # A cut must save more than the node itself (ASKED_SAVING), else its gain would not be positive.
        if self.question[_LEFT_WANTED + side]:
            for column in range(self.d):
                # Among splits of one gain the lowest column wins.
                if self.allowed[side, column] and self.cuts[side, column] >= 0 and self.best[side, column] > most:
                    most = self.best[side, column]
                    feature = column
        if feature < 0:
            self._release(slot)
            return
        gains.describe_cut(
            self.histograms, self.features, feature, self.cuts[side, feature], self.limits, self.quanta, self.sums,
            self.sorted_bins, self.tables, self.numbers, node,
        )  # fmt: skip
        # The gain is what both children save beyond what the node saves as a leaf.
        self.reals[node, layout.GAIN] = most - leaves.measure_saving(self.reals, node, self.limits)
        leaves.push(self.queue, self.n_queued, self.reals, node)
        self.n_queued += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _offer(self, kind: cython.int, work: cython.Py_ssize_t) -> cython.void:
        """Offer a task that costs `work` pairs of words in all."""
        member: cython.Py_ssize_t
        items: cython.Py_ssize_t
        least: cython.Py_ssize_t
        n_chosen: cython.Py_ssize_t = self.n_chosen[self.task[layout.SIDE]]
        if kind == layout.COLUMNS:
            items = min(n_chosen, _MOST_ITEMS)
        else:
            # With less than half of a histogram's bins to add, emptying and summing it would cost more than it saves.
            least = max(self.grain, self.features[layout.OFFSET, self.d] * n_chosen // self.d // 2)
            items = max(1, min(self.n_blocks, work // least))
            for member in range(self.used.shape[0]):
                self.used[member, 0] = 0
        self.task[layout.KIND] = kind
        self.task[layout.ITEMS] = items
        # One more, so that an item without work still counts against the patience of the leader.
        self.task[layout.COST] = work // items + 1
        team.publish(self.control, items)
