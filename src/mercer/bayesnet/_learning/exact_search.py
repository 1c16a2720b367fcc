"""The best structure of all, by dynamic programming over sets of variables (Silander and Myllymaki, 2006).

Every structure without cycles has a sink, a variable without children. So the best score of a set S of variables is

    best(S) = max over sinks i in S of best(S - i) + top(i, S - i),

where top(i, C) is the score of i with its best parents within C. There are d 2^(d-1) values top(i, C), each the larger
of the score with exactly the parents C and of top(i, C - c) over c in C; sets are the bits of whole numbers.
"""

from itertools import combinations

import numpy as np

from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.bayesnet._learning.constraints import Constraints
from mercer.bayesnet._learning.counter import ScoredFamilies
from mercer.errors import DataError, UnsupportedError

__all__ = ["MOST_NODES", "find_best_structure", "limit_parents"]

# 20 variables have a million sets; each more doubles memory and time.
MOST_NODES = 20


def find_best_structure(subject: str, families: ScoredFamilies, constraints: Constraints) -> Array:
    """Return the structure of the largest score that keeps the constraints, as a matrix of edges (parent, child)."""
    d = len(families.counter.rows.names)
    if d > MOST_NODES:
        message = (
            f"{subject}: the exact search takes at most {MOST_NODES} columns; got {d}. Use 'hill_climb', or fewer "
            f"columns."
        )
        raise UnsupportedError(message)
    n_sets = 2**d
    require_memory(
        subject, 12.0 * d * n_sets / 2 + 10.0 * n_sets, f"the scores of {d} x 2^{d - 1} families", "use 'hill_climb'"
    )
    most = min(constraints.max_parents, limit_parents(families))
    tops = [_find_best_parents(families, constraints, node, most) for node in range(d)]
    best, sinks = _find_sinks(tops, d)
    if not np.isfinite(best[-1]):
        message = (
            f"{subject}: no structure keeps all constraints. Drop required or forbidden edges, or raise max_parents."
        )
        raise DataError(message)
    return _read_structure(tops, sinks, d)


def limit_parents(families: ScoredFamilies) -> int:
    """Return a number of parents that the best structure cannot exceed: for BIC log2(2 N / log N), else d - 1.

    A family with more parents has a larger penalty than the largest log-likelihood that its parents can add (de Campos
    and Ji, 2011).
    """
    d, score = len(families.counter.rows.names), families.score
    if score.name != "bic" or score.total <= 2:
        return d - 1
    return min(d - 1, max(1, int(np.ceil(np.log2(2 * score.total / np.log(score.total))))))


def _find_best_parents(families: ScoredFamilies, constraints: Constraints, node: int, most: int) -> tuple[Array, Array]:
    """Return top(node, C) and its parents, for all sets C of the other variables, as bits in their order."""
    d = len(constraints.allowed)
    others = [other for other in range(d) if other != node]
    scores = np.full(2 ** (d - 1), -np.inf)
    place = {other: bit for bit, other in enumerate(others)}
    needed = [other for other in others if constraints.required[other, node]]
    free = [other for other in others if constraints.allowed[other, node] and other not in needed]
    for size in range(max(0, most - len(needed)) + 1):
        if size == 0:
            scores[sum(1 << place[other] for other in needed)] = families.score_family(node, needed)
            continue
        # All sets that extend one smaller set are counted in one call.
        for chosen in combinations(free, size - 1):
            later = free[free.index(chosen[-1]) + 1 :] if chosen else free
            if not later:
                continue
            parents = [*needed, *chosen]
            values = families.score_additions(node, parents, later)
            base = sum(1 << place[other] for other in parents)
            for other, value in zip(later, values, strict=True):
                scores[base | 1 << place[other]] = value
    parents_of = np.arange(2 ** (d - 1), dtype=np.int32)
    for bit in range(d - 1):
        # Halves of sets without and with this bit, as two axes.
        values = scores.reshape(-1, 2, 1 << bit)
        choice = parents_of.reshape(-1, 2, 1 << bit)
        # Of equals the smaller set: fewer parents.
        better = values[:, 0] >= values[:, 1]
        values[:, 1] = np.where(better, values[:, 0], values[:, 1])
        choice[:, 1] = np.where(better, choice[:, 0], choice[:, 1])
    return scores, parents_of


def _find_sinks(tops: list[tuple[Array, Array]], d: int) -> tuple[Array, Array]:
    """Return best(S) and its sink for all sets S."""
    best, sinks = np.full(2**d, -np.inf), np.zeros(2**d, np.int8)
    best[0] = 0.0
    sets = np.arange(2**d, dtype=np.int64)
    sizes = np.zeros(2**d, np.int8)
    for bit in range(d):
        sizes += (sets >> bit & 1).astype(np.int8)
    order = np.argsort(sizes, kind="stable")
    bounds = np.searchsorted(sizes[order], np.arange(d + 2))
    for size in range(1, d + 1):
        layer = order[bounds[size] : bounds[size + 1]]
        for node in range(d):
            with_node = layer[layer >> node & 1 == 1]
            rest = with_node ^ (1 << node)
            value = best[rest] + tops[node][0][_drop_bit(rest, node)]
            better = value > best[with_node]
            best[with_node[better]] = value[better]
            sinks[with_node[better]] = node
    return best, sinks


def _drop_bit(sets: Array, bit: int) -> Array:
    """Return sets without the place of a bit, which they do not contain."""
    low = (1 << bit) - 1
    return (sets & low) | (sets >> 1 & ~low)


def _read_structure(tops: list[tuple[Array, Array]], sinks: Array, d: int) -> Array:
    """Return the structure by taking sinks off the set of all variables, one after the other."""
    edges, left = np.zeros((d, d), bool), 2**d - 1
    while left:
        node = int(sinks[left])
        left ^= 1 << node
        parents = int(tops[node][1][int(_drop_bit(np.array(left), node))])
        others = [other for other in range(d) if other != node]
        for bit, other in enumerate(others):
            edges[other, node] = bool(parents >> bit & 1)
    return edges
