"""The gain of the best single edge of a Bayesian network, recomputed by counting rows in the plainest way."""

from itertools import permutations
from typing import Any

import numpy as np


def learner_edge_gain(model: Any, X: np.ndarray, y: Any) -> float:
    return best_gain(X.astype(int), model.edges_)


def classifier_edge_gain(model: Any, X: np.ndarray, y: Any) -> float:
    """Numbers are binned by the edges that the model shows; the class is the last column."""
    bins = [np.searchsorted(column.edges, X[:, j]) for j, column in enumerate(model.coding_.columns)]
    return best_gain(np.column_stack([*bins, np.searchsorted(model.classes_, y)]), model.edges_)


def best_gain(rows: np.ndarray, edges: np.ndarray) -> float:
    """Every structure that differs by one edge added, removed or turned, scored by BIC in full."""
    now, best = total(rows, edges), 0.0
    for parent, child in permutations(range(len(edges)), 2):
        for other in changes(edges, parent, child):
            if acyclic(other):
                best = max(best, total(rows, other) - now)
    return best


def changes(edges: np.ndarray, parent: int, child: int):
    toggled = edges.copy()
    toggled[parent, child] = not edges[parent, child]
    yield toggled
    if edges[parent, child]:
        turned = toggled.copy()
        turned[child, parent] = True
        yield turned


def acyclic(edges: np.ndarray) -> bool:
    return bool(np.trace(np.linalg.matrix_power(np.eye(len(edges)) + edges, len(edges))) == len(edges))


def total(rows: np.ndarray, edges: np.ndarray) -> float:
    return sum(family(rows, node, np.flatnonzero(edges[:, node])) for node in range(len(edges)))


def family(rows: np.ndarray, node: int, parents: np.ndarray) -> float:
    sizes = [len(np.unique(rows[:, column])) for column in (*parents, node)]
    _, joint = np.unique(rows[:, [*parents, node]], axis=0, return_counts=True)
    above = np.unique(rows[:, parents], axis=0, return_counts=True)[1] if len(parents) else np.array([len(rows)])
    likelihood = np.sum(joint * np.log(joint)) - np.sum(above * np.log(above))
    return float(likelihood - 0.5 * np.log(len(rows)) * np.prod(sizes[:-1]) * (sizes[-1] - 1))
