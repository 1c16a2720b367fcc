"""Separation in directed graphs: d-separation by a search for active paths, and Markov blankets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mercer.bayesnet._graphs.order import find_ancestors, find_children


def find_connected(parents: Mapping[Any, Sequence[Any]], start: Iterable[Any], given: Iterable[Any]) -> set[Any]:
    """Return the nodes that an active path connects with `start`, given others (Bayes ball; Koller and Friedman, 3.3).

    A path is active if each node on it passes the ball on: a chain or a fork passes it unless it is given, a collider
    passes it if it or a descendant is given.
    """
    observed = set(given)
    children = find_children(parents)
    # A collider is open exactly if it is an ancestor of a given node, or given itself.
    opened = find_ancestors(parents, observed)
    reached: set[Any] = set()
    # A ball that comes "up" arrives from a child; one that comes "down" arrives from a parent.
    stack = [(name, "up") for name in start]
    visited = set(stack)
    while stack:
        name, direction = stack.pop()
        if name not in observed:
            reached.add(name)
        follow: list[tuple[Any, str]] = []
        if direction == "up" and name not in observed:
            follow = [(parent, "up") for parent in parents[name]] + [(child, "down") for child in children[name]]
        elif direction == "down":
            if name not in observed:
                follow = [(child, "down") for child in children[name]]
            if name in opened:
                follow += [(parent, "up") for parent in parents[name]]
        fresh = [step for step in follow if step not in visited]
        visited.update(fresh)
        stack.extend(fresh)
    return reached


def find_blanket(parents: Mapping[Any, Sequence[Any]], name: Any) -> set[Any]:
    """Return the Markov blanket: parents, children, and the children's other parents."""
    below = [child for child, above in parents.items() if name in above]
    blanket = {*parents[name], *below, *(parent for child in below for parent in parents[child])}
    return blanket - {name}
