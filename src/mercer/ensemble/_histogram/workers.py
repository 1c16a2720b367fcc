"""The nodes and histograms of the tree that is being grown, and the worker threads that sum and search them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from mercer._native.boosting import boosting_growth, boosting_leaves
from mercer._objective import Squared
from mercer._source.threads import run_alongside
from mercer._types import Array
from mercer.ensemble._histogram.binned_rows import BinnedRows
from mercer.ensemble._histogram.losses import BoostingLoss

# What boosting_leaves returns after it opened a leaf: its children are to be searched.
_SEARCH = 2
# As above: there is no room for the children.
_ROOM = 3
# Pairs (gradient, curvature) that the calling thread adds before it checks for Ctrl-C: about 30 milliseconds.
_LONG = 2**25
# Bins of the whole table for each worker thread: with fewer, starting a thread costs more than it saves.
_SHARE = 2**17
# Stands for "each row once" in native code.
_EVERY_ROW = np.empty(0, dtype=np.int64)
# Stands for "no values to add" in native code.
_NO_VALUES = np.empty(0)


class Workers:
    """Worker threads that grow trees on binned rows, and the tables in which they keep the tree.

    One call offers a piece of work (summing histograms, searching splits, moving rows or scores); all threads take
    items of it, and the calling thread leads them.

    Parameters
    ----------
    rows : BinnedRows
    monotone : (d,), int32
    limits : (7,)
        See leaves.pxd.

    Attributes
    ----------
    allowed : (2, d)
        By which columns each of two children may be split.
    scales, units : (2,)
        Factors from a gradient and a curvature to the integer words of a histogram, and their inverses.
    numbers, reals : (nodes, 11) and (nodes, 6)
        The nodes of the tree, see leaves.pxd.
    tables : (nodes, bins)
        Which bins go left.
    grain : int
        Least number of pairs added in one work item: some 10 microseconds.
    piece : (14,)
        The piece of work that was offered last, see leaves.pxd.
    """

    grain = 8192

    def __init__(self, rows: BinnedRows, monotone: Array, limits: Array) -> None:
        self.rows = rows
        width, size, d = rows.bins.width, 2 * int(rows.bins.offsets[-1]), rows.d
        self.n_workers = n_workers = min(rows.threads, max(1, rows.n * d // _SHARE))
        # Quanta of gradient and curvature in one unit of each, the inverse, and the bits that count rows.
        quanta = np.array([0.0, 0.0, 0.0, 0.0, rows.shift])
        self.scales, self.units = quanta[:2], quanta[2:4]
        # The rows of `features` that leaves.py names.
        features = np.zeros((4, d + 1), np.int32)
        features[0], features[1, :d], features[2, :d] = rows.bins.offsets, rows.bins.categorical, monotone
        features[3] = monotone.any()
        self.allowed, self._chosen = np.ones((2, d), np.uint8), np.empty((2, d), np.int32)
        self._n_chosen, self._question = np.empty(2, np.int64), np.zeros(6, np.int64)
        nodes, best, cuts = np.empty((2, 6)), np.empty((2, d)), np.empty((2, d), np.int64)
        sums, sorted_bins = np.empty((n_workers, 4, width)), np.empty((n_workers, width), np.int32)
        # Each thread writes to cache lines of its own; so are the words of `control` apart from other data.
        used, totals = np.zeros((n_workers, 64), np.uint8), np.zeros((n_workers, 8), np.int64)
        self.piece, control = np.zeros(14, np.int64), np.zeros(48 + 8 * n_workers, np.int64)[8:-8]
        self.tasks = boosting_growth.TreeTasks(
            (rows.codes, rows.columns, rows.counts, np.empty((rows.n, 2), np.int64), rows.order),
            (features, limits, quanta),
            (
                *(np.empty((n_workers, size), np.int64), np.empty((n_workers, rows.unit), np.uint16)),
                *(sums, sorted_bins, used, totals),
            ),
            (nodes, self.allowed, best, cuts, self._chosen, self._n_chosen),
            *(self.piece, control, rows.unit),
        )
        self.leader = boosting_leaves.TreeLeader(
            (features, limits, quanta),
            (sums, sorted_bins, used, totals),
            (nodes, self.allowed, best, cuts, self._n_chosen),
            *(self._question, self.piece, control, (rows.n, rows.n_blocks, self.grain)),
        )
        self._running, self._drawn = False, _EVERY_ROW
        self._prepare(width, size)
        nothing = np.empty(0)
        self.follow_scores(
            np.empty((0, 0, 2)), np.empty((0, 0)), nothing, nothing, np.empty((0, 0)), BoostingLoss(Squared())
        )

    def _prepare(self, width: int, size: int) -> None:
        """Allocate the tables of a tree; pages that nothing is written to take no memory yet."""
        nodes = self.rows.spans.shape[1]
        self.numbers, self.reals = np.zeros((nodes, 11), np.int64), np.zeros((nodes, 6))
        self.tables, self._queue = np.zeros((nodes, width), np.uint8), np.zeros(nodes, np.int32)
        self.histograms, self._free = np.empty((32, size), np.int64), np.zeros(32, np.int32)
        self._hold(len(self._free))

    def _hold(self, n_free: int) -> None:
        # Safe while threads run: they read these arrays only while they have a work item.
        walks = np.empty((self.n_workers, 2, len(self.numbers)), np.int32)
        self.tasks.hold_nodes(self.rows.spans, self.numbers, self.tables, walks, self.histograms)
        self.leader.hold_nodes(self.numbers, self.reals, self.tables, self._queue)
        self.leader.hold_histograms(self.histograms, self._free, n_free)

    def _widen(self) -> None:
        """Make room for twice as many nodes, or for twice as many histograms of open leaves."""
        n_free = self.leader.count_free()
        # All slots of histograms are taken: double them, and list the new ones as free.
        if n_free == 0:
            count, size = self.histograms.shape
            more = np.empty((2 * count, size), np.int64)
            more[:count] = self.histograms
            self.histograms, self._free, n_free = more, np.empty(2 * count, np.int32), count
            self._free[:count] = np.arange(count, 2 * count)
        else:
            self.rows.widen()
            self.numbers, self.reals = _double(self.numbers), _double(self.reals)
            self.tables, self._queue = _double(self.tables), _double(self._queue)
        self._hold(n_free)

    @contextmanager
    def keep_running(self) -> Iterator[None]:
        """Keep the worker threads running inside a ``with`` block; an inner block changes nothing."""
        # An outer block already keeps them running.
        if self._running:
            yield
            return
        self.tasks.call()
        self._running = True
        try:
            with run_alongside(self.tasks.help, self.tasks.dismiss, self.n_workers):
                yield
        finally:
            self._running = False

    def follow_scores(
        self, gradients: Array, scores: Array, y: Array, weight: Array, losses: Array, loss: BoostingLoss
    ) -> None:
        """Set the arrays that :meth:`start_update` reads and writes.

        Parameters
        ----------
        gradients : (k, n, 2)
            Written: gradient and curvature of each row's loss in each score.
        scores : (n, k)
            Written: the scores, which trees move.
        y, weight : (n,)
            Targets and weights; no weights mean one each.
        losses : (blocks, 1 + 2 k)
            Written: per block the sums of the losses, and for each score of absolute gradients and of curvatures.
        loss : BoostingLoss
        """
        self._n_scores = len(gradients)
        self.tasks.hold_scores(gradients, scores, y, weight, losses, loss.loss.shape, loss.own_leaves)

    def choose_rows(self, counts: Array | None) -> None:
        """Set how often each row (n,) counts in the trees that follow; None for once each."""
        self.tasks.hold_sample(_EVERY_ROW if counts is None else counts, 0, 0.0)

    def sample_rows(self, seed: int, share: float) -> None:
        """Choose each row with probability `share`, by its value among the `draw_uniform` of a seed."""
        if len(self._drawn) == 0:
            self._drawn = np.empty(self.rows.n, np.int64)
        self.tasks.hold_sample(self._drawn, seed, share)

    def choose_columns(self, side: int, columns: Array) -> None:
        """Sum and search only these columns from now on, for the left (0) or right (1) child."""
        self._n_chosen[side] = len(columns)
        self._chosen[side, : len(columns)] = np.sort(columns)

    def start_tree(self, output: int, direct: bool) -> None:
        """Let the other threads begin with the root of a tree for a score; :meth:`grow_tree` continues."""
        self.leader.start_tree(output, direct)

    def grow_tree(self, direct: bool, choose: Callable[..., None] | None) -> int:
        """Grow the tree that was started, and return its number of nodes.

        Parameters
        ----------
        direct : bool
            Whether the histograms of both children are summed from their rows, not one by subtraction.
        choose : callable or None
            ``choose(parent, left, feature, left_wanted, right_wanted)`` chooses the columns that are searched for the
            wanted children; for the root `parent` is -1 and `left` 0.
        """
        leader = self.leader
        self.finish()
        if leader.make_root():
            if choose is not None:
                choose(*self._question[:5].tolist())
            self._search(direct)
        # The leader names the next step: split a leaf with or without a search, or make room first.
        while (step := leader.open_leaf()) != 0:
            if step == _ROOM:
                self._widen()
                continue
            if step == _SEARCH and choose is not None:
                choose(*self._question[:5].tolist())
            leader.offer_split()
            self.finish()
            if step == _SEARCH:
                self._search(direct)
        return int(self._question[5])

    def _search(self, direct: bool) -> None:
        """Find the best split of each child that may be split."""
        wanted = self._question[3:5].tolist()
        if not direct:
            self.leader.offer_search(*wanted)
            self.finish()
            return
        # Without subtraction each child is summed from its own rows, then searched.
        for side in range(2):
            if wanted[side]:
                self.leader.offer_child(side)
                self.finish()
                self.leader.offer_search(side == 0, side == 1)
                self.finish()

    def start_update(self, values: Array | None, loss: int) -> None:
        """Let the other threads update scores and gradients; :meth:`finish` must follow.

        Parameters
        ----------
        values : (nodes,) or None
            What the nodes of the tree just grown add to its score.
        loss : int
            The loss whose gradients are computed, by its number in ``row_losses``; 0 for none.
        """
        self.tasks.hold_values(_NO_VALUES if values is None else values)
        self.leader.offer_scores(loss, self._n_scores)

    def finish(self) -> None:
        """Take items until the piece of work that was offered is done."""
        while self.tasks.advance(_LONG):
            pass


def _double(table: Array) -> Array:
    """Return a copy with as many rows of zeros below."""
    return np.concatenate([table, np.zeros_like(table)])
