"""The tree of merges: the indices of its nodes, and the partitions cut from it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.space import agglomeration
from mercer._types import Array
from mercer.cluster._hierarchy.merging import Merges
from mercer.errors import DataError, ModelFileError


@dataclass(frozen=True)
class Tree:
    """Merges in their final order.

    Attributes
    ----------
    pairs : (m, 2) a leaf of each of the two clusters that merge
    children : (m, 2) the clusters that merge: leaves below n, and n + i for the cluster that merge i made
    heights : (m,)
    counts : (m,) leaves, or their weight, in each new cluster
    """

    n: int
    pairs: Array
    children: Array
    heights: Array
    counts: Array

    @classmethod
    def of(cls, merges: Merges, n: int, in_order: bool, weight: Array | None = None) -> "Tree":
        """Return the tree of `merges` of `n` leaves; they are sorted by height unless they are `in_order`."""
        pairs, heights = np.asarray(merges.pairs, dtype=np.intp), np.asarray(merges.heights)
        # Chains make merges out of order; sorted heights are the order of the dendrogram.
        if not in_order:
            order = np.argsort(heights, kind="stable")
            pairs, heights = np.ascontiguousarray(pairs[order]), heights[order]
        made = len(heights)
        parents, children = np.full(n + made, -1, dtype=np.intp), np.empty((made, 2), dtype=np.intp)
        counts = np.ones(n + made)
        if weight is not None:
            counts[:n] = weight
        agglomeration.number_merges(pairs, parents, children, counts)
        return cls(n, pairs, children, heights, counts[n:])

    @classmethod
    def read(cls, Z: Array) -> "Tree":
        """Return the tree of a linkage matrix, (n - 1, 4)."""
        n, children = len(Z) + 1, Z[:, :2].astype(np.intp)
        leaf = np.arange(2 * n - 1)
        for i, (left, right) in enumerate(children):
            # Native code follows these numbers: a merge joins leaves and clusters of merges before it.
            if not (0 <= left < n + i and 0 <= right < n + i):
                raise DataError(
                    f"cut_linkage: the clusters that a merge joins must be leaves or made before it; merge {i} joins "
                    f"{left} and {right}, and only 0 to {n + i - 1} are there. Use linkage to make Z."
                )
            leaf[n + i] = leaf[left]
        return cls(n, leaf[children], children, Z[:, 2], Z[:, 3])

    def matrix(self) -> Array:
        """Return SciPy's linkage matrix, (n - 1, 4)."""
        return np.column_stack([self.children, self.heights, self.counts])

    def cut_at_number(self, n_clusters: int) -> Array:
        """Return labels after all merges but the last ``n_clusters - 1``; missing merges leave more clusters."""
        return self._labels(slice(0, max(0, self.n - n_clusters)))

    def cut_at_height(self, height: float) -> Array:
        """Return labels after all merges below `height`."""
        return self._labels(self.monotone_heights() < height)

    def monotone_heights(self) -> Array:
        """Return the greatest height in each cluster: its own height if the tree has no inversions."""
        highest = self.heights.copy()
        if np.all(np.diff(highest) >= 0):
            return highest
        # Children come before their parents, so one pass in this order is enough.
        for i, pair in enumerate(self.children):
            for child in pair:
                if child >= self.n:
                    highest[i] = max(highest[i], highest[child - self.n])
        return highest

    def _labels(self, chosen: Any) -> Array:
        labels = np.empty(self.n, np.int64)
        agglomeration.label_leaves(self.pairs[chosen], np.full(self.n, -1, np.intp), labels)
        return labels


def widest_gap(heights: Array) -> int:
    """Return the number of clusters between the two heights that are farthest apart; among equals the fewest."""
    rising = np.maximum.accumulate(np.concatenate([[0.0], heights]))
    gaps = np.diff(rising)
    # A gap before merge i leaves n - i clusters; the last of equal gaps has the fewest.
    return int(len(gaps) - (len(gaps) - 1 - np.argmax(gaps[::-1])) + 1)


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
