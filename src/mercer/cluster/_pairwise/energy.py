"""The cost of pairwise clustering, and its mean field.

With memberships m_qa of object a in cluster q, n_q = sum_a m_qa and M clusters,

    E = (1 / M) sum_q [sum_ab m_qa m_qb d_ab] / n_q,
    dE / dm_qa = (2 / M) [D_qa - (1 / 2 n_q) sum_b m_qb D_qb],    D_qa = sum_b m_qb d_ab / n_q.

Where distances are missing, D_qa is the mean over the known ones. On a map, m_qa is replaced by sum_r h_qr m_ra.
Objects of weight w count w times in every sum.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer._source.block import rows_per_block
from mercer._source.namespace import is_sparse_matrix
from mercer._source.source import SumTree
from mercer._source.threads import one_blas_thread, run_numbered
from mercer._types import Array
from mercer.errors import DataError

# Rows of the matrix in a work item: 256 rows of 5000 numbers are 10 MB, some milliseconds of a core.
_ROWS = 256
# Sizes up to this are rounding: the cluster is empty.
_FEW = 1e-300


@dataclass(frozen=True, eq=False)
class DistanceMatrix:
    """Distances in a matrix; missing ones are zero there and in `present`, which is None if none is missing.

    Both are sparse where few of the distances are used.
    """

    distances: Array
    present: Array = None
    threads: int = 1

    def towards(self, objects: Array) -> Array:
        """Return the distances of all objects to those at the indices `objects`; missing ones are zero."""
        columns: Any = self.distances[:, objects]
        return columns.toarray() if is_sparse_matrix(columns) else columns

    def means(self, shares: Array, sizes: Array) -> Array:
        """Return the mean distance of each object to each cluster, (n, M); `shares` (n, M) sum to `sizes`."""
        sums = np.empty((self.distances.shape[0], shares.shape[1]))
        known = None if self.present is None else np.empty_like(sums)

        def fill(run: int) -> None:
            part = slice(run * _ROWS, (run + 1) * _ROWS)
            sums[part] = self.distances[part] @ shares
            if known is not None:
                known[part] = self.present[part] @ shares

        run_numbered(fill, -(-len(sums) // _ROWS), self.threads)
        if known is None:
            return sums / np.where(sizes > _FEW, sizes, 1.0)
        # An object without a known distance to a cluster gets its mean distance to all objects.
        mean = sums.sum(axis=1) / known.sum(axis=1)
        return np.where(known > _FEW, sums / np.where(known > _FEW, known, 1.0), mean[:, None])


@dataclass(frozen=True, eq=False)
class SquaredDistances:
    """Squared Euclidean distances between rows, never computed as a matrix: only their means are needed."""

    rows: Array
    norms: Array
    threads: int = 1

    def towards(self, objects: Array) -> Array:
        """Return the squared distances of all objects to those at the indices `objects`."""
        return self.norms[:, None] + self.norms[objects] - 2.0 * (self.rows @ self.rows[objects].T)

    def means(self, shares: Array, sizes: Array) -> Array:
        """Return the mean squared distance of each object to each cluster, (n, M); `shares` (n, M) sum to `sizes`."""
        tree, size = SumTree(), rows_per_block(self.rows.shape[1])
        parts = [slice(start, start + size) for start in range(0, len(self.rows), size)]
        run_numbered(lambda index: self._sums(parts[index], shares), len(parts), self.threads, tree.add)
        total = tree.total() / np.where(sizes > _FEW, sizes, 1.0)
        means = np.empty((len(self.rows), shares.shape[1]))

        def fill(index: int) -> None:
            part = parts[index]
            # mean_b |x_a - x_b|^2 = |x_a|^2 + mean |x_b|^2 - 2 x_a . mean x_b.
            means[part] = self.norms[part, None] + total[-1] - 2.0 * (self.rows[part] @ total[:-1])

        run_numbered(fill, len(parts), self.threads)
        return np.maximum(means, 0.0, out=means)

    def _sums(self, part: slice, shares: Array) -> Array:
        """Return sum_i shares_iq x_i as columns, (d, M), and below them the same sums of squared norms."""
        return np.vstack([self.rows[part].T @ shares[part], self.norms[part] @ shares[part]])


def mean_field(
    distances: DistanceMatrix | SquaredDistances, memberships: Array, weight: Array, neighbourhood: Array = None
) -> tuple[Array, float, Array]:
    """Return dE / dm_qa for objects of unit weight, (n, M), the cost E, and half the mean distances within, (M,)."""
    n_clusters = memberships.shape[1]
    with one_blas_thread():
        shares = memberships if neighbourhood is None else memberships @ neighbourhood.T
        shares = shares * weight[:, None]
        sizes = shares.sum(axis=0)
        means = distances.means(shares, sizes)
        extents = np.einsum("ij,ij->j", shares, means)
        spread = 0.5 * extents / np.where(sizes > _FEW, sizes, 1.0)
        field = (2.0 / n_clusters) * (means - spread)
        # A cluster that has lost every object attracts none.
        field[:, sizes <= _FEW] = np.inf if neighbourhood is None else field.max()
        if neighbourhood is not None:
            field = field @ neighbourhood
    return field, float(extents.sum()) / n_clusters, spread


def pairwise_cost(distances: Any, labels: Any = None, *, memberships: Any = None, neighbourhood: Any = None) -> float:
    r"""Return the cost of a clustering by the distances within clusters.

    .. math:: E = \frac{1}{M} \sum_q \frac{\sum_{ab} m_{qa} m_{qb} d_{ab}}{\sum_a m_{qa}}

    With squared Euclidean distances this is 2 / M times the inertia of k-means for the same clusters.

    Parameters
    ----------
    distances : array-like of shape (n, n)
        Symmetric, with a diagonal of zeros.
    labels : array-like of shape (n,) or None, default=None
        The cluster of each object; or give `memberships`.
    memberships : array-like of shape (n, M) or None, default=None
        The share of each object in each cluster.
    neighbourhood : array-like of shape (M, M) or None, default=None
        h of a map: memberships m are replaced by :math:`\sum_r h_{qr} m_{ra}`.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import pairwise_cost
    >>> x = np.array([0.0, 1.0, 10.0, 11.0])
    >>> pairwise_cost((x[:, None] - x[None]) ** 2, [0, 0, 1, 1])
    1.0
    """
    distances = check_array(distances, dtype=np.float64)
    if memberships is None:
        indices = np.unique(np.asarray(labels), return_inverse=True)[1]
        memberships = np.eye(indices.max() + 1)[indices]
    memberships = check_array(memberships, dtype=np.float64)
    if distances.shape != (len(memberships), len(memberships)):
        raise DataError(
            f"pairwise_cost: distances must be a square matrix with a row for each of the {len(memberships)} objects; "
            f"got shape {distances.shape}."
        )
    h = None if neighbourhood is None else check_array(neighbourhood, dtype=np.float64)
    return mean_field(DistanceMatrix(distances), memberships, np.ones(len(memberships)), h)[1]
