"""Spectral clustering: k-means, or another rounding, of the eigenvectors of a graph's Laplacian."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr
from scipy.sparse import csr_array

from mercer._base import Estimator, fitting, seed_sequence
from mercer._base.interface import ClusterMixin
from mercer._base.kernel_choice import Settings
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Seed, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.centres.assignment import Memory
from mercer._solver.centres.first_centres import column_moments, plus_plus
from mercer._solver.centres.lloyd import Lloyd
from mercer._solver.relay import relay
from mercer._solver.request import run_aside
from mercer._solver.restarts import keep_history_of
from mercer._source import Source, open_source
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats, integers
from mercer._types import Array, Rows
from mercer.cluster._centres.init_rules import check_enough_rows
from mercer.cluster._centres.k_means import describe_run
from mercer.kernels import KERNEL_NAMES, as_kernel
from mercer.manifold import spectral_embedding
from mercer.neighbors import NearestNeighbors

# Most iterations of a run of k-means, and the moves that end it, as a share of the mean variance: those of KMeans.
_MAX_ITER = 300
_TOL = 1e-4
# Most rotations; ten are rarely needed.
_ROTATIONS = 100
# Rows from which on affinities and coordinates take long enough to be computed aside, open to Ctrl-C.
_HEAVY = 500
_ROUNDED = Certificate.none("Labels are coordinates rounded; nothing bounds how far they are from the least cut.")


@plain
@dataclass(frozen=True, eq=False)
class RoundedState:
    """Labels, and the rotation of the coordinates that they were read from."""

    labels: Array
    rotation: Array
    objective: float


def round_by_pivots(coordinates: Array) -> Solver:
    """Give each row to the column that is largest after a rotation to k rows far from one another.

    These rows are the pivots of a QR factorisation with exchanges of columns (Damle, Minden and Ying, 2019).
    """
    k = coordinates.shape[1]

    def find() -> RoundedState:
        pivots = qr(coordinates.T, mode="r", pivoting=True)[1]
        left, _, right = np.linalg.svd(coordinates[pivots[:k]].T)
        turned = np.abs(coordinates @ (left @ right))
        labels = turned.argmax(axis=1)
        # What the largest entries leave of the squares of all.
        rest = float(np.sum(turned**2) - np.sum(turned.max(axis=1) ** 2))
        return RoundedState(labels.astype(np.int32), left @ right, rest)

    state = yield Dense(find, len(coordinates) > _HEAVY)
    yield Step(state.objective, state, _ROUNDED)
    return Solution(state, True, _ROUNDED)


def round_by_rotation(coordinates: Array, seed: np.random.SeedSequence, state: RoundedState | None) -> Solver:
    """Rotate the coordinates to the nearest indicators of clusters, and take these, in turn (Yu and Shi, 2003)."""
    n = len(coordinates)
    # The length of a row says how its degree compares, not where it belongs.
    lengths = np.linalg.norm(coordinates / np.linalg.norm(coordinates, axis=0), axis=1)
    rows = coordinates / np.linalg.norm(coordinates, axis=0) / np.where(lengths > 0, lengths, 1.0)[:, None]
    rotation = _choose_rotation(rows, np.random.default_rng(seed)) if state is None else state.rotation
    before, stopped = np.inf if state is None else state.objective, False
    for _ in range(_ROTATIONS):
        labels = (rows @ rotation).argmax(axis=1)
        members = csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, rows.shape[1]))
        left, sizes, right = np.linalg.svd(members.T @ rows)
        # The squared distance of the rotated rows to the indicators, with the best rotation.
        objective = 2.0 * (n - float(sizes.sum()))
        rotation = right.T @ left.T
        state = RoundedState(labels.astype(np.int32), rotation, objective)
        yield Step(objective, state, _ROUNDED)
        stopped = bool(before - objective <= n * np.finfo(np.float64).eps)
        if stopped:
            break
        before = objective
    assert state is not None  # there is at least one rotation
    return Solution(state, stopped, _ROUNDED)


def _choose_rotation(rows: Array, generator: np.random.Generator) -> Array:
    """Return k rows as the columns of a first rotation, each next one the most orthogonal to those before."""
    chosen, overlap = [int(generator.integers(len(rows)))], np.zeros(len(rows))
    for _ in range(1, rows.shape[1]):
        overlap += np.abs(rows @ rows[chosen[-1]])
        chosen.append(int(overlap.argmin()))
    return rows[chosen].T


class SpectralClustering(ClusterMixin, Estimator):
    r"""Spectral clustering: groups of rows that few edges of a graph cross.

    With affinities A and degrees D, the coordinates of the rows are :math:`D^{-1/2}` times the eigenvectors of the
    normalised Laplacian :math:`I - D^{-1/2} A D^{-1/2}` with the least eigenvalues; k-means, or another rounding, of
    these coordinates gives the clusters. Without the rounding the eigenvectors minimise the normalised cut exactly.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        The cluster of each row.
    affinity_matrix_ : {ndarray, sparse matrix} of shape (n, n)
        The affinities.
    n_iter_ : int
        Iterations of the rounding that was kept.
    history_ : dict of ndarray
        Per iteration: ``objective`` (the inertia of the coordinates, or their distance to indicators of clusters),
        ``seconds``.
    converged_ : bool
        Whether the rounding met its tolerance.
    certificate_ : Certificate
        ``"fixed point"`` of k-means over the coordinates; none for the other roundings.

    Notes
    -----
    A graph of nearest rows is sparse; other affinities are a matrix of all pairs, and a dense eigenproblem. An
    eigenvector that takes many steps decides: columns should be of one scale.

    References
    ----------
    J. Shi and J. Malik, Normalized cuts and image segmentation, 2000. A. Ng, M. Jordan and Y. Weiss, On spectral
    clustering, 2001. S. Yu and J. Shi, Multiclass spectral clustering, 2003. A. Damle, V. Minden and L. Ying, Simple,
    direct, and efficient multi-way spectral clustering, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import SpectralClustering
    >>> X = np.array([[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]])
    >>> SpectralClustering(2, assign_labels="discretize", random_state=0).fit(X).labels_[[0, 1, 5]].tolist() in (
    ...     [0, 0, 1],
    ...     [1, 1, 0],
    ... )
    True
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_clusters: int = parameter(Integer(1), default=8, kw_only=False, doc="The number of clusters, k.")
    eigen_solver: str | None = parameter(
        Choice("arpack", "lobpcg", "amg") | Nothing(),
        default=None,
        doc="As of :func:`mercer.manifold.spectral_embedding`: ``'lobpcg'`` stands for ``'arpack'``, and ``'amg'`` is "
        "not here.",
    )
    n_components: int | None = parameter(Integer(1) | Nothing(), default=None, doc="Eigenvectors; None means k.")
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the first centres or of the first rotation.")
    n_init: int = parameter(Integer(1), default=10, doc="Runs of k-means; the best is kept.")
    gamma: float = parameter(Real(0), default=1.0, doc="Of kernels by name.")
    affinity: str | Callable[..., Any] = parameter(
        Choice("nearest_neighbors", "precomputed_nearest_neighbors", *KERNEL_NAMES) | Function(),
        default="rbf",
        doc="The affinities: those of a kernel by name, a function of two rows, 1 or 0.5 where both or one of two rows "
        "are among the nearest of the other, given ones, or the latter of given distances.",
    )
    n_neighbors: int = parameter(Integer(1), default=10, doc="Nearest rows, the row itself counted.")
    eigen_tol: Any = parameter(Real(0) | Choice("auto"), default="auto", doc="Of the eigenvectors; 'auto' is exact.")
    assign_labels: str = parameter(
        Choice("kmeans", "discretize", "cluster_qr"),
        default="kmeans",
        doc="The rounding: k-means, alternating rotations, or the pivots of a QR factorisation, which draw nothing.",
    )
    degree: float = parameter(Real(0), default=3, doc="The degree of a polynomial kernel.")
    coef0: float = parameter(Real(), default=1, doc="Of polynomial and sigmoid kernels.")
    kernel_params: dict[str, Any] | None = parameter(
        Settings() | Nothing(), default=None, doc="Further arguments of a function."
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)
    verbose: int = parameter(Integer(0) | Boolean(), default=False)
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    _stored: ClassVar[dict[str, Stored]] = {
        "labels_": integers("rows", low=0),
        "affinity_matrix_": floats("rows, rows", sparse=True),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "a matrix of all pairs of rows is decomposed; its size is forecast before it is taken"
    }
    _takes_sparse = True
    _depends_on_units = ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any = None) -> "SpectralClustering":
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or (n_samples, n_samples) for given affinities
            or distances
            Rows, affinities or distances.
        """
        source = self._open(X, accept_sparse="csr", ensure_min_samples=2)
        check_enough_rows(self, source.n_rows)
        rows = source.whole()
        heavy = source.n_rows > _HEAVY
        with one_blas_thread():
            affinities = run_aside(partial(self._relate, rows)) if heavy else self._relate(rows)
            place = partial(
                spectral_embedding,
                affinities,
                n_components=self.n_clusters if self.n_components is None else self.n_components,
                eigen_solver=self.eigen_solver,
                eigen_tol=self.eigen_tol,
                drop_first=False,
            )
            coordinates = np.ascontiguousarray(run_aside(place) if heavy else place(), dtype=np.float64)
        if self.verbose:
            print(f"SpectralClustering: Computing label assignment using {self.assign_labels}")
        given = {"affinity_matrix_": affinities}
        if self.assign_labels == "kmeans":
            outcome = self._run_k_means(source, open_source(coordinates, threads=self._threads()), given)
        else:
            seed = seed_sequence(self.random_state)

            def solve(state: RoundedState | None) -> Solver:
                if self.assign_labels == "cluster_qr":
                    return round_by_pivots(coordinates)
                return round_by_rotation(coordinates, seed, state)

            outcome = self._drive(solve, source, fitted=_read_labels, attributes=given)
        self._conclude(outcome, cure="raise n_init")
        return self

    def _run_k_means(self, source: Source, points: Source, given: dict[str, Any]) -> Any:
        """Drive k-means over the coordinates, and store its labels and the history of its best run."""
        memory = Memory.of(points)
        lloyd = Lloyd(
            start=partial(_draw_centres, self.n_clusters),
            moments=column_moments,
            n_init=self.n_init,
            max_iter=_MAX_ITER,
            tol=_TOL,
            memory=memory,
            seed=seed_sequence(self.random_state),
        )

        def read(state: Any) -> dict[str, Any]:
            centres = state.choose()[0].centres
            if not memory.holds(centres):
                points.reduce(memory.assignment(centres))
            return {"labels_": np.array(memory.rows.labels)}  # type: ignore[union-attr]

        outcome = self._drive(
            lambda start: relay(lloyd.solve(start), source=points),
            source,
            fitted=read,
            attributes=given,
            max_steps=int(self.n_init) * _MAX_ITER,
        )
        run, restart = outcome.state.choose()
        self.n_iter_ = run.iteration
        self.history_ = keep_history_of(restart, self.history_)
        return outcome

    def _relate(self, rows: Rows) -> Rows:
        """Return the affinities of the rows."""
        if self.affinity == "precomputed":
            return rows
        if self.affinity in ("nearest_neighbors", "precomputed_nearest_neighbors"):
            given = self.affinity != "nearest_neighbors"
            search = NearestNeighbors(
                n_neighbors=self.n_neighbors, metric="precomputed" if given else "minkowski", n_jobs=self.n_jobs
            )
            graph = search.fit(rows).kneighbors_graph(rows, mode="connectivity")
            return csr_array(0.5 * (graph + graph.T))
        n = rows.shape[0]
        require_memory("SpectralClustering", 24.0 * n * n, f"the {n} x {n} affinities", "use nearest_neighbors")
        kernel = as_kernel(
            self.affinity,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            rows=rows,
            parameters=self.kernel_params,
            pairs=True,
        )
        return kernel(rows if is_sparse_matrix(rows) else rows.astype(np.float64, copy=False))

    def _describe_step(self, number: int, step: Step) -> str:
        if self.assign_labels == "kmeans":
            return describe_run("SpectralClustering", step)
        return super()._describe_step(number, step)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity in ("precomputed", "precomputed_nearest_neighbors")
        return tags


def _draw_centres(k: int, seed: np.random.SeedSequence) -> Any:
    """Draw k first centres by k-means++; a generator of requests."""
    centres, _ = yield from plus_plus(k, np.random.default_rng(seed))
    return centres


def _read_labels(state: RoundedState) -> dict[str, Any]:
    return {"labels_": state.labels}


def spectral_clustering(
    affinity: Any,
    *,
    n_clusters: int = 8,
    n_components: int | None = None,
    eigen_solver: str | None = None,
    random_state: Any = None,
    n_init: int = 10,
    eigen_tol: Any = "auto",
    assign_labels: str = "kmeans",
    verbose: int = False,
) -> Array:
    """Cluster by given affinities; the parameters are those of :class:`SpectralClustering`.

    Parameters
    ----------
    affinity : {array-like, sparse matrix} of shape (n, n)
        Symmetric affinities, not negative.

    Returns
    -------
    labels : ndarray of shape (n,), int32

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import spectral_clustering
    >>> A = np.kron(np.eye(2), np.ones((3, 3))) + 0.01
    >>> labels = spectral_clustering(A, n_clusters=2, random_state=0)
    >>> len(set(labels[:3].tolist())), len(set(labels.tolist()))
    (1, 2)
    """
    model = SpectralClustering(
        n_clusters,
        n_components=n_components,
        eigen_solver=eigen_solver,
        random_state=random_state,
        n_init=n_init,
        affinity="precomputed",
        eigen_tol=eigen_tol,
        assign_labels=assign_labels,
        verbose=verbose,
    )
    return model.fit(affinity).labels_
