"""UMAP: a map in few dimensions whose fuzzy graph of neighbours is near that of the rows.

Of many rows NN-descent finds the neighbours where that takes less time than an exact search. Targets change the graph:
edges between classes weaken, or rows with near targets are neighbours too.
"""

import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_array, check_consistent_length

from mercer._base import Estimator, check_new_rows, fitting, seed_sequence
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Function, Integer, Nothing, Options, Real, Seed, Text, attribute, parameter
from mercer._base.randomness import draw_seed
from mercer._solver.neighbours.descent import FEWEST_ROWS, build_graph
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.manifold._tsne.affinities import find_nearest, find_nearest_known, is_euclidean
from mercer.manifold._tsne.placement import check_map
from mercer.manifold._umap.fuzzy_graph import UNLABELLED, divide_by_class, intersect, join_sets, weigh_neighbours
from mercer.manifold._umap.layout import (
    Layout,
    LayoutEngine,
    LayoutState,
    Rules,
    find_curve,
    schedule_edges,
)
from mercer.manifold._umap.start import make_first_map


def join_targets(
    graph: csr_array, rows: Any, y: Any, metric: Any, weight: float, n_neighbors: int, threads: int
) -> csr_array:
    """Return a graph of rows joined with their targets: classes (``metric="categorical"``), or numbers."""
    given = np.asarray(to_numpy(y))
    check_consistent_length(rows, given)
    if isinstance(metric, str) and metric == "categorical":
        return divide_by_class(graph, encode_classes(given), weight)
    targets = check_array(given.reshape(len(given), -1), dtype=np.float64, input_name="y")
    k = min(n_neighbors, len(targets)) - 1
    distances, columns = find_nearest("UMAP", targets, k, metric, None, threads)
    table, _, _ = weigh_neighbours(distances, columns, len(targets), 1.0)
    return intersect(graph, join_sets(table, 1.0), weight)


def encode_classes(y: Array) -> Array:
    """Return classes as numbers from 0 on; -1 for rows whose label is the number -1, which have no class."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.ndim != 1:
        raise DataError(
            f"UMAP: y must have one class for each row with target_metric='categorical'; got shape {y.shape}. Pass one "
            f"column, or set target_metric='euclidean' for numbers."
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError("UMAP: Input y contains NaN or infinity. Label rows without a class -1.")
    _, codes = np.unique(y.astype(str) if y.dtype == object else y, return_inverse=True)
    codes = codes.reshape(-1)
    return np.where(y == UNLABELLED, UNLABELLED, codes) if y.dtype.kind in "if" else codes


def find_nearest_soon(
    rows: Any, k: int, metric: Any, metric_params: dict[str, Any] | None, threads: int
) -> tuple[Array, Array] | None:
    """Return the distances of each row to about its `k` nearest others and their indices, or None.

    None stands for exact neighbours, where these cost less. The seed of the descent is fixed: a map depends on the seed
    of the fit by its start and its draws alone.
    """
    if not is_euclidean(metric, rows) or metric_params or rows.shape[0] < FEWEST_ROWS:
        return None
    table = np.ascontiguousarray(rows)
    graph = build_graph(table, k, np.random.SeedSequence(0), threads, "UMAP")
    if (graph.neighbours[:, :k] < 0).any():
        return None
    return graph.distances[:, :k], graph.neighbours[:, :k]


# Epochs of a fit by default, to this many rows and beyond, as in umap-learn.
_FEW_ROWS = 10_000
_EPOCHS = (500, 200)
# Epochs for new rows by default, and the share of the rate of the fit, as in umap-learn.
_NEW_EPOCHS = (100, 30)
_NEW_RATE = 0.25


class UMAP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Map of rows in few dimensions by uniform manifold approximation and projection.

    Row i has neighbours to a degree, one at the nearest row and less beyond it. The degrees
    :math:`w_{ij}` of the fuzzy union of all neighbourhoods are the weights of a graph. On the map, rows are neighbours
    to the degree :math:`q_{ij} = 1 / (1 + a \|y_i - y_j\|^{2b})`. The places :math:`y_i` lower the cross-entropy

    .. math:: -\sum_{i \ne j} w_{ij} \log q_{ij} + \gamma (1 - w_{ij}) \log(1 - q_{ij}),

    by stochastic gradient steps: in an epoch, edges are drawn in proportion to their weights, and each draws rows that
    repel it, in the place of all others.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components), float32
        The map.
    graph_ : sparse array of shape (n, n)
        The weights w, symmetric.
    a_, b_ : float
        The curve of the map.
    sigma_, rho_ : ndarray of shape (n,)
        The width of each row's neighbourhood, and the distance up to which membership is full.
    n_neighbors_ : int
        Neighbours used, the row itself counted: fewer than asked for where there are fewer rows.
    training_rows_ : array of shape (n, d) or None
        The rows of the fit, which `transform` looks for neighbours in; None for precomputed distances.
    n_iter_ : int
        Times at which the map was measured.
    history_ : dict of ndarray
        Ten times in a fit: ``objective`` (an estimate of the loss that draws stand for, per row, from up to 16 384
        edges and pairs), ``epoch``, ``seconds``.
    certificate_ : Certificate
        There is none: steps end when the rate has fallen to zero, and nothing bounds the distance to a minimum.

    Notes
    -----
    An epoch takes O(n n_neighbors) time. Up to 4096 rows, under metrics other than the Euclidean one and for new rows,
    neighbours are exact; else they come from NN-descent. All points move at once, four times an epoch, from the places
    before, and the draws are a hash of the seed, the step and the edge: one seed gives the same bits with any number of
    threads. Distances between far groups mean little, as in any such map. Rows must be in memory.

    References
    ----------
    L. McInnes, J. Healy and J. Melville, UMAP: uniform manifold approximation and projection, 2018.
    W. Dong, M. Charikar and K. Li, Efficient k-nearest neighbor graph construction, 2011.

    See Also
    --------
    TSNE : Slower for many rows; its objective has a gradient that certifies it.
    SpectralEmbedding : The eigenvectors that a map of UMAP starts from.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import UMAP
    >>> X = np.random.default_rng(0).normal(size=(120, 5)) + np.repeat([[0.0], [9.0]], 60, axis=0)
    >>> places = UMAP(random_state=0).fit_transform(X)
    >>> gap = np.linalg.norm(places[:60].mean(axis=0) - places[60:].mean(axis=0))
    >>> places.shape, bool(gap > 3 * places[:60].std())
    ((120, 2), True)
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_neighbors: int = parameter(
        Integer(2),
        default=15,
        kw_only=False,
        doc="Nearest rows of a row, itself counted; more show more of the large structure.",
    )
    n_components: int = parameter(Integer(1), default=2, kw_only=False, doc="Dimensions of the map.")
    metric: Any = parameter(
        Text() | Function(),
        default="euclidean",
        doc="A metric of :func:`mercer.metrics.pairwise_distances`, or ``'precomputed'``: `X` is the matrix of "
        "distances; a sparse one holds those of each row to its neighbours.",
    )
    metric_kwds: dict[str, Any] | None = parameter(
        Options() | Nothing(), default=None, doc="More arguments of the metric."
    )
    output_metric: str = parameter(
        Choice("euclidean"), default="euclidean", doc="Distance on the map; no other one is here."
    )
    n_epochs: int | None = parameter(
        Integer(0) | Nothing(),
        default=None,
        doc="Epochs; None means 500 up to 10 000 rows and 200 beyond. 0 keeps the first map.",
    )
    learning_rate: float = parameter(
        Real(0, closed="neither"), default=1.0, doc="Rate of the first epoch; it falls linearly to zero."
    )
    init: Any = parameter(
        Choice("spectral", "random", "pca") | ArrayRule(),
        default="spectral",
        doc="The first map: eigenvectors of the graph, draws, principal components, or places of shape (n, "
        "n_components).",
    )
    min_dist: float = parameter(
        Real(0), default=0.1, doc="Distance on the map up to which rows are full neighbours; at most `spread`."
    )
    spread: float = parameter(
        Real(0, closed="neither"), default=1.0, doc="Distance on the map in which a membership falls by a factor e."
    )
    set_op_mix_ratio: float = parameter(
        Real(0, 1), default=1.0, doc="Share of the fuzzy union of neighbourhoods; 0 takes their intersection."
    )
    local_connectivity: float = parameter(
        Real(0), default=1.0, doc="Neighbours whose membership is full; parts of numbers interpolate."
    )
    repulsion_strength: float = parameter(Real(0), default=1.0, doc="Factor of the repulsion, gamma.")
    negative_sample_rate: int = parameter(
        Integer(0, 500), default=5, doc="Rows that repel a row at each draw of one of its edges."
    )
    a: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="Of the curve; None fits it to `min_dist` and `spread`.",
    )
    b: float | None = parameter(
        Real(0, closed="neither") | Nothing(), default=None, doc="Of the curve; given together with `a`."
    )
    random_state: Any = parameter(Seed(), default=None)
    target_n_neighbors: int = parameter(
        Integer(-1), default=-1, doc="Neighbours by their targets, where these are numbers; -1 means `n_neighbors`."
    )
    target_metric: Any = parameter(
        Text() | Function(),
        default="categorical",
        doc="How targets differ: ``'categorical'`` for classes (-1 is an unknown one), or a metric for numbers, "
        "such as ``'euclidean'``.",
    )
    target_weight: float = parameter(
        Real(0, 1), default=0.5, doc="Weight of the targets: 0 follows the rows, 1 the targets."
    )
    transform_seed: Any = parameter(Seed(), default=42, doc="Seed of `transform`.")
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)
    verbose: int = parameter(Integer(0), default=0)
    max_time: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="Seconds after which the fit ends with the map so far."
    )

    _objective_moves = None
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the neighbours of all rows and their graph are kept while the map is made",
        "row order": "draws follow the order of rows: another map",
    }

    embedding_: Array = attribute()
    training_rows_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "embedding_": floats("rows, components"),
        "graph_": floats("rows, rows", sparse=True),
        "a_": floats(),
        "b_": floats(),
        "sigma_": floats("rows"),
        "rho_": floats("rows"),
        "n_neighbors_": integers(low=2),
        "training_rows_": floats("rows, columns | none", sparse=True, finite=True),
        "_mean_distance": floats(),
    }
    _check_structure = check_map
    _takes_sparse = True
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None) -> "UMAP":
        """Find the map.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or distances of shape (n, n)
        y : array-like of shape (n,), or (n, targets) for numbers, default=None
            Targets that the map follows too.
        """
        self._check_curve()
        source = self._open(X, accept_sparse="csr")
        rows = source.whole()
        given = self._make_graph(rows)
        if y is not None:
            given["graph_"] = self._join_targets(given["graph_"], rows, y)
        layout = self._make_layout(rows, given)
        given["training_rows_"] = None if self._is_given else rows
        outcome = self._drive(layout.solve, source, max_steps=11, attributes=given)
        self._conclude(outcome)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the map, and return it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or distances of shape (n, n)
        y : array-like of shape (n,), or (n, targets) for numbers, default=None
            Targets that the map follows too.
        """
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Array:
        """Return places on the map for new rows; the map itself stays as it is.

        Each row starts at the weighted mean of the places of its neighbours among the rows of the fit, and follows its
        own edges for a third of the epochs of the fit, by default 100, or 30 for more than 10 000 rows. A row at
        distance zero from a row of the fit gets the place of that row, so that rows of the fit get their own. New rows
        do not see one another.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or distances to the rows of the fit, of shape (m, n)
        """
        rows = check_new_rows(self, X, accept_sparse="csr")
        n, k = len(self.embedding_), self.n_neighbors_
        distances, columns = find_nearest_known(
            "UMAP", rows, self.training_rows_, min(k, n), self.metric, self.metric_kwds, self._threads()
        )
        # A new row is no neighbour of its own: one neighbour less is full, as in umap-learn.
        connected = max(0.0, self.local_connectivity - 1.0)
        weights, _, _ = weigh_neighbours(distances, columns, n, connected, self._mean_distance)
        places = self._place(weights)
        known = distances[:, 0] == 0
        places[known] = self.embedding_[columns[known, 0]]
        return places

    def _place(self, weights: csr_array) -> Array:
        """Return places on the map for new rows with these memberships of rows of the fit."""
        m = weights.shape[0]
        sums = np.asarray(weights.sum(axis=1)).ravel()
        places = ((weights @ self.embedding_) / np.where(sums > 0, sums, 1.0)[:, None]).astype(np.float32)
        epochs = _NEW_EPOCHS[m > _FEW_ROWS] if self.n_epochs is None else self.n_epochs // 3
        rules = self._rules(self.a_, self.b_, epochs, _NEW_RATE * self.learning_rate, self.transform_seed)
        edges = schedule_edges(weights, epochs, mutual=False)
        return LayoutEngine(edges, rules, places, self._threads(), self.embedding_).run(places, 0, epochs)

    def _check_curve(self) -> None:
        if (self.a is None) != (self.b is None):
            raise ParameterError(
                f"UMAP: a and b must be given together, or neither; got a={self.a!r} and b={self.b!r}. Give both, or "
                f"min_dist and spread."
            )
        if self.a is None and self.min_dist > self.spread:
            raise ParameterError(
                f"UMAP: min_dist must be less than or equal to spread; got min_dist={self.min_dist:g} and "
                f"spread={self.spread:g}. Lower min_dist, or raise spread."
            )

    def _make_graph(self, rows: Any) -> dict[str, Any]:
        """Return the graph of the rows, and what was found on the way."""
        n = rows.shape[0]
        if self._is_given and rows.shape[1] != n:
            raise DataError(
                f"UMAP: X should be a square distance matrix with metric='precomputed'; got shape {rows.shape}. Give "
                f"the distances of all rows to all rows."
            )
        if self._is_given and isinstance(self.init, str) and self.init == "pca":
            raise UnsupportedError(
                "UMAP: init='pca' needs rows: distances have no principal components; got metric='precomputed'. Use "
                "init='spectral', 'random' or an array."
            )
        k = self._count_neighbours(n)
        distances, columns = self._find_neighbours(rows, k - 1)
        mean = float(distances.mean()) * (k - 1) / k
        table, sigma, rho = weigh_neighbours(distances, columns, n, self.local_connectivity, mean)
        graph = join_sets(table, self.set_op_mix_ratio)
        return {"graph_": graph, "sigma_": sigma, "rho_": rho, "n_neighbors_": k, "_mean_distance": mean}

    def _find_neighbours(self, rows: Any, k: int) -> tuple[Array, Array]:
        found = find_nearest_soon(rows, k, self.metric, self.metric_kwds, self._threads())
        if found is None:
            found = find_nearest("UMAP", rows, k, self.metric, self.metric_kwds, self._threads())
        distances, columns = found
        return distances.astype(np.float64, copy=False), columns

    def _count_neighbours(self, n: int) -> int:
        if n < 2:
            raise DataError(f"UMAP: n_samples = {n}, but a map needs at least 2 rows. Give more rows.")
        if self.n_neighbors > n:
            warnings.warn(
                f"UMAP: n_neighbors must be at most the number of rows, the row itself counted; got {self.n_neighbors} "
                f"and {n} rows, so all {n} are neighbours. Lower n_neighbors, or give more rows.",
                UserWarning,
                stacklevel=4,
            )
        return min(self.n_neighbors, n)

    def _join_targets(self, graph: csr_array, rows: Any, y: Any) -> csr_array:
        k = self.n_neighbors if self.target_n_neighbors == -1 else self.target_n_neighbors
        if k < 2:
            raise ParameterError(
                f"UMAP: target_n_neighbors must be at least 2, or -1 for n_neighbors; got {k}. Raise it."
            )
        return join_targets(graph, rows, y, self.target_metric, self.target_weight, k, self._threads())

    def _make_layout(self, rows: Any, given: dict[str, Any]) -> Layout:
        """Return the solver, and add the curve to what is `given`."""
        n, graph = rows.shape[0], given["graph_"]
        a, b = find_curve(self.spread, self.min_dist) if self.a is None else (self.a, self.b)
        given |= {"a_": float(a), "b_": float(b)}  # type: ignore[arg-type]
        epochs = _EPOCHS[n > _FEW_ROWS] if self.n_epochs is None else self.n_epochs
        start, draws = seed_sequence(self.random_state).spawn(2)
        rules = self._rules(given["a_"], given["b_"], epochs, self.learning_rate, draws)
        first = partial(make_first_map, self.init, rows, graph, self.n_components, start, is_given=self._is_given)
        return Layout(schedule_edges(graph, epochs, mutual=True), rules, first, self._threads())

    def _rules(self, a: float, b: float, epochs: int, rate: float, seed: Any) -> Rules:
        word = int(seed.generate_state(1)[0]) if isinstance(seed, np.random.SeedSequence) else draw_seed(seed)
        return Rules(a, b, self.repulsion_strength, self.negative_sample_rate, rate, epochs, word)

    @property
    def _is_given(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _fitted(self, state: LayoutState) -> dict[str, Any]:
        return {"embedding_": np.asarray(state.place, np.float32)}

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_given
        # Maps are float32 whatever the rows are, as in umap-learn.
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
