"""Check boosted trees that come from a file, before native code follows their indices."""

import numpy as np

from mercer._types import Array
from mercer.errors import ModelFileError


def check_boosted_nodes(left: Array) -> None:
    """Raise ModelFileError unless left children, and right ones next to them, come after their parents, each once."""
    inner = np.flatnonzero(left > 0)
    first, count = left[inner], len(left)
    valid = count > 0 and bool((first > inner).all()) and (not len(inner) or int(first.max()) + 1 < count)
    # Left children that differ may still be right ones of others: both are counted.
    if not valid or (len(inner) and np.bincount(np.concatenate([first, first + 1])).max() > 1):
        raise ModelFileError("BoostedTree.left must lead to two nodes after each inner node; the file's does not.")


def check_packed_nodes(words: Array, thresholds: Array, n_sets: int, roots: Array, depths: Array) -> None:
    """Raise ModelFileError unless each packed node's children are later nodes of its tree, and its set exists.

    A word holds the left child in its upper half, then 24 bits of the column, then the flags: bit 1 marks a split by
    categories, whose threshold is the index of a set.
    """
    nodes, ends = np.arange(len(words)), np.append(roots[1:], len(words))
    # Roots rise from zero, and trees lie one after another without gaps.
    valid = bool((np.diff(roots) > 0).all() and (roots[:1] == 0).all() and (ends <= len(words)).all())
    valid = valid and len(roots) <= len(words) and (len(roots) > 0 or len(words) == 0)
    if valid and len(words):
        end = np.repeat(ends, ends - roots)
        left = words >> 32
        # A leaf is its own child.
        # Children after their parents: every walk ends.
        valid = bool(((left == nodes) | ((left > nodes) & (left + 1 < end))).all())
        valid = valid and bool((depths >= 0).all() and (depths < ends - roots + 1).all())
        # Flag 2 marks categories, whose threshold is an index into the sets.
        chosen = thresholds[(words & 2) != 0]
        valid = valid and bool((chosen >= 0).all() and (chosen < n_sets).all())
    if not valid:
        raise ModelFileError("Forest.words must lead from each root to later nodes of its tree; the file's do not.")
