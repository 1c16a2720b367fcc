"""The best elimination order of a small graph, by dynamic programming over sets of eliminated nodes.

The clique of a node depends only on the set of nodes eliminated before it, not on their order: its members are the
node and all nodes reachable from it through eliminated nodes. So the best cost of eliminating a set is found from the
best costs of the sets with one node less.
"""

import math
from collections.abc import Sequence

from mercer.bayesnet._graphs.elimination_order import eliminate_greedily
from mercer.bayesnet._graphs.undirected import list_bits

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
