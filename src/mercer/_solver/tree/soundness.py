"""Check that arrays form a binary tree, before native code walks along them without looking left or right."""

from typing import Any, TypeVar

import numpy as np

from mercer._stored import check_stored
from mercer._types import Array
from mercer.errors import DataError, ModelFileError

Tree = TypeVar("Tree")


def check_nodes(subject: str, left: Array, right: Array, feature: Array, n_features: int) -> None:
    """Raise ModelFileError unless every node but the root is the child of one earlier node, and columns exist.

    The left child follows its parent, a leaf has no child and a negative column.
    """
    count, inner = len(feature), left >= 0
    nodes = np.flatnonzero(inner)
    # Every node but the root is a child, two of each inner node.
    valid = len(left) == len(right) == count == 2 * len(nodes) + 1
    if valid and count > 1:
        first, second = left[nodes], right[nodes]
        valid = (
            bool((inner == (right >= 0)).all() and (inner == (feature >= 0)).all())
            and bool((first == nodes + 1).all() and (second > first).all())
            and bool(second.max() < count and feature.max() < n_features)
            # With children after their parents there is no cycle, and a node that is a child once is reached.
            and bool(np.bincount(np.concatenate([first, second])).max() == 1)
        )
    elif valid:
        valid = bool(right[0] < 0 and feature[0] < 0)
    if not valid:
        raise ModelFileError(
            f"{subject} must be a tree: each node the child of one node before it, leaves without children, columns "
            f"below {n_features}; the file's is not."
        )


def check_categories(subject: str, starts: Array, words: Array) -> None:
    """Raise ModelFileError unless each start is -1, or the place of a count and as many pairs inside `words`."""
    used = starts[starts >= 0]
    valid = bool((starts >= -1).all() and (used < len(words)).all())
    if valid and len(used):
        lengths = words[used]
        valid = bool((lengths >= 0).all() and (lengths <= len(words)).all())
        valid = valid and bool((used + 1 + 2 * lengths <= len(words)).all())
    if not valid:
        raise ModelFileError(f"{subject} must point to sets of categories inside `words`; the file's do not.")


def check_width(subject: str, X: Any, n_features: int) -> None:
    """Raise DataError if rows have fewer columns than a tree reads: somebody has changed ``n_features_in_``."""
    if X.shape[1] < n_features:
        raise DataError(
            f"{subject} reads {n_features} columns; got rows of {X.shape[1]}. Give rows like those of the fit."
        )


def check_tree_list(subject: str, sizes: Array, right: Array, feature: Array, n_features: int) -> tuple[Array, ...]:
    """Raise ModelFileError unless nodes are trees one after the other, each with right children counted from its root.

    A left child follows its parent, so joining the trees by a root for each shift gives one check for all of them.
    The roots, the inner nodes and the right children of these are returned, for further checks.
    """
    ends = np.cumsum(sizes)
    roots = ends - sizes
    if not len(sizes) or int(ends[-1]) != len(feature):
        raise ModelFileError(f"{subject} must have a node for each of `sizes`; the file has {len(feature)}.")
    inner = right >= 0
    nodes = np.flatnonzero(inner)
    second = (np.repeat(roots, sizes) + right)[nodes]
    valid = bool((inner == (feature >= 0)).all() and feature.max() < n_features) and bool(
        (second > nodes + 1).all() and (second < np.repeat(ends, sizes)[nodes]).all()
    )
    if valid:
        # Every node but the roots is the child of one node; children come after their parents, so all are reached.
        times = np.bincount(np.concatenate([nodes + 1, second]), minlength=len(feature))
        valid = 2 * len(nodes) == len(feature) - len(sizes) and times.max() <= 1 and not times[roots].any()
    if not valid:
        raise ModelFileError(
            f"{subject} must be trees: each node the child of one node before it, leaves without children, columns "
            f"below {n_features}; the file's are not."
        )
    return roots, nodes, second


def are_depths(depths: Array, roots: Array, nodes: Array, second: Array) -> bool:
    """Return whether `depths` are those of trees, given by what :func:`check_tree_list` returns.

    Roots have depth 0 and children one more than their parent; every node is one or the other.
    """
    below = depths[nodes] + 1
    return not depths[roots].any() and bool((depths[nodes + 1] == below).all() and (depths[second] == below).all())


def mark_grown(record: Tree) -> Tree:
    """Return a tree that a fit has just grown: it need not be checked, and its integers cannot be written from now on.

    Copies and pickles are not marked.
    """
    vars(record)["_is_grown"] = True
    _protect_integers(record)
    return record


def ensure_sound(record: Any) -> None:
    """Check a record whose indices native code is about to walk, and make its integers read-only.

    Files are checked when they are loaded; this is for records that a user or a pickle has made. It is called where the
    form that native code reads is made, once for each record, so predictions do not pay for it.
    """
    cls = type(record)
    try:
        if not vars(record).get("_is_grown"):
            check_stored(cls.__name__, vars(record), cls._stored, {})
            record.check_fields()
    except ModelFileError as error:
        raise ModelFileError(str(error).replace("the file", "this one")) from None
    _protect_integers(record)


def _protect_integers(record: Any) -> None:
    """Make the arrays of indices read-only."""
    for value in vars(record).values():
        if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
            value.flags.writeable = False


def check_boosted_nodes(left: Array) -> None:
    """Raise ModelFileError unless left children, and right ones next to them, come after their parents, each once.

    So each node but the root is a child of another: packing counts on reaching them all.
    """
    inner = np.flatnonzero(left > 0)
    first, count = left[inner], len(left)
    valid = count == 1 + 2 * len(inner) and bool((first > inner).all())
    valid = valid and (not len(inner) or int(first.max()) + 1 < count)
    # Left children that differ may still be right ones of others: both are counted.
    if not valid or (len(inner) and np.bincount(np.concatenate([first, first + 1])).max() > 1):
        raise ModelFileError("BoostedTree.left must lead to two nodes after each inner node; the file's does not.")
