"""The compiled form of a network's structure: a junction tree as flat arrays for native code, and its cost.

A plan depends on the graph and the numbers of states alone, so networks that differ in their tables share it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

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


# Cells of a row of a clique's table; see ``junction_passes``.
_SMALL_ROW = 32
_LARGE_ROW = 256
_LARGE = 4096
# Cells from which a clique is cut into chunks, and the most chunks; see ``clique_chunks``.
_LARGE_CLIQUE = 262_144
_MOST_CHUNKS = 8
# Entries of a message or of all tables: offsets in index maps are 32-bit integers.
_MOST_ENTRIES = 2**31


@dataclass(frozen=True)
class Plan:
    """A junction tree over numbered variables, cliques numbered with children before parents.

    Attributes
    ----------
    counts : numbers of states
    cliques : the variables of each clique, those of its separator first
    parent, n_shared, is_group : by clique; groups are nodes inserted to bound the number of children
    first_state : where the states of each variable begin
    arrays : what ``junction_passes.Tree`` is made of, in groups
        counts.
        axes: where the variables of each clique begin, the variables, and for those of a separator their place among
        the variables of the parent.
        links: parents (-1 for roots), sizes of separators, where the children of each clique begin, children; 1 for a
        clique whose message upwards is one everywhere as long as no variable whose table lies in or below it is
        observed; where the messages of each separator begin, with room for them without evidence.
        families: where the tables of each clique begin, the variables they belong to; where the members of each table
        begin, their positions in the clique, their strides in the table; where the values of each table begin.
        homes: where the variables begin whose marginals are read from each clique, these variables, the position of
        each variable in its home, and where its states begin.
    cells : the size of each clique's table
    n_messages : the sizes of all separators, added up
    room : the sizes of the scratch arrays: maps, slots, axes, rows, cells of a row, sums of chunks
    large : the cliques that are cut into chunks, unless evidence makes them small
    clique_operations : multiplications and additions of each clique in one propagation without evidence
    """

    counts: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    parent: tuple[int, ...]
    n_shared: tuple[int, ...]
    is_group: tuple[bool, ...]
    table_clique: tuple[int, ...]
    home: tuple[int, ...]
    first_state: tuple[int, ...]
    table_start: tuple[int, ...]
    arrays: tuple[Any, ...]
    cells: tuple[int, ...]
    n_messages: int
    offsets: tuple[int, ...]
    room: tuple[int, int, int, int, int, int]
    large: tuple[int, ...]
    clique_operations: tuple[int, ...]

    @property
    def operations(self) -> int:
        """Multiplications and additions of one propagation without evidence."""
        return sum(self.clique_operations)

    @property
    def n_bytes(self) -> int:
        """The memory of one case: tables, messages in both directions, maps and rows."""
        maps, slots, axes, rows, cells, sums = self.room
        work = self.table_start[-1] + 2 * self.first_state[-1] + 2 * self.n_messages + sums
        return 8 * (work + (7 * slots + rows * cells) * (self.n_chunks + 1) + axes) + 4 * maps

    @property
    def n_chunks(self) -> int:
        """The most chunks of a clique."""
        return _MOST_CHUNKS if self.large else 1

    def separator(self, clique: int) -> tuple[int, ...]:
        """Return the variables that a clique shares with its parent."""
        return self.cliques[clique][: self.n_shared[clique]]


@lru_cache(maxsize=64)
def make_plan(counts: tuple[int, ...], parents: tuple[tuple[int, ...], ...]) -> Plan:
    """Compile the structure of a network: numbers of states, and parents, of numbered variables."""
    neighbours = _marry(parents)
    order, around = choose_order(neighbours, counts)
    rank = {node: place for place, node in enumerate(order)}
    nodes, parent = _number_nodes(build_tree(order, around, counts))
    cliques = []
    for node in nodes:
        # The variable eliminated last comes first in every clique, so that separators keep the order of cliques.
        shared = sorted(list_bits(node.separator), key=lambda v: -rank[v])
        if math.prod(counts[v] for v in list_bits(node.members)) >= _LARGE_CLIQUE and shared:
            # A large clique is cut into chunks along its first axis: the more states it has, the more chunks.
            widest = max(shared, key=counts.__getitem__)
            shared = [widest, *(v for v in shared if v != widest)]
        rest = sorted(list_bits(node.members & ~node.separator), key=lambda v: -rank[v])
        cliques.append((*shared, *rest))
    cells = tuple(math.prod(counts[v] for v in clique) for clique in cliques)
    table_clique = _place_tables(parents, rank, nodes)
    home = _choose_homes(len(counts), cliques, cells)
    n_shared = tuple(node.separator.bit_count() for node in nodes)
    sizes = [math.prod(counts[v] for v in clique[:n]) for clique, n in zip(cliques, n_shared, strict=True)]
    offsets = tuple(accumulate(sizes, initial=0))[:-1]
    first_state = tuple(accumulate(counts, initial=0))
    table_sizes = [math.prod(counts[v] for v in (*above, own)) for own, above in enumerate(parents)]
    table_start = tuple(accumulate(table_sizes, initial=0))
    lists = _List(counts, tuple(cliques), parent, table_clique, home)
    # A plan too large for any memory is kept for its forecast alone.
    fits = max((*sizes, table_start[-1]), default=0) < _MOST_ENTRIES
    arrays = _make_arrays(lists, parents, nodes, n_shared, offsets, first_state, table_start) if fits else ()
    n_children = [parent.count(c) for c in range(len(nodes))]
    n_operands = [2 * table_clique.count(c) + 1 + 2 * n_children[c] + home.count(c) for c in range(len(nodes))]
    return Plan(
        *(counts, tuple(cliques), parent, n_shared, tuple(node.is_group for node in nodes), table_clique, home),
        *(first_state, table_start, arrays, cells, sum(sizes), offsets),
        room=(
            *_measure_room(cliques, cells, counts, n_operands, n_children),
            _count_sums(cells, sizes, parent, home, counts),
        ),
        large=tuple(c for c, size in enumerate(cells) if size >= _LARGE_CLIQUE),
        # Up: a product with each table and message, and a sum. Down: the same, three products for each child, and a sum
        # for each child and marginal.
        clique_operations=tuple(
            size * (2 * table_clique.count(c) + 5 * n_children[c] + home.count(c) + 2) for c, size in enumerate(cells)
        ),
    )


@dataclass(frozen=True)
class _List:
    """What the arrays of native code are made from."""

    counts: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    parent: tuple[int, ...]
    table_clique: tuple[int, ...]
    home: tuple[int, ...]


def _marry(parents: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the moral graph as bits."""
    graph = [0] * len(parents)
    for own, above in enumerate(parents):
        family = 1 << own
        for v in above:
            family |= 1 << v
        for v in (own, *above):
            graph[v] |= family & ~(1 << v)
    return graph


def _number_nodes(roots: Sequence[Node]) -> tuple[list[Node], tuple[int, ...]]:
    """Return all nodes with children before parents, and the number of each one's parent."""
    visited: list[tuple[Node, Node | None]] = []
    stack: list[tuple[Node, Node | None]] = [(root, None) for root in roots]
    while stack:
        node, above = stack.pop()
        visited.append((node, above))
        stack.extend((child, node) for child in node.children)
    # Children before parents: reversed order of a walk from the roots.
    visited.reverse()
    number = {id(node): place for place, (node, _) in enumerate(visited)}
    return [node for node, _ in visited], tuple(-1 if above is None else number[id(above)] for _, above in visited)


def _place_tables(parents: Sequence[tuple[int, ...]], rank: dict[int, int], nodes: Sequence[Node]) -> tuple[int, ...]:
    """Return the clique that takes each table: the lowest one, in which the table's first variable is eliminated."""
    lowest = {}
    for number, node in enumerate(nodes):
        for v in list_bits(node.members & ~node.separator):
            lowest[v] = number
    return tuple(lowest[min((own, *above), key=rank.__getitem__)] for own, above in enumerate(parents))


def _choose_homes(n: int, cliques: Sequence[tuple[int, ...]], cells: Sequence[int]) -> tuple[int, ...]:
    """Return the smallest clique that holds each variable, the last of equal ones, which is nearest to a root."""
    home = [-1] * n
    for number, clique in enumerate(cliques):
        for v in clique:
            if home[v] < 0 or cells[number] <= cells[home[v]]:
                home[v] = number
    return tuple(home)


def _measure_room(
    cliques: Sequence[tuple[int, ...]],
    cells: Sequence[int],
    counts: Sequence[int],
    n_operands: Sequence[int],
    n_children: Sequence[int],
) -> tuple[int, int, int, int, int]:
    """Return the sizes of scratch that suffice for every clique under any evidence."""
    maps = widest = 1
    for clique, size, operands in zip(cliques, cells, n_operands, strict=True):
        # Evidence shrinks a clique, maybe to a small one, whose rows are shorter and therefore more.
        outer = max(1, min(size, _LARGE) // _SMALL_ROW, size // _LARGE_ROW)
        inner = min(size, (_LARGE_ROW if size >= _LARGE else _SMALL_ROW) * max(counts[v] for v in clique))
        maps = max(maps, operands * (outer + inner + 2))
        widest = max(widest, inner)
    return maps, max(n_operands, default=1), max(map(len, cliques), default=1), max(n_children, default=0) + 3, widest


def _count_sums(
    cells: Sequence[int], sizes: Sequence[int], parent: Sequence[int], home: Sequence[int], counts: Sequence[int]
) -> int:
    """Return how many sums the chunks of a large clique keep by themselves, at most."""
    results = [1 if above < 0 else 0 for above in parent]
    for c, above in enumerate(parent):
        if above >= 0:
            results[above] += sizes[c]
    for v, c in enumerate(home):
        results[c] += counts[v]
    large = [results[c] for c, size in enumerate(cells) if size >= _LARGE_CLIQUE]
    return _MOST_CHUNKS * max(large, default=0)


def _make_arrays(
    lists: _List,
    parents: Sequence[tuple[int, ...]],
    nodes: Sequence[Node],
    n_shared: Sequence[int],
    offsets: Sequence[int],
    first_state: Sequence[int],
    table_start: Sequence[int],
) -> tuple[Any, ...]:
    """Return the arrays of ``junction_passes.Tree``."""
    cliques, parent, n_cliques = lists.cliques, lists.parent, len(lists.cliques)
    where = [{v: place for place, v in enumerate(clique)} for clique in cliques]
    places = [
        [where[above][v] if above >= 0 and j < n_shared[c] else 0 for j, v in enumerate(cliques[c])]
        for c, above in enumerate(parent)
    ]
    heads = [0] * n_cliques
    for own, clique in enumerate(lists.table_clique):
        heads[clique] |= 1 << own
    barren = []
    # A clique below which no table has its variable in the separator sends a message of ones when nothing is observed.
    for c, node in enumerate(nodes):
        barren.append(0 if heads[c] & node.separator else 1)
        if parent[c] >= 0:
            heads[parent[c]] |= heads[c]
    members, strides = [], []
    for own, above in enumerate(parents):
        family = (*above, own)
        # Strides of a table: the variable itself runs fastest.
        step = [math.prod(lists.counts[v] for v in family[place + 1 :]) for place in range(len(family))]
        members.append([where[lists.table_clique[own]][v] for v in family])
        strides.append(step)
    home_place = [where[lists.home[v]][v] for v in range(len(lists.counts))]
    axes = (*_flatten(cliques), _flatten(places)[1])
    links = (_whole(parent), _whole(n_shared), *_flatten(_invert(parent, n_cliques)), _whole(barren), _whole(offsets))
    tables = _flatten(_invert(lists.table_clique, n_cliques))
    families = (*tables, *_flatten(members), _flatten(strides)[1], _whole(table_start))
    homes = (*_flatten(_invert(lists.home, n_cliques)), _whole(home_place), _whole(first_state))
    return _whole(lists.counts), axes, links, families, homes


def _whole(numbers: Sequence[int]) -> np.ndarray:
    """Return whole numbers as an array of the type that native code indexes with."""
    return np.array(list(numbers), dtype=np.intp)


def _flatten(lists: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return where each list begins, and all lists one after the other."""
    first = np.concatenate([[0], np.cumsum([len(items) for items in lists])]).astype(np.intp)
    return first, _whole([item for items in lists for item in items])


def _invert(owner: Sequence[int], n: int) -> list[list[int]]:
    """Return for each number below n the positions in `owner` that hold it."""
    members: list[list[int]] = [[] for _ in range(n)]
    for position, number in enumerate(owner):
        if number >= 0:
            members[number].append(position)
    return members
