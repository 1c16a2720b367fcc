"""Undirected graphs as sets of neighbours by name: reading, moral graphs, components and separation."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mercer.bayesnet._graphs.order import read_parents
from mercer.bayesnet._tables.variables import list_some
from mercer.errors import DataError

Graph = dict[Any, set[Any]]


def read_graph(subject: str, graph: Mapping[Any, Iterable[Any]]) -> Graph:
    """Read neighbours by name; an edge may be given at one end or both, and every node must be a key."""
    if not isinstance(graph, Mapping):
        raise DataError(
            f"{subject}: `graph` must be a mapping from names to sets of names; got {type(graph).__name__}."
        )
    neighbours: Graph = {name: set() for name in graph}
    for name, others in graph.items():
        for other in others:
            if other not in neighbours or other == name:
                rule = "another node" if other == name else "a node of the graph"
                raise DataError(f"{subject}: a neighbour must be {rule}; {name!r} has the neighbour {other!r}.")
            neighbours[name].add(other)
            neighbours[other].add(name)
    return neighbours


def require_nodes(subject: str, graph: Mapping[Any, Any], names: Iterable[Any]) -> None:
    """Raise DataError if a name is not a node of the graph."""
    for name in names:
        if name not in graph:
            raise DataError(f"{subject}: {name!r} is not a node. The nodes are {list_some(list(graph))}.")


def list_edges(graph: Mapping[Any, Iterable[Any]]) -> list[tuple[Any, Any]]:
    """Return each edge once, its ends in the order of the nodes."""
    position = {name: number for number, name in enumerate(graph)}
    return [
        (name, other)
        for name, others in graph.items()
        for other in sorted(others, key=position.__getitem__)
        if position[name] < position[other]
    ]


def moral_graph(parents: Mapping[Any, Sequence[Any]]) -> Graph:
    """Return the moral graph: every node is joined to its parents, and its parents to each other.

    Each node and its parents, the variables of one conditional table, thus form a complete set.

    Parameters
    ----------
    parents : mapping from names to sequences of names

    Returns
    -------
    dict from names to sets of neighbours

    Examples
    --------
    >>> from mercer.bayesnet import moral_graph
    >>> sorted(moral_graph({"wet": ["rain", "sprinkler"]})["rain"])
    ['sprinkler', 'wet']
    """
    graph: Graph = {name: set() for name in read_parents("moral_graph", parents)}
    for name, above in parents.items():
        for first in (name, *above):
            graph[first] |= {second for second in (name, *above) if second != first}
    return graph


def is_complete(graph: Mapping[Any, set[Any]], nodes: Iterable[Any]) -> bool:
    """Return whether every two of `nodes` are neighbours."""
    members = list(nodes)
    return all(second in graph[first] for place, first in enumerate(members) for second in members[place + 1 :])


def find_components(graph: Mapping[Any, set[Any]], removed: Iterable[Any] = ()) -> list[list[Any]]:
    """Return the connected components of a graph without some nodes, each in the order of the nodes."""
    seen = set(removed)
    position = {name: number for number, name in enumerate(graph)}
    components = []
    for start in graph:
        if start in seen:
            continue
        seen.add(start)
        component, stack = [start], [start]
        while stack:
            # Depth first; nodes are marked when they are put on the stack.
            fresh = graph[stack.pop()] - seen
            seen |= fresh
            component.extend(fresh)
            stack.extend(fresh)
        components.append(sorted(component, key=position.__getitem__))
    return components


def separates(
    graph: Mapping[Any, Iterable[Any]], first: Iterable[Any], second: Iterable[Any], given: Iterable[Any]
) -> bool:
    """Return whether every path between two sets of nodes passes through a third set.

    Separation gives independence in every distribution that factorises over the graph. That the third set is complete
    is needed only for a decomposition, see :func:`decompose`.

    Parameters
    ----------
    graph : mapping from names to sets of names
    first, second, given : iterables of names, without common members

    Examples
    --------
    >>> from mercer.bayesnet import separates
    >>> separates({"a": {"b"}, "b": {"c"}, "c": set()}, ["a"], ["c"], ["b"])
    True
    """
    neighbours = read_graph("separates", graph)
    left, right, middle = set(first), set(second), set(given)
    require_nodes("separates", neighbours, [*left, *right, *middle])
    if left & right or left & middle or right & middle:
        shared = (left & right) | (left & middle) | (right & middle)
        raise DataError(
            f"separates: the three sets must have no common member; {list_some(sorted(shared, key=str))} is in two."
        )
    return all(not (left & set(part) and right & set(part)) for part in find_components(neighbours, middle))


def number_graph(graph: Mapping[Any, set[Any]]) -> list[int]:
    """Return the neighbours of each node as the bits of an integer, nodes numbered in their order."""
    position = {name: number for number, name in enumerate(graph)}
    return [sum(1 << position[other] for other in others) for others in graph.values()]


def list_bits(mask: int) -> list[int]:
    """Return the positions of the bits that are set, in rising order."""
    positions = []
    while mask:
        lowest = mask & -mask
        positions.append(lowest.bit_length() - 1)
        mask ^= lowest
    return positions
