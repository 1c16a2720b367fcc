"""k-means by bisection: one cluster after the other is split in two."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._base import fitting, open_new_rows, seed_sequence
from mercer._base.parameter import Boolean, Choice, Function, Integer, Seed, attribute, parameter
from mercer._source import Source, open_source
from mercer._stored import Stored, integers, numbers
from mercer._types import Array
from mercer.cluster._centres.centre_model import CentreModel
from mercer.cluster._centres.centre_tree import Bisection, BisectionState, LeafLabels
from mercer.cluster._centres.init_rules import check_enough_rows, first_centres
from mercer.errors import ModelFileError

_DRAWN = "first centres are drawn: weights are repetitions in distribution, and exactly once a function gives them"


class BisectingKMeans(CentreModel):
    r"""k-means by bisection: clusters are split in two, one after the other.

    Begins with all rows in one cluster. Until there are `n_clusters`, the cluster with the largest inertia

    .. math:: E_q = \sum_{i \in q} w_i \lVert x_i - \mu_q \rVert^2

    (or the most rows) is split in two by k-means over its rows alone, so that the inertia of all clusters together
    falls with each split. Clusters are more alike in size than those of k-means, and form a tree; new rows walk down
    the tree, at each split to the nearer of two centres.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d)
    labels_ : ndarray of shape (n,), int32
        The cluster of each row; clusters are numbered from left to right in the tree.
    inertia_ : float
        The sum of the inertias of all clusters.
    node_centers_ : ndarray of shape (2k - 1, d)
        The centres of all nodes of the tree; node 0 holds all rows.
    node_children_ : ndarray of shape (2k - 1, 2)
        The two nodes that each was split into, or -1 twice.
    n_iter_ : int
        Lloyd iterations of all splits that were kept.
    history_ : dict of ndarray
        Per split, after the one cluster of all rows: ``objective`` (the inertia of all clusters), ``n_clusters``,
        ``seconds``.
    converged_ : bool
        Whether every split met `tol`.
    certificate_ : Certificate
        ``"fixed point"``: the largest sum of squared moves that the two centres of a split would make in one more
        iteration, as a share of the mean variance of its rows.

    Notes
    -----
    A split costs n d for each of its iterations over its n rows; a tree that is even all over costs n d log k a round,
    where k-means costs n k d. Memory is a copy of the rows of the cluster that is split. Sparse rows stay sparse.
    scikit-learn ends a run when the squared moves sum to `tol` itself, whatever the unit of the rows.

    References
    ----------
    M. Steinbach, G. Karypis and V. Kumar, A comparison of document clustering techniques, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import BisectingKMeans
    >>> X = np.array([[1.0, 1.0], [10.0, 1.0], [3.0, 1.0], [10.0, 0.0], [2.0, 1.0], [10.0, 2.0], [10.0, 9.0]])
    >>> model = BisectingKMeans(n_clusters=3, random_state=0).fit(X)
    >>> float(model.inertia_)
    4.0
    """

    _needs_rows: ClassVar[str] = "it divides the rows of one cluster at a time"

    n_clusters: int = parameter(Integer(1), default=8, kw_only=False, doc="The number of clusters, k.")
    init: str | Callable[..., Any] = parameter(
        Choice("k-means++", "random") | Function(),
        default="random",
        doc="The two first centres of a split: ``'random'`` draws two different rows, ``'k-means++'`` two rows far "
        "from each other. A callable is called as ``init(X, 2, random_state=...)`` with the rows of the cluster.",
    )
    n_init: int = parameter(
        Integer(1), default=1, doc="Runs of k-means with different first centres for each split; the best is kept."
    )
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the first centres.")
    copy_x: bool = parameter(
        Boolean(),
        default=True,
        after="tol",
        doc="Taken for compatibility; the input is neither copied nor changed.",
    )
    algorithm: str = parameter(
        Choice("lloyd", "elkan"),
        default="lloyd",
        doc="Both give the same result to the last bit; ``'elkan'`` uses bounds in every iteration, ``'lloyd'`` where "
        "they pay.",
    )
    bisecting_strategy: str = parameter(
        Choice("biggest_inertia", "largest_cluster"),
        default="biggest_inertia",
        doc="The cluster to split next: that with the largest inertia, or with the most rows, weights counted.",
    )

    _documents = {
        "max_iter": "Most iterations of one run.",
        "tol": (
            "A run ends when the squared moves of both centres sum to at most `tol` times the mean variance of the "
            "columns of its rows."
        ),
    }
    _places = ("memory",)
    node_centers_: Array = attribute()
    node_children_: Array = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "cluster_centers_": numbers("clusters, columns"),
        "labels_": integers("rows", low=0, below="clusters"),
        "node_centers_": numbers("nodes, columns"),
        "node_children_": integers("nodes, 2", low=-1, below="nodes"),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the rows of the cluster that is split are laid side by side, so that its passes read no others"
    }
    _check_exceptions: ClassVar[dict[str, str]] = CentreModel._check_exceptions | {
        "check_sample_weight_equivalence_on_dense_data": _DRAWN,
        "check_sample_weight_equivalence_on_sparse_data": _DRAWN,
    }

    def _check_structure(self) -> None:
        """Raise ModelFileError unless each node but the first is the child of one before it, and leaves are known."""
        super()._check_structure()
        children = vars(self).get("node_children_")
        if children is None:
            return
        split = children[:, 0] >= 0
        found, nodes = children[split], np.arange(len(children))
        whole = np.array_equal(split, children[:, 1] >= 0) and np.array_equal(np.sort(found, axis=None), nodes[1:])
        if not (whole and (found > nodes[split, None]).all() and 2 * len(self.cluster_centers_) - 1 == len(children)):
            raise ModelFileError(
                f"{type(self).__name__}.node_children_ must list each node but the first once, as the child of a node "
                f"before it, and end in {len(self.cluster_centers_)} clusters; the file's are others."
            )

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BisectingKMeans":
        """Find the clusters."""
        source = self._open(X, None, sample_weight, accept_sparse="csr")
        check_enough_rows(self, source.n_rows)
        bisection = Bisection(
            start=lambda part, seed: first_centres(self, part, None, seed, k=2),
            n_clusters=self.n_clusters,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            elkan=self.algorithm == "elkan",
            by_weight=self.bisecting_strategy == "largest_cluster",
            source=_keep_weighed(source),
            seed=seed_sequence(self.random_state),
        )
        outcome = self._drive(bisection.solve, bisection.source, max_steps=self.n_clusters)
        self._store(source, outcome.state)
        self._conclude(outcome, cure="raise max_iter or tol")
        return self

    def _fitted(self, state: BisectionState) -> dict[str, Any]:
        tree = state.tree
        return {
            "cluster_centers_": tree.centres[tree.list_leaves()],
            "node_centers_": tree.centres,
            "node_children_": tree.children,
            "inertia_": float(tree.costs[tree.list_leaves()].sum()),
        }

    def _store(self, source: Source, state: BisectionState) -> None:
        """Set the attributes of the rows of the fit, and warn if some clusters are empty."""
        tree = state.tree
        self._check_inertia(self.inertia_)
        self.n_iter_ = state.iterations
        clusters = LeafLabels.of(tree.centres, tree.children)
        # Rows without weight take no part in the splits.
        known = len(state.nodes) == source.n_rows
        self.labels_ = clusters.numbers[state.nodes] if known else source.map(clusters)
        weights = tree.weights[tree.list_leaves()]
        distinct = int(np.count_nonzero(weights > 0))
        if distinct < len(weights):
            warnings.warn(
                f"{type(self).__name__}: Number of distinct clusters ({distinct}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def predict(self, X: Any) -> Array:
        """Return the cluster of each row: at each split of the tree it goes to the nearer centre."""
        source = open_new_rows(self, X, accept_sparse="csr")
        centres = self.node_centers_.astype(source.host_dtype, copy=False)
        return source.map(LeafLabels.of(centres, self.node_children_))


def _keep_weighed(source: Source) -> Source:
    """Return the rows whose weight is not zero."""
    weight = source.row_weights()
    if weight is None or weight.min() > 0:
        return source
    rows = np.flatnonzero(weight)
    return open_source(source.whole()[rows], weight=weight[rows], threads=source.threads)
