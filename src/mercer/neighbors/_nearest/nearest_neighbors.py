"""The search for neighbours as an estimator."""

from typing import Any, ClassVar

from mercer._base import fitting, seed_sequence
from mercer._base.parameter import Choice, Function, Integer, MetricName, Real, Seed, attribute, parameter
from mercer._solver import Dense
from mercer._solver.neighbours.descent import FEWEST_ROWS, GraphIndex, NeighbourGraph, build_graph, measure_recall
from mercer._solver.neighbours.metric import Metric
from mercer._solver.neighbours.metric_search import Search
from mercer._source import Source
from mercer._source.namespace import is_sparse_matrix
from mercer._source.placement import is_on_device
from mercer._stored import Stored, floats, integers
from mercer._types import Array, Rows
from mercer.errors import ModelFileError, ParameterError
from mercer.neighbors._nearest.queries import NearestQueries, RadiusQueries
from mercer.neighbors._nearest.rows_model import ON_DEVICES, STATEMENT, PairMetric

_APPROXIMATE = "The neighbours come from an approximate graph: recall_ is the share of them that is right, measured."


class NearestNeighbors(NearestQueries, RadiusQueries):
    r"""Search for the nearest rows, and for the rows within a radius: exact unless another is asked for.

    The neighbours of a query x are the rows :math:`x_i` of least distance :math:`d(x, x_i)`; of equal distances the row
    with the lower index comes first, so that the answer is one and the same on any number of threads, by any algorithm
    and on any CPU.

    Attributes
    ----------
    recall_ : float
        Only with ``algorithm='nn_descent'``: the share of the true `n_neighbors` nearest rows that the graph knows,
        measured on 256 rows spread over the fit; 1.0 below 4096 rows, which are searched exactly.
    effective_metric_ : str or callable
        The metric in use: that of `metric`, or what the Minkowski metric is for `p`.
    effective_metric_params_ : dict
        Its arguments.
    n_samples_fit_ : int
        The number of rows.
    history_, converged_, n_iter_, certificate_ :
        One step of objective 0: nothing is optimised; ``certificate_`` says whether neighbours are exact.

    Notes
    -----
    Comparing all pairs takes O(m n d), at about the speed of a matrix product in float32: products find candidates, and
    exact distances in float64 decide. The tree takes O(n d log n) to build; a query then visits few leaves where rows
    have few intrinsic dimensions. Cosine distances are searched as Euclidean ones between rows of length one. Sparse
    rows are compared by sparse products. No table of all pairs is ever held.

    ``'nn_descent'`` takes about O(n^1.1 d) to build the graph. Trees over six random projections give a first one, then
    every row looks at the neighbours of its neighbours until few change. A new query follows edges from 256 rows spread
    over the fit. The same seed gives the same bits on any number of threads. Distances are exact, the neighbours nearly
    so: expect a recall of 0.95 and more where rows have up to some ten intrinsic dimensions, and less for independent
    columns, where no row is much nearer than the others: look at ``recall_``. Below some 100 000 rows the exact search
    is usually faster.

    Rows of the fit are read into memory from files, streams and Dask; queries may be in any of these. Rows of torch and
    CuPy stay on their device, and so do the answers about the k nearest rows: products on the device find candidates,
    and their distances are computed again, so that the answers are those of the CPU.

    References
    ----------
    J. Bentley, Multidimensional binary search trees used for associative searching, 1975.
    W. Dong, C. Moses and K. Li, Efficient k-nearest neighbor graph construction for generic similarity measures, 2011.

    Examples
    --------
    >>> from mercer.neighbors import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0, 0.0], [0.0, 3.0], [4.0, 0.0]])
    >>> distances, indices = model.kneighbors([[0.0, 1.0]])
    >>> indices.tolist(), distances.tolist()
    ([[0, 1]], [[1.0, 2.0]])
    """

    n_neighbors: int = parameter(Integer(1), default=5, doc="How many neighbours :meth:`kneighbors` finds.")
    radius: float = parameter(Real(0), default=1.0, doc="How far :meth:`radius_neighbors` looks.")
    algorithm: str = parameter(
        Choice("auto", "ball_tree", "kd_tree", "brute", "nn_descent"),
        default="auto",
        doc="How rows are searched; the first four never change the answer. ``'brute'`` compares every query with "
        "every row. The tree names mean one tree of boxes, for the Euclidean metric and other p-norms; metrics "
        "that it does not know compare all. ``'auto'`` tries the tree on some queries and counts what it "
        "visits, and takes what is faster. ``'nn_descent'`` builds an approximate graph of neighbours, for "
        "hundreds of thousands of Euclidean rows and more; see the notes.",
    )
    metric: Any = parameter(
        MetricName() | Function() | PairMetric(),
        default="minkowski",
        after="leaf_size",
        doc="What d is: any metric of scikit-learn's ``pairwise_distances``, a function of two rows, or a "
        "``DistanceMetric``. ``'precomputed'``: `X` is a square matrix of distances, or a sparse graph that "
        "holds the near ones.",
    )
    random_state: Any = parameter(
        Seed(), default=None, after="n_jobs", doc="The seed of ``'nn_descent'``; the exact searches draw nothing."
    )

    _documents = {
        "leaf_size": "Taken for compatibility: leaves have 32 rows, which are compared by one vector operation.",
        "p": "The power of the Minkowski metric: 1 is the Manhattan, 2 the Euclidean distance.",
    }

    _places: ClassVar[tuple[str, ...]] = ON_DEVICES
    _stored: ClassVar[dict[str, Stored]] = {
        "_neighbours": integers("fitted, near", low=-1, below="fitted"),
        "_neighbour_distances": floats("fitted, near"),
        "_entries": integers("entries", low=0, below="fitted"),
        "recall_": floats(),
    }
    _neighbours: Array = attribute()
    _neighbour_distances: Array = attribute()
    _entries: Array = attribute()

    @fitting
    def fit(self, X: Any, y: Any = None) -> "NearestNeighbors":
        """Keep the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), rows in any other place, or distances of shape (n, n)
        """
        source = self._open_fit(X)
        rows = self._gather(source)[0]
        for name in NearestNeighbors._stored:
            # An earlier fit may have left a graph of other rows.
            self.__dict__.pop(name, None)
        if self.algorithm == "nn_descent":
            attributes = self._build_graph(source, rows)
            self._keep(source, rows, attributes, _APPROXIMATE if "_neighbours" in attributes else STATEMENT)
        else:
            self._keep(source, rows, {})
        return self

    def _build_graph(self, source: Source, rows: Rows) -> dict[str, Any]:
        """Return the graph of the rows and its recall as fitted attributes; few rows need no graph."""
        elsewhere = is_sparse_matrix(rows) or is_on_device(rows)
        if elsewhere or not self._settle_metric(rows).is_euclidean:
            what = f"rows as {type(rows).__name__}" if elsewhere else f"metric={self.metric!r}"
            raise ParameterError(
                f"NearestNeighbors: algorithm='nn_descent' is for dense rows in memory and the Euclidean metric; got "
                f"{what}. Use algorithm='auto'."
            )
        # A row has n - 1 others, which bounds the neighbours that the graph can list.
        k, threads = min(self.n_neighbors, rows.shape[0] - 1), self._threads()
        if rows.shape[0] < FEWEST_ROWS:
            return {"recall_": 1.0}
        seed = seed_sequence(self.random_state)
        graph = Dense(lambda: build_graph(rows, k, seed, threads, type(self).__name__), heavy=True).answer(source)
        return {
            "_neighbours": graph.neighbours,
            "_neighbour_distances": graph.distances,
            "_entries": graph.entries,
            "recall_": measure_recall(rows, graph, k, threads),
        }

    def _check_structure(self) -> None:
        if hasattr(self, "_neighbours") and self._neighbours.shape[0] != self._fit_X.shape[0]:
            raise ModelFileError(
                f"NearestNeighbors: the graph must have a line for each of {self._fit_X.shape[0]} rows; the file has "
                f"{self._neighbours.shape[0]}. Save the model again."
            )

    @property
    def _has_graph(self) -> bool:
        return self.algorithm == "nn_descent" and hasattr(self, "_neighbours")

    def _open_search(self, rows: Rows, metric: Metric, threads: int) -> Search:
        if not self._has_graph:
            return super()._open_search(rows, metric, threads)
        graph = NeighbourGraph(self._neighbours, self._neighbour_distances, self._entries)
        return GraphIndex(rows, graph, threads, type(self).__name__)

    def _nearest(self, rows: Rows, k: int, threads: int, stay: bool = False) -> tuple[Array, Array]:
        if self._has_graph and rows is None and k <= self._neighbours.shape[1]:
            return self._neighbour_distances[:, :k].copy(), self._neighbours[:, :k].astype("intp")
        return super()._nearest(rows, k, threads, stay)
