"""Grow a tree on rows known by their bins: the tasks that worker threads share in native code.

Each row carries two 64-bit words: its gradient as a multiple of a quantum, and its curvature as a multiple of another
quantum above the bits that count it. A histogram has two words for each bin of each column. Sums of whole numbers do
not depend on their order: any number of threads, and any cut of the rows, gives the same bits; and the histogram of a
node minus that of one child is exactly that of the other.

Blocks have at most 2**16 rows. Within a block the rows of a node are consecutive in `order`, which holds their places
in the block, from `first` to `last` of spans[block, node]: a thread that works on a block writes to no cache line of
another.

A tree is a chain of tasks: the rows of the root; for each split the rows to divide, or afterwards those of each child,
and after either the columns of the histograms that follow; at last the scores of all rows. The leader
(``boosting_leaves``) offers a task, all threads take its items, and the leader waits for the last. The arrays are held
by a class, since a thread must find those of every task.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.boosting import gains, leaves, slopes
    from cython.cimports.mercer._native.boosting import words as pairs
    from cython.cimports.mercer._native.shared import team, team_items
else:
    from mercer._native.boosting import gains, leaves, slopes
    from mercer._native.boosting import words as pairs
    from mercer._native.shared import team, team_items


@cython.cclass
class TreeTasks:
    """The tasks that threads share while a tree grows, and the arrays that they work on.

    Parameters
    ----------
    rows : BinnedRows
        Bins by row and by column: a split reads one column of all its rows, a histogram all columns of some rows.
        Counts (n,) say how many rows each row stands for; empty, one each.
    room : TreeRoom
        The arrays that threads and their leader share.
    """

    bins: cython.const[cython.uchar][:, ::1]
    columns: cython.const[cython.uchar][:, ::1]
    counts: cython.const[cython.longlong][::1]
    offsets: cython.const[cython.int][::1]
    features: cython.const[leaves.Column][::1]
    rules: cython.const[leaves.Rules][::1]
    words: leaves.Words[::1]
    order: cython.ushort[::1]
    parts: leaves.Words[:, ::1]
    spare: cython.ushort[:, ::1]
    sums: cython.double[:, :, ::1]
    sorted_bins: cython.int[:, ::1]
    used: cython.uchar[:, ::1]
    totals: leaves.Words[:, ::1]
    allowed: cython.const[cython.uchar][:, ::1]
    splits: leaves.Split[:, ::1]
    chosen: cython.const[cython.int][:, ::1]
    n_chosen: cython.const[cython.longlong][::1]
    task: cython.const[leaves.Task][::1]
    control: cython.longlong[::1]
    spans: leaves.Span[:, ::1]
    nodes: cython.const[leaves.Node][::1]
    tables: cython.const[cython.uchar][:, ::1]
    walks: leaves.Span[:, ::1]
    histograms: leaves.Words[:, ::1]
    gradients: cython.double[:, :, ::1]
    scores: cython.double[:, ::1]
    y: cython.const[cython.double][::1]
    weight: cython.const[cython.double][::1]
    losses: cython.double[:, ::1]
    drawn: cython.longlong[::1]
    values: cython.const[cython.double][::1]
    cython.declare(unit=cython.Py_ssize_t, seed=cython.ulonglong, share=cython.double)
    cython.declare(shape=cython.double, flat=cython.int)

    def __init__(self, rows, room):
        self.bins, self.columns, self.counts = rows.codes, rows.columns, rows.counts
        self.order, self.unit = rows.order, rows.unit
        self.words, self.offsets, self.features, self.rules = room.words, room.offsets, room.features, room.rules
        self.parts, self.spare, self.sums, self.sorted_bins = room.parts, room.spare, room.sums, room.sorted_bins
        self.used, self.totals, self.task, self.control = room.used, room.totals, room.task, room.control
        self.allowed, self.splits, self.chosen, self.n_chosen = room.allowed, room.splits, room.chosen, room.n_chosen

    def hold_nodes(self, spans, nodes, tables, walks, histograms):
        """Keep the rows of nodes (blocks, nodes), what the leader says of them, and histograms in these arrays.

        `walks` (threads, nodes) is for rows that are not drawn.
        """
        self.spans, self.nodes, self.tables = spans, nodes, tables
        self.walks, self.histograms = walks, histograms

    def hold_scores(self, gradients, scores, y, weight, losses, shape, flat):
        """Add trees to the scores (n, k), and write the gradients and sums of ``slopes`` to the other arrays.

        `shape` is the parameter of the loss, and `flat` says whether ones stand for its curvatures.
        """
        self.gradients, self.scores, self.y, self.weight, self.losses = gradients, scores, y, weight, losses
        self.shape, self.flat = shape, flat

    def hold_sample(self, drawn, seed: cython.ulonglong, share: cython.double):
        """Set how often each row is drawn (n,), empty for once, for the trees that follow.

        If `share` is above 0, each tree writes `drawn` itself: a row is drawn with that chance, from a seed, see
        words.h.
        """
        self.drawn, self.seed, self.share = drawn, seed, share

    def hold_values(self, values):
        """Set the values (nodes,) that are added to the scores; empty if none are."""
        self.values = values

    def call(self):
        """Allow worker threads to begin."""
        team.set_stopped(self.control, 0)

    def help(self, member: cython.Py_ssize_t):
        """Take items of all tasks as worker thread `member`, until the threads are stopped."""
        with cython.nogil:
            item = team_items.await_item(self.control, member, 1)
            while item >= 0:
                self._work(item, member)
                item = team_items.await_item(self.control, member, 1)

    def dismiss(self):
        """Stop the worker threads, whatever they have not begun."""
        team_items.stop_workers(self.control)

    def advance(self, patience: cython.Py_ssize_t) -> cython.int:
        """Take items that cost about `patience`, or all and wait until the task is done; return whether to go on."""
        item: cython.Py_ssize_t = 0
        with cython.nogil:
            # `patience` bounds the work of one call, so that Python regains control for Ctrl-C between calls.
            while patience > 0 and item >= 0:
                item = team_items.take_item(self.control, self.task[0].items)
                if item >= 0:
                    self._work(item, 0)
                    patience -= self.task[0].cost
            team_items.report_items(self.control, 0)
        return item >= 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _work(self, item: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        """Do one item: a run of blocks, or of columns."""
        # Tasks over rows are cut by blocks; the search for cuts is divided by the columns drawn for this side.
        size: cython.Py_ssize_t = (
            self.spans.shape[0] if self.task[0].kind != leaves.COLUMNS else self.n_chosen[self.task[0].side]
        )
        # Runs whose lengths differ by one at most, without gaps, for any number of items.
        for number in range(item * size // self.task[0].items, (item + 1) * size // self.task[0].items):
            if self.task[0].kind == leaves.ROOT_ROWS:
                self._start_block(number, member)
            elif self.task[0].kind == leaves.SPLIT_ROWS:
                self._split_block(number, member)
            elif self.task[0].kind == leaves.CHILD_ROWS:
                span = self.spans[number, self.task[0].node]
                self._add(number, span.first, span.last, member)
            elif self.task[0].kind == leaves.COLUMNS:
                self._search_column(self.chosen[self.task[0].side, number], member)
            else:
                self._score_block(number, member)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _add(
        self, block: cython.Py_ssize_t, first: cython.Py_ssize_t, last: cython.Py_ssize_t, member: cython.Py_ssize_t
    ) -> cython.void:
        """Add the rows of a block at places from `first` to `last` of its order to the thread's histogram."""
        start: cython.Py_ssize_t = block * self.unit
        n_chosen: cython.Py_ssize_t = self.n_chosen[self.task[0].side]
        # Nothing to add: the histogram need not even be emptied.
        if first == last:
            return
        # A thread empties its own histogram: although others have read it, it is nearest to this core.
        if self.used[member, 0] == 0:
            pairs.clear(self.offsets, self.chosen, self.task[0].side, n_chosen, self.parts, member)
            self.used[member, 0] = 1
        pairs.add_rows(
            self.bins, start, self.words, self.order, start + first, start + last, self.offsets, self.chosen,
            self.task[0].side, n_chosen, self.parts, member,
        )  # fmt: skip

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _start_block(self, block: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        """Draw and quantise the rows of a block, which all belong to the root."""
        start: cython.Py_ssize_t = block * self.unit
        stop: cython.Py_ssize_t = min(start + self.unit, self.bins.shape[0])
        if self.share > 0.0:
            pairs.draw_rows(self.seed, start, stop, self.share, self.drawn)
        kept = pairs.quantise(
            self.gradients, self.task[0].output, self.counts, self.drawn, start, stop, self.rules, self.words,
            self.order, self.totals, member,
        )  # fmt: skip
        # The span of a node in a block is the range of places in `order`, relative to the start of the block.
        self.spans[block, 0].first = 0
        self.spans[block, 0].last = cython.cast(cython.int, kept)
        # BUILD is -1 where this task adds no rows to a histogram.
        if self.task[0].build >= 0:
            self._add(block, 0, kept, member)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _split_block(self, block: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        """Divide the rows of a node in a block between its children, and add those of one child."""
        start: cython.Py_ssize_t = block * self.unit
        child: cython.Py_ssize_t = self.task[0].child
        first: cython.int = self.spans[block, self.task[0].node].first
        last: cython.int = self.spans[block, self.task[0].node].last
        middle: cython.Py_ssize_t = first + pairs.part_rows(
            self.columns, self.nodes[self.task[0].node].feature, start, self.tables,
            self.task[0].node, self.order, first, last, self.spare, member,
        )  # fmt: skip
        # The children share the span of their parent, so that the rows of any node stay consecutive.
        self.spans[block, child].first = first
        self.spans[block, child].last = self.spans[block, child + 1].first = cython.cast(cython.int, middle)
        self.spans[block, child + 1].last = last
        # Only the smaller child is summed; the other is the difference to the parent, which costs no pass over rows.
        if self.task[0].build == 0:
            self._add(block, first, middle, member)
        elif self.task[0].build == 1:
            self._add(block, middle, last, member)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _search_column(self, column: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        """Sum the histogram of a column, and find the best cuts of the children that are searched."""
        first: cython.Py_ssize_t = self.offsets[column]
        last: cython.Py_ssize_t = self.offsets[column + 1]
        # Threads have added rows in any order; sums of integers are the same for each.
        pairs.gather(self.parts, self.used, first, last, self.histograms, self.task[0].built)
        # Only the smaller child was added row by row: the histogram of the other is the parent's less that.
        if self.task[0].whole >= 0:
            pairs.subtract(self.histograms, self.task[0].whole, self.task[0].built, first, last)
        if self.task[0].search_left and self.allowed[0, column]:
            self._search_child(column, member, 0)
        if self.task[0].search_right and self.allowed[1, column]:
            self._search_child(column, member, 1)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _search_child(
        self, column: cython.Py_ssize_t, member: cython.Py_ssize_t, side: cython.Py_ssize_t
    ) -> cython.void:
        """Find the best cut of a column for one child."""
        gains.search_column(
            self.histograms, self.offsets, self.features, column, self.nodes, self.task[0].child + side, self.rules,
            self.sums, self.sorted_bins, member, self.splits, side,
        )  # fmt: skip

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _score_block(self, block: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
        """Add the tree to the scores of a block's rows, and compute the loss at them."""
        start: cython.Py_ssize_t = block * self.unit
        stop: cython.Py_ssize_t = min(start + self.unit, self.bins.shape[0])
        nodes: cython.Py_ssize_t = self.task[0].nodes
        output: cython.Py_ssize_t = self.task[0].output
        # Empty values ask for the loss alone, without a tree to add.
        if self.values.shape[0] > 0:
            slopes.add_values(self.order, self.spans, self.nodes, nodes, self.values, block, start, self.scores, output)
        # Rows that were not drawn are in no leaf yet.
        if self.values.shape[0] > 0 and self.drawn.shape[0] > 0:
            slopes.list_undrawn(
                self.drawn, start, stop, self.spans[block, 0].last, self.order, self.spare, self.walks, member
            )
            slopes.add_undrawn(
                self.columns, start, self.nodes, nodes, self.tables, self.values, self.scores, output, self.order,
                self.spare, self.walks, member,
            )  # fmt: skip
        if self.task[0].loss > 0:
            slopes.compute_loss(
                cython.cast(cython.int, self.task[0].loss), self.shape, self.flat, self.scores, self.y,
                self.weight, start, stop, self.gradients, self.losses[block],
            )  # fmt: skip
