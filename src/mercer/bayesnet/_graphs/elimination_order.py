"""Orders in which to eliminate the nodes of a graph, chosen greedily by one of several costs.

Nodes are numbers and sets of nodes are integers whose bits are their members, which makes the counts fast.
"""

import math
import random
from collections.abc import Callable, Sequence

from mercer.bayesnet._graphs.undirected import list_bits

# Neighbours from which a node's cost is computed only if it could be the smallest: the cost of a hub takes long.
_HUB = 48

Cost = Callable[[Sequence[int], Sequence[float], int], tuple[float, ...]]


def _count_fill(neighbours: Sequence[int], node: int) -> int:
    """Return the number of edges that eliminating a node adds."""
    around = neighbours[node]
    missing = sum((around & ~neighbours[other]).bit_count() - 1 for other in list_bits(around))
    return missing // 2


def _sum_logs(neighbours: Sequence[int], logs: Sequence[float], node: int) -> float:
    """Return the logarithm of the size of the table that eliminating a node makes."""
    return logs[node] + sum(logs[other] for other in list_bits(neighbours[node]))


def _cost_fill(neighbours: Sequence[int], logs: Sequence[float], node: int) -> tuple[float, ...]:
    return _count_fill(neighbours, node), _sum_logs(neighbours, logs, node)


def _cost_weight(neighbours: Sequence[int], logs: Sequence[float], node: int) -> tuple[float, ...]:
    return _sum_logs(neighbours, logs, node), _count_fill(neighbours, node)


def _cost_width(neighbours: Sequence[int], logs: Sequence[float], node: int) -> tuple[float, ...]:
    return neighbours[node].bit_count(), _count_fill(neighbours, node)


def _cost_weighted_fill(neighbours: Sequence[int], logs: Sequence[float], node: int) -> tuple[float, ...]:
    around = list_bits(neighbours[node])
    if len(around) > _HUB:
        # The pairs of a hub are too many to weigh one by one: each weighs as much as the average pair.
        mean = sum(logs[other] for other in around) / len(around)
        return _count_fill(neighbours, node) * mean**2, _sum_logs(neighbours, logs, node)
    weight = sum(
        logs[first] * logs[second]
        for first in around
        for second in list_bits(neighbours[node] & ~neighbours[first])
        if second > first
    )
    return weight, _sum_logs(neighbours, logs, node)


def _bound(rule: str, degree: int, least: float) -> float:
    """Return what the first number of a node's cost is at least, given the smallest logarithm of a number of states."""
    if rule == "min_weight":
        return (degree + 1) * least
    return degree if rule in ("min_width", "min_degree") else 0.0


# What each rule minimises at each step, ties by the second number, then by the order of the nodes.
RULES: dict[str, Cost] = {
    "min_fill": _cost_fill,
    "min_weight": _cost_weight,
    "min_width": _cost_width,
    "min_degree": _cost_width,
    "weighted_min_fill": _cost_weighted_fill,
}


def eliminate_greedily(
    neighbours: Sequence[int], logs: Sequence[float], rule: str, seed: int | None = None
) -> tuple[list[int], list[int]]:
    """Return an elimination order, and for each node the neighbours that it had when it was eliminated.

    With a `seed` ties are broken at random, from a stream that depends on nothing else.
    """
    graph, cost = list(neighbours), RULES[rule]
    stream = random.Random(seed) if seed is not None else None
    left = (1 << len(graph)) - 1
    costs: dict[int, tuple[float, ...]] = {}
    order, around = [], []
    stale, hubs, least = left, 0, min(logs, default=0.0)
    while left:
        for node in list_bits(stale & left):
            # The exact cost of a hub is dear: it is computed only if a bound says that the hub could be next.
            if graph[node].bit_count() > _HUB:
                hubs |= 1 << node
                costs.pop(node, None)
            else:
                hubs &= ~(1 << node)
                costs[node] = _price(cost(graph, logs, node), stream)
        smallest = min(costs.values())[0] if costs else math.inf
        for node in list_bits(hubs):
            if _bound(rule, graph[node].bit_count(), least) < smallest:
                costs[node] = _price(cost(graph, logs, node), stream)
                hubs &= ~(1 << node)
        node = min(costs, key=costs.__getitem__)
        del costs[node]
        # Eliminating a node joins all its neighbours.
        members = graph[node]
        order.append(node)
        around.append(members)
        left &= ~(1 << node)
        # Only the neighbours change their cost, and the nodes that see both ends of a new edge.
        stale = members
        for other in list_bits(members):
            fresh = members & ~graph[other] & ~(1 << other)
            for end in list_bits(fresh):
                stale |= graph[other] & graph[end]
        for other in list_bits(members):
            graph[other] = (graph[other] | members) & ~(1 << other) & ~(1 << node)
    return order, around


def _price(cost: tuple[float, ...], stream: random.Random | None) -> tuple[float, ...]:
    """Return a cost, its ties broken at random if there is a stream."""
    return cost if stream is None else (cost[0], stream.random())


def list_elimination_cliques(order: Sequence[int], around: Sequence[int]) -> list[int]:
    """Return the maximal cliques of the triangulated graph, in the order in which elimination meets them."""
    cliques: list[int] = []
    # A later clique {v} and its neighbours is within an earlier one exactly if the earlier one has v and all of them.
    holding: dict[int, list[int]] = {}
    for node, members in zip(order, around, strict=True):
        clique = members | 1 << node
        if any(clique & ~earlier == 0 for earlier in holding.get(node, ())):
            continue
        cliques.append(clique)
        for member in list_bits(members):
            holding.setdefault(member, []).append(clique)
    return cliques


def sum_table_sizes(cliques: Sequence[int], counts: Sequence[int]) -> int:
    """Return the total number of cells in the tables of some cliques."""
    return sum(math.prod(counts[node] for node in list_bits(clique)) for clique in cliques)
