"""Label propagation and label spreading: classifiers that learn from labelled and unlabelled rows."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, fitting, open_new_rows
from mercer._base.interface import ClassifierMixin
from mercer._base.parameter import Choice, Function, Integer, Real, attribute, parameter
from mercer._base.preparation import prepare_once
from mercer._base.validation import check_labels
from mercer._solver.request import run_aside
from mercer._source import Block
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats, labels
from mercer._types import Array, Rows
from mercer.errors import DataError
from mercer.kernels import as_kernel
from mercer.neighbors import NearestNeighbors
from mercer.semi_supervised._spreading import LabelMap, attributes_of

# Rows from which on affinities take long enough to be computed aside, open to Ctrl-C.
_HEAVY = 500
# Rows that are scaled twice while they are in the cache.
_ROWS = 64
# Affinities of new rows held at once: 8 MiB of float64.
_TILE = 2**20


class _LabelModel(ClassifierMixin, LimitedEstimator):
    """What both models share: the graph of the rows, the fit along it, and the vote of the rows for new ones."""

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    kernel: Any = parameter(
        Choice("knn", "rbf") | Function(),
        default="rbf",
        kw_only=False,
        doc="The affinities of rows: one for the nearest rows, the row itself among them; "
        r"exp(-gamma \|x - y\|^2); or a function of two matrices that returns them all, dense or sparse.",
    )
    gamma: float = parameter(Real(0, squared=False), default=20, doc="Of ``'rbf'``.")
    n_neighbors: int = parameter(Integer(1), default=7, doc="Of ``'knn'``, the row itself counted.")
    max_iter: int = parameter(Integer(1), default=30, doc="Most steps.")
    tol: float = parameter(Real(0), default=1e-3, doc="The fit ends when a step would change all masses by this sum.")

    classes_: Array = attribute()
    _stored: ClassVar[dict[str, Stored]] = {
        "X_": floats("rows, columns", sparse=True),
        "label_distributions_": floats("rows, classes"),
        "label_mass_": floats("rows"),
        "transduction_": labels("rows"),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the affinities of all pairs of rows are held, and forecast before they are; kernel='knn' has few"
    }
    _takes_sparse = True
    _depends_on_units = ("columns", "scale")
    _objective_moves: ClassVar[str | None] = None

    def _build_graph(self) -> Rows:
        """Return the matrix of the map for the rows of the fit."""
        raise NotImplementedError  # each model normalises its own

    def _make_map(self, graph: Rows, known: Array, first: Array) -> LabelMap:
        """Return the map whose fixed point is the answer; `known` rows have labels, the ones of `first`."""
        raise NotImplementedError  # each model keeps what was given in its own way

    @fitting
    def fit(self, X: Any, y: Any) -> "_LabelModel":
        """Find the labels of all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, with and without labels.
        y : array-like of shape (n_samples,)
            Labels; -1, or the text "-1", where there is none.
        """
        source = self._open(X, y, targets="labels", accept_sparse="csr")
        check_labels(source.y)
        known = source.y != ("-1" if source.y.dtype.kind in "US" else -1)
        classes, codes = np.unique(source.y[known], return_inverse=True)
        if not len(classes):
            raise DataError(f"{type(self).__name__}: y must name the class of a row; got no labels but -1. Add some.")
        self.X_ = source.whole()
        first = np.zeros((source.n_rows, len(classes)))
        first[known, codes.reshape(-1)] = 1.0
        with one_blas_thread():
            graph = run_aside(self._build_graph) if source.n_rows > _HEAVY else self._build_graph()
        following = self._make_map(graph, known, first)
        outcome = self._drive(
            lambda start: following.follow(first, float(self.tol), int(self.max_iter), start),
            source,
            fitted=partial(attributes_of, classes=classes, dtype=source.host_dtype),
            max_steps=int(self.max_iter),
            attributes={"X_": self.X_, "classes_": classes},
        )
        self._conclude(outcome)
        return self

    def _relate(self) -> Rows:
        """Return the affinities of the rows of the fit."""
        rows, n = self.X_, self.X_.shape[0]
        if self.kernel == "knn":
            search = NearestNeighbors(n_neighbors=self.n_neighbors, n_jobs=self.n_jobs).fit(rows)
            return csr_array(search.kneighbors_graph(rows, mode="connectivity"))
        if callable(self.kernel):
            affinities = self.kernel(rows, rows)
            return csr_array(affinities, dtype=np.float64) if is_sparse_matrix(affinities) else np.array(affinities)
        require_memory(type(self).__name__, 24.0 * n * n, f"the {n} x {n} affinities", "take kernel='knn'")
        return self._measure(rows, rows)

    def _measure(self, X: Rows, Y: Rows) -> Array:
        """Return the Gaussian kernel of rows."""
        # A width of zero is the limit of narrow ones, in which all rows are alike.
        kernel = as_kernel("rbf", gamma=max(float(self.gamma), float(np.finfo(np.float64).tiny)), rows=Y)
        return kernel(*(rows if is_sparse_matrix(rows) else rows.astype(np.float64, copy=False) for rows in (X, Y)))

    def predict_proba(self, X: Any) -> Array:
        """Return the share of each label around each row, of shape (n_samples, n_classes)."""
        check_is_fitted(self)
        source = open_new_rows(self, X, accept_sparse="csr")
        return source.map(self._vote)

    def predict(self, X: Any) -> Array:
        """Return the label with the largest share around each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _vote(self, block: Block) -> Array:
        """Return the shares of the rows of a block."""
        count = max(1, _TILE // self.X_.shape[0])
        tiles = [self._weigh(block.X[start : start + count]) for start in range(0, block.n, count)]
        return np.concatenate(tiles).astype(self.label_distributions_.dtype, copy=False)

    def _weigh(self, rows: Rows) -> Array:
        """Return the shares of some rows: the mean of the distributions of the rows of the fit, by affinity."""
        given = self.label_distributions_.astype(np.float64, copy=False)
        if self.kernel == "knn":
            found = self._find_nearest(rows, self.n_neighbors)
            mass = given[found].sum(axis=1)
        elif callable(self.kernel):
            mass = np.asarray(self.kernel(self.X_, rows).T @ given)
        else:
            mass = self._measure(rows, self.X_) @ given
            far = np.flatnonzero(mass.sum(axis=1) == 0)
            if len(far):
                # Affinities that underflow: of all of them the largest belongs to the nearest row.
                mass[far] = given[self._find_nearest(rows[far], 1)[:, 0]]
        sums = mass.sum(axis=1)
        # Rows among rows that no label has reached have the shares of all labels.
        mass[sums == 0] = given.sum(axis=0)
        return mass / np.where(sums == 0, given.sum(), sums)[:, None]

    def _find_nearest(self, rows: Rows, count: int) -> Array:
        search = prepare_once(self, (self.X_,), lambda: NearestNeighbors(n_jobs=1).fit(self.X_))
        return search.kneighbors(rows, count, return_distance=False)


class LabelPropagation(_LabelModel):
    r"""Label propagation: labels flow along a graph of the rows until each row has the mean of its neighbours'.

    With affinities W and :math:`T_{ij} = W_{ij} / \sum_k W_{ik}`, the distributions F of rows with labels stay as
    given, and those of the others are repeatedly replaced by T F with rows of sum one. What is left in the end is
    harmonic: :math:`F_u = (I - T_{uu})^{-1} T_{ul} F_l`, the label that a random walk along the graph meets first.

    Attributes
    ----------
    X_ : {ndarray, sparse matrix} of shape (n, d)
        The rows of the fit, which vote on new ones.
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n, n_classes)
        The share of each label in each row; zeros where no label reaches.
    transduction_ : ndarray of shape (n,)
        The label of the largest share in each row.
    label_mass_ : ndarray of shape (n,)
        One for rows that a label reaches, up to rounding, and zero for others.
    n_iter_ : int
        Steps: of the map, then of conjugate gradients with a Gaussian kernel.
    history_ : dict of ndarray
        Per step: ``objective`` (the sum of changes of one more step of the map), ``seconds``.
    converged_ : bool
        Whether that sum is at most `tol`.
    certificate_ : Certificate
        ``"residual"``: that sum.

    See Also
    --------
    LabelSpreading : Given labels may change too: for labels with errors.

    Notes
    -----
    A Gaussian kernel takes n^2 d steps, n^2 for each step of the fit, and 8 n^2 bytes, which are forecast; the graph of
    nearest rows has k n entries. Rows in memory. The kernel has a length, so that the columns' units decide.

    References
    ----------
    X. Zhu and Z. Ghahramani, Learning from labeled and unlabeled data with label propagation, 2002. X. Zhu,
    Z. Ghahramani and J. Lafferty, Semi-supervised learning using Gaussian fields and harmonic functions, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.semi_supervised import LabelPropagation
    >>> X = np.array([[0.0], [1.0], [2.0], [6.0], [7.0], [8.0]])
    >>> model = LabelPropagation(gamma=1.0).fit(X, [0, -1, -1, -1, -1, 1])
    >>> model.transduction_.tolist(), model.predict([[2.9], [5.1]]).tolist()
    ([0, 0, 0, 1, 1, 1], [0, 1])
    """

    max_iter: int = parameter(Integer(1), default=1000, doc="Most steps.")

    def _build_graph(self) -> Rows:
        graph = self._relate()
        sums = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
        sums = np.where(sums == 0, 1.0, sums)
        if is_sparse_matrix(graph):
            graph.data = graph.data / np.repeat(sums, np.diff(graph.indptr))
            return graph
        graph /= sums[:, None]
        return graph

    def _make_map(self, graph: Rows, known: Array, first: Array) -> LabelMap:
        # T is symmetric in the inner product with the sums of W, which its diagonal shows: that of W is one.
        weights = 1.0 / np.diagonal(graph) if self.kernel == "rbf" else None
        return LabelMap(graph, 1.0, first, 1.0 - known[:, None], True, weights, self._threads())


class LabelSpreading(_LabelModel):
    r"""Label spreading: labels flow along a graph of the rows, and given ones may be overruled.

    With affinities W, their diagonal left out, and :math:`S = D^{-1/2} W D^{-1/2}`, D the sums of the columns of W, the
    masses are the fixed point of :math:`F = \alpha S F + (1 - \alpha) Y`, the linear system
    :math:`(I - \alpha S) F = (1 - \alpha) Y`, for the labels Y that were given. Rows are divided by their sums.

    Attributes
    ----------
    X_ : {ndarray, sparse matrix} of shape (n, d)
        The rows of the fit, which vote on new ones.
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n, n_classes)
        The share of each label in each row; zeros where no label reaches.
    transduction_ : ndarray of shape (n,)
        The label of the largest share in each row.
    label_mass_ : ndarray of shape (n,)
        The sums that rows were divided by: small where labels are far along the graph.
    n_iter_ : int
        Steps: of the map, then of conjugate gradients with a Gaussian kernel.
    history_ : dict of ndarray
        Per step: ``objective`` (the sum of changes of one more step of the map), ``seconds``.
    converged_ : bool
        Whether that sum is at most `tol`.
    certificate_ : Certificate
        ``"residual"``: that sum.

    See Also
    --------
    LabelPropagation : Given labels stay.

    Notes
    -----
    A Gaussian kernel takes n^2 d steps, n^2 for each step of the fit, and 8 n^2 bytes, which are forecast; the graph of
    nearest rows has k n entries. Rows in memory. The kernel has a length, so that the columns' units decide.

    References
    ----------
    D. Zhou, O. Bousquet, T. Lal, J. Weston and B. Schoelkopf, Learning with local and global consistency, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.semi_supervised import LabelSpreading
    >>> X = np.array([[0.0], [1.0], [2.0], [6.0], [7.0], [8.0]])
    >>> y = [0, -1, -1, 1, 1, 1]
    >>> LabelSpreading(gamma=1.0, alpha=0.8).fit(X, y).transduction_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    alpha: float = parameter(
        Real(0, 1, closed="neither"),
        default=0.2,
        after="n_neighbors",
        doc="The share of a row's mass that comes from its neighbours; the rest comes from its own label.",
    )

    def _build_graph(self) -> Rows:
        graph = self._relate()
        if is_sparse_matrix(graph):
            graph = csr_array(graph)
            graph.setdiag(0.0)
            graph.eliminate_zeros()
        else:
            np.fill_diagonal(graph, 0.0)
        roots = np.sqrt(np.asarray(graph.sum(axis=0), dtype=np.float64).ravel())
        roots = np.where(roots == 0, 1.0, roots)
        if is_sparse_matrix(graph):
            graph.data = graph.data / (roots[graph.indices] * np.repeat(roots, np.diff(graph.indptr)))
            return graph
        for start in range(0, len(graph), _ROWS):
            tile = graph[start : start + _ROWS]
            tile /= roots
            tile /= roots[start : start + _ROWS, None]
        return graph

    def _make_map(self, graph: Rows, known: Array, first: Array) -> LabelMap:
        weights = np.ones(len(first)) if self.kernel == "rbf" else None
        return LabelMap(graph, self.alpha, (1.0 - self.alpha) * first, None, False, weights, self._threads())
