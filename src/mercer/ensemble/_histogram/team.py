"""The histograms of the leaves of a tree under way, and the team of threads that sums and searches them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mercer._native.boosting import boosting_growth, boosting_leaves
from mercer._source.threads import accompanied
from mercer.ensemble._histogram.field import Field

__all__ = ["Team"]

Array = Any
# What comes after a leaf was opened, as boosting_leaves says it.
_SEARCH, _ROOM = 2, 3
# Pairs that the leader works through before it looks for Ctrl-C: about 30 milliseconds.
_LONG = 2**25
# A member is called for so many pairs in the whole field.
_SHARE = 2**17
_ALL, _NO_VALUES = np.empty(0, dtype=np.int64), np.empty(0)


class Team:
    """Works on a field.

    Parameters
    ----------
    field : Field
    monotone : (d,), int32
    limits : (7,)
        See leaves.pxd.

    Attributes
    ----------
    allowed : (2, d)
        By which columns two children may be split.
    scales, units : (2,)
        Units of the words in one of gradient and of curvature, and the inverse.
    grain : int
        Pairs of words added in one item of work at least: some 10 microseconds.
    piece : (14,)
        The piece of work that was offered last, see leaves.pxd.
    """

    grain = 8192

    def __init__(self, field: Field, monotone: Array, limits: Array) -> None:
        self.field = field
        width, size, d = field.bins.width, 2 * int(field.bins.offsets[-1]), field.d
        self.members = members = min(field.threads, max(1, field.n * d // _SHARE))
        # Quanta of gradient and curvature in one unit of each, the inverse, and the bits that count rows.
        quanta = np.array([0.0, 0.0, 0.0, 0.0, field.shift])
        self.scales, self.units = quanta[:2], quanta[2:4]
        # The rows of `features` that leaves.py names.
        features = np.zeros((4, d + 1), np.int32)
        features[0], features[1, :d], features[2, :d] = field.bins.offsets, field.bins.categorical, monotone
        features[3] = monotone.any()
        self.allowed, self._chosen = np.ones((2, d), np.uint8), np.empty((2, d), np.int32)
        self._n_chosen, self._question = np.empty(2, np.int64), np.zeros(6, np.int64)
        nodes, best, cuts = np.empty((2, 6)), np.empty((2, d)), np.empty((2, d), np.int64)
        sums, sorted_bins = np.empty((members, 4, width)), np.empty((members, width), np.int32)
        # A cache line for each member, and for the words of control and whatever else is near.
        used, totals = np.zeros((members, 64), np.uint8), np.zeros((members, 8), np.int64)
        self.piece, control = np.zeros(14, np.int64), np.zeros(48 + 8 * members, np.int64)[8:-8]
        self.tasks = boosting_growth.TreeTasks(
            (field.codes, field.columns, field.counts, np.empty((field.n, 2), np.int64), field.order),
            (features, limits, quanta),
            (
                *(np.empty((members, size), np.int64), np.empty((members, field.unit), np.uint16)),
                *(sums, sorted_bins, used, totals),
            ),
            (nodes, self.allowed, best, cuts, self._chosen, self._n_chosen),
            *(self.piece, control, field.unit),
        )
        self.leader = boosting_leaves.TreeLeader(
            (features, limits, quanta),
            (sums, sorted_bins, used, totals),
            (nodes, self.allowed, best, cuts, self._n_chosen),
            *(self._question, self.piece, control, (field.n, field.n_blocks, self.grain)),
        )
        self._together, self._drawn = False, _ALL
        self._prepare(width, size)
        self.aim(*(np.empty(shape) for shape in ((0, 0, 2), (0, 0), 0, 0, (0, 0))))

    def _prepare(self, width: int, size: int) -> None:
        """Make room for a tree: memory that is not written to takes no room yet."""
        nodes = self.field.spans.shape[1]
        self.numbers, self.reals = np.zeros((nodes, 11), np.int64), np.zeros((nodes, 6))
        self.tables, self._queue = np.zeros((nodes, width), np.uint8), np.zeros(nodes, np.int32)
        self.histograms, self._free = np.empty((32, size), np.int64), np.zeros(32, np.int32)
        self._hold(len(self._free))

    def _hold(self, n_free: int) -> None:
        # Members look at arrays only while they have an item of work.
        walks = np.empty((self.members, 2, len(self.numbers)), np.int32)
        self.tasks.hold_nodes(self.field.spans, self.numbers, self.tables, walks, self.histograms)
        self.leader.hold_nodes(self.numbers, self.reals, self.tables, self._queue)
        self.leader.hold_histograms(self.histograms, self._free, n_free)

    def _widen(self) -> None:
        """Make room for twice as many nodes, or histograms of open leaves."""
        field, n_free = self.field, self.leader.count_free()
        if n_free == 0:
            count, size = self.histograms.shape
            more = np.empty((2 * count, size), np.int64)
            more[:count] = self.histograms
            self.histograms, self._free, n_free = more, np.empty(2 * count, np.int32), count
            self._free[:count] = np.arange(count, 2 * count)
        else:
            field.spans = np.concatenate([field.spans, np.zeros_like(field.spans)], axis=1)
            self.numbers, self.reals = _doubled(self.numbers), _doubled(self.reals)
            self.tables, self._queue = _doubled(self.tables), _doubled(self._queue)
        self._hold(n_free)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep the members together for a while, unless they are already."""
        if self._together:
            yield
            return
        self.tasks.call()
        self._together = True
        try:
            with accompanied(self.tasks.help, self.tasks.dismiss, self.members):
                yield
        finally:
            self._together = False

    def aim(self, gradients: Array, scores: Array, y: Array, weight: Array, losses: Array) -> None:
        """Set the scores (n, k) that trees move, targets, weights (n,) or empty, and where losses are looked at.

        Their gradients are (k, n, 2), and `losses` has a row for each block, see `Field.sums`.
        """
        self._n_scores = len(gradients)
        self.tasks.hold_scores(gradients, scores, y, weight, losses)

    def draw(self, drawn: Array | None) -> None:
        """Let only some rows learn: how often each is drawn (n,); None for once each."""
        self.tasks.hold_sample(_ALL if drawn is None else drawn, 0, 0.0)

    def draw_share(self, seed: int, share: float) -> None:
        """Draw each row once with a chance, by its number among the `uniform_numbers` of a seed."""
        if len(self._drawn) == 0:
            self._drawn = np.empty(self.field.n, np.int64)
        self.tasks.hold_sample(self._drawn, seed, share)

    def restrict(self, side: int, columns: Array) -> None:
        """Add rows to histograms of some columns only, and search no others, from now on."""
        self._n_chosen[side] = len(columns)
        self._chosen[side, : len(columns)] = np.sort(columns)

    def sow(self, output: int, direct: bool) -> None:
        """Let the others begin with the rows of a tree for a score, which `grow` goes on with."""
        self.leader.start_tree(output, direct)

    def grow(self, direct: bool, ask: Callable[..., None] | None) -> int:
        """Grow the tree; how many nodes it has.

        If `direct`, children are added each by itself. ``ask(parent, left, feature, left wanted, right wanted)`` names
        the columns of the children that are wanted, the parent -1 and the left child 0 for the root.
        """
        leader = self.leader
        self.finish()
        if leader.make_root():
            if ask is not None:
                ask(*self._question[:5].tolist())
            self._search(direct)
        while (step := leader.open_leaf()) != 0:
            if step == _ROOM:
                self._widen()
                continue
            if step == _SEARCH and ask is not None:
                ask(*self._question[:5].tolist())
            leader.offer_split()
            self.finish()
            if step == _SEARCH:
                self._search(direct)
        return int(self._question[5])

    def _search(self, direct: bool) -> None:
        """Find the best splits of the children."""
        wanted = self._question[3:5].tolist()
        if not direct:
            self.leader.offer_search(*wanted)
            self.finish()
            return
        for side in range(2):
            if wanted[side]:
                self.leader.offer_child(side)
                self.finish()
                self.leader.offer_search(side == 0, side == 1)
                self.finish()

    def move(self, values: Array | None, loss: int) -> None:
        """Let the others add the values (nodes,) of the tree just grown to its score, and look at a loss, unless 0.

        That is its number in slopes.pxd. `finish` must follow.
        """
        self.tasks.hold_values(_NO_VALUES if values is None else values)
        self.leader.offer_scores(loss, self._n_scores)

    def finish(self) -> None:
        """Work until what was offered is done."""
        while self.tasks.advance(_LONG):
            pass


def _doubled(table: Array) -> Array:
    """A table of twice as many rows."""
    return np.concatenate([table, np.zeros_like(table)])
