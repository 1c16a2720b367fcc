"""The divergence of a map from the affinities of its rows, and its gradient in two parts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.embedding import exact_map, grid_sums, map_tasks
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import n_threads, run_numbered
from mercer._types import Array
from mercer.errors import DataError
from mercer.manifold._tsne.affinities import Affinities
from mercer.manifold._tsne.cell_tree import LEAF, make_tree

# Rows of a block of all pairs: the unit of work of a thread.
BLOCK = 64
# The most points for which the sum over all pairs is exact: 5 * 10^8 pairs take some 0.3 s on two cores.
_MOST_EXACT = 2**15
# The angle of the tree for more points: the sum is then right to about 1e-5.
_ANGLE = 0.25
# What native code takes for a Gaussian kernel.
GAUSSIAN = 0.0
_NO_AFFINITIES = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class Divergence:
    """The divergence of a map, and its gradient.

    Attributes
    ----------
    value : float
        KL(p || q), in nats.
    attraction : ndarray of shape (n, d)
        The part of the gradient that pulls rows to those they have affinities with: with p in place of p - q.
    repulsion : ndarray of shape (n, d)
        The part that keeps all rows apart: with -q in place of p - q.
    normaliser : float
        Z, the sum of the similarities over all pairs of two different rows.
    """

    value: float
    attraction: Array
    repulsion: Array
    normaliser: float

    @property
    def gradient(self) -> Array:
        """The gradient: the sum of both parts."""
        return self.attraction + self.repulsion


def measure_divergence(
    affinities: Any, embedding: Any, *, kernel: str = "student", dof: float = 1.0, n_jobs: int | None = None
) -> Divergence:
    r"""Compute the divergence of a map from affinities exactly, and its gradient as attraction plus repulsion.

    With :math:`w_{ij} = (1 + \|y_i - y_j\|^2)^{-1}`, :math:`Z = \sum_{k \ne l} w_{kl}` and :math:`q_{ij} = w_{ij} / Z`,
    the divergence is :math:`\sum p_{ij} \log (p_{ij} / q_{ij})` and its gradient
    :math:`4 \sum_j (p_{ij} - q_{ij}) w_{ij} (y_i - y_j)`.

    Parameters
    ----------
    affinities : Affinities, or array or sparse array of shape (n, n)
        Symmetric, with sum one.
    embedding : array-like of shape (n, d)
        The map.
    kernel : {"student", "gaussian"}, default="student"
        Which similarity w is; ``"gaussian"`` is :math:`\exp(-\|y_i - y_j\|^2)`, that of symmetric SNE.
    dof : float, default=1.0
        Degrees of freedom a of the t distribution: :math:`w = (1 + \|y_i - y_j\|^2 / a)^{-(a + 1) / 2}`.
    n_jobs : int or None, default=None
        Threads; None means all cores. Changes no result.

    Returns
    -------
    Divergence

    Examples
    --------
    Two rows are always as similar as their affinity asks, at any distance: there is one pair only.

    >>> import numpy as np
    >>> from mercer.manifold import measure_divergence
    >>> divergence = measure_divergence(np.array([[0.0, 0.5], [0.5, 0.0]]), [[0.0], [3.0]])
    >>> print(f"{abs(divergence.value):.6f}", divergence.attraction.ravel(), divergence.repulsion.ravel())
    0.000000 [-0.6  0.6] [ 0.6 -0.6]
    """
    joint = affinities.joint if isinstance(affinities, Affinities) else affinities
    places = np.ascontiguousarray(embedding, dtype=np.float64)
    n = joint.shape[0]
    if places.ndim != 2 or len(places) != n or joint.shape != (n, n):
        raise DataError(
            f"measure_divergence: the map must have a row for each of the {n} rows with affinities; got shape "
            f"{places.shape}."
        )
    require_memory("measure_divergence", 16.0 * n * n, f"the {n} x {n} affinities", "take fewer rows")
    table = np.ascontiguousarray(joint.toarray() if is_sparse_matrix(joint) else joint, dtype=np.float64)
    freedom = GAUSSIAN if kernel == "gaussian" else float(dof)
    forces = AllPairs(table, freedom, places, n_threads(n_jobs))
    forces.add_forces()
    normaliser, logarithms = forces.sum_potentials()
    slope = forces.slope
    value = Affinities(table, np.empty(0), 0.0).entropy + logarithms + table.sum() * np.log(normaliser)
    return Divergence(float(value), slope * forces.pull, -slope / normaliser * forces.push, normaliser)


class AllPairs:
    """The forces between all pairs of points, in float64, block by block on several threads."""

    def __init__(self, table: Array, freedom: float, places: Array, threads: int) -> None:
        self.table, self.freedom, self.threads = table, freedom, threads
        self.columns = np.ascontiguousarray(places.T)
        self.pull, self.push = np.zeros(places.shape), np.zeros(places.shape)
        self.sums = np.zeros((len(places), 2))
        # The factor of the gradient: 4 for one degree of freedom and for Gaussians, see docs/theory.
        self.slope = 4.0 if freedom == GAUSSIAN else 2.0 * (freedom + 1.0) / freedom

    def add_forces(self) -> None:
        """Write attraction and repulsion of all points, and their potentials."""
        self._run(exact_map.add_forces, (self.pull, self.push, self.sums))

    def sum_potentials(self) -> tuple[float, float]:
        """Return Z, and minus the sum of p log w."""
        self._run(exact_map.add_potentials, (self.sums,))
        return float(self.sums[:, 0].sum()), float(self.sums[:, 1].sum())

    def _run(self, function: Any, written: tuple[Array, ...]) -> None:
        n = len(self.pull)

        def work(block: int) -> None:
            first, last = block * BLOCK, min((block + 1) * BLOCK, n)
            scratch = np.empty((2, n))
            function(self.columns, self.table, self.freedom, first, last, scratch[0], scratch[1], *written)

        run_numbered(work, -(-n // BLOCK), self.threads)


def add_up_potentials(places: Array, threads: int) -> float:
    """Return Z, the sum of similarities over all pairs of different points: exact, or by a tree for many points."""
    if len(places) > _MOST_EXACT:
        return repel_all(places, threads)[0]
    pairs = AllPairs(_NO_AFFINITIES, 1.0, np.asarray(places, dtype=np.float64), threads)
    return pairs.sum_potentials()[0]


def repel_all(places: Array, threads: int) -> tuple[float, Array]:
    """Return Z and the repulsion of all points, not divided by it, by a tree of a small angle."""
    n, d = places.shape
    tree, _ = make_tree(n, d, _ANGLE)
    points = np.ascontiguousarray(places, dtype=np.float32)
    tree.sort(points)
    tree.place(points)
    push, potential = np.zeros((n, d), np.float32), np.zeros(n)

    def work(block: int) -> None:
        first, last = block * BLOCK, min((block + 1) * BLOCK, -(-n // LEAF))
        map_tasks.repel(tree, tree, first, last, push, potential, np.empty((d + 1, LEAF), np.float32))

    run_numbered(work, -(-n // (LEAF * BLOCK)), threads)
    # Each point has met itself.
    return float(potential.sum() - n), push


def measure_slope(affinities: Affinities, places: Array, freedom: float, threads: int) -> float:
    """Return the length of the gradient of the divergence at the places of a map."""
    if not is_sparse_matrix(affinities.joint):
        pairs = AllPairs(affinities.joint, freedom, places, threads)
        pairs.add_forces()
        return float(pairs.slope * _measure_length(pairs.pull - pairs.push / pairs.sums[:, 0].sum()))
    joint, points = affinities.joint, np.ascontiguousarray(places, dtype=np.float32)
    edges = joint.indptr.astype(np.int64), joint.indices.astype(np.int32), joint.data.astype(np.float32)
    pull = np.zeros(places.shape, np.float32)

    def attract(block: int) -> None:
        first, last = block * BLOCK, min((block + 1) * BLOCK, len(places))
        grid_sums.attract_rows(points, *edges, first, last, pull)

    run_numbered(attract, -(-len(places) // BLOCK), threads)
    normaliser, push = repel_all(places, threads)
    return float(4.0 * _measure_length(pull - push.astype(np.float64) / normaliser))


def sum_divergence(affinities: Affinities, places: Array, freedom: float, threads: int) -> float:
    """Return the divergence of a map in float64, from sparse or dense affinities."""
    if not is_sparse_matrix(affinities.joint):
        normaliser, logarithms = AllPairs(affinities.joint, freedom, places, threads).sum_potentials()
        return affinities.entropy + logarithms + float(np.log(normaliser))
    logarithms = sum_edges(affinities.joint, places)
    return affinities.entropy + logarithms + float(np.log(add_up_potentials(places, threads)))


def sum_edges(joint: Any, places: Array) -> float:
    """Return the sum over sparse affinities of p log(1 + squared distance)."""
    total = 0.0
    # 2^20 affinities at a time keep the copies of places small.
    for first in range(0, joint.nnz, 2**20):
        part = slice(first, first + 2**20)
        rows = np.searchsorted(joint.indptr, np.arange(first, min(first + 2**20, joint.nnz)), side="right") - 1
        squares = np.square(places[rows] - places[joint.indices[part]]).sum(axis=1)
        total += float(joint.data[part] @ np.log1p(squares))
    return total


def _measure_length(slope: Array) -> float:
    """Return the root of the sum of squares; np.linalg.norm sums by BLAS, in an order that depends on its threads."""
    return float(np.sqrt(np.square(slope).sum()))
