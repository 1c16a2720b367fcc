"""Shapley values and interactions of packed trees, for two games.

One weighs both sides of a split by its training rows; the other takes unknown columns from background rows.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import betaln

from mercer._native.explain import background_shares, path_shares
from mercer._native.records import lend
from mercer._solver.tree.packed_forest import PackedForest
from mercer._solver.tree.soundness import check_width
from mercer._source.threads import run_numbered
from mercer._types import Array

# Rows of a block of the native walk, as in share_lanes.h.
_LANES = 16
# Rows of a node's table, as in the native module, beside two more numbers.
_TABLE_ROWS = 7
# Numbers in the tables of a run of trees: 8 MiB, which a shared cache holds.
_RUN_NUMBERS = 2**20
# Blocks of rows of one call: with the tables above a call takes some 20 ms.
_RUN_BLOCKS = 16
# Rows whose values are turned to blocks at a time; the tables of trees are made anew for each lot.
_LOT = 2**14
# Relative difference of sums over the outputs of leaves that count as equal.
_ROUNDING = 1e-13
# Numbers that the shares of one lot may have: 256 MiB.
_LOT_NUMBERS = 2**25
_FIELDS = ("levels", "players", "above", "distinct")


@dataclass(frozen=True)
class PathShares:
    """What the players of rows add to the scores of trees; a player is a column, or a group of columns.

    Attributes
    ----------
    values : (n, k, players)
        The Shapley value of each player.
    pairs : (n, k, players, players) or None
        The Shapley interaction index of each pair of players; symmetric, with zeros on the diagonal.
    """

    values: Array
    pairs: Array | None


def share_paths(
    forest: PackedForest,
    weights: Array,
    X: Array,
    n_scores: int,
    *,
    players: Array | None = None,
    threads: int = 1,
    pairs: bool = False,
) -> PathShares:
    """Compute the Shapley values of the columns of rows (n, columns), and of pairs of them if asked for.

    `weights` (nodes,) are those of the training rows that came by each packed node; `players` (columns,) has the number
    of the player of each column, and is None where each column is one.
    """
    check_width("PackedForest", X, forest.n_columns)
    players = number_players(players, X.shape[1])
    n, d = len(X), int(players.max(initial=-1)) + 1
    walks = _Walks.over(forest, np.ascontiguousarray(weights, np.float64), players)
    values = np.empty((n, n_scores, d))
    both = np.empty((n, n_scores, d, d)) if pairs else None
    lot = max(_LANES, min(_LOT, _LOT_NUMBERS // (n_scores * d * (d if pairs else 1)) // _LANES * _LANES))
    for start in range(0, n, lot):
        part = slice(start, start + lot)
        shares, joint = walks.share(_make_blocks(X[part]), n_scores, threads, pairs)
        _read_blocks(shares, values[part])
        if both is not None:
            _read_blocks(joint, both[part].reshape(-1, n_scores, d * d))
            # Native code writes the lower column first.
            both[part] += both[part].swapaxes(2, 3)
    return PathShares(values, both)


def number_players(players: Array | None, n_columns: int) -> Array:
    """Return the player of each column as native code reads it; each column is one unless they are given."""
    return np.arange(n_columns, dtype=np.int32) if players is None else np.ascontiguousarray(players, np.int32)


def average_leaves(forest: PackedForest, weights: Array, n_scores: int) -> Array:
    """Return the mean score (n_scores,) of the training rows: of each leaf its value, weighed by its rows."""
    leaves = (forest.nodes["skip"] < 0).astype(np.float64) * weights
    width, means = forest.values.shape[1], np.zeros(n_scores)
    for root, size, output in zip(forest.roots.tolist(), forest.sizes.tolist(), forest.outputs.tolist()):
        own = slice(root, root + size)
        means[output : output + width] += leaves[own] @ forest.values[own] / weights[root]
    return means


@dataclass(frozen=True, eq=False)
class _Walks:
    """Packed trees with what is known of each edge, see the native `Paths`, and of each tree.

    Attributes
    ----------
    trees : (trees, 5), int64
        See the native `write_tables`.
    """

    forest: PackedForest
    weights: Array
    players: Array
    edges: tuple[Array, ...]
    trees: Array
    depth: int

    @classmethod
    def over(cls, forest: PackedForest, weights: Array, players: Array) -> "_Walks":
        count, n_trees = len(forest.nodes), len(forest.roots)
        edges = *(np.zeros(count, np.int32) for _ in _FIELDS), np.ones(count)
        most, deepest = np.zeros(n_trees, np.int32), np.zeros(n_trees, np.int32)
        route = np.empty(int(forest.sizes.max(initial=0)) + 1, np.int32)
        nodes = lend(forest.nodes)
        path_shares.trace_paths(nodes, weights, forest.roots, forest.sizes, players, edges, route, most, deepest)
        trees = np.zeros((n_trees, 5), np.int64)
        # A polynomial of degree D - 1 takes D / 2 points, rounded up.
        trees[:, 0], trees[:, 1], trees[:, 2] = forest.roots, forest.sizes, np.maximum((most + 1) // 2, 1)
        return cls(forest, weights, players, edges, trees, int(deepest.max(initial=0)))

    def share(self, X: Array, n_scores: int, threads: int, pairs: bool) -> tuple[Array, Array]:
        """Return the shares (k, blocks, players, LANES) and, or empty, those of pairs (k, blocks, players^2, LANES)."""
        blocks, d = len(X), int(self.players.max(initial=-1)) + 1
        shares = np.zeros((n_scores, blocks, d, _LANES))
        joint = np.zeros((n_scores, blocks, d * d if pairs else 0, _LANES))
        mixed = bool(len(self.forest.words) or np.isnan(X).any())
        width = self.forest.values.shape[1]
        # The chances of classes sum to one: what columns add to the last is what they take from the others.
        spared = int(width == n_scores > 1 and self._sums_to_one)
        for run in self._cut(pairs):
            outputs = self.forest.outputs[run]
            for first in np.unique(outputs).tolist():
                # Trees that add to the same scores, one of their values after the other.
                trees = _place_tables(self.trees[run][outputs == first])
                for v in range(width - spared):
                    tables = self._write(trees, v, pairs)
                    self._run(X, trees, tables, mixed, threads, shares[first + v], joint[first + v])
        if spared:
            shares[-1], joint[-1] = -shares[:-1].sum(axis=0), -joint[:-1].sum(axis=0)
        return shares, joint

    def _cut(self, pairs: bool) -> list[slice]:
        """Cut the trees into runs whose tables are of a bounded size."""
        numbers = _count_numbers(self.trees, pairs)
        run = np.cumsum(numbers) // _RUN_NUMBERS
        ends = [0, *(np.flatnonzero(np.diff(run)) + 1).tolist(), len(numbers)]
        return [slice(start, stop) for start, stop in pairwise(ends) if stop > start]

    @property
    def _sums_to_one(self) -> bool:
        leaves = self.forest.values[self.forest.nodes["skip"] < 0].sum(axis=1)
        return bool(np.abs(leaves - leaves[0]).max() <= _ROUNDING * abs(leaves[0]))

    def _write(self, trees: Array, v: int, pairs: bool) -> tuple[Array, Array]:
        last = trees[-1]
        tables = np.empty(int(last[3] + last[1] * (2 + _TABLE_ROWS * last[2])))
        effects = np.empty(int(last[4] + (last[1] + 1) * last[2]) if pairs else 0)
        rules, route = _list_rules(int(self.trees[:, 2].max())), np.empty(self.depth + 2, np.int32)
        values = np.ascontiguousarray(self.forest.values[:, v])
        nodes = lend(self.forest.nodes)
        path_shares.write_tables(nodes, self.weights, values, self.edges, trees, rules, route, tables, effects)
        return tables, effects

    def _run(self, X: Array, trees: Array, tables: Any, mixed: bool, threads: int, shares: Array, joint: Array) -> None:
        """Add the shares of some trees, on all threads."""
        forest = lend(self.forest.nodes), self.forest.words, self.edges[2], self.players
        points = int(trees[:, 2].max())

        def work(number: int) -> None:
            part = slice(number * _RUN_BLOCKS, (number + 1) * _RUN_BLOCKS)
            scratch = (
                np.empty((self.depth + 2, points * _LANES)),
                np.empty((2 * self.depth + 4, _LANES), np.int64),
                np.empty(points * _LANES if joint.shape[1] else 0),
                np.empty(self.depth + 2, np.int32),
                np.empty(self.depth + 2, np.uint8),
            )
            path_shares.add_path_shares(X[part], forest, trees, tables, scratch, mixed, shares[part], joint[part])

        run_numbered(work, -(-len(X) // _RUN_BLOCKS), threads)


def _place_tables(trees: Array) -> Array:
    """Return trees with the places where their tables and their effects begin."""
    trees = np.ascontiguousarray(trees)
    tables = trees[:, 1] * (2 + _TABLE_ROWS * trees[:, 2])
    effects = (trees[:, 1] + 1) * trees[:, 2]
    trees[:, 3], trees[:, 4] = np.cumsum(tables) - tables, np.cumsum(effects) - effects
    return trees


def _count_numbers(trees: Array, pairs: bool) -> Array:
    return trees[:, 1] * (2 + (_TABLE_ROWS + pairs) * trees[:, 2])


@lru_cache(maxsize=4)
def _list_rules(most: int) -> tuple[Array, Array, Array]:
    """Return points t, 1 - t and weights of Gauss's rules for [0, 1] with 1, 2... up to `most` points."""
    rules = [np.polynomial.legendre.leggauss(points) for points in range(1, most + 1)]
    # The points are symmetric: t comes from below and 1 - t from above without loss of digits.
    times = np.concatenate([(1.0 + x) / 2.0 for x, _ in rules])
    rests = np.concatenate([(1.0 - x) / 2.0 for x, _ in rules])
    return times, rests, np.concatenate([weight / 2.0 for _, weight in rules])


def _make_blocks(X: Array) -> Array:
    """Return rows (n, d) as blocks (blocks, d, LANES); the last one is filled up with zeros."""
    n, d = X.shape
    padded = np.zeros((-(-n // _LANES) * _LANES, d))
    padded[:n] = X
    return np.ascontiguousarray(padded.reshape(-1, _LANES, d).transpose(0, 2, 1))


def _read_blocks(blocks: Array, values: Array) -> None:
    """Write blocks (k, blocks, d, LANES) to the rows of `values` (n, k, d)."""
    k, count, d = blocks.shape[:3]
    values[:] = blocks.transpose(1, 3, 0, 2).reshape(count * _LANES, k, d)[: len(values)]


# Nodes, at most, that the walks of one call visit if they meet every node: some 50 ms.
_CALL = 2**24
# Rows of one call.
_ROWS = 16


def share_background(
    forest: PackedForest,
    X: Array,
    background: Array,
    n_scores: int,
    *,
    players: Array | None = None,
    threads: int = 1,
    pairs: bool = False,
) -> PathShares:
    """Compute the Shapley values of the columns of rows (n, d) against background rows (m, d); means over these.

    `players` is as in `share_paths`.

    The cost is that of n m walks down the trees, each along the branches that mixtures of two rows can take.
    """
    for rows in (X, background):
        check_width("PackedForest", rows, forest.n_columns)
    X, background = (np.ascontiguousarray(rows, np.float64) for rows in (X, background))
    players = number_players(players, X.shape[1])
    n, d = len(X), int(players.max(initial=-1)) + 1
    shares, joint = np.zeros((n_scores, n, d)), np.zeros((n_scores, n, *((d, d) if pairs else (0, 0))))
    weights, nodes = _list_weights(min(d, int(forest.node_depths.max(initial=0)))), lend(forest.nodes)
    width = forest.values.shape[1]
    columns = [np.ascontiguousarray(forest.values[:, v]) for v in range(width)]
    # Trees by what they add to, and as many of them at a time as one call has room for.
    runs = [
        (first, run)
        for first in np.unique(forest.outputs).tolist()
        for run in _cut(forest, np.flatnonzero(forest.outputs == first), _ROWS * len(background))
    ]

    def work(number: int) -> None:
        part = slice(number * _ROWS, (number + 1) * _ROWS)
        scratch = players, np.zeros(d, np.int8), np.empty(d, np.int32)
        for first, roots in runs:
            for v, values in enumerate(columns):
                own = shares[first + v, part], joint[first + v, part]
                given: Any = (nodes, forest.words, values), roots, weights, scratch
                background_shares.add_background_shares(X[part], background, *given, *own)  # type: ignore[call-arg]

    run_numbered(work, -(-n // _ROWS), threads)
    shares, joint = shares / len(background), joint / len(background)
    both = joint.swapaxes(0, 1) + joint.transpose(1, 0, 3, 2) if pairs else None
    return PathShares(np.ascontiguousarray(shares.swapaxes(0, 1)), both)


def _cut(forest: PackedForest, trees: Array, walks: int) -> list[Array]:
    """Return the roots of some trees in runs of a bounded number of nodes times walks."""
    run = np.cumsum(forest.sizes[trees].astype(np.int64) * walks) // _CALL
    return [np.ascontiguousarray(part) for part in np.split(forest.roots[trees], np.flatnonzero(np.diff(run)) + 1)]


def _list_weights(most: int) -> tuple[Array, Array]:
    """Return i! j! / (i + j + 1)! for a column beside i and j others, and the same for a pair of columns."""
    sides = np.arange(most + 1.0)
    table = np.exp(betaln(sides[:, None] + 1.0, sides + 1.0))
    return table, table
