"""The condensed tree of HDBSCAN: clusters that split into parts that are large enough, and the choice among them."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from mercer._native.space import hierarchy
from mercer._types import Array


def linkage_of(edges: Array, lengths: Array) -> Array:
    """Return SciPy's linkage matrix of a spanning tree, (n - 1, 4): merges by length, ties by row indices.

    The left part of a merge is the one on the side of row 0.
    """
    n = len(lengths) + 1
    graph = coo_array((np.ones(n - 1, np.int8), (edges[:, 0], edges[:, 1])), (n, n))
    before = breadth_first_order(graph.tocsr(), 0, directed=False)[1]
    # An edge points away from row 0: its first end comes before its second on the path from there.
    turned = before[edges[:, 0]] == edges[:, 1]
    edges = np.where(turned[:, None], edges[:, ::-1], edges)
    order = np.lexsort((edges.max(axis=1), edges.min(axis=1), lengths))
    merges, sizes = np.empty((n - 1, 2), np.int32), np.empty(2 * n - 1, np.int32)
    hierarchy.merge_edges(np.ascontiguousarray(edges[order], np.int32), np.empty(2 * n - 1, np.int32), merges, sizes)
    return np.column_stack([merges, lengths[order], sizes[n:]])


@dataclass(frozen=True, eq=False)
class CondensedTree:
    """Clusters, numbered breadth first from the root, 0; a *level* lambda is one over a distance.

    ``belongs`` and ``fallen`` hold each row's last cluster and the level at which it left it; ``parents``, ``births``
    and ``counts`` each cluster's parent, the level at which it split off, and its rows.
    """

    belongs: Array
    fallen: Array
    parents: Array
    births: Array
    counts: Array

    @classmethod
    def of(cls, linkage: Array, least: int) -> "CondensedTree":
        """Condense a linkage matrix; clusters have at least `least` rows."""
        n = len(linkage) + 1
        merges = np.ascontiguousarray(linkage[:, :2], np.int32)
        sizes = np.concatenate([np.ones(n, np.int32), linkage[:, 3].astype(np.int32)])
        belongs, fallen = np.empty(2 * n - 1, np.int32), np.empty(2 * n - 1)
        parents, births, counts = np.empty(n + 1, np.int32), np.empty(n + 1), np.empty(n + 1, np.int32)
        n_clusters = hierarchy.condense(
            merges, np.ascontiguousarray(linkage[:, 2]), sizes, least, np.empty(2 * n - 1, np.int32), belongs, fallen,
            parents, births, counts,
        )  # fmt: skip
        kept = (part[:n_clusters].copy() for part in (parents, births, counts))
        return cls(belongs[:n].copy(), fallen[:n].copy(), *kept)

    def stabilities(self) -> Array:
        """Return, per cluster, the sum over its rows of lambda_leave - lambda_birth (excess of mass)."""
        stability = np.zeros(len(self.parents))
        with np.errstate(invalid="ignore"):
            np.add.at(stability, self.belongs, self.fallen - self.births[self.belongs])
            # Rows that leave for a child do so all at once, at the child's birth.
            for child in range(1, len(self.parents)):
                parent = self.parents[child]
                stability[parent] += (self.births[child] - self.births[parent]) * self.counts[child]
        # Equal rows are born and leave at an infinite level; inf - inf counts as zero.
        return np.where(np.isnan(stability), 0.0, stability)

    def select(self, method: str, single: bool, epsilon: float, most: int | None) -> Array:
        """Choose the clusters to keep, a boolean per cluster; none lies below another."""
        children = np.bincount(self.parents[1:], minlength=len(self.parents))
        if method == "leaf":
            # Cluster 0 is the root with all rows, which is no choice among leaves.
            kept = (children == 0) & (np.arange(len(children)) > 0)
        else:
            kept = self._excess_of_mass(single, np.inf if most is None else most)
        if epsilon > 0 and len(self.parents) > 1 and not kept[0]:
            kept = self._coarsen(kept, epsilon, single)
        return kept

    def _excess_of_mass(self, single: bool, most: float) -> Array:
        """Keep a cluster unless those below it together are more stable, or it has more than `most` rows."""
        stability, counts = self.stabilities(), self.counts.astype(float)
        below, kept = np.zeros(len(stability)), np.ones(len(stability), bool)
        # As in scikit-learn, the size of the root is that of its child clusters.
        counts[0] = counts[1:][self.parents[1:] == 0].sum()
        kept[0] = single
        # Children have higher indices than their parents, so `below` is complete when a node is reached. Where the
        # clusters
        # below win, their sum is what the branch is worth to its ancestors.
        for node in range(len(stability) - 1, -1, -1):
            if below[node] > stability[node] or counts[node] > most:
                kept[node], stability[node] = False, below[node]
            if node > 0:
                below[self.parents[node]] += stability[node]
        return self._topmost(kept)

    def _topmost(self, kept: Array) -> Array:
        """Return which of the clusters in `kept` lie below no other of them."""
        covered = np.zeros(len(kept), bool)
        for node in range(1, len(kept)):
            parent = self.parents[node]
            covered[node] = covered[parent] or kept[parent]
        return kept & ~covered

    def _coarsen(self, kept: Array, epsilon: float, single: bool) -> Array:
        """Replace clusters born at a distance below `epsilon` by the nearest ancestor born at `epsilon` or above."""
        coarse = np.zeros(len(kept), bool)
        for cluster in np.flatnonzero(kept):
            node = int(cluster)
            # births are levels, one over the distance: born at a distance below epsilon.
            while self.births[node] * epsilon > 1:
                parent = int(self.parents[node])
                if parent == 0:
                    node = 0 if single else node
                    break
                node = parent
            coarse[node] = True
        return self._topmost(coarse)

    def owners(self, kept: Array) -> Array:
        """Return the kept cluster that each cluster is or lies in; -1 if there is none."""
        owners = np.where(kept, np.arange(len(kept)), -1)
        for node in range(1, len(kept)):
            if not kept[node]:
                owners[node] = owners[self.parents[node]]
        return owners

    def deaths(self) -> Array:
        """Return the highest level at which a row or a child leaves each cluster."""
        deaths = np.zeros(len(self.parents))
        np.maximum.at(deaths, self.belongs, self.fallen)
        np.maximum.at(deaths, self.parents[1:], self.births[1:])
        return deaths

    def single_level(self, epsilon: float) -> float:
        """Return the level that a row must reach to belong to the root, if that is the only cluster."""
        return 1.0 / epsilon if epsilon > 0 else float(self.deaths()[0])

    def labels(self, kept: Array, epsilon: float) -> tuple[Array, Array]:
        """Return the label of each row, -1 for noise, and its membership lambda / lambda_max in [0, 1]."""
        owner = self.owners(kept)[self.belongs]
        if kept[0]:
            # The whole data as one cluster: rows that left it early are noise.
            owner = np.where(self.fallen >= self.single_level(epsilon), owner, -1)
        labels = np.where(owner >= 0, (np.cumsum(kept) - 1)[owner], -1)
        deaths = self.deaths()[owner]
        with np.errstate(invalid="ignore", divide="ignore"):
            # Membership: the level at which the row left over the last level of its cluster.
            depth = np.minimum(self.fallen, deaths) / deaths
        depth = np.where(np.isinf(self.fallen) | (deaths == 0), 1.0, depth)
        return labels.astype(np.int64), np.where(owner >= 0, depth, 0.0)
