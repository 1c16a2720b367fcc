"""Trees of largest mutual information (Chow and Liu, 1968), also given a class (Friedman, Geiger, Goldszmidt, 1997)."""

import numpy as np
from scipy.special import xlogy

from mercer._types import Array
from mercer.bayesnet._learning.counter import FamilyCounter


def measure_information(table: Array) -> float:
    """Return the mutual information of the last two axes of a table of counts, given all others, in nats."""
    cells = table.reshape(-1, *table.shape[-2:])
    total = cells.sum()
    if total <= 0:
        return 0.0
    rows, columns, whole = cells.sum(axis=2), cells.sum(axis=1), cells.sum(axis=(1, 2))
    terms = xlogy(cells, cells).sum() - xlogy(rows, rows).sum() - xlogy(columns, columns).sum()
    return max(0.0, float(terms + xlogy(whole, whole).sum()) / float(total))


def tabulate_information(counter: FamilyCounter, nodes: list[int], given: tuple[int, ...] = ()) -> Array:
    """Return the mutual information of each pair of `nodes` given other variables, from rows that have them all."""
    information = np.zeros((len(nodes), len(nodes)))
    for second in range(len(nodes)):
        for first in range(second):
            table = counter.count((*given, nodes[first], nodes[second]))
            information[first, second] = information[second, first] = measure_information(table)
    return information


def find_spanning_tree(weights: Array, root: int = 0) -> Array:
    """Return the spanning tree of largest weight, directed away from `root`, as a matrix of edges; Prim's method."""
    d = len(weights)
    edges = np.zeros((d, d), bool)
    inside = np.zeros(d, bool)
    inside[root] = True
    best, link = weights[root].astype(np.float64).copy(), np.full(d, root)
    for _ in range(d - 1):
        node = int(np.argmax(np.where(inside, -np.inf, best)))
        edges[link[node], node] = True
        inside[node] = True
        closer = ~inside & (weights[node] > best)
        best[closer], link[closer] = weights[node][closer], node
    return edges
