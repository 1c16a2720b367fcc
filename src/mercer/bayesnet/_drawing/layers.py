"""A layered layout of a directed graph (Sugiyama, Tagawa and Toda, 1981).

Four steps: nodes get layers, so that edges point down; an edge over several layers gets a bend in each; the order in
each layer is improved by the means of the neighbours' places, as long as fewer edges cross; and coordinates bring
neighbours above one another at given distances.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mercer._types import Array

# Sweeps over the layers, down and up; the order rarely improves after ten.
_SWEEPS = 24
# Rounds that bring neighbours above one another.
_ROUNDS = 16


@dataclass(frozen=True, eq=False)
class LayeredPlan:
    """Coordinates of nodes, in units of the layout, and the bends of edges; y grows downwards.

    Attributes
    ----------
    positions : ndarray of shape (n, 2)
    bends : list of ndarray of shape (m, 2)
        For each edge the points between its ends.
    n_crossings : int
        Pairs of edge pieces that cross.
    """

    positions: Array
    bends: list[Array]
    n_crossings: int


def arrange_layers(
    n: int, edges: Sequence[tuple[int, int]], widths: Sequence[float], gap: float, height: float
) -> LayeredPlan:
    """Lay out a graph of n nodes whose directed edges form no cycle.

    Parameters
    ----------
    n : int
    edges : sequence of (parent, child)
    widths : sequence of float
        The width of each node.
    gap : float
        The least distance between two neighbours in a layer.
    height : float
        The distance between layers.
    """
    layer = _choose_layers(n, edges)
    chains, all_layers, pieces = _add_bends(edges, layer)
    wide = np.concatenate([np.asarray(widths, dtype=np.float64), np.zeros(len(all_layers) - n)])
    order, n_crossings = _order_layers(all_layers, pieces)
    x = _place(order, pieces, wide, gap)
    points = np.column_stack([x, np.asarray(all_layers, dtype=np.float64) * height])
    points[:, 0] -= points[:, 0].min() if len(points) else 0.0
    return LayeredPlan(points[:n], [points[chain] for chain in chains], n_crossings)


def _choose_layers(n: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each node: as high as its parents allow, and sources just above their first child."""
    children: list[list[int]] = [[] for _ in range(n)]
    left = [0] * n
    for parent, child in edges:
        children[parent].append(child)
        left[child] += 1
    layer = [0] * n
    ready = [node for node in range(n) if left[node] == 0]
    sources = list(ready)
    while ready:
        node = ready.pop()
        for child in children[node]:
            # The longest path from a source.
            layer[child] = max(layer[child], layer[node] + 1)
            left[child] -= 1
            if left[child] == 0:
                ready.append(child)
    # Sources move down to just above their first child, which shortens edges.
    for node in sources:
        if children[node]:
            layer[node] = min(layer[child] for child in children[node]) - 1
    return layer


def _add_bends(
    edges: Sequence[tuple[int, int]], layer: list[int]
) -> tuple[list[list[int]], list[int], list[tuple[int, int]]]:
    """Return the bends of each edge, the layers of nodes and bends, and the edge pieces between adjacent layers."""
    chains: list[list[int]] = []
    layers, pieces = list(layer), []
    for parent, child in edges:
        # A bend for each layer that the edge passes.
        chain = list(range(len(layers), len(layers) + layer[child] - layer[parent] - 1))
        layers += range(layer[parent] + 1, layer[child])
        path = [parent, *chain, child]
        pieces += list(pairwise(path))
        chains.append(chain)
    return chains, layers, pieces


def _order_layers(layers: list[int], pieces: list[tuple[int, int]]) -> tuple[list[list[int]], int]:
    """Return the nodes of each layer in an order with few crossings."""
    order: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for node, level in enumerate(layers):
        order[level].append(node)
    above: list[list[int]] = [[] for _ in layers]
    below: list[list[int]] = [[] for _ in layers]
    for parent, child in pieces:
        above[child].append(parent)
        below[parent].append(child)
    best, fewest = [list(level) for level in order], _count_crossings(order, below)
    for sweep in range(_SWEEPS):
        # Sweeps down and up take turns: each orders a layer by the one before it.
        down = sweep % 2 == 0
        levels = range(1, len(order)) if down else range(len(order) - 2, -1, -1)
        for level in levels:
            fixed = order[level - 1 if down else level + 1]
            place = {node: index for index, node in enumerate(fixed)}
            mean = {}
            for index, node in enumerate(order[level]):
                # The barycentre of a node: the mean place of its neighbours in the fixed layer.
                around = [place[other] for other in (above if down else below)[node] if other in place]
                # The old place breaks ties, so that a sweep does not shuffle what is equal.
                mean[node] = (sum(around) / len(around) if around else index, index)
            order[level].sort(key=mean.__getitem__)
        n_crossings = _count_crossings(order, below)
        if n_crossings < fewest:
            best, fewest = [list(level) for level in order], n_crossings
    return best, fewest


def _count_crossings(order: list[list[int]], below: list[list[int]]) -> int:
    """Return how many pairs of edge pieces cross."""
    total = 0
    for level, next_level in pairwise(order):
        place = {node: index for index, node in enumerate(next_level)}
        ends = [place[child] for node in level for child in sorted(below[node], key=lambda child: place[child])]
        # Inversions of the ends, in the order of the starts.
        total += sum(int(np.sum(np.asarray(ends[:index]) > end)) for index, end in enumerate(ends))
    return total


def _place(order: list[list[int]], pieces: list[tuple[int, int]], widths: Array, gap: float) -> Array:
    """Return the x of each node: near the mean of its neighbours, in order, and at least `gap` apart."""
    x = np.zeros(len(widths))
    around: list[list[int]] = [[] for _ in widths]
    for parent, child in pieces:
        around[parent].append(child)
        around[child].append(parent)
    offsets = []
    for level in order:
        steps = [(widths[left] + widths[right]) / 2 + gap for left, right in pairwise(level)]
        offset = np.concatenate([[0.0], np.cumsum(steps)]) if level else np.zeros(0)
        offsets.append(offset)
        x[level] = offset - (offset[-1] / 2 if len(offset) else 0.0)
    for sweep in range(_ROUNDS):
        levels = range(len(order)) if sweep % 2 == 0 else range(len(order) - 1, -1, -1)
        for number in levels:
            level = order[number]
            wanted = np.array([np.mean(x[around[node]]) if around[node] else x[node] for node in level])
            # Positions in order at given distances, closest to the wanted ones, are a rising sequence after the
            # distances are taken off.
            x[level] = _rise(wanted - offsets[number]) + offsets[number]
    return x


def _rise(values: Array) -> Array:
    """Return the rising sequence with the least squared distance to `values`: pool neighbours that fall."""
    sums: list[float] = []
    counts: list[int] = []
    for value in values:
        sums.append(float(value))
        counts.append(1)
        # Pool adjacent violators.
        while len(sums) > 1 and sums[-2] / counts[-2] > sums[-1] / counts[-1]:
            total, count = sums.pop(), counts.pop()
            sums[-1] += total
            counts[-1] += count
    return np.repeat([total / count for total, count in zip(sums, counts, strict=True)], counts)
