"""A rooted tree of cliques from an elimination order, ready to pass messages."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from mercer.bayesnet._graphs.elimination_order import (
    eliminate_greedily,
    list_elimination_cliques,
    sum_table_sizes,
)
from mercer.bayesnet._graphs.undirected import list_bits

# Greedy rules whose orders are compared by the total size of their tables.
_RULES = ("min_fill", "min_weight", "weighted_min_fill")
# Total cells from which more orders are tried, with ties broken at random: below, messages take less than a second.
_MANY_CELLS = 100_000
# Cells from which no order will help: messages would take hours.
_HOPELESS = 10**12
# Orders tried for such networks, and the most nodes for which they are: an order of 300 nodes takes some 20 ms.
_TRIES = 24
_MOST_TRIED_NODES = 300
# Children of a node beyond which groups of them are given a parent of their own, so that products of their messages
# are scaled after a few factors and cannot underflow.
_MOST_CHILDREN = 4
# Cells up to which a clique is small enough for that, whatever the children share.
_SMALL_CLIQUE = 4096


@dataclass
class Node:
    """A clique in the tree: its members as bits, its separator to the parent, and its children."""

    members: int
    separator: int
    is_group: bool = False
    children: list["Node"] = field(default_factory=list)


def choose_order(neighbours: Sequence[int], counts: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the elimination order with the smallest tables among those of several rules.

    Also returns for each node the neighbours that it has when it is eliminated.
    """
    logs = [math.log(count) for count in counts]
    orders = [eliminate_greedily(neighbours, logs, rule) for rule in _RULES]
    costs: list[int] = [_rate(order, counts) for order in orders]
    if _MANY_CELLS < min(costs) < _HOPELESS and len(counts) <= _MOST_TRIED_NODES:
        for seed in range(_TRIES):
            orders.append(eliminate_greedily(neighbours, logs, _RULES[seed % len(_RULES)], seed))
            costs.append(_rate(orders[-1], counts))
    return orders[costs.index(min(costs))]


def _rate(order: tuple[list[int], list[int]], counts: Sequence[int]) -> int:
    return sum_table_sizes(list_elimination_cliques(*order), counts)


def build_tree(order: Sequence[int], around: Sequence[int], counts: Sequence[int]) -> list[Node]:
    """Return the roots of a junction forest of the maximal cliques that an elimination order makes.

    Node v, eliminated with the neighbours N(v), hangs below the first node of N(v) to be eliminated later. The clique
    {u} ∪ N(u) of that node u is not maximal exactly if a child v has N(v) = {u} ∪ N(u): then the child's clique takes
    its place. The separator of a clique is N(v) of the topmost node v that it stands for.
    """
    position = {node: place for place, node in enumerate(order)}
    standing: dict[int, Node] = {}
    below: dict[int, list[int]] = {node: [] for node in order}
    roots = []
    for node, members in zip(order, around, strict=True):
        size = members.bit_count() + 1
        # A child whose neighbours are this node and all of its neighbours stands for this clique too.
        heir = next((child for child in below[node] if around[position[child]].bit_count() == size), None)
        here = standing[node] = Node(members | 1 << node, members) if heir is None else standing[heir]
        here.separator = members
        here.children.extend(standing[child] for child in below[node] if child != heir)
        if members:
            # The parent is the neighbour that is eliminated first.
            below[min(list_bits(members), key=position.__getitem__)].append(node)
        else:
            roots.append(here)
    for root in roots:
        _group_children(root, counts)
    return roots


def _group_children(root: Node, counts: Sequence[int]) -> None:
    """Give groups of children a parent of their own, wherever a clique has many."""
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(node.children)
        # Children with similar separators meet in one group.
        waiting = sorted(node.children, key=lambda child: child.separator)
        # A clique with many children multiplies as many messages: groups of them meet in smaller cliques first.
        while len(waiting) > _MOST_CHILDREN:
            groups = []
            for start in range(0, len(waiting), _MOST_CHILDREN):
                part = waiting[start : start + _MOST_CHILDREN]
                shared = 0
                for child in part:
                    shared |= child.separator
                most = max(_SMALL_CLIQUE, _count_cells(node.members, counts) // 2)
                if len(part) > 1 and _count_cells(shared, counts) <= most:
                    groups.append(Node(shared, shared, True, part))
                else:
                    groups.extend(part)
            if len(groups) == len(waiting):
                break
            waiting = groups
        node.children = waiting


def _count_cells(members: int, counts: Sequence[int]) -> int:
    return math.prod(counts[node] for node in list_bits(members))
