"""k-means to many prototypes, then agglomeration of the prototypes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator, LimitedEstimator, few_rows, fitting, open_new_rows, seed_sequence
from mercer._base.interface import ClusterMixin
from mercer._base.parameter import Choice, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._solver.centres.assignment import Assignment, Memory
from mercer._solver.centres.centres import Centres
from mercer._solver.centres.first_centres import column_moments
from mercer._solver.centres.lloyd import Lloyd
from mercer._solver.restarts import Restarts
from mercer._source import Block
from mercer._source.block import DenseBlock
from mercer._stored import Stored, floats, integers, size
from mercer._types import Array
from mercer.cluster._centres.init_rules import first_centres
from mercer.cluster._centres.k_means import KMeans
from mercer.cluster._hierarchy.linkage import METHODS, cut_linkage, linkage
from mercer.cluster._numbering import number_by_first_rows
from mercer.errors import DataError, ModelFileError

_DRAWN = "prototypes are drawn and clusters numbered by first rows: weights are repetitions in distribution"


class PrototypeAgglomeration(ClusterMixin, LimitedEstimator):
    r"""k-means to many prototypes, then agglomeration: hierarchies where n^2 distances are too many.

    k-means finds prototypes :math:`\mu_1 \dots \mu_p` and the weight :math:`W_q` of the rows nearest to each; the
    prototypes are merged as if each stood for :math:`W_q` equal rows, until `n_clusters` are left. A row belongs to the
    cluster of its nearest prototype. With Ward's linkage every merge raises the sum of squares least, as in the full
    hierarchy of the rows.

    Attributes
    ----------
    prototypes_ : ndarray of shape (p, d)
    prototype_weights_ : ndarray of shape (p,)
        The weight of the rows nearest to each.
    prototype_labels_ : ndarray of shape (p,)
        The cluster of each prototype.
    linkage_matrix_ : ndarray of shape (p - 1, 4)
        The dendrogram of the prototypes, as SciPy writes it.
    labels_ : ndarray of shape (n,)
        Clusters, numbered in the order of their first rows.
    n_clusters_ : int
    history_, converged_, n_iter_, certificate_ :
        Of k-means: the inertia of the prototypes, and how far one more iteration would move them.

    Notes
    -----
    Costs n p d for each iteration of k-means and p^2 d for the tree; memory is 20 bytes a row, and p^2 numbers for
    linkages other than Ward's and single. Sparse rows stay sparse. Rows must be in memory.

    References
    ----------
    F. Murtagh, A survey of recent advances in hierarchical clustering algorithms, 1983.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import PrototypeAgglomeration
    >>> angle = np.linspace(0, 2 * np.pi, 3000, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X = np.concatenate([ring, 3 * ring])
    >>> model = PrototypeAgglomeration(2, linkage="single", random_state=0).fit(X)
    >>> np.bincount(model.labels_).tolist()
    [3000, 3000]
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_clusters: int | None = parameter(
        Integer(1) | Nothing(),
        default=2,
        kw_only=False,
        doc="The number of clusters; None means where the dendrogram of the prototypes has its widest gap.",
    )
    n_prototypes: int = parameter(
        Integer(1), default=100, doc="The number of prototypes, p; all rows where there are fewer."
    )
    linkage: str = parameter(Choice(*METHODS), default="ward", doc="The distance of two clusters of prototypes.")
    max_iter: int = parameter(Integer(1), default=300, doc="Most iterations of k-means.")
    tol: float = parameter(
        Real(0),
        default=1e-4,
        doc="k-means ends when the squared moves of all prototypes sum to at most `tol` times the mean variance.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the first prototypes (k-means++).")

    _documents = {
        "max_time": "Seconds after which k-means ends with what it has.",
    }

    prototype_labels_: Array = attribute()
    _stored: ClassVar[dict[str, Stored]] = {
        "labels_": integers("rows"),
        "prototypes_": floats("prototypes, columns"),
        "prototype_labels_": integers("prototypes", low=0),
        "prototype_weights_": floats("prototypes"),
        "linkage_matrix_": floats("merges, 4"),
        "n_clusters_": size("clusters"),
    }
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        "check_sample_weight_equivalence_on_dense_data": _DRAWN,
        "check_sample_weight_equivalence_on_sparse_data": _DRAWN,
    }
    _takes_sparse = True
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "PrototypeAgglomeration":
        """Find prototypes, merge them, and label the rows."""
        source = self._open(X, None, sample_weight, accept_sparse="csr")
        n_prototypes = min(self.n_prototypes, source.n_rows)
        if self.n_clusters is not None and self.n_clusters > n_prototypes:
            raise DataError(
                f"PrototypeAgglomeration: n_clusters must be at most the {n_prototypes} prototypes; "
                f"got {self.n_clusters}. "
                f"Raise n_prototypes, or lower n_clusters to at most n_samples={source.n_rows}."
            )
        plan = KMeans(n_prototypes)
        lloyd = Lloyd(
            start=lambda seed: first_centres(plan, source, None, seed),
            moments=column_moments,
            n_init=1,
            max_iter=self.max_iter,
            tol=self.tol,
            memory=Memory.of(source),
            seed=seed_sequence(self.random_state),
        )
        outcome = self._drive(lloyd.solve, source, max_steps=self.max_iter)
        # Prototypes without rows would still pull merges towards them.
        weight = source.reduce(Assignment(Centres(self.prototypes_))).weights
        for name, value in self._merge(self.prototypes_[weight > 0], weight[weight > 0]).items():
            setattr(self, name, value)
        self._number(source.map(self._label()))
        self._conclude(outcome, cure="raise max_iter or tol")
        return self

    def _number(self, labels: Array) -> None:
        """Set ``labels_`` in the order of first rows, and number the prototypes' clusters in the same way."""
        self.labels_ = number_by_first_rows(labels)
        rank = np.empty(self.n_clusters_, dtype=np.int64)
        rank[labels] = self.labels_
        self.prototype_labels_ = rank[self.prototype_labels_]

    def _merge(self, prototypes: Array, weight: Array | None) -> dict[str, Any]:
        labels, Z = np.zeros(1, dtype=np.int64), np.empty((0, 4))
        if len(prototypes) > 1:
            Z = linkage(prototypes, self.linkage, sample_weight=weight, n_jobs=self.n_jobs)
            n_clusters = None if self.n_clusters is None else min(self.n_clusters, len(prototypes))
            labels = cut_linkage(Z, n_clusters=n_clusters)
        return {
            "prototypes_": prototypes,
            "prototype_weights_": np.ones(len(prototypes)) if weight is None else weight,
            "prototype_labels_": labels,
            "linkage_matrix_": Z,
            "n_clusters_": int(labels.max()) + 1,
        }

    def _fitted(self, state: Restarts) -> dict[str, Any]:
        return self._merge(state.choose()[0].centres, None)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X` and return ``labels_``."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> Array:
        """Return the cluster of the nearest prototype of each row."""
        if (rows := few_rows(self, X)) is not None:
            return self._label(rows.dtype)(DenseBlock(rows, 0))
        source = open_new_rows(self, X, accept_sparse="csr")
        return source.map(self._label(source.dtype))

    def _check_structure(self) -> None:
        # Native code looks for the nearest of at least one.
        if not len(vars(self).get("prototypes_", "-")):
            raise ModelFileError("PrototypeAgglomeration.prototypes_ must have a row; the file has none.")

    def _label(self, dtype: Any = None) -> "_NearestPrototype":
        prototypes = self.prototypes_ if dtype is None else self.prototypes_.astype(dtype, copy=False)
        return _NearestPrototype(Centres(prototypes), self.prototype_labels_)


@dataclass(frozen=True, eq=False)
class _NearestPrototype:
    """The cluster of the nearest prototype of each row of a block."""

    prototypes: Centres
    labels: Array

    def __call__(self, block: Block) -> Array:
        return self.labels[self.prototypes.find_nearest(block)[0]]
