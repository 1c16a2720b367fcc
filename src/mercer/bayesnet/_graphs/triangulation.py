"""Triangulation: add edges until every cycle of at least four nodes has a chord."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mercer._plain import plain
from mercer.bayesnet._graphs.elimination_order import (
    RULES,
    eliminate_greedily,
    list_elimination_cliques,
    sum_table_sizes,
)
from mercer.bayesnet._graphs.undirected import Graph, list_bits, number_graph, read_graph
from mercer.errors import DataError, ParameterError, UnsupportedError

# Nodes up to which all subsets are searched; 18 nodes have 262 144 subsets, some seconds of work.
MOST_NODES = 18


def eliminate_optimally(neighbours: Sequence[int], logs: Sequence[float], criterion: str) -> list[int]:
    """Return an elimination order with the smallest width, or the smallest total table size over its steps."""
    bound = min(_rate_order(neighbours, logs, criterion, rule) for rule in ("min_fill", "min_weight"))
    # Sets of eliminated nodes with the best cost and the last node; one more node a round.
    layer: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for _ in neighbours:
        following: dict[int, tuple[float, list[int]]] = {}
        for gone, (cost, order) in layer.items():
            for node in list_bits(((1 << len(neighbours)) - 1) & ~gone):
                step = _rate_step(_reach(neighbours, gone, node), node, logs, criterion)
                total = max(cost, step) if criterion == "width" else cost + step
                # A set that is worse than a greedy order already cannot be part of a better one.
                if total <= bound * (1 + 1e-12):
                    known = following.get(gone | 1 << node)
                    if known is None or total < known[0]:
                        following[gone | 1 << node] = (total, [*order, node])
        layer = following
    return layer[(1 << len(neighbours)) - 1][1]


def _reach(neighbours: Sequence[int], gone: int, node: int) -> int:
    """Return the nodes that are not eliminated and reachable from a node through eliminated ones."""
    seen = 1 << node
    front = neighbours[node] & ~seen
    reached = 0
    while front:
        seen |= front
        # Nodes that are left are reached but not passed through.
        reached |= front & ~gone
        through = 0
        for other in list_bits(front & gone):
            through |= neighbours[other]
        front = through & ~seen
    return reached


def _rate_step(around: int, node: int, logs: Sequence[float], criterion: str) -> float:
    if criterion == "width":
        return float(around.bit_count())
    return math.exp(logs[node] + sum(logs[other] for other in list_bits(around)))


def _rate_order(neighbours: Sequence[int], logs: Sequence[float], criterion: str, rule: str) -> float:
    order, around = eliminate_greedily(neighbours, logs, rule)
    steps = [_rate_step(members, node, logs, criterion) for node, members in zip(order, around, strict=True)]
    return max(steps, default=0.0) if criterion == "width" else sum(steps)


@plain
@dataclass(frozen=True)
class Triangulation:
    """A triangulated graph.

    Attributes
    ----------
    graph : dict from names to sets of names
        The graph with the fill edges.
    fill_edges : tuple of pairs
        The edges added.
    order : tuple of names
        The elimination order that added them.
    cliques : tuple of tuples of names
        The maximal cliques.
    width : int
        The size of the largest clique minus one.
    total_size : int
        The number of cells in the tables of all cliques.
    """

    graph: Graph
    fill_edges: tuple[tuple[Any, Any], ...]
    order: tuple[Any, ...]
    cliques: tuple[tuple[Any, ...], ...]
    width: int
    total_size: int


def triangulate(
    graph: Mapping[Any, Iterable[Any]],
    rule: str = "min_fill",
    *,
    n_states: Mapping[Any, int] | None = None,
    criterion: str = "width",
) -> Triangulation:
    """Add fill edges to a graph until it is chordal, by eliminating its nodes one by one.

    Eliminating a node joins all its neighbours that are left. The order decides how many edges are added; the best
    order is NP-hard to find, so greedy rules are used for large graphs.

    Parameters
    ----------
    graph : mapping from names to sets of names
    rule : {"min_fill", "min_weight", "min_width", "min_degree", "weighted_min_fill", "exact"}
        What a greedy step minimises: the edges added, the size of the table made, the number of neighbours (two names
        for one rule), or the edges added, each weighted by the logarithms of its nodes' numbers of states. ``"exact"``
        searches all sets of nodes, for at most 18 nodes.
    n_states : mapping from names to ints, optional
        The number of states of each variable, two by default.
    criterion : {"width", "size"}
        What ``"exact"`` minimises: the largest clique, or the total table size over all steps.

    Returns
    -------
    Triangulation

    Examples
    --------
    >>> from mercer.bayesnet import triangulate
    >>> square = {"a": {"b", "d"}, "b": {"c"}, "c": {"d"}, "d": set()}
    >>> triangulate(square).fill_edges
    (('b', 'd'),)
    """
    if rule != "exact" and rule not in RULES:
        raise ParameterError(f"triangulate: `rule` must be one of {[*RULES, 'exact']}; got {rule!r}.")
    if criterion not in ("width", "size"):
        raise ParameterError(f"triangulate: `criterion` must be 'width' or 'size'; got {criterion!r}.")
    neighbours = read_graph("triangulate", graph)
    names = list(neighbours)
    counts = _read_counts(names, n_states)
    logs = [math.log(count) for count in counts]
    masks = number_graph(neighbours)
    if rule == "exact":
        if len(names) > MOST_NODES:
            raise UnsupportedError(
                f"triangulate: rule='exact' searches all sets of at most {MOST_NODES} nodes; got {len(names)} nodes. "
                "Use rule='min_fill'."
            )
        order = eliminate_optimally(masks, logs, criterion)
        around = eliminate_along(masks, order)
    else:
        order, around = eliminate_greedily(masks, logs, rule)
    return _describe(neighbours, names, counts, order, around)


def _read_counts(names: Sequence[Any], n_states: Mapping[Any, int] | None) -> list[int]:
    """Return each node's number of states."""
    counts = [2 if n_states is None else n_states.get(name, 0) for name in names]
    for name, count in zip(names, counts, strict=True):
        if not isinstance(count, int) or count < 1:
            raise DataError(f"triangulate: `n_states` must be at least 1 for every node; got {count!r} for {name!r}.")
    return counts


def eliminate_along(neighbours: Sequence[int], order: Sequence[int]) -> list[int]:
    """Return for each node of a given order the neighbours that it has when it is eliminated."""
    graph, around = list(neighbours), []
    for node in order:
        around.append(graph[node])
        for other in list_bits(graph[node]):
            graph[other] = (graph[other] | graph[node]) & ~(1 << other) & ~(1 << node)
    return around


def _describe(graph: Graph, names: list[Any], counts: list[int], order: list[int], around: list[int]) -> Triangulation:
    filled: Graph = {name: set(others) for name, others in graph.items()}
    # Joining a node with all its neighbours at elimination gives the edges of the chordal graph.
    for node, members in zip(order, around, strict=True):
        for other in list_bits(members):
            filled[names[node]].add(names[other])
            filled[names[other]].add(names[node])
    fill = tuple(
        (first, second)
        for place, first in enumerate(names)
        for second in names[place + 1 :]
        if second in filled[first] and second not in graph[first]
    )
    cliques = list_elimination_cliques(order, around)
    return Triangulation(
        filled,
        fill,
        tuple(names[node] for node in order),
        tuple(tuple(names[node] for node in list_bits(clique)) for clique in cliques),
        # The width of a triangulation is the size of its largest clique less one.
        max((clique.bit_count() for clique in cliques), default=1) - 1,
        sum_table_sizes(cliques, counts),
    )


def is_chordal(graph: Mapping[Any, Iterable[Any]]) -> bool:
    """Return whether every cycle of at least four nodes has a chord, by maximum cardinality search.

    A graph is chordal if and only if it is decomposable, and if and only if it has a junction tree of cliques.

    Examples
    --------
    >>> from mercer.bayesnet import is_chordal
    >>> is_chordal({"a": {"b", "d"}, "b": {"c"}, "c": {"d"}, "d": set()})
    False
    """
    return perfect_order(number_graph(read_graph("is_chordal", graph))) is not None


def perfect_order(neighbours: Sequence[int]) -> list[tuple[int, int]] | None:
    """Return the nodes in an order in which the earlier neighbours of each are complete, with those; None without one.

    Maximum cardinality search visits next the node with the most visited neighbours. The graph is chordal exactly if
    the visited neighbours of every node are complete (Tarjan and Yannakakis, 1984).
    """
    weights = dict.fromkeys(range(len(neighbours)), 0)
    visited = 0
    order = []
    while weights:
        node = max(weights, key=lambda candidate: (weights[candidate], -candidate))
        del weights[node]
        earlier = neighbours[node] & visited
        # Two visited neighbours that are not joined leave a cycle without a chord.
        if any(earlier & ~neighbours[other] & ~(1 << other) for other in list_bits(earlier)):
            return None
        order.append((node, earlier))
        visited |= 1 << node
        for other in list_bits(neighbours[node] & ~visited):
            weights[other] += 1
    return order
