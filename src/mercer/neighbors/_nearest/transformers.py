"""Rows turned into graphs of their neighbours, for models that take precomputed distances."""

from typing import Any, ClassVar

from mercer._base import fitting
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.parameter import Choice, Function, Integer, MetricName, Real, parameter
from mercer._documentation import compose_docstring
from mercer._types import Rows
from mercer.neighbors._nearest.queries import SHARED, NearestQueries, RadiusQueries
from mercer.neighbors._nearest.rows_model import PairMetric, RowsModel


class GraphMaker(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowsModel):
    """What the two transformers share: the rows of the fit, and the number of columns of a graph."""

    mode: str = parameter(
        Choice("distance", "connectivity"), default="distance", doc="Whether entries are distances or ones."
    )
    metric: Any = parameter(
        MetricName() | Function() | PairMetric(),
        default="minkowski",
        after="leaf_size",
        doc="As in :class:`NearestNeighbors`.",
    )

    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "the columns of a graph are the rows of the fit, in their order"
    }

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    @fitting
    def fit(self, X: Any, y: Any = None) -> "GraphMaker":
        """Keep the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), rows in any other place, or distances of shape (n, n)
        """
        source = self._open_fit(X)
        self._keep(source, self._gather(source)[0], {})
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Rows:
        """Fit to `X` and return its graph."""
        return self.fit(X).transform(X)


class KNeighborsTransformer(GraphMaker, NearestQueries):
    """Rows turned into the graph of their k nearest rows of the fit.

    Entry (i, j) of the sparse graph says that row j of the fit is among the nearest of query i: as the distance, or as
    a one. A query that is a row of the fit counts itself; with ``mode='distance'`` one neighbour more is kept for that,
    so that models with ``metric='precomputed'`` find k others.

    Attributes
    ----------
    effective_metric_, effective_metric_params_ : str or callable, dict
        The metric in use and its arguments.
    n_samples_fit_ : int
        The number of rows of the fit: the columns of graphs.
    %(fitted)s

    Examples
    --------
    >>> from mercer.neighbors import KNeighborsTransformer
    >>> X = [[0.0], [1.0], [3.0]]
    >>> KNeighborsTransformer(n_neighbors=1).fit_transform(X).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    n_neighbors: int = parameter(Integer(1), default=5, after="mode", doc="The number of neighbours.")
    # The graph is one sparse matrix, which a Dask array cannot hold.
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream")
    _needs_rows: ClassVar[str] = "it searches the neighbours of every row among all rows"

    def transform(self, X: Any) -> Rows:
        """Return the graph of the nearest rows of the fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), rows in any other place, or distances of shape (m, n)

        Returns
        -------
        graph : CSR matrix of shape (m, n)
            The entries of a row are in the order of rising distances.
        """
        graph = self.kneighbors_graph(X, self.n_neighbors + (self.mode == "distance"), self.mode)
        return graph.astype(self._fit_X.dtype, copy=False)


class RadiusNeighborsTransformer(GraphMaker, RadiusQueries):
    """Rows turned into the graph of the rows of the fit within a radius.

    Entry (i, j) of the sparse graph says that row j of the fit is within `radius` of query i: as the distance, or as a
    one. A query that is a row of the fit has an entry for itself.

    Attributes
    ----------
    effective_metric_, effective_metric_params_ : str or callable, dict
        The metric in use and its arguments.
    n_samples_fit_ : int
        The number of rows of the fit: the columns of graphs.
    %(fitted)s

    Examples
    --------
    >>> from mercer.neighbors import RadiusNeighborsTransformer
    >>> X = [[0.0], [1.0], [3.0]]
    >>> RadiusNeighborsTransformer(radius=2.0).fit_transform(X).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]]
    """

    _needs_rows: ClassVar[str] = "it searches the neighbours of every row among all rows"

    __doc__ = compose_docstring(__doc__, SHARED)
    radius: float = parameter(Real(0), default=1.0, after="mode", doc="How far a row may be.")
    # Lists of any length are joined in memory.
    _places: ClassVar[tuple[str, ...]] = ("memory",)
    _depends_on_units = ("columns", "scale")

    def transform(self, X: Any) -> Rows:
        """Return the graph of the rows of the fit within the radius.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), or distances of shape (m, n)

        Returns
        -------
        graph : CSR matrix of shape (m, n)
            The entries of a row are in the order of rising distances.
        """
        graph = self.radius_neighbors_graph(X, mode=self.mode, sort_results=True)
        return graph.astype(self._fit_X.dtype, copy=False)
