"""Directed graphs as parents by name: topological orders, cycles, children and ancestors."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mercer.bayesnet._tables.variables import list_some
from mercer.errors import DataError

Parents = dict[Any, tuple[Any, ...]]


def read_parents(
    subject: str, parents: Mapping[Any, Sequence[Any]] | None, names: Iterable[Any] | None = None
) -> Parents:
    """Read parents by name; without `names`, the nodes are those that `parents` mentions."""
    given = dict(parents or {})
    for name, above in given.items():
        if isinstance(above, str) or not isinstance(above, Iterable):
            raise DataError(
                f"{subject}: the parents of {name!r} must be a sequence of names; got {above!r}. Write [{above!r}]."
            )
    lists = {name: tuple(above) for name, above in given.items()}
    if names is None:
        names = dict.fromkeys([*lists, *(parent for above in lists.values() for parent in above)])
    known = dict.fromkeys(names)
    for name, above in lists.items():
        unknown = [other for other in (name, *above) if other not in known]
        if unknown:
            raise DataError(
                f"{subject}: `parents` must name variables; got {unknown[0]!r} at {name!r}. "
                f"The variables are {list_some(list(known))}."
            )
        if len(set(above)) < len(above):
            raise DataError(f"{subject}: the parents of {name!r} must differ from each other; got {list_some(above)}.")
    return {name: lists.get(name, ()) for name in known}


def topological_order(parents: Mapping[Any, Sequence[Any]]) -> tuple[Any, ...]:
    """Return the nodes of a directed graph in an order in which parents precede their children.

    Parameters
    ----------
    parents : mapping from names to sequences of names
        The parents of each node. A node that appears only as a parent has none of its own.

    Returns
    -------
    tuple of names
        Of the nodes that could come next, the one first in `parents` comes first.

    Raises
    ------
    DataError
        If the graph has a cycle; the message names its nodes.

    Examples
    --------
    >>> from mercer.bayesnet import topological_order
    >>> topological_order({"wet": ["rain", "sprinkler"], "sprinkler": ["rain"]})
    ('rain', 'sprinkler', 'wet')
    """
    above = read_parents("topological_order", parents)
    return sort_nodes("topological_order", above)


def sort_nodes(subject: str, parents: Parents) -> tuple[Any, ...]:
    """Return the nodes with parents before children; of nodes that could come next, the first in the mapping."""
    cycle = find_cycle(parents)
    if cycle:
        path = " -> ".join(str(name) for name in (*cycle, cycle[0]))
        raise DataError(f"{subject}: the graph must have no directed cycle; it has {path}. Remove one of these edges.")
    waiting = {name: len(above) for name, above in parents.items()}
    children = find_children(parents)
    position = {name: number for number, name in enumerate(parents)}
    import heapq

    # Of the nodes without waiting parents the first in the mapping comes next: the order is unique.
    ready = [position[name] for name, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    names = list(parents)
    order = []
    while ready:
        name = names[heapq.heappop(ready)]
        order.append(name)
        for child in children[name]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, position[child])
    return tuple(order)


def find_cycle(parents: Mapping[Any, Sequence[Any]]) -> tuple[Any, ...]:
    """Return the nodes of one directed cycle, in the direction of its edges; empty if there is none."""
    finished: set[Any] = set()
    for start in parents:
        path: dict[Any, None] = {}
        stack = [(start, iter(parents[start]))] if start not in finished else []
        path.update({start: None} if stack else {})
        while stack:
            name, rest = stack[-1]
            # Nodes that are finished lie on no cycle.
            parent = next((candidate for candidate in rest if candidate not in finished), None)
            if parent is None:
                finished.add(name)
                path.pop(name)
                stack.pop()
            elif parent in path:
                nodes = list(path)
                # The search walks from children to parents, against the edges.
                return tuple(reversed(nodes[nodes.index(parent) :]))
            else:
                path[parent] = None
                stack.append((parent, iter(parents.get(parent, ()))))
    return ()


def find_children(parents: Mapping[Any, Sequence[Any]]) -> dict[Any, tuple[Any, ...]]:
    """Return the children of each node, in the order of the nodes."""
    children: dict[Any, list[Any]] = {name: [] for name in parents}
    for name, above in parents.items():
        for parent in above:
            children[parent].append(name)
    return {name: tuple(below) for name, below in children.items()}


def find_ancestors(parents: Mapping[Any, Sequence[Any]], names: Iterable[Any]) -> set[Any]:
    """Return `names` and all their ancestors."""
    ancestors: set[Any] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in ancestors:
            ancestors.add(name)
            stack.extend(parents[name])
    return ancestors
