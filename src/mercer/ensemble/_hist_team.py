"""The histograms of the leaves of a tree under way, and the team of threads that sums and searches them."""

import math
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from mercer._native import boosting_growth
from mercer._source.threads import accompanied
from mercer.ensemble._hist_field import Field

__all__ = ["Team"]

Array = Any
# Pairs of words added in one item of work, some 25 microseconds, and at least as many as a histogram has words: with
# less, taking items, emptying the members' histograms and summing them would cost more than it saves.
_ITEM = 2**15
# What parting a row costs beside adding it to the bins of its columns, in pairs.
_PARTING = 4
# Pairs, and columns, that the leader works through before it looks for Ctrl-C: about 30 milliseconds.
_LONG, _MANY_COLUMNS = 2**25, 2048
# A member is called for so many pairs in the whole field.
_SHARE = 2**17
_ALL = np.empty(0, dtype=np.int64)


class Team:
    """Works on a field.

    Parameters
    ----------
    field : Field
    monotone : (d,), int32
    limits : (5,)
        The l2 penalty, the fewest rows and the least curvature of a leaf, the fewest rows and the price of a category.

    Attributes
    ----------
    nodes : (2, 6)
        What is asked of two histograms: gradient, curvature and rows of their nodes, the bounds of values below them,
        and what a split must save.
    allowed : (2, d)
        By which columns they may be split.
    """

    def __init__(self, field: Field, monotone: Array, limits: Array) -> None:
        self.field = field
        self.width = width = field.bins.width
        size, d = 2 * int(field.bins.offsets[-1]), field.d
        self.members = members = min(field.threads, max(1, field.n * d // _SHARE))
        self.histograms, self._free = np.empty((32, size), np.int64), list(range(32))
        self.nodes, self.allowed = np.empty((2, 6)), np.ones((2, d), np.uint8)
        self._totals = np.zeros((members, 2), np.int64)
        self._places = np.empty(5, np.int64)
        self.ground = boosting_growth.Ground(
            (field.codes, field.columns, field.counts, np.empty((field.n, 2), np.int64), field.order),
            (field.bins.offsets, field.bins.categorical.astype(np.uint8), monotone, limits),
            (
                np.empty((members, size), np.int64),
                np.empty((members, field.unit), np.uint16),
                np.empty((members, 4, width)),
                np.empty((members, width), np.int32),
                np.zeros(members, np.uint8),
                self._totals,
            ),
            (self.nodes, self.allowed, np.empty((2, d)), np.empty((2, d), np.int64)),
            np.zeros(24, np.int64),
            field.shift,
            field.unit,
        )
        self._every = np.arange(d, dtype=np.int32)
        self._hold()
        self.restrict(None)

    def gathered(self) -> AbstractContextManager[None]:
        """Keep the members together for a while."""
        self.ground.call()
        return accompanied(self.ground.help, self.ground.dismiss, self.members)

    def slot(self) -> int:
        """The place of a new histogram."""
        if not self._free:
            count, size = self.histograms.shape
            # Memory that is not written to takes no room yet.
            more = np.empty((2 * count, size), np.int64)
            more[:count] = self.histograms
            self.histograms, self._free = more, list(range(count, 2 * count))
            self._hold()
        return self._free.pop()

    def release(self, slot: int) -> None:
        """Take back the place of a histogram that nobody needs."""
        self._free.append(slot)

    def _hold(self) -> None:
        # Members look at arrays only while they have an item of work.
        self.ground.hold(self.field.begin, self.field.stop, self.histograms)

    def restrict(self, columns: Array | None) -> None:
        """Add rows to histograms of some columns only, and search no others, from now on; None for all."""
        chosen = self._every if columns is None else np.sort(columns).astype(np.int32)
        self.n_chosen = len(chosen)
        self.ground.restrict(chosen)

    def start(self, gradients: Array, scales: Array, units: Array, drawn: Array | None, build: bool) -> tuple[int, int]:
        """Put all rows, or those drawn, in the root, and return their words; add them if `build`.

        Parameters
        ----------
        gradients : (n, 2)
        scales, units : (2,)
            Units of the words in one of gradient and of curvature, and the inverse.
        drawn : (n,) or None
            How often each row was drawn.
        """
        self.ground.prepare(gradients, _ALL if drawn is None else drawn, scales, units)
        work, items = self._items(self.field.n * (self.n_chosen if build else _PARTING))
        self.ground.offer_root(0 if build else -1, items)
        self._advance(work, items)
        return int(self._totals[:, 0].sum()), int(self._totals[:, 1].sum())

    def split(self, node: int, left: int, rows: tuple[int, int], feature: int, goes_left: Array, build: int) -> None:
        """Part the rows of a node, and add those of a child: `build` 0 for the left one, 1 for the right, -1 none.

        `rows` says how many are parted and how many added, which need not be exact.
        """
        field = self.field
        if left + 2 > len(field.begin):
            field.begin, field.stop = (np.concatenate([one, np.zeros_like(one)]) for one in (field.begin, field.stop))
            self._hold()
        work, items = self._items(rows[0] * _PARTING + (rows[1] * self.n_chosen if build >= 0 else 0))
        self.ground.offer_split(node, left, feature, goes_left, build, items)
        self._advance(work, items)

    def build(self, node: int, rows: int) -> None:
        """Add the rows of a node."""
        work, items = self._items(rows * (_PARTING + self.n_chosen))
        self.ground.offer_build(node, items)
        self._advance(work, items)

    def search(self, whole: int, built: int, left: int, right: int) -> None:
        """Sum what was added as the histogram `built`, take it off `whole` unless that is -1, and search two or one.

        The latter are `left` and `right`, -1 for none.
        """
        items = min(self.n_chosen, _MANY_COLUMNS)
        self.ground.offer_columns(whole, built, left, right, items)
        self._advance(self.n_chosen, items, _MANY_COLUMNS)

    def choose(self, side: int, slot: int) -> tuple[float, tuple[int, int, bool, tuple[int, int], Array]]:
        """What the best split of a histogram searched saves, and which it is.

        That is column or -1, bin or categories taken, whether missing values go left, the words of the left child, and
        which bins go left.
        """
        goes_left = np.zeros(self.width, np.uint8)
        saved = self.ground.choose(side, slot, goes_left, self._places)
        feature, number, missing_left, left, rest = self._places.tolist()
        return saved, (feature, number, bool(missing_left), (left, rest), goes_left)

    def _items(self, work: int) -> tuple[int, int]:
        """The work, and into how many items it is cut."""
        words = self.histograms.shape[1] * self.n_chosen // self.field.d
        return work, max(1, min(self.field.n_blocks, work // max(_ITEM, words)))

    def _advance(self, work: int, items: int, enough: int = _LONG) -> None:
        turns = max(1, math.ceil(enough * items / max(work, 1)))
        while self.ground.advance(turns):
            pass
