"""The search for neighbours as an estimator."""

from typing import Any, ClassVar

from mercer._base import fitting
from mercer._base.parameter import Rule
from mercer.neighbors._nearest.queries import NearestQueries, RadiusQueries
from mercer.neighbors._nearest.rows_model import rules_of

__all__ = ["NearestNeighbors"]


class NearestNeighbors(NearestQueries, RadiusQueries):
    r"""Exact search for the nearest rows, and for the rows within a radius.

    The neighbours of a query x are the rows :math:`x_i` of least distance :math:`d(x, x_i)`; of equal distances the row
    with the lower index comes first, so that the answer is one and the same on any number of threads, by any algorithm
    and on any CPU.

    Parameters
    ----------
    n_neighbors : an integer in [1, inf), default=5
        How many neighbours :meth:`kneighbors` finds.
    radius : a number in [0, inf), default=1.0
        How far :meth:`radius_neighbors` looks.
    algorithm : one of 'auto', 'ball_tree', 'kd_tree', 'brute', default='auto'
        How rows are searched; never changes the answer. ``'brute'`` compares every query with every row. The tree names
        mean one tree of boxes, for the Euclidean metric and other p-norms; metrics that it does not know compare all.
        ``'auto'`` tries the tree on some queries and counts what it visits, and takes what is faster.
    leaf_size : an integer in [1, inf), default=30
        Taken for compatibility: leaves have 32 rows, which are compared by one vector operation.
    metric : the name of a metric or a callable or an object with a method pairwise, default='minkowski'
        What d is: any metric of scikit-learn's ``pairwise_distances``, a function of two rows, or a ``DistanceMetric``.
        ``'precomputed'``: `X` is a square matrix of distances, or a sparse graph that holds the near ones.
    p : a number in (0, inf) or None, default=2
        The power of the Minkowski metric: 1 is the Manhattan, 2 the Euclidean distance.
    metric_params : an instance of dict or None, default=None
        More arguments of the metric.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric in use: that of `metric`, or what the Minkowski metric is for `p`.
    effective_metric_params_ : dict
        Its arguments.
    n_samples_fit_ : int
        The number of rows.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.
    history_, converged_, n_iter_, certificate_ :
        One step of objective 0: nothing is optimised, and the neighbours are exact.

    Notes
    -----
    Comparing all pairs takes O(m n d), at about the speed of a matrix product in float32: products find candidates, and
    exact distances in float64 decide. The tree takes O(n d log n) to build; a query then visits few leaves where rows
    have few intrinsic dimensions. Cosine distances are searched as Euclidean ones between rows of length one. Sparse
    rows are compared by sparse products. No table of all pairs is ever held.

    Rows of the fit are read into memory, from wherever they are; queries may be in memory, files, streams and Dask.

    References
    ----------
    J. Bentley, Multidimensional binary search trees used for associative searching, 1975.

    Examples
    --------
    >>> from mercer.neighbors import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0, 0.0], [0.0, 3.0], [4.0, 0.0]])
    >>> distances, indices = model.kneighbors([[0.0, 1.0]])
    >>> indices.tolist(), distances.tolist()
    ([[0, 1]], [[1.0, 2.0]])
    """

    _parameters: ClassVar[dict[str, Rule]] = rules_of("n_neighbors", "radius")

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float | None = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: Any, y: Any = None) -> "NearestNeighbors":
        """Keep the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), rows in any other place, or distances of shape (n, n)
        y : ignored

        Returns
        -------
        self
        """
        source = self._open_fit(X)
        self._keep(source, self._gather(source)[0], {})
        return self
