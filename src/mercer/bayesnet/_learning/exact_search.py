"""The best structure of all, by dynamic programming over sets of variables (Silander and Myllymaki, 2006).

Every structure without cycles has a sink, a variable without children. So the best score of a set S of variables is

    best(S) = max over sinks i in S of best(S - i) + top(i, S - i),

where top(i, C) is the score of i with its best parents within C. There are d 2^(d-1) values top(i, C), each the larger
of the score with exactly the parents C and of top(i, C - c) over c in C; sets are the bits of whole numbers.
"""

from itertools import combinations
from math import comb, prod

import numpy as np

from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.bayesnet._learning.constraints import Constraints
from mercer.bayesnet._learning.counter import ScoredFamilies
from mercer.errors import DataError, UnsupportedError

# 20 variables have a million sets; each more doubles memory and time.
MOST_NODES = 20
# Visits of rows in a search that prunes nothing: about an hour of one core.
_MOST_VISITS = 4 * 10**12


def find_best_structure(subject: str, families: ScoredFamilies, constraints: Constraints) -> Array:
    """Return the structure of the largest score that keeps the constraints, as a matrix of edges (parent, child)."""
    d = len(families.counter.rows.names)
    if d > MOST_NODES:
        raise UnsupportedError(
            f"{subject}: the exact search takes at most {MOST_NODES} columns; got {d}. Use 'hill_climb', or fewer "
            f"columns."
        )
    n_sets = 2**d
    # For each of d 2^(d-1) values the score (8 bytes) and the parents (4); for each set the score and the sink.
    require_memory(
        subject, 12.0 * d * n_sets / 2 + 10.0 * n_sets, f"the scores of {d} x 2^{d - 1} families", "use 'hill_climb'"
    )
    # The score itself bounds the number of parents that can pay.
    most = min(constraints.max_parents, limit_parents(families))
    _require_time(subject, families, most)
    tops = [_find_best_parents(families, constraints, node, most) for node in range(d)]
    best, sinks = _find_sinks(tops, d)
    if not np.isfinite(best[-1]):
        raise DataError(
            f"{subject}: no structure keeps all constraints. Drop required or forbidden edges, or raise max_parents."
        )
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
    first = families.score_family(node, needed)
    scores[sum(1 << place[other] for other in needed)] = first
    # The best score with parents within a set; a larger set is of use only if it beats all of its subsets.
    within = np.full_like(scores, first)
    for size in range(1, max(0, most - len(needed)) + 1):
        n_scored = 0
        # All sets that extend one smaller set are counted in one call.
        for chosen in combinations(free, size - 1):
            later = free[free.index(chosen[-1]) + 1 :] if chosen else free
            if not later:
                continue
            parents = [*needed, *chosen]
            base = sum(1 << place[other] for other in parents)
            within[base] = max(scores[base], *(within[base ^ 1 << place[other]] for other in chosen), first)
            later = _keep_promising(families, node, parents, later, within[base])
            if not later:
                continue
            values = families.score_additions(node, parents, later, keep=False)
            n_scored += len(later)
            for other, value in zip(later, values, strict=True):
                scores[base | 1 << place[other]] = value
        if n_scored == 0:
            # Each subset of a set that passes would have passed before it: no larger set can.
            break
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


def _keep_promising(
    families: ScoredFamilies, node: int, parents: list[int], candidates: list[int], best: float
) -> list[int]:
    """Return the candidates with which a family may still beat `best`, the best score with fewer of its parents.

    A log-likelihood is at most zero, so that a score is at most minus its penalty (de Campos and Ji, 2011).
    """
    score, sizes = families.score, families.counter.coded_sizes
    if score.name not in ("bic", "aic"):
        return candidates
    charge = 0.5 * np.log(max(score.total, 1.0)) if score.name == "bic" else 1.0
    free = charge * float(sizes[node] - 1) * prod(int(sizes[parent]) for parent in parents)
    return [candidate for candidate in candidates if -free * int(sizes[candidate]) > best]


def _require_time(subject: str, families: ScoredFamilies, most: int) -> None:
    """Raise if a search without pruning would count rows for hours."""
    rows = families.counter.rows
    d, m = rows.columns.shape
    n_families = d * sum(comb(d - 1, size) for size in range(most + 1))
    if families.score.name not in ("bic", "aic") and n_families * m > _MOST_VISITS:
        raise UnsupportedError(
            f"{subject}: the exact search would count {m} distinct rows for {n_families} families, some "
            f"{n_families * m / 1e9 / 60:.0f} minutes. Pass max_parents=4, use 'bic', or use 'hill_climb'."
        )


def _find_sinks(tops: list[tuple[Array, Array]], d: int) -> tuple[Array, Array]:
    """Return best(S) and its sink for all sets S."""
    best, sinks = np.full(2**d, -np.inf), np.zeros(2**d, np.int8)
    best[0] = 0.0
    sets = np.arange(2**d, dtype=np.int64)
    sizes = np.zeros(2**d, np.int8)
    for bit in range(d):
        sizes += (sets >> bit & 1).astype(np.int8)
    # Sets by size: smaller ones first.
    order = np.argsort(sizes, kind="stable")
    bounds = np.searchsorted(sizes[order], np.arange(d + 2))
    for size in range(1, d + 1):
        layer = order[bounds[size] : bounds[size + 1]]
        for node in range(d):
            with_node = layer[layer >> node & 1 == 1]
            rest = with_node ^ (1 << node)
            # best(S) = best(S - i) + top(i, S - i).
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
