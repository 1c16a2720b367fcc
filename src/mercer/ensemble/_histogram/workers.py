"""The nodes and histograms of the tree that is being grown, and the worker threads that sum and search them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._native.boosting import boosting_growth, boosting_leaves
from mercer._native.records import COLUMN, NODE, SPAN, SPLIT, TASK, WORDS, make_records
from mercer._objective import Squared
from mercer._source.threads import run_alongside
from mercer._types import Array
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.rows import BinnedRows

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


@dataclass(frozen=True, eq=False)
class TreeRoom:
    """The arrays that worker threads and their leader share while trees grow.

    Attributes
    ----------
    words : (n,), records
        Gradient and curvature of each row in quanta.
    offsets, features, rules : (d + 1,), (d,) records, (1,) records
        Where the bins of a column begin in a histogram (the last bin is that of missing values); and see ``leaves``.
    parts, spare, sums, sorted_bins, used, totals : (threads, ...)
        Scratch of each thread: a histogram; places of the rows of a block; four numbers and a place for each bin of the
        widest column; whether rows were added, and the words of the rows added to the root.
    allowed, splits, chosen, n_chosen : (2, d), (2, d) records, (2, d), (2,)
        Of two children: by which columns they may be split; the best split by each column; the columns of histograms
        in rising order, and their number: the first row for both children, unless each is added by itself.
    task, control : (1,) records, (32 + 8 threads,)
        The task offered, and how it is shared, see team.pxd.
    """

    words: Array
    offsets: Array
    features: Array
    rules: Array
    parts: Array
    spare: Array
    sums: Array
    sorted_bins: Array
    used: Array
    totals: Array
    allowed: Array
    splits: Array
    chosen: Array
    n_chosen: Array
    task: Array
    control: Array

    @classmethod
    def make(cls, rows: BinnedRows, threads: int, features: Array, rules: Array) -> Self:
        """Allocate the arrays for some rows and threads."""
        width, size, d = rows.bins.width, int(rows.bins.offsets[-1]), rows.d
        return cls(
            words=make_records(rows.n, WORDS, fill=False),
            offsets=rows.bins.offsets.astype(np.int32),
            features=features,
            rules=rules,
            parts=make_records((threads, size), WORDS, fill=False),
            spare=np.empty((threads, rows.unit), np.uint16),
            sums=np.empty((threads, 4, width)),
            sorted_bins=np.empty((threads, width), np.int32),
            # Each thread writes to cache lines of its own; so are the words of `control` apart from other data.
            used=np.zeros((threads, 64), np.uint8),
            totals=make_records((threads, 4), WORDS),
            allowed=np.ones((2, d), np.uint8),
            splits=make_records((2, d), SPLIT),
            chosen=np.empty((2, d), np.int32),
            n_chosen=np.empty(2, np.int64),
            task=make_records(1, TASK),
            control=np.zeros(48 + 8 * threads, np.int64)[8:-8],
        )


class Workers:
    """Worker threads that grow trees on binned rows, and the tables in which they keep the tree.

    One call offers a piece of work (summing histograms, searching splits, moving rows or scores); all threads take
    items of it, and the calling thread leads them.

    Parameters
    ----------
    rows : BinnedRows
    monotone : (d,), int32
    rules : (1,), records

    Attributes
    ----------
    allowed : (2, d)
        By which columns each of two children may be split.
    nodes : (nodes,), records
        The nodes of the tree.
    tables : (nodes, bins)
        Which bins go left.
    grain : int
        Least number of pairs added in one work item: some 10 microseconds.
    """

    grain = 8192

    def __init__(self, rows: BinnedRows, monotone: Array, rules: Any) -> None:
        self.rows = rows
        self.n_workers = min(rows.threads, max(1, rows.n * rows.d // _SHARE))
        features = make_records(rows.d, COLUMN)
        features.categorical, features.direction = rows.bins.categorical, monotone
        rules.bounded, rules.count_bits = monotone.any(), rows.shift
        self._room = room = TreeRoom.make(rows, self.n_workers, features, rules)
        self.allowed = room.allowed
        self.tasks = boosting_growth.TreeTasks(rows, room)
        self.leader = boosting_leaves.TreeLeader(rows, room, self.grain)
        self._running, self._drawn = False, _EVERY_ROW
        self._prepare(rows.bins.width, int(rows.bins.offsets[-1]))
        nothing = np.empty(0)
        self.follow_scores(
            np.empty((0, 0, 2)), np.empty((0, 0)), nothing, nothing, np.empty((0, 0)), BoostingLoss(Squared())
        )

    def _prepare(self, width: int, size: int) -> None:
        """Allocate the tables of a tree; pages that nothing is written to take no memory yet."""
        count = self.rows.spans.shape[1]
        self.nodes, self._queue = make_records(count, NODE), np.zeros(count, np.int32)
        self.tables = np.zeros((count, width), np.uint8)
        self.histograms, self._free = make_records((32, size), WORDS, fill=False), np.zeros(32, np.int32)
        self._hold(len(self._free))

    def _hold(self, n_free: int) -> None:
        # Safe while threads run: they read these arrays only while they have a work item.
        walks = make_records((self.n_workers, len(self.nodes)), SPAN, fill=False)
        self.tasks.hold_nodes(self.rows.spans, self.nodes, self.tables, walks, self.histograms)
        self.leader.hold_nodes(self.nodes, self.tables, self._queue)
        self.leader.hold_histograms(self.histograms, self._free, n_free)

    def _widen(self) -> None:
        """Make room for twice as many nodes, or for twice as many histograms of open leaves."""
        n_free = self.leader.count_free()
        # All slots of histograms are taken: double them, and list the new ones as free.
        if n_free == 0:
            count, size = self.histograms.shape
            more = make_records((2 * count, size), WORDS, fill=False)
            more[:count] = self.histograms
            self.histograms, self._free, n_free = more, np.empty(2 * count, np.int32), count
            self._free[:count] = np.arange(count, 2 * count)
        else:
            self.rows.widen()
            self.nodes, self.tables, self._queue = _double(self.nodes), _double(self.tables), _double(self._queue)
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
        self._room.n_chosen[side] = len(columns)
        self._room.chosen[side, : len(columns)] = np.sort(columns)

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
                self._choose(choose)
            self._search(direct)
        # The leader names the next step: split a leaf with or without a search, or make room first.
        while (step := leader.open_leaf()) != 0:
            if step == _ROOM:
                self._widen()
                continue
            if step == _SEARCH and choose is not None:
                self._choose(choose)
            leader.offer_split()
            self.finish()
            if step == _SEARCH:
                self._search(direct)
        return int(leader.n_nodes)

    def _choose(self, choose: Callable[..., None]) -> None:
        """Choose the columns that are searched for the children of the node opened last."""
        leader = self.leader
        choose(leader.parent, leader.left, leader.column, leader.left_wanted, leader.right_wanted)

    def _search(self, direct: bool) -> None:
        """Find the best split of each child that may be split."""
        wanted = self.leader.left_wanted, self.leader.right_wanted
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
            The loss whose gradients are computed, by its number in ``slopes``; 0 for none.
        """
        self.tasks.hold_values(_NO_VALUES if values is None else values)
        self.leader.offer_scores(loss, self._n_scores)

    def finish(self) -> None:
        """Take items until the piece of work that was offered is done."""
        while self.tasks.advance(_LONG):
            pass


def _double(table: Array) -> Array:
    """Return a copy with as many rows of zeros below."""
    wider = np.zeros_like(table, shape=(2 * len(table), *table.shape[1:]))
    wider[: len(table)] = table
    return wider
