"""Places for new rows on a fitted map: each is attracted by its neighbours and repelled by all rows of the fit."""

from typing import Any

import numpy as np

from mercer._native.embedding import map_tasks
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.errors import ModelFileError
from mercer.manifold._tsne.affinities import match_perplexity
from mercer.manifold._tsne.cell_tree import LEAF, make_tree

# Iterations for new rows; the divergence of a row changes by less than 1e-3 after.
_STEPS = 100
# The share of the last step that is added to the next, as in the fit.
_MOMENTUM = 0.8
# The rate; the curvature of a row's divergence is at most about 4.
_RATE = 0.1
# The longest step of a row.
_LONGEST = 1.0
# Pairs of new and old rows up to which repulsion is exact: a place then does not depend on the other new rows.
_MOST_PAIRS = 2**24
# The angle of cells beyond that.
_ANGLE = 0.5
# Leaves that a thread works on at a time.
_RUN = 8


def check_map(model: Any) -> None:
    """Raise ModelFileError if a loaded map has fewer than 2 rows: a row of one alone has no neighbours."""
    rows = len(model.embedding_) if hasattr(model, "embedding_") else 2
    if rows < 2:
        raise ModelFileError(f"{type(model).__name__}.embedding_ must have at least 2 rows; the file has {rows}.")


def place_rows(distances: Array, columns: Array, perplexity: Any, embedding: Array, threads: int) -> Array:
    """Return places on the map for rows from the distances to their neighbours among the rows of the fit.

    Row i minimises its own divergence, of p_ij, the weights of its neighbours, from q_ij, its similarities to all rows
    of the fit divided by their sum. It starts at the weighted median of its neighbours' places.
    """
    squares = np.square(distances, dtype=np.float64)
    weights, _, _ = match_perplexity(squares, perplexity, n_jobs=threads)
    targets = np.asarray(embedding, dtype=np.float64)[columns]
    places = _find_medians(targets, weights)
    repulsion = _Repulsion(np.ascontiguousarray(embedding, dtype=np.float32), places, threads)
    speed, gain = np.zeros_like(places), np.ones_like(places)
    for _ in range(_STEPS):
        steps = places[:, None, :] - targets
        pulls = weights / (1.0 + np.square(steps).sum(axis=2))
        slope = 2.0 * ((pulls[:, :, None] * steps).sum(axis=1) - repulsion.at(places))
        gain = np.maximum(np.where(slope * speed < 0, gain + 0.2, gain * 0.8), 0.01)
        speed = _MOMENTUM * speed - _RATE * gain * slope
        speed *= np.minimum(1.0, _LONGEST / np.maximum(np.linalg.norm(speed, axis=1), 1e-300))[:, None]
        places = places + speed
    return places


def _find_medians(targets: Array, weights: Array) -> Array:
    """Return the weighted median of each coordinate of the targets of each row."""
    order = np.argsort(targets, axis=1, kind="stable")
    shares = np.cumsum(np.take_along_axis(np.broadcast_to(weights[:, :, None], targets.shape), order, axis=1), axis=1)
    middle = np.argmax(shares >= 0.5 * shares[:, -1:, :], axis=1)[:, None, :]
    return np.take_along_axis(np.take_along_axis(targets, order, axis=1), middle, axis=1)[:, 0]


class _Repulsion:
    """The repulsion of points by a fixed map, divided by the sum of their similarities to it."""

    def __init__(self, embedding: Array, places: Array, threads: int) -> None:
        n, d = embedding.shape
        angle = 0.0 if len(places) * n <= _MOST_PAIRS else _ANGLE
        self.threads = threads
        self.map, _ = make_tree(n, d, angle)
        self.map.sort(embedding)
        self.map.place(embedding)
        self.own, _ = make_tree(len(places), d, angle)
        self.own.sort(np.ascontiguousarray(places, dtype=np.float32))
        self.push, self.potential = np.zeros((len(places), d), np.float32), np.zeros(len(places))

    def at(self, places: Array) -> Array:
        """Return sum_j w_ij^2 (y_i - y_j) / sum_j w_ij at these places."""
        self.own.place(np.ascontiguousarray(places, dtype=np.float32))
        leaves, d = -(-len(places) // LEAF), places.shape[1]

        def work(block: int) -> None:
            first, last = block * _RUN, min((block + 1) * _RUN, leaves)
            out = np.empty((d + 1, LEAF), np.float32)
            map_tasks.repel(self.own, self.map, first, last, self.push, self.potential, out)

        run_numbered(work, -(-leaves // _RUN), self.threads)
        return self.push / np.maximum(self.potential, 1e-30)[:, None]
