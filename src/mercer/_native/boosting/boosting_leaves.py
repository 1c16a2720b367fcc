"""The leader's part in growing a tree: which leaf is split next, and which task the threads do for it.

Between two tasks all threads wait for the leader. So nodes are native records, and the interpreter only names the next
step: a split takes some microseconds of the leader's time in all.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.boosting import gains, leaves
    from cython.cimports.mercer._native.shared import team
else:
    from mercer._native.boosting import gains, leaves
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


@cython.cclass
class TreeLeader:
    """Opens leaves, and offers the tasks of a `TreeTasks` (``boosting_growth``), whose arrays it shares.

    Parameters
    ----------
    rows : BinnedRows
    room : TreeRoom
        The arrays that threads and their leader share.
    grain : least pairs of words added in an item of work

    Attributes
    ----------
    parent, left, column : the node opened last (-1 for the root), its first child, and the column that splits it
    left_wanted, right_wanted : whether each child may be split
    n_nodes : the number of nodes
    """

    parent = cython.declare(cython.Py_ssize_t, visibility="readonly")
    left = cython.declare(cython.Py_ssize_t, visibility="readonly")
    column = cython.declare(cython.Py_ssize_t, visibility="readonly")
    left_wanted = cython.declare(cython.int, visibility="readonly")
    right_wanted = cython.declare(cython.int, visibility="readonly")
    n_nodes = cython.declare(cython.Py_ssize_t, visibility="readonly")
    offsets: cython.const[cython.int][::1]
    features: cython.const[leaves.Column][::1]
    rules: cython.const[leaves.Rules][::1]
    sums: cython.double[:, :, ::1]
    sorted_bins: cython.int[:, ::1]
    used: cython.uchar[:, ::1]
    totals: leaves.Words[:, ::1]
    allowed: cython.const[cython.uchar][:, ::1]
    splits: cython.const[leaves.Split][:, ::1]
    n_chosen: cython.const[cython.longlong][::1]
    task: leaves.Task[::1]
    control: cython.longlong[::1]
    nodes: leaves.Node[::1]
    tables: cython.uchar[:, ::1]
    queue: cython.int[::1]
    histograms: cython.const[leaves.Words][:, ::1]
    free: cython.int[::1]
    cython.declare(n=cython.Py_ssize_t, d=cython.Py_ssize_t, n_blocks=cython.Py_ssize_t, grain=cython.Py_ssize_t)
    cython.declare(sides=cython.Py_ssize_t, direct=cython.int, n_leaves=cython.Py_ssize_t)
    cython.declare(n_queued=cython.Py_ssize_t, n_free=cython.Py_ssize_t)

    def __init__(self, rows, room, grain):
        self.offsets, self.features, self.rules = room.offsets, room.features, room.rules
        self.sums, self.sorted_bins, self.used, self.totals = room.sums, room.sorted_bins, room.used, room.totals
        self.allowed, self.splits, self.n_chosen = room.allowed, room.splits, room.n_chosen
        self.task, self.control = room.task, room.control
        self.n, self.n_blocks, self.d, self.grain = rows.codes.shape[0], rows.n_blocks, rows.codes.shape[1], grain

    def hold_nodes(self, nodes, tables, queue):
        """Keep nodes in these arrays: records, which bins go left (nodes, bins), and a queue (nodes,)."""
        self.nodes, self.tables, self.queue = nodes, tables, queue

    def hold_histograms(self, histograms, free, n_free: cython.Py_ssize_t):
        """Keep the histograms of open leaves here; the first `n_free` of `free` are the rows not in use."""
        self.histograms, self.free, self.n_free = histograms, free, n_free

    def count_free(self) -> cython.Py_ssize_t:
        """Return how many histograms are free."""
        return self.n_free

    def start_tree(self, output: cython.Py_ssize_t, direct: cython.int):
        """Begin a tree for score `output`: offer all rows. If `direct`, each child will be added by itself."""
        for member in range(self.totals.shape[0]):
            self.totals[member, 0].gradient = self.totals[member, 0].rest = 0
        self.direct, self.n_nodes, self.n_leaves, self.n_queued = direct, 1, 1, 0
        self.n_free = self.histograms.shape[0]
        for slot in range(self.n_free):
            self.free[slot] = cython.cast(cython.int, slot)
        self.task[0].output, self.task[0].side, self.task[0].build = output, 0, -1 if direct else 0
        self._offer(leaves.ROOT_ROWS, self.n * (_SPLIT_COST if direct else self.n_chosen[0]))

    def make_root(self) -> cython.int:
        """Make the root from the words of all rows; return whether it may be split."""
        gradient: cython.longlong = 0
        rest: cython.longlong = 0
        # Each thread has summed the words of the rows that it quantised; sums of integers have no order.
        for member in range(self.totals.shape[0]):
            gradient += self.totals[member, 0].gradient
            rest += self.totals[member, 0].rest
        self.nodes[0].words.gradient, self.nodes[0].words.rest = gradient, rest
        leaves.make_leaf(self.nodes, 0, 0, -_UNBOUNDED, _UNBOUNDED, self.rules)
        self.n_free -= 1
        # Histograms live in a fixed number of slots; the list `free` is a stack of those not in use.
        self.nodes[0].slot = self.free[self.n_free]
        self.left, self.sides = 0, 1
        # `whole` is the slot of the parent's histogram, from which the other child is subtracted; the root has none.
        self.task[0].child, self.task[0].built, self.task[0].whole = 0, self.free[self.n_free], -1
        self.parent, self.column = -1, -1
        self.left_wanted, self.right_wanted = leaves.may_split(self.nodes, 0, self.rules), 0
        return self.left_wanted

    def open_leaf(self) -> cython.int:
        """Queue the leaves just searched, and open the leaf that gains most; return what follows."""
        for side in range(self.sides):
            self._queue(self.left + side, side, self.right_wanted if side else self.left_wanted)
        self.sides = 0
        self.task[0].nodes = self.n_nodes
        if self.n_queued == 0 or self.n_leaves >= self.rules[0].max_leaves:
            return _NOTHING
        # Asked before the queue changes: the caller enlarges the arrays and calls again.
        if self.n_nodes + 2 > self.nodes.shape[0] or self.n_free == 0:
            return _ROOM
        node = leaves.pop(self.queue, self.n_queued, self.nodes)
        self.parent, self.left, self.column = node, self.n_nodes, self.nodes[node].feature
        self.n_queued, self.n_nodes, self.n_leaves = self.n_queued - 1, self.n_nodes + 2, self.n_leaves + 1
        leaves.fork(self.nodes, node, self.left, self.features[self.column].direction, self.rules)
        self.left_wanted = leaves.may_split(self.nodes, self.left, self.rules)
        self.right_wanted = leaves.may_split(self.nodes, self.left + 1, self.rules)
        # If the tree is full after this split, its children stay leaves, and nothing needs to be searched.
        if self.n_leaves < self.rules[0].max_leaves and (self.left_wanted or self.right_wanted):
            return _SEARCH
        self.left_wanted = self.right_wanted = 0
        return _SPLIT

    def offer_split(self):
        """Offer the rows of the leaf opened; those of its smaller child are added if a child is to be searched."""
        node: cython.Py_ssize_t = self.parent
        # The child with fewer rows is summed from its rows: at most half of the parent's rows are read.
        small: cython.Py_ssize_t = 1 if self.nodes[self.left].count > self.nodes[self.left + 1].count else 0
        searched: cython.int = 1 if self.left_wanted or self.right_wanted else 0
        slot: cython.longlong = self.nodes[node].slot
        # The cost of a task decides into how many items it is cut.
        work: cython.Py_ssize_t = self._bound_rows(node) * _SPLIT_COST
        self.task[0].node, self.task[0].child, self.task[0].side = node, self.left, 0
        self.task[0].build = small if searched and not self.direct else -1
        if searched:
            self.n_free -= 1
            self.sides = 2
            # The larger child takes over the place of the parent, whose histogram becomes its own by subtraction.
            self.task[0].built, self.task[0].whole = self.free[self.n_free], slot
            self.nodes[self.left + small].slot = self.free[self.n_free]
            self.nodes[self.left + 1 - small].slot = slot
        else:
            self._release(slot)
        if self.task[0].build >= 0:
            work += self._bound_rows(self.left + small) * self.n_chosen[0]
        self._offer(leaves.SPLIT_ROWS, work)

    def offer_child(self, side: cython.Py_ssize_t):
        """Offer the rows of one child, to be added to a histogram of their own."""
        node: cython.Py_ssize_t = self.left + side
        self.task[0].node, self.task[0].side = node, side
        self.task[0].built, self.task[0].whole = self.nodes[node].slot, -1
        self._offer(leaves.CHILD_ROWS, self._bound_rows(node) * (_SPLIT_COST + self.n_chosen[side]))

    def offer_search(self, left: cython.int, right: cython.int):
        """Offer the columns of the histogram just added, to search the left child, the right one, or both."""
        self.task[0].search_left, self.task[0].search_right = left, right
        self._offer(leaves.COLUMNS, self.n_chosen[self.task[0].side] * _COLUMN_COST)

    def offer_scores(self, loss: cython.int, n_scores: cython.Py_ssize_t):
        """Offer the scores of all rows, and the gradients of a loss (see ``slopes``) at them, unless that is 0."""
        self.task[0].loss = loss
        self._offer(leaves.SCORES, self.n * (_LOSS_COST * n_scores if loss else _SPLIT_COST))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _bound_rows(self, node: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return an upper bound of the rows of a node: where rows stand for several, fewer are stored than counted."""
        return min(self.nodes[node].count, self.n)

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
    def _queue(self, node: cython.Py_ssize_t, side: cython.Py_ssize_t, wanted: cython.int) -> cython.void:
        """Queue a node with its best split, or release its histogram."""
        feature: cython.Py_ssize_t = -1
        # A split must save more than the node itself, else its gain would not be positive.
        most: cython.double = leaves.find_least_saving(self.nodes, node, self.rules)
        if wanted:
            for column in range(self.d):
                # Among splits of one gain the lowest column wins.
                if (
                    self.allowed[side, column]
                    and self.splits[side, column].way >= 0
                    and self.splits[side, column].saving > most
                ):
                    most = self.splits[side, column].saving
                    feature = column
        if feature < 0:
            self._release(self.nodes[node].slot)
            return
        gains.describe_split(
            self.histograms, self.offsets, feature, self.splits, side, self.rules, self.sums, self.sorted_bins,
            self.tables, self.nodes, node,
        )  # fmt: skip
        # The gain is what both children save beyond what the node saves as a leaf.
        self.nodes[node].gain = most - leaves.measure_saving(self.nodes, node, self.rules)
        leaves.push(self.queue, self.n_queued, self.nodes, node)
        self.n_queued += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _offer(self, kind: cython.int, work: cython.Py_ssize_t) -> cython.void:
        """Offer a task that costs `work` pairs of words in all."""
        n_chosen: cython.Py_ssize_t = self.n_chosen[self.task[0].side]
        if kind == leaves.COLUMNS:
            items = min(n_chosen, _MOST_ITEMS)
        else:
            # With less than half of a histogram's bins to add, emptying and summing it would cost more than it saves.
            least = max(self.grain, self.offsets[self.d] * n_chosen // self.d // 2)
            items = max(1, min(self.n_blocks, work // least))
            for member in range(self.used.shape[0]):
                self.used[member, 0] = 0
        self.task[0].kind = kind
        self.task[0].items = items
        # One more, so that an item without work still counts against the patience of the leader.
        self.task[0].cost = work // items + 1
        team.publish(self.control, items)
