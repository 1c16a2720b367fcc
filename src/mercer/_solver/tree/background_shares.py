"""Shapley values and interactions of packed trees, for the game that takes unknown columns from background rows."""

from typing import Any

import numpy as np
from scipy.special import betaln

from mercer._native.explain import background_shares
from mercer._native.records import lend
from mercer._solver.tree.packed_forest import PackedForest
from mercer._solver.tree.path_shares import PathShares, number_players
from mercer._solver.tree.soundness import check_width
from mercer._source.threads import run_numbered
from mercer._types import Array

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
