"""Maximal cliques of chordal graphs, proper decompositions, and junction trees of cliques."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mercer._plain import plain
from mercer.bayesnet._graphs.triangulation import perfect_order
from mercer.bayesnet._graphs.undirected import (
    find_components,
    is_complete,
    list_bits,
    number_graph,
    read_graph,
)
from mercer.errors import DataError


def maximal_cliques(graph: Mapping[Any, Iterable[Any]]) -> tuple[tuple[Any, ...], ...]:
    """Return the maximal cliques of a chordal graph, each in the order of the nodes.

    Raises
    ------
    DataError
        If the graph is not chordal; :func:`triangulate` makes it so.

    Examples
    --------
    >>> from mercer.bayesnet import maximal_cliques
    >>> maximal_cliques({"a": {"b"}, "b": {"c"}, "c": set()})
    (('a', 'b'), ('b', 'c'))
    """
    neighbours = read_graph("maximal_cliques", graph)
    names = list(neighbours)
    order = perfect_order(number_graph(neighbours))
    if order is None:
        message = "maximal_cliques: `graph` must be chordal; it has a cycle of at least four nodes without a chord."
        message += " Call triangulate first and pass its `graph`."
        raise DataError(message)
    masks: list[int] = []
    for node, earlier in order:
        # A node with its earlier neighbours is a clique; maximal ones are those in no other.
        clique = earlier | 1 << node
        masks = [mask for mask in masks if mask & ~clique]
        masks.append(clique)
    return tuple(tuple(names[node] for node in list_bits(mask)) for mask in masks)


@plain
@dataclass(frozen=True)
class Decomposition:
    """A proper decomposition: `separator` is complete and separates `first` from `second`, which are not empty."""

    first: tuple[Any, ...]
    second: tuple[Any, ...]
    separator: tuple[Any, ...]


def decompose(graph: Mapping[Any, Iterable[Any]]) -> Decomposition | None:
    """Return a proper decomposition of a graph, or None if there is none.

    The nodes are split in three: a complete set C that separates a set A from a set B, neither of them empty. A
    complete graph has none, and neither has a cycle of four nodes. The search looks at the sets of neighbours of the
    connected pieces that are left when the neighbours of one node are removed: these are the minimal separators, and
    every graph that has a proper decomposition has one by a minimal separator.

    Examples
    --------
    >>> from mercer.bayesnet import decompose
    >>> decompose({"a": {"b"}, "b": {"c"}, "c": set()})
    Decomposition(first=('a',), second=('c',), separator=('b',))
    """
    neighbours = read_graph("decompose", graph)
    position = {name: number for number, name in enumerate(neighbours)}
    for separator in _find_minimal_separators(neighbours):
        if is_complete(neighbours, separator):
            parts = find_components(neighbours, separator)
            if len(parts) > 1:
                rest = sorted((name for part in parts[1:] for name in part), key=position.__getitem__)
                chosen = sorted(separator, key=position.__getitem__)
                return Decomposition(tuple(parts[0]), tuple(rest), tuple(chosen))
    return None


def _find_minimal_separators(graph: dict[Any, set[Any]]) -> list[frozenset[Any]]:
    """Return the minimal separators of a graph (Berry, Bordat and Cogis, 2000), starting next to each node."""
    known: dict[frozenset[Any], None] = {}
    for node in graph:
        # The neighbours of a component that is left are a minimal separator.
        for part in find_components(graph, {node, *graph[node]}):
            known.setdefault(frozenset(set().union(*(graph[member] for member in part)) - set(part)))
    queue = list(known)
    while queue:
        separator = queue.pop()
        # Removing the neighbours of a node of a known separator gives further ones.
        for node in separator:
            for part in find_components(graph, separator | graph[node]):
                fresh = frozenset(set().union(*(graph[member] for member in part)) - set(part))
                if fresh not in known:
                    known[fresh] = None
                    queue.append(fresh)
    return list(known)


def is_decomposable(graph: Mapping[Any, Iterable[Any]]) -> bool:
    """Return whether a graph is complete, or has a proper decomposition into decomposable parts.

    The recursion follows the definition. A graph is decomposable if and only if it is chordal, and
    :func:`is_chordal` finds that out faster.

    Examples
    --------
    >>> from mercer.bayesnet import is_decomposable
    >>> is_decomposable({"a": {"b", "d"}, "b": {"c"}, "c": {"d"}, "d": set()})
    False
    """
    neighbours = read_graph("is_decomposable", graph)
    if is_complete(neighbours, neighbours):
        return True
    parts = decompose(neighbours)
    if parts is None:
        return False
    sides = ((*parts.first, *parts.separator), (*parts.second, *parts.separator))
    return all(is_decomposable({name: neighbours[name] & set(side) for name in side}) for side in sides)


@plain
@dataclass(frozen=True)
class CliqueTree:
    """A tree (or forest) of cliques.

    Attributes
    ----------
    cliques : tuple of tuples of names
    edges : tuple of pairs of positions in `cliques`
    separators : tuple of tuples of names
        What the two cliques of each edge have in common.
    """

    cliques: tuple[tuple[Any, ...], ...]
    edges: tuple[tuple[int, int], ...]
    separators: tuple[tuple[Any, ...], ...]

    def has_running_intersection(self) -> bool:
        """Return whether the cliques that hold a variable are connected by edges whose separators hold it."""
        for name in {name for clique in self.cliques for name in clique}:
            holders = [number for number, clique in enumerate(self.cliques) if name in clique]
            graph: dict[Any, set[Any]] = {number: set() for number in holders}
            for (first, second), separator in zip(self.edges, self.separators, strict=True):
                if name in separator:
                    graph[first].add(second)
                    graph[second].add(first)
            if len(find_components(graph)) > 1:
                return False
        return True


def junction_tree(cliques: Sequence[Sequence[Any]]) -> CliqueTree:
    """Join cliques to a tree of greatest weight, where an edge weighs the number of variables that its ends share.

    For the maximal cliques of a chordal graph, and only for these, the result has the running intersection property:
    the cliques that hold a variable form a connected part. It is a tree, in general not a chain. Cliques that share
    nothing stay unconnected, so that a graph of several parts gives a forest.

    Examples
    --------
    >>> from mercer.bayesnet import junction_tree
    >>> junction_tree([["A", "B", "E"], ["A", "J"], ["A", "M"]]).separators
    (('A',), ('A',))
    """
    tables = tuple(tuple(clique) for clique in cliques)
    if any(len(set(clique)) < len(clique) or not clique for clique in tables):
        raise DataError("junction_tree: a clique must have at least one variable, and each only once.")
    sets = [set(clique) for clique in tables]
    pairs = [
        (-len(sets[first] & sets[second]), first, second)
        for first in range(len(sets))
        for second in range(first + 1, len(sets))
        if sets[first] & sets[second]
    ]
    # Kruskal: take the heaviest edge that joins two parts; `part` points towards the representative of each part.
    part = list(range(len(sets)))

    def find(number: int) -> int:
        while part[number] != number:
            # Path halving: each node on the way is tied to its grandparent, which keeps later walks short.
            part[number] = part[part[number]]
            number = part[number]
        return number

    edges = []
    # Weights are negative, so that the heaviest come first; ties go by the numbers of the cliques.
    for _, first, second in sorted(pairs):
        if find(first) != find(second):
            part[find(second)] = find(first)
            edges.append((first, second))
    separators = tuple(tuple(name for name in tables[first] if name in sets[second]) for first, second in edges)
    return CliqueTree(tables, tuple(edges), separators)
