"""Growth of a binary tree, level by level: search splits, divide rows, describe children."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mercer._native.records import BEST_SPLIT, DIVIDED_SPAN, DIVISION, lend
from mercer._native.tree import node_rows
from mercer._solver.tree.binary_tree import LEAF, UNDEFINED
from mercer._solver.tree.categories import pack_categories
from mercer._solver.tree.columns import Columns
from mercer._solver.tree.search import search_categories, search_part
from mercer._solver.tree.target import Described
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._types import Array

# Visits (a row in a column) of one call: some milliseconds of work, after which `goes_on` is asked again.
CALL_VISITS = 2**19
# The types in which the division of rows reads what a search has found.
_SPLIT_TYPES = {"feature": np.int32, "cut": np.int32, "side": np.int8}
EPSILON = np.finfo(np.float64).eps


class StoppedError(Exception):
    """Growth was asked to stop before the tree was complete."""


@dataclass(frozen=True)
class Rules:
    """When a node is split.

    With `random` each feature that is drawn offers one random cut, and the best of these cuts is taken. Unless
    `judged`, that of the first feature which varies is taken as it is.
    """

    min_rows_split: int = 2
    min_rows_leaf: int = 1
    min_weight_leaf: float = 0.0
    max_depth: float = np.inf
    min_decrease: float = 0.0
    max_features: int = 1
    coarse_rows: float = np.inf
    random: bool = False
    judged: bool = True
    signs: Array = field(default_factory=lambda: np.zeros(0, np.int8))


@dataclass(eq=False)
class Level:
    """Nodes at one depth, or any nodes that are grown together: their rows, and once they are split, how."""

    rows: Array
    starts: Array
    stops: Array
    seeds: Array
    bounds: Array
    known: Described
    depth: int
    left: Array = field(init=False)
    right: Array = field(init=False)
    feature: Array = field(init=False)
    threshold: Array = field(init=False)
    missing_left: Array = field(init=False)
    categories: Array = field(init=False)
    goes: Any = None

    def __post_init__(self) -> None:
        k = len(self.starts)
        # One array for all of one type: four calls for a tree of a single node would take longer than its description.
        integers = np.empty((4, k), np.int64)
        integers.fill(LEAF)
        self.left, self.right, self.categories, self.feature = integers
        self.feature.fill(UNDEFINED)
        self.threshold = np.empty(k)
        self.threshold.fill(UNDEFINED)
        self.missing_left = np.zeros(k, np.uint8)


def mix_seeds(x: Array) -> Array:
    """Return pseudorandom integers below 2^32 that depend on `x` alone; the same as in ``code_order.py``."""
    x = x & 0xFFFFFFFF
    x = x ^ (x >> 16)
    x = (x * 0x7FEB352D) & 0xFFFFFFFF
    x = x ^ (x >> 15)
    x = (x * 0x5846CA6B) & 0xFFFFFFFF
    return x ^ (x >> 16)


@dataclass(eq=False)
class Growth:
    """A tree that grows: columns, target, rules, and the levels so far.

    ``goes_on`` is asked every few milliseconds; where it says no, :class:`StoppedError` is raised.
    """

    columns: Columns
    target: Any
    rules: Rules
    threads: int = 1
    goes_on: Callable[[], bool] = lambda: True
    rows: Array = None
    # Where the rows of each tree begin in `rows`, and its seed. Levels, nodes that wait and threads are for one tree.
    starts: Array = None
    seeds: Array = None
    n_nodes: int = 1
    words: list[Array] = field(default_factory=list)
    n_words: int = 0

    def begin(self, rows: Array, seed: int) -> None:
        """Begin with the root, whose rows are `rows`."""
        self.begin_trees(rows, np.array([0, len(rows)]), np.array([seed]))

    def begin_trees(self, rows: Array, starts: Array, seeds: Array) -> None:
        """Begin trees on the rows from each start to the next one, each from a seed of its own."""
        self.rows, self.starts, self.seeds, self.n_nodes = rows, starts, seeds, 1
        vars(self).pop("levels", None)

    @cached_property
    def levels(self) -> list[Level]:
        """The levels so far: at first the root. Native growth of a small tree asks for none."""
        starts, stops = np.zeros(1, np.int64), np.array([len(self.rows)], np.int64)
        known = self.target.describe(self.rows, starts, stops)
        bounds = np.array([[-np.inf, np.inf]])
        return [Level(self.rows, starts, stops, self.seeds, bounds, known, 0)]

    @property
    def whole_weight(self) -> float:
        return float(self.levels[0].known.weights[0])

    def find_splittable(self, level: Level) -> Array:
        """Return the indices of the nodes of a level that the rules allow to split.

        Each child needs the least rows and weight, so that the parent needs twice as much.
        """
        rules, counts = self.rules, level.stops - level.starts
        can = ~level.known.pure & (counts >= max(rules.min_rows_split, 2 * rules.min_rows_leaf))
        can &= level.known.weights >= 2 * rules.min_weight_leaf
        return can.nonzero()[0] if level.depth < rules.max_depth else np.zeros(0, np.int64)

    def check(self) -> None:
        """Raise StoppedError if growth was asked to stop."""
        if not self.goes_on():
            raise StoppedError

    def grow_level(self) -> bool:
        """Split the nodes of the last level; return whether any was split."""
        return self.split_nodes(self.find_splittable(self.levels[-1]))

    def split_nodes(self, at: Array) -> bool:
        """Split the nodes `at` of the last level; return whether any was split."""
        if len(at) == 0:
            return False
        level = self.levels[-1]
        best = self.search(level, at)
        useful = best["feature"] >= 0
        at, best = at[useful], best[useful]
        if len(at) == 0:
            return False
        self.levels.append(self.divide(level, at, best, self.n_nodes))
        self.n_nodes += 2 * len(at)
        return True

    def search(self, level: Level, at: Array) -> Array:
        """Return the best splits of the nodes `at`, records of ``growth_records``.

        The gain is the decrease of weighted impurity; the feature is -1 where no split gains enough.
        """
        best = np.empty(len(at), BEST_SPLIT)
        starts, stops = level.starts[at], level.stops[at]
        parts = self._plan_calls(stops - starts)

        def work(number: int) -> None:
            self.check()
            nodes, features, out = parts[number]
            table = best[nodes] if out is None else out
            search_part(self.columns, self.target, self.rules, level, at[nodes], features, table)

        run_numbered(work, len(parts), self.threads)
        self._join(parts, best)
        # A coarse cut becomes the last rank of its step.
        fuzzy = (best["is_coarse"] > 0) & (best["feature"] >= 0)
        if fuzzy.any():
            best["cut"][fuzzy] = self.columns.edges[best["feature"][fuzzy], best["cut"][fuzzy]]
        if len(self.columns.kinds):
            self._search_categories(level, at, best)
        # From the units of the search to weighted impurity; the rule is about its share of all weight.
        best["gain"] *= self.target.unit
        best["feature"][best["gain"] / self.whole_weight + EPSILON < self.rules.min_decrease] = -1
        return best

    def _search_categories(self, level: Level, at: Array, best: Array) -> None:
        most = int(self.columns.n_codes[self.columns.kinds > 0].max())
        cure = "join rare categories, or limit the tree by max_depth or max_leaf_nodes"
        require_memory("trees", 2.0 * len(level.starts) * most, f"splits of {len(at)} nodes by {most} categories", cure)
        if level.goes is None:
            level.goes = np.zeros((len(level.starts), most), np.uint8)
        level.goes[at] = search_categories(self.columns, self.target, self.rules, level, at, best)

    def _plan_calls(self, counts: Array) -> list[tuple[slice, Array, Array | None]]:
        """Return the work of each call: (nodes, features, table).

        It is a run of nodes of about CALL_VISITS visits with all features, or one large node with a run of features.
        The splits of the latter go to a table of its own, since several calls search the same node.
        """
        d, looked = self.columns.n_features, self.rules.max_features
        all_features = np.arange(d, dtype=np.int32)
        parts: list[tuple[slice, Array, Array | None]] = []
        begin, visits = 0, 0
        for number, count in enumerate(counts.tolist()):
            # A visit is one row looked at for one feature.
            cost = count * looked
            if begin < number and visits + cost > CALL_VISITS:
                parts.append((slice(begin, number), all_features, None))
                begin, visits = number, 0
            visits += cost
            # One node is too large for a call: its features are divided among calls.
            if begin == number and cost > CALL_VISITS and looked == d:
                step = max(1, CALL_VISITS // count)
                parts += [
                    (slice(number, number + 1), all_features[first : first + step], np.empty(1, BEST_SPLIT))
                    for first in range(0, d, step)
                ]
                begin, visits = number + 1, 0
        if begin < len(counts):
            parts.append((slice(begin, len(counts)), all_features, None))
        return parts

    @staticmethod
    def _join(parts: list[tuple[slice, Array, Array | None]], best: Array) -> None:
        """Write to `best` the best split of each node that several calls have searched; of equal ones the first."""
        for nodes, features, out in parts:
            if out is None:
                continue
            known = best[nodes.start]
            better = out[0]["feature"] >= 0 and (known["feature"] < 0 or out[0]["gain"] > known["gain"])
            if features[0] == 0 or better:
                best[nodes.start] = out[0]

    def divide(self, level: Level, at: Array, best: Array, first: int) -> Level:
        """Split the nodes `at` by `best`, store the splits in `level`, and return the level of their children.

        The children have the indices `first`, `first` + 1, ..., the left one of each pair before the right one.
        """
        features, cuts, sides = (best[name].astype(kind) for name, kind in _SPLIT_TYPES.items())
        thresholds = best["threshold"].copy()
        counts = level.stops[at] - level.starts[at]
        places = np.cumsum(counts) - counts
        spans, found = np.empty(len(at), DIVIDED_SPAN), np.empty(len(at), DIVISION)
        spans["start"], spans["stop"], spans["place"] = level.starts[at], level.stops[at], places
        rows = np.empty(int(counts.sum()), np.int32)
        goes = np.zeros((1, 1), np.uint8) if level.goes is None else (level.goes == 3).astype(np.uint8)
        # A split by categories refers to its row of `goes`; see divide_rows.
        cuts = np.where(cuts < 0, -1 - at, cuts).astype(np.int32)
        runs = _list_runs(counts, CALL_VISITS)

        def work(number: int) -> None:
            self.check()
            run = runs[number]
            spare = np.empty(int(counts[run].max()), np.int32)
            if self.columns.are_values:
                node_rows.divide_values(
                    *(self.columns.codes, level.rows, lend(spans[run]), features[run], thresholds[run], sides[run]),
                    *(spare, rows, lend(found[run])),
                )
                return
            node_rows.divide_rows(
                *(self.columns.codes, self.columns.missing[0], level.rows, lend(spans[run]), features[run], cuts[run]),
                *(sides[run], goes, spare, rows, lend(found[run])),
            )

        run_numbered(work, len(runs), self.threads)
        # The rows of a node stay together: those of the left child, then those of the right one.
        # begins and ends of the children, left and right in turn.
        middles = places + found["left_rows"]
        begins = np.stack([places, middles], axis=1).ravel()
        ends = np.stack([middles, places + counts], axis=1).ravel()
        known = self._describe(rows, begins, ends)
        # The even children are left ones.
        heavier = known.weights[::2] > known.weights[1::2]
        level.left[at] = first + 2 * np.arange(len(at))
        level.right[at] = level.left[at] + 1
        level.feature[at] = features
        level.threshold[at] = thresholds
        if not self.rules.random:
            # The greatest value on the left and the least on the right: the threshold is midway.
            lower, upper = (np.where(cuts < 0, 0, found[name]) for name in ("greatest_left", "least_right"))
            level.threshold[at] = self.columns.thresholds(features, lower, upper)
        self._note_categories(level, at, features, cuts)
        # Where a node had no missing values, later ones go to the heavier side.
        level.missing_left[at] = np.where(sides == 2, heavier, sides)
        # The constants are those of `seed_child` in ``node_steps``.
        seeds = mix_seeds(level.seeds[at][:, None] + np.array([0x51ED2701, 0x2545F491])).ravel()
        bounds = self._bound_children(level.bounds[at], known, features)
        return Level(rows, begins, ends, seeds, bounds, known, level.depth + 1)

    def _note_categories(self, level: Level, at: Array, features: Array, cuts: Array) -> None:
        """Store the sets of categories that go left at splits by categories, which have negative `cuts`."""
        for node, feature in zip(at[cuts < 0].tolist(), features[cuts < 0].tolist()):
            goes = level.goes[node, : self.columns.offsets[feature + 1] - self.columns.offsets[feature]]
            seen = np.flatnonzero(goes)
            numbers = self.columns.table[self.columns.offsets[feature] + seen].astype(np.int64)
            self.words.append(pack_categories(numbers, goes[seen] == 3))
            level.categories[node] = self.n_words
            level.threshold[node] = np.nan
            self.n_words += len(self.words[-1])

    def _describe(self, rows: Array, starts: Array, stops: Array) -> Described:
        runs = _list_runs(stops - starts, CALL_VISITS)
        if len(runs) == 1:
            return self.target.describe(rows, starts, stops)
        found: list[Described] = []
        run_numbered(
            lambda i: self.target.describe(rows, starts[runs[i]], stops[runs[i]]), len(runs), self.threads, found.append
        )
        names = ("weights", "values", "impurity", "pure")
        return Described(*(np.concatenate([getattr(one, name) for one in found]) for name in names))

    def _bound_children(self, bounds: Array, known: Described, features: Array) -> Array:
        """Return the bounds of the children's values, and clip the values to them.

        Bounds are inherited. At a split by a constrained feature the mean of both children's values separates their
        subtrees: with a rising constraint it is the upper bound of the left one and the lower bound of the right one.
        """
        children = np.repeat(bounds, 2, axis=0)
        signs = self.rules.signs
        if len(signs) == 0:
            return children
        # Values are first clipped to the bounds of their parent, so that the middle is within these, too.
        known.values[:] = self.target.clip(known.values, children)
        values = self.target.scale_bounded(known.values)
        middle = (values[::2] + values[1::2]) / 2
        # The middle of both values separates the subtrees of a constrained split.
        rising, falling = signs[features] > 0, signs[features] < 0
        for child, upper, lower in ((0, rising, falling), (1, falling, rising)):
            children[child::2, 1] = np.where(upper, middle, children[child::2, 1])
            children[child::2, 0] = np.where(lower, middle, children[child::2, 0])
        known.values[:] = self.target.clip(known.values, children)
        return children


def _list_runs(counts: Array, most: int) -> list[slice]:
    """Return runs of consecutive nodes, each of about `most` rows."""
    before = np.cumsum(counts) - counts
    edges = np.flatnonzero(np.diff(before // most)) + 1
    return [slice(a, b) for a, b in zip([0, *edges.tolist()], [*edges.tolist(), len(counts)])]
