"""Check a linkage that comes from a file: merges of clusters that exist, each used once."""

import numpy as np

from mercer._types import Array
from mercer.errors import ModelFileError


def check_linkage(subject: str, linkage: Array) -> None:
    """Raise ModelFileError unless merge i joins two clusters made before it, each used once, at a height that is known.

    Clusters below n are rows, and n + i is the cluster that merge i made.
    """
    n = len(linkage) + 1
    children = linkage[:, :2]
    valid = bool(np.isfinite(children).all()) and not np.isnan(linkage).any() and bool((children >= 0).all())
    if valid:
        # Merge i may use rows and the clusters of merges before it.
        valid = bool((children < n + np.arange(n - 1)[:, None]).all() and (children == np.floor(children)).all())
        valid = valid and len(np.unique(children)) == children.size
        valid = valid and bool((linkage[:, 3] >= 0).all() and (linkage[:, 3] <= n).all())
    if not valid:
        raise ModelFileError(f"{subject} must join two earlier clusters a merge, each once; the file's does not.")
