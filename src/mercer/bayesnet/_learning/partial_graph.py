"""Partially directed graphs: what independences say about a structure, and what they leave open."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.bayesnet._learning.table_fit import read_structure


@dataclass(frozen=True, eq=False)
class PartialGraph:
    """Directed and undirected edges: all structures with the same independences.

    Attributes
    ----------
    names : tuple of str
    directed : list of (parent, child)
        Edges that point the same way in every structure of the class.
    undirected : list of (name, name)
        Edges whose direction rows cannot tell; the names are in the order of the columns.
    separators : dict
        For pairs without an edge, the variables given which they were found independent.
    """

    names: tuple[str, ...]
    directed: list[tuple[str, str]]
    undirected: list[tuple[str, str]]
    separators: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Any, arrows: Array, separators: Any = None) -> "PartialGraph":
        """Return the graph of a matrix whose entry (a, b) allows a -> b; both ways is an undirected edge."""
        names = tuple(names)
        d = len(names)
        pairs = [(a, b) for a in range(d) for b in range(d)]
        directed = [(names[a], names[b]) for a, b in pairs if arrows[a, b] and not arrows[b, a]]
        undirected = [(names[a], names[b]) for a, b in pairs if a < b and arrows[a, b] and arrows[b, a]]
        found = {(names[a], names[b]): tuple(names[c] for c in given) for (a, b), given in (separators or {}).items()}
        return cls(names, directed, undirected, found)

    @property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """The parents of each variable in one structure of the class."""
        edges = self.direct()
        return {
            name: tuple(self.names[parent] for parent in np.flatnonzero(edges[:, child]))
            for child, name in enumerate(self.names)
        }

    def list_arrows(self) -> Array:
        """Return the matrix whose entry (a, b) allows a -> b."""
        place = {name: index for index, name in enumerate(self.names)}
        arrows = np.zeros((len(self.names), len(self.names)), bool)
        for first, second in self.directed:
            arrows[place[first], place[second]] = True
        for first, second in self.undirected:
            arrows[place[first], place[second]] = arrows[place[second], place[first]] = True
        return arrows

    def direct(self) -> Array:
        """Return one structure of the class, as a matrix of edges (Dor and Tarsi, 1992).

        A graph that no structure extends, which errors of tests can give, has its other edges directed by the order of
        the columns where no cycle forbids it.
        """
        arrows = self.list_arrows()
        edges = arrows & ~arrows.T
        left = set(range(len(self.names)))
        while left:
            # A sink has no arrows out, and its undirected neighbours are joined with all its neighbours.
            node = next((node for node in sorted(left, reverse=True) if _is_sink(arrows, node, left)), None)
            if node is None:
                return _direct_rest(arrows, edges, left)
            for other in left - {node}:
                if arrows[other, node]:
                    edges[other, node] = True
                    edges[node, other] = False
            left.remove(node)
        return edges


def _is_sink(arrows: Array, node: int, left: set[int]) -> bool:
    """Return whether all edges of a node can point to it without a new collider."""
    around = [other for other in left if other != node and (arrows[node, other] or arrows[other, node])]
    if any(arrows[node, other] and not arrows[other, node] for other in around):
        return False
    loose = [other for other in around if arrows[node, other]]
    linked = arrows | arrows.T
    return all(linked[first, second] for first in loose for second in around if first != second)


def _direct_rest(arrows: Array, edges: Array, left: set[int]) -> Array:
    from mercer.bayesnet._learning.constraints import mark_reachable

    edges = edges.copy()
    # Directed edges may form a cycle if tests erred: those that close one are turned off first.
    clean = np.zeros_like(edges)
    for first, second in [*np.argwhere(edges), *(pair for pair in np.argwhere(arrows & arrows.T) if pair[0] < pair[1])]:
        if clean[second, first] or clean[first, second]:
            continue
        reach = mark_reachable(clean)
        # The edge would close a cycle: it points the other way.
        if reach[second, first]:
            first, second = second, first
        clean[first, second] = True
    return clean


def find_skeleton(
    d: int, independent: Callable[[int, int, tuple[int, ...]], bool], max_given: int | None = None
) -> tuple[Array, dict[tuple[int, int], tuple[int, ...]]]:
    """Return which pairs stay connected, and what separates the others: the stable form of PC's first phase.

    The neighbours that a level may condition on are those at its beginning, so that the order of the columns does not
    matter (Colombo and Maathuis, 2014).
    """
    linked = ~np.eye(d, dtype=bool)
    separators: dict[tuple[int, int], tuple[int, ...]] = {}
    size = 0
    while max_given is None or size <= max_given:
        before = linked.copy()
        # No node has enough neighbours left to condition on sets of this size.
        if before.sum(axis=1).max(initial=0) - 1 < size:
            break
        for first, second in combinations(range(d), 2):
            if not before[first, second]:
                continue
            tried = set()
            # Sets are taken from the neighbours of either end.
            for node, other in ((first, second), (second, first)):
                around = [neighbour for neighbour in np.flatnonzero(before[node]).tolist() if neighbour != other]
                for given in combinations(around, size):
                    if given in tried:
                        continue
                    tried.add(given)
                    if independent(first, second, given):
                        linked[first, second] = linked[second, first] = False
                        separators[first, second] = given
                        break
                if not linked[first, second]:
                    break
        size += 1
    return linked, separators


def orient_edges(linked: Array, separators: Mapping[tuple[int, int], tuple[int, ...]]) -> Array:
    """Orient the edges of a skeleton: colliders first, then what follows from them (Meek, 1995)."""
    d = len(linked)
    arrows = linked.copy()
    for middle in range(d):
        around = np.flatnonzero(linked[middle]).tolist()
        for first, second in combinations(around, 2):
            if linked[first, second] or middle in separators.get((first, second), ()):
                continue
            # If tests contradict each other, the collider that comes first stays.
            if arrows[first, middle] and arrows[second, middle]:
                arrows[middle, first] = arrows[middle, second] = False
    return close_orientations(arrows)


def close_orientations(arrows: Array) -> Array:
    """Orient undirected edges as long as a rule applies, so that no collider and no cycle arises."""
    arrows = arrows.copy()
    linked = arrows | arrows.T
    changed = True
    while changed:
        changed = False
        for first, second in np.argwhere(arrows & arrows.T):
            if not (arrows[first, second] and arrows[second, first]):
                continue
            if _must_point(arrows, linked, int(first), int(second)):
                arrows[second, first] = False
                changed = True
    return arrows


def _must_point(arrows: Array, linked: Array, first: int, second: int) -> bool:
    """Return whether first - second must be first -> second, by one of Meek's four rules."""
    sure = arrows & ~arrows.T
    # 1: c -> first - second with c and second not linked.
    if (sure[:, first] & ~linked[:, second] & (np.arange(len(arrows)) != second)).any():
        return True
    # 2: first -> c -> second.
    if (sure[first] & sure[:, second]).any():
        return True
    loose = arrows & arrows.T
    # 3: first - c -> second and first - e -> second with c and e not linked.
    through = np.flatnonzero(loose[first] & sure[:, second])
    if any(not linked[one, two] for one, two in combinations(through.tolist(), 2)):
        return True
    # 4: first - e -> c -> second with e and second not linked, and first linked to c.
    for middle in np.flatnonzero(sure[:, second] & linked[first]):
        if (loose[first] & sure[:, middle] & ~linked[:, second]).any():
            return True
    return False


def find_equivalence_class(structure: Any) -> PartialGraph:
    """Return the partially directed graph of all structures with the same independences as a given one.

    Parameters
    ----------
    structure : BayesianNetwork, mapping from names to parents, or sequence of edges (parent, child)
        A directed graph without cycles.

    Returns
    -------
    PartialGraph
        An edge is directed if it points the same way in all of them.

    Examples
    --------
    >>> from mercer.bayesnet import find_equivalence_class
    >>> find_equivalence_class({"b": ["a"], "c": ["b"]}).undirected
    [('b', 'c'), ('b', 'a')]
    >>> find_equivalence_class({"b": ["a", "c"]}).directed
    [('a', 'b'), ('c', 'b')]
    """
    parents, _ = read_structure("find_equivalence_class", structure)
    names = list(parents)
    place = {name: index for index, name in enumerate(names)}
    edges = np.zeros((len(names), len(names)), bool)
    for name, above in parents.items():
        for parent in above:
            edges[place[parent], place[name]] = True
    linked = edges | edges.T
    arrows = linked.copy()
    for node in range(len(names)):
        # Two parents that are not joined make a collider, which all equivalent structures share.
        for first, second in combinations(np.flatnonzero(edges[:, node]).tolist(), 2):
            if not linked[first, second]:
                arrows[node, first] = arrows[node, second] = False
    return PartialGraph.of(names, close_orientations(arrows))
