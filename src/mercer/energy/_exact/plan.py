"""The order in which sites are added to a frontier, and when each is summed out."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csgraph

from mercer.energy._graph import SiteGraph

# A greedy search for a narrow order looks at every candidate of every step; beyond this many sites it takes seconds.
_GREEDY_SITES = 2000


@dataclass(frozen=True, eq=False)
class Step:
    """Add one site; its neighbours in the frontier and their edges; then sum out sites, by their places."""

    site: int
    neighbours: tuple[int, ...]
    edges: tuple[int, ...]
    size: int
    removed: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """The order of sites: `width` is the most sites in a table."""

    steps: list[Step]
    width: int


def make_plan(graph: SiteGraph) -> Plan:
    """Return the narrowest plan of some orders: by rows of a lattice, by bandwidth, by greedy choice."""
    orders = [np.arange(graph.n_sites)]
    if graph.shape is not None and len(graph.shape) > 1:
        # Along the longest side: the frontier is a section across it.
        axes = np.argsort([-side for side in graph.shape], kind="stable")
        orders.insert(0, np.arange(graph.n_sites).reshape(graph.shape).transpose(axes).ravel())
    if graph.shape is None:
        orders.append(csgraph.reverse_cuthill_mckee(graph.adjacency, symmetric_mode=True))
        if graph.n_sites <= _GREEDY_SITES:
            orders.append(_order_greedily(graph))
    best = Plan([], graph.n_sites + 1)
    for order in orders:
        # An order is given up as soon as it is no better.
        best = _plan(graph, order, best.width - 1) or best
    return best


def _order_greedily(graph: SiteGraph) -> np.ndarray:
    """Return an order in which each next site leaves the smallest frontier."""
    near = [set(graph.neighbours[a:b].tolist()) for a, b in zip(graph.starts[:-1], graph.starts[1:], strict=True)]
    left = set(range(graph.n_sites))
    missing = [len(sites) for sites in near]
    order: list[int] = []
    border: set[int] = set()
    while left:
        # A new component begins with the site of fewest neighbours.
        candidates = border or {min(left, key=lambda site: (len(near[site]), site))}
        # A site that completes many neighbours lets the frontier shrink.
        chosen = min(
            candidates,
            key=lambda site: (
                (missing[site] > 0) - sum(missing[other] == 1 for other in near[site] - left),
                missing[site],
                site,
            ),
        )
        order.append(chosen)
        left.discard(chosen)
        border.discard(chosen)
        border |= near[chosen] & left
        for other in near[chosen]:
            missing[other] -= 1
    return np.array(order)


def _plan(graph: SiteGraph, order: np.ndarray, limit: int) -> Plan | None:
    """Return the steps of an order, or None if a table would hold more than `limit` sites."""
    missing = np.diff(graph.starts).tolist()
    starts, neighbours, edge_of = graph.starts.tolist(), graph.neighbours.tolist(), graph.edge_of.tolist()
    frontier: list[int] = []
    inside: set[int] = set()
    steps, width = [], 0
    for site in order.tolist():
        slots = range(starts[site], starts[site + 1])
        joined = [(neighbours[k], edge_of[k]) for k in slots if neighbours[k] in inside]
        # The digit of a neighbour is its place in the frontier.
        places = tuple(frontier.index(other) for other, _ in joined)
        frontier.append(site)
        inside.add(site)
        size = len(frontier)
        width = max(width, size)
        if width > limit:
            return None
        for k in slots:
            missing[neighbours[k]] -= 1
        # Only the new site and its neighbours can have become complete.
        complete = [other for other in (*(other for other, _ in joined), site) if _is_done(other, missing, inside)]
        removed = []
        for other in complete:
            place = frontier.index(other)
            removed.append((other, place))
            del frontier[place]
            inside.discard(other)
        steps.append(Step(site, places, tuple(edge for _, edge in joined), size, tuple(removed)))
    return Plan(steps, width)


def _is_done(other: int, missing: list[int], inside: set[int]) -> bool:
    """Return whether all neighbours of a site of the frontier have been added."""
    return missing[other] == 0 and other in inside
