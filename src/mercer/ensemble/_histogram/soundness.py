"""Check boosted trees that come from a file, before native code follows their indices."""

import numpy as np

from mercer._types import Array
from mercer.errors import ModelFileError


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
