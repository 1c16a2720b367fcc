"""Approximate neighbours for maps of many rows: NN-descent where its graph takes less time than the exact search."""

from typing import Any

import numpy as np

from mercer._solver.neighbours.descent import FEWEST_ROWS, build_graph
from mercer._types import Array
from mercer.manifold._tsne.affinities import is_euclidean


def find_nearest_soon(
    rows: Any, k: int, metric: Any, metric_params: dict[str, Any] | None, threads: int
) -> tuple[Array, Array] | None:
    """Return the distances of each row to about its `k` nearest others and their indices, or None.

    None stands for exact neighbours, where these cost less. The seed of the descent is fixed: a map depends on the seed
    of the fit by its start and its draws alone.
    """
    if not is_euclidean(metric, rows) or metric_params or rows.shape[0] < FEWEST_ROWS:
        return None
    table = np.ascontiguousarray(rows)
    graph = build_graph(table, k, np.random.SeedSequence(0), threads, "UMAP")
    if (graph.neighbours[:, :k] < 0).any():
        return None
    return graph.distances[:, :k], graph.neighbours[:, :k]
