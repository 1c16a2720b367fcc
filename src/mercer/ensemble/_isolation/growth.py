"""Growth of an isolation forest: samples of rows, and trees of random splits, many in one native call."""

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._native.records import BRANCH, ISOLATION_NODE, lend
from mercer._native.tree import isolation_growth
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense, Take
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.ensemble._isolation.trees import IsolationTrees, join_nodes, make_no_trees

# Rows times levels that one native call splits: about half a millisecond.
_CALL = 2**16
# Native calls of one step, which worker threads share.
_CALLS_PER_STEP = 8
# Most values of rows that are read at a time where rows are sparse or not in memory: 128 MiB of float64.
_MOST_VALUES = 2**24
NO_BOUND = Certificate.none("Splits are random: more trees make scores less random, and nothing is minimised.")


@dataclass(frozen=True, eq=False)
class Sampling:
    """How rows are drawn for a tree.

    Attributes
    ----------
    n_rows : int
    n_drawn : int
    repeated : bool
        Whether a row may be drawn more than once.
    weight : (n_rows,) or None
        Rows are drawn in proportion to it, and then with repetitions: a row of weight two stands for two rows.
    """

    n_rows: int
    n_drawn: int
    repeated: bool
    weight: Array = None

    def draw(self, seeds: Array) -> Array:
        """Return the rows (trees, n_drawn) for the trees of `seeds` (trees, 2)."""
        rows = np.empty((len(seeds), self.n_drawn), np.int64)
        if self.weight is None:
            # A power of two, at least twice the rows drawn: the hash table stays half empty.
            entries = 1 << (2 * self.n_drawn - 1).bit_length()
            table = np.empty(1 if self.repeated else entries, np.int64)
            isolation_growth.draw_rows(self.n_rows, seeds, self.repeated, table, rows)
            return rows
        # Inverse of the cumulated weights.
        ends = np.cumsum(self.weight)
        last = np.flatnonzero(self.weight)[-1]
        for tree, seed in enumerate(seeds.tolist()):
            chances = np.random.default_rng(seed).random(self.n_drawn) * ends[-1]
            # Rounding can reach the end, where rows may have no weight.
            rows[tree] = np.minimum(np.searchsorted(ends, chances, side="right"), last)
        return rows


@dataclass(eq=False)
class IsolationGrowth:
    """The solver: grows a tree for each pair of seeds; a step is a batch of trees.

    Attributes
    ----------
    X : ndarray of shape (n, d) or None
        Dense rows in memory; None where rows have to be taken from the source.
    n_features : int
    sampling : Sampling
    seeds : (trees, 2) of uint32
    n_columns : int
        Columns that each tree may split.
    max_depth : int
    threads : int
    """

    X: Array
    n_features: int
    sampling: Sampling
    seeds: Array
    n_columns: int
    max_depth: int
    threads: int

    def solve(self, trees: IsolationTrees | None) -> Solver:
        """Grow the trees that are missing."""
        trees = make_no_trees(self.n_features, self.n_columns) if trees is None else trees
        # Trees in one native call, so that it lasts at most some 50 ms.
        per_call = max(1, _CALL // (self.sampling.n_drawn * max(self.max_depth, 1)))
        batch = per_call * _CALLS_PER_STEP
        if self.X is None:
            # Rows that are not in memory are fetched tree by tree: fewer at once.
            batch = max(1, min(batch, _MOST_VALUES // (self.sampling.n_drawn * self.n_features)))
        while len(trees) < len(self.seeds):
            seeds = self.seeds[len(trees) : len(trees) + batch]
            X, rows = yield from self._read_rows(seeds)
            grown = yield Dense(partial(self._grow, X, rows, seeds, per_call))
            first = len(trees)
            trees = trees + grown
            yield Step(trees.mean_path(first), trees, NO_BOUND, {"trees": float(len(trees))})
        return Solution(trees, True, NO_BOUND)

    def _read_rows(self, seeds: Array) -> Generator[Any, Any, tuple[Array, Array]]:
        """Return rows, and the indices among them of those drawn for each tree."""
        rows = self.sampling.draw(seeds)
        if self.X is not None:
            return self.X, rows
        drawn, places = np.unique(rows, return_inverse=True)
        X = yield Take(drawn)
        return np.ascontiguousarray(X), np.ascontiguousarray(places.reshape(rows.shape))

    def _grow(self, X: Array, rows: Array, seeds: Array, per_call: int) -> IsolationTrees:
        """Return the trees of `seeds`, grown by all threads."""
        parts: list[IsolationTrees] = []
        run_numbered(
            lambda number: self._grow_part(X, rows, seeds, slice(number * per_call, (number + 1) * per_call)),
            -(-len(seeds) // per_call),
            self.threads,
            parts.append,
        )
        return sum(parts[1:], parts[0])

    def _grow_part(self, X: Array, rows: Array, seeds: Array, part: slice) -> IsolationTrees:
        """Return some of the trees, grown by one native call."""
        rows, seeds = rows[part], np.ascontiguousarray(seeds[part])
        n_trees, m = rows.shape
        columns = np.repeat(np.arange(self.n_features, dtype=np.int32)[None], n_trees, axis=0)
        nodes, stack = np.empty((n_trees, 2 * m), ISOLATION_NODE), np.empty(self.max_depth + 2, BRANCH)
        values, sizes = np.empty(m + 2), np.empty(n_trees, np.int64)
        isolation_growth.grow_trees(
            X, rows, seeds, columns, self.n_columns, self.max_depth, lend(nodes), lend(stack), values, sizes
        )
        # Which columns a tree may split, in rising order; their order in `columns` is that of the last node.
        own = np.sort(columns[:, : self.n_columns] if self.n_columns < self.n_features else columns[:, :0], axis=1)
        return join_nodes(self.n_features, sizes, nodes, own)
