"""Constraints on structures: required and forbidden edges, tiers, and the number of parents."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Constraints:
    """Which edges may be, which must be, and how many parents a variable may have.

    Attributes
    ----------
    allowed, required : ndarray of bool of shape (d, d)
        Entry (p, c) is about the edge from p to c.
    max_parents : int
    """

    allowed: Array
    required: Array
    max_parents: int

    @classmethod
    def of(
        cls,
        subject: str,
        names: Sequence[str],
        *,
        required: Iterable[Any] | None = None,
        forbidden: Iterable[Any] | None = None,
        tiers: Iterable[Iterable[str]] | None = None,
        max_parents: int | None = None,
    ) -> "Constraints":
        """Check the constraints as a user gave them, by names, and return them as matrices."""
        d = len(names)
        place = {name: index for index, name in enumerate(names)}
        allowed = ~np.eye(d, dtype=bool)
        for parent, child in _list_edges(subject, "forbidden_edges", forbidden, place):
            allowed[parent, child] = False
        if tiers is not None:
            level = _number_tiers(subject, tiers, place)
            # Edges may not point to an earlier tier.
            allowed &= level[:, None] <= level[None, :]
        needed = np.zeros((d, d), bool)
        for parent, child in _list_edges(subject, "required_edges", required, place):
            if not allowed[parent, child]:
                raise ParameterError(
                    f"{subject}: required_edges must not be forbidden; {names[parent]!r} -> {names[child]!r} is both "
                    f"required and excluded by forbidden_edges or tiers. Drop one of the two."
                )
            needed[parent, child] = True
        if (cycle := find_cycle(needed)) is not None:
            path = " -> ".join(names[node] for node in cycle)
            raise ParameterError(
                f"{subject}: required_edges must not form a cycle; got {path}. Drop one of these edges."
            )
        most = d - 1 if max_parents is None else min(max_parents, d - 1)
        crowded = np.flatnonzero(needed.sum(axis=0) > most)
        if len(crowded):
            child = int(crowded[0])
            raise ParameterError(
                f"{subject}: max_parents must be at least the number of required parents; it is {most}, and "
                f"{names[child]!r} has {int(needed[:, child].sum())}. Raise it, or drop required edges."
            )
        return cls(allowed, needed, most)

    @property
    def are_free(self) -> bool:
        """Whether every structure is allowed."""
        d = len(self.allowed)
        return bool(self.allowed.sum() == d * (d - 1) and not self.required.any() and self.max_parents >= d - 1)


def _list_edges(subject: str, parameter: str, edges: Any, place: dict[str, int]) -> list[tuple[int, int]]:
    pairs = []
    for edge in () if edges is None else edges:
        pair = isinstance(edge, Sequence) and not isinstance(edge, str) and len(edge) == 2
        if not pair or not all(isinstance(name, Hashable) for name in edge):
            raise ParameterError(f"{subject}: {parameter} must be pairs (parent, child) of column names; got {edge!r}.")
        unknown = [name for name in edge if name not in place]
        if unknown:
            known = ", ".join(list(place)[:8])
            raise ParameterError(
                f"{subject}: {parameter} must name columns of X; got {unknown[0]!r}, and the columns are {known}. "
                f"Correct the name."
            )
        pairs.append((place[edge[0]], place[edge[1]]))
    return pairs


def _number_tiers(subject: str, tiers: Any, place: dict[str, int]) -> Array:
    level = np.full(len(place), -1)
    for number, tier in enumerate(tiers):
        if not isinstance(tier, Sequence) or not all(isinstance(name, Hashable) for name in tier):
            raise ParameterError(f"{subject}: tiers must be lists of column names; got {tier!r}.")
        for name in tier:
            if name not in place or level[place[name]] >= 0:
                raise ParameterError(
                    f"{subject}: tiers must name each column of X once; got {name!r}, which is unknown or named twice."
                )
            level[place[name]] = number
    if (level < 0).any():
        name = list(place)[int(np.argmax(level < 0))]
        raise ParameterError(f"{subject}: tiers must name every column of X; {name!r} is in none. Add it to one.")
    return level


def find_cycle(adjacency: Array) -> list[int] | None:
    """Return the nodes along a directed cycle, the first one again at the end; None if there is none."""
    d = len(adjacency)
    # 0 not visited, 1 on the path, 2 done.
    colour = [0] * d
    for root in range(d):
        if colour[root]:
            continue
        path, stack = [root], [iter(np.flatnonzero(adjacency[root]).tolist())]
        colour[root] = 1
        while stack:
            child = next(stack[-1], None)
            if child is None:
                colour[path.pop()] = 2
                stack.pop()
            # A child on the path closes a cycle.
            elif colour[child] == 1:
                return [*path[path.index(child) :], child]
            elif colour[child] == 0:
                colour[child] = 1
                path.append(child)
                stack.append(iter(np.flatnonzero(adjacency[child]).tolist()))
    return None


def mark_reachable(adjacency: Array) -> Array:
    """Return for each pair (a, b) whether a directed path leads from a to b, in a graph without cycles."""
    d = len(adjacency)
    reach = np.zeros((d, d), bool)
    n_parents = adjacency.sum(axis=0)
    order, ready = [], [node for node in range(d) if n_parents[node] == 0]
    while ready:
        node = ready.pop()
        order.append(node)
        for child in np.flatnonzero(adjacency[node]):
            n_parents[child] -= 1
            if n_parents[child] == 0:
                ready.append(int(child))
    # Children first: what they reach, their parents reach too.
    for node in reversed(order):
        children = np.flatnonzero(adjacency[node])
        if len(children):
            reach[node] = reach[children].any(axis=0)
            reach[node, children] = True
    return reach
