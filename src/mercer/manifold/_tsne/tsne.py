"""t-SNE: a map in few dimensions whose similarities follow those of the rows, and the choice of its method."""

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator, check_new_rows, fitting, seed_sequence
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Function, Integer, Nothing, Options, Real, Seed, Text, attribute, parameter
from mercer._source.device.source import DeviceSource
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix, to_numpy
from mercer._source.opening import place_of
from mercer._stored import Stored, floats, texts
from mercer._types import Array
from mercer.errors import DataError, UnsupportedError
from mercer.manifold._tsne._device.affinities import check_device, find_affinities_there, open_engine
from mercer.manifold._tsne.affinities import (
    Affinities,
    check_perplexity,
    count_neighbours,
    find_affinities,
    find_distances,
    find_nearest_known,
    list_perplexities,
    weigh_all,
    widen_rows,
)
from mercer.manifold._tsne.descent import EmbeddingState, Engine, ExactEngine, MapDescent, Phase, TreeEngine
from mercer.manifold._tsne.divergence import GAUSSIAN, measure_slope, sum_divergence
from mercer.manifold._tsne.grid import GridEngine
from mercer.manifold._tsne.placement import check_map, make_first_map, place_rows

# Nanoseconds of one thread in an iteration, at perplexity 30: CPU time on digits, with AVX-512, at 100 to 400 points
# for all pairs, at 100 to 60 000 for the tree, and at 1000 to 60 000 for the grid. Only their ratios matter.
# All pairs: a pair of points.
_PAIR = 2.3
# Tree: a point, for each doubling of the number of points. 24 at 1000 points, 33 at 16 000, 38 at 60 000.
_TREE_LEVEL = 35.0
# Grid: a point, its edges included.
_GRID_POINT = 340.0
# Grid: the transforms, per unit of area of the map.
_GRID_AREA = 600.0
# The area of a map of thousands of points, in square units, as a mean over 1000 iterations: with 16 000 points it was
# 131 x 136 after 450 of them, with 10 000 points 236 x 235 after all.
_AREA = 3e4
# What all pairs may take longer than the tree, in nanoseconds: their forces are exact, and 0.05 s of 1000 iterations
# are not noticed.
_PRICE_OF_EXACTNESS = 5e4
# The least learning rate of 'auto', as in scikit-learn.
_LEAST_RATE = 50.0
# Momentum of the early phase and of the rest, as in the paper.
_MOMENTUM = (0.5, 0.8)


def is_precomputed(metric: Any) -> bool:
    """Return whether rows are given as distances."""
    return isinstance(metric, str) and metric == "precomputed"


def weigh_pairs(model: Any, rows: Any, method: str) -> Affinities:
    """Return the affinities of all pairs of rows, or of each row with its neighbours, as the method needs them."""
    n, threads = rows.shape[0], model._threads()
    if method == "exact":
        require_memory("TSNE", 40.0 * n * n, f"the {n} x {n} affinities", "use method='barnes_hut'")
        distances = find_distances("TSNE", rows, None, model.metric, model.metric_params)
        return weigh_all(distances, model.perplexity, threads)
    return find_affinities("TSNE", rows, model.perplexity, model.metric, model.metric_params, threads)


def choose_method(model: Any, rows: Any) -> str:
    """Return the method to use; raise if the one asked for cannot do what else is asked for."""
    n = rows.shape[0]
    if is_precomputed(model.metric):
        check_distances(model, rows)
    if n < 2:
        raise DataError(f"TSNE: n_samples = {n}, but a map needs at least 2 rows. Give more rows.")
    check_perplexity("TSNE", model.perplexity, n)
    all_pairs = model.n_components > 3 or model.kernel != "student" or model.dof != 1
    if model.method == "fft" and (all_pairs or model.n_components != 2):
        raise UnsupportedError(
            "TSNE: method='fft' needs n_components=2, kernel='student' and dof=1; got n_components="
            f"{model.n_components}, kernel={model.kernel!r} and dof={model.dof:g}. Use method='auto'."
        )
    if all_pairs and model.method == "barnes_hut":
        raise UnsupportedError(
            "TSNE: 'n_components' should be inferior to 4 for the barnes_hut algorithm as it relies on quad-tree "
            f"or oct-tree, and kernel='student' with dof=1; got n_components={model.n_components}, "
            f"kernel={model.kernel!r} and dof={model.dof:g}. Use method='exact'."
        )
    if model.method != "auto":
        return model.method
    if all_pairs:
        return "exact"
    has_all_distances = not (is_precomputed(model.metric) and is_sparse_matrix(rows))
    return choose_cheapest(n, grid=model.n_components == 2, exact=has_all_distances)


def choose_cheapest(n: int, *, grid: bool, exact: bool) -> str:
    """Return the method whose iterations take the least time for `n` points; `grid` and `exact`: whether these can."""
    tree_time = _TREE_LEVEL * n * math.log2(n)
    if exact and _PAIR * n * n <= tree_time + _PRICE_OF_EXACTNESS:
        return "exact"
    grid_time = _GRID_POINT * n + _GRID_AREA * _AREA
    return "fft" if grid and grid_time < tree_time else "barnes_hut"


def check_distances(model: Any, distances: Any) -> None:
    """Raise if a matrix of distances cannot be used as asked for."""
    if isinstance(model.init, str) and model.init == "pca":
        raise UnsupportedError(
            'TSNE: The parameter init="pca" cannot be used with metric="precomputed": distances have no principal '
            "components. Use init='random' or an array."
        )
    if distances.shape[0] != distances.shape[1]:
        raise DataError(
            "TSNE: X should be a square distance matrix with metric='precomputed'; got shape "
            f"{distances.shape}. Give the distances of all rows to all rows."
        )
    if is_sparse_matrix(distances) and model.method == "exact":
        raise UnsupportedError(
            "TSNE: method='exact' needs a dense distance matrix, of all pairs; got a sparse one. Use "
            "method='barnes_hut', or X.toarray() if no distance is missing."
        )


class TSNE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Map of rows in few dimensions by t-distributed stochastic neighbour embedding.

    The affinities of rows are :math:`p_{ij} = (p_{j|i} + p_{i|j}) / 2n`, with :math:`p_{j|i} \propto \exp(-\|x_i -
    x_j\|^2 / 2 \sigma_i^2)` and :math:`\sigma_i` such that :math:`p_{\cdot|i}` has the given `perplexity`. The places
    :math:`y_i` minimise :math:`KL(p \| q) = \sum p_{ij} \log (p_{ij} / q_{ij})` of the similarities

    .. math:: q_{ij} = \frac{(1 + \|y_i - y_j\|^2)^{-1}}{\sum_{k \ne l} (1 + \|y_k - y_l\|^2)^{-1}}.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components), float32
        The map.
    kl_divergence_ : float
        The divergence at the end, with the sum over all pairs computed exactly up to 32 768 rows.
    learning_rate_ : float
        The rate of the early phase.
    sigma_ : ndarray of shape (n, number of perplexities)
        The widths :math:`\sigma_i`.
    perplexity_error_ : float
        The largest relative error of a row's perplexity.
    method_used_ : str
        ``'exact'``, ``'barnes_hut'`` or ``'fft'``.
    training_rows_ : array of shape (n, d) or None
        The rows of the fit, which `transform` looks for neighbours in; None for precomputed distances.
    n_iter_ : int
        Iterations taken.
    history_ : dict of ndarray
        Every 50 iterations: ``objective`` (the divergence), ``gradient_norm``, ``iteration``, ``seconds``.
    converged_ : bool
        Whether the descent ended before `max_iter`.
    certificate_ : Certificate
        ``"gradient norm"``: the length of the gradient of the divergence at the map, and how well the perplexities are
        met.

    Notes
    -----
    An iteration of Barnes-Hut takes O(n log n) time, one of all pairs O(n^2). The search for neighbours is exact. The
    result has the same bits with any number of threads. A map depends on its start: distances between far groups mean
    little, and another seed may place groups elsewhere. With ``method="fft"`` or ``"auto"`` rows may be torch or CuPy
    arrays on a device, where neighbours, affinities and all iterations are then computed; same seed, same bits.

    References
    ----------
    L. van der Maaten and G. Hinton, Visualizing data using t-SNE, 2008.
    L. van der Maaten, Accelerating t-SNE using tree-based algorithms, 2014.
    D. Kobak and P. Berens, The art of using t-SNE for single-cell transcriptomics, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import TSNE
    >>> X = np.random.default_rng(0).normal(size=(120, 5)) + np.repeat([[0.0], [9.0]], 60, axis=0)
    >>> model = TSNE(perplexity=15, random_state=0).fit(X)
    >>> gap = np.linalg.norm(model.embedding_[:60].mean(axis=0) - model.embedding_[60:].mean(axis=0))
    >>> model.embedding_.shape, bool(gap > 10)
    ((120, 2), True)
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_components: int = parameter(
        Integer(1), default=2, kw_only=False, doc='Dimensions of the map; more than three need ``method="exact"``.'
    )
    perplexity: Any = parameter(
        Real(0, closed="neither") | ArrayRule(),
        default=30.0,
        doc="A soft count of each row's neighbours, at least 1 and less than the number of rows. Of several "
        "numbers, the mean of the affinities is taken: large perplexities keep the large structure, small ones "
        "the neighbours.",
    )
    early_exaggeration: float = parameter(
        Real(1, math.inf, "left"),
        default=12.0,
        doc="Factor of the affinities in the first 250 iterations, which gathers groups.",
    )
    learning_rate: float | str = parameter(
        Real(0, closed="neither") | Choice("auto"),
        default="auto",
        doc="Rate of the descent; ``'auto'`` is n / exaggeration / 4, with the exaggeration of the phase, and at "
        "least 50.",
    )
    max_iter: int = parameter(Integer(1), default=1000, doc="Iterations.")
    n_iter_without_progress: int = parameter(
        Integer(-1), default=300, doc="Iterations without a lower divergence after which the descent ends."
    )
    min_grad_norm: float = parameter(Real(0), default=1e-7, doc="Length of the gradient at which it ends.")
    metric: Any = parameter(
        Text() | Function(),
        default="euclidean",
        doc="A metric of :func:`mercer.metrics.pairwise_distances`, or ``'precomputed'``: `X` is the matrix of "
        "distances; a sparse one holds those of each row to its neighbours, at least three times the "
        "perplexity.",
    )
    metric_params: dict[str, Any] | None = parameter(
        Options() | Nothing(), default=None, doc="More arguments of the metric."
    )
    init: Any = parameter(
        Choice("pca", "random", "spectral") | ArrayRule(),
        default="pca",
        doc="The first map: principal components, draws, eigenvectors of the affinities, or places of shape (n, "
        "n_components).",
    )
    verbose: int = parameter(Integer(0), default=0, doc="Whether to print a line every 50 iterations.")
    random_state: Any = parameter(
        Seed(),
        default=None,
        doc='Seed of ``init="random"``. With ``init="pca"`` nothing is drawn unless axes have no variance.',
    )
    method: str = parameter(
        Choice("auto", "barnes_hut", "exact", "fft"),
        default="barnes_hut",
        doc="How repulsion is computed. ``'exact'``: all pairs, in float64, with affinities of all pairs. "
        "``'barnes_hut'``: cells of a tree by their moments up to the second, in float32. ``'fft'``: Fourier "
        "transforms on a grid, for maps of two dimensions. ``'auto'``: exact where `kernel`, `dof` or "
        "`n_components` ask for it, else the one whose iterations take the least time by measured costs: exact "
        "up to 217 rows, then Barnes-Hut, and, in two dimensions, Fourier transforms from 79 000 rows on.",
    )
    angle: float = parameter(
        Real(0, 1),
        default=0.5,
        doc="Cells are used whose side is below `angle` times their distance; 0 means all pairs.",
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)
    exaggeration: float = parameter(
        Real(0, closed="neither"),
        default=1.0,
        doc="Factor of the affinities after the early phase; above one, groups become tighter.",
    )
    kernel: str = parameter(
        Choice("student", "gaussian"),
        default="student",
        doc=r"The similarity on the map: ``'gaussian'`` is symmetric SNE, :math:`\exp(-\|y_i - y_j\|^2)`, by all "
        "pairs.",
    )
    dof: float = parameter(
        Real(0, closed="neither"),
        default=1.0,
        doc="Degrees of freedom of the t distribution; other values than 1 take all pairs. Small ones have heavier "
        "tails.",
    )
    max_time: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="Seconds after which the fit ends with the map so far."
    )

    _objective_moves = None
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the neighbours of all rows and their affinities are kept while the map is made",
        "row order": "a descent magnifies roundings, and sums follow the order of rows: another local minimum",
    }
    # Iterations of the early phase, and between two measurements of the divergence.
    _EXPLORATION_MAX_ITER = 250
    _N_ITER_CHECK = 50

    embedding_: Array = attribute()
    training_rows_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "learning_rate_": floats(),
        "method_used_": texts(),
        "sigma_": floats("rows, *"),
        "perplexity_error_": floats(),
        "training_rows_": floats("rows, columns | none", sparse=True, finite=True),
        "embedding_": floats("rows, components"),
        "kl_divergence_": floats(),
    }
    _check_structure = check_map
    _takes_sparse = True
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None) -> "TSNE":
        """Find the map.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or distances of shape (n, n)
        """
        if self.method not in ("fft", "auto") and place_of(X) == "device":
            raise UnsupportedError(
                f"TSNE: method must be 'fft' or 'auto' for rows on a device, where the grid computes repulsion; got "
                f"{self.method!r}. Set method='auto', or move the rows to memory."
            )
        source = self._open(X, accept_sparse="csr")
        if isinstance(source, DeviceSource):
            return self._fit_on_device(source)
        rows = widen_rows(source.whole(), self.metric)
        method = choose_method(self, rows)
        affinities = weigh_pairs(self, rows, method)
        solver = self._make_solver(rows, affinities, method)
        given = {
            "learning_rate_": self._rate(rows.shape[0], self.early_exaggeration),
            "method_used_": method,
            "sigma_": affinities.sigma,
            "perplexity_error_": affinities.error,
            "training_rows_": None if is_precomputed(self.metric) else source.whole(),
        }
        outcome = self._drive(solver.solve, source, max_steps=self._count_steps(), attributes=given)
        self.n_iter_ = outcome.state.iteration
        place, threads = outcome.state.place, self._threads()
        self.kl_divergence_ = sum_divergence(affinities, place, self._freedom, threads)
        self.certificate_ = solver.certify(measure_slope(affinities, place, self._freedom, threads))
        self._conclude(outcome)
        return self

    def _fit_on_device(self, source: DeviceSource) -> "TSNE":
        """Find the map of rows on a device: every step of it is computed there."""
        rows = source.whole()
        check_device(self)
        choose_method(self, rows)
        affinities = find_affinities_there(rows, list_perplexities(self.perplexity), source.placement)
        engine = open_engine(affinities.edges)
        first = partial(make_first_map, self.init, rows, self.n_components, seed_sequence(self.random_state))
        solver = self._make_descent(source.n_rows, engine, first, affinities.error)
        given = {
            "learning_rate_": self._rate(source.n_rows, self.early_exaggeration),
            "method_used_": "fft",
            "sigma_": to_numpy(affinities.sigma).astype(np.float64),
            "perplexity_error_": affinities.error,
            "training_rows_": rows,
        }
        outcome = self._drive(solver.solve, source, max_steps=self._count_steps(), attributes=given)
        self.n_iter_ = outcome.state.iteration
        engine.start(outcome.state)
        self.kl_divergence_, slope = engine.settle()
        self.certificate_ = solver.certify(slope)
        self._conclude(outcome)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the map, and return it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or distances of shape (n, n)
        """
        return self.fit(X).embedding_

    def transform(self, X: Any) -> Array:
        """Return places on the map for new rows; the map itself stays as it is.

        Each row starts at the weighted median of the places of its neighbours among the rows of the fit, and descends
        on its own divergence: attracted by these neighbours, repelled by all rows of the fit, and by no new row. A row
        at distance zero from a row of the fit gets the place of that row, so that rows of the fit get their own.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or distances to the rows of the fit, of shape (m, n)
        """
        rows = widen_rows(check_new_rows(self, X, accept_sparse="csr"), self.metric)
        n, d = self.embedding_.shape
        if self.kernel != "student" or self.dof != 1 or d > 3:
            raise UnsupportedError(
                "TSNE: transform needs kernel='student', dof=1 and at most 3 components; got "
                f"kernel={self.kernel!r}, dof={self.dof:g} and {d} components. Fit a map with these."
            )
        k = min(n, count_neighbours(n, self.perplexity))
        known_rows = None if is_precomputed(self.metric) else widen_rows(self.training_rows_, self.metric)
        distances, columns = find_nearest_known(
            "TSNE", rows, known_rows, k, self.metric, self.metric_params, self._threads()
        )
        places = place_rows(distances, columns, self.perplexity, self.embedding_, self._threads())
        known = distances[:, 0] == 0
        places[known] = self.embedding_[columns[known, 0]]
        return places.astype(self.embedding_.dtype)

    def _make_solver(self, rows: Any, affinities: Affinities, method: str) -> MapDescent:
        seed = seed_sequence(self.random_state)
        first = partial(make_first_map, self.init, rows, self.n_components, seed, affinities.joint)
        engine: Engine
        if method == "exact":
            engine = ExactEngine(affinities, self._freedom, self._threads())
        elif method == "fft":
            engine = GridEngine(affinities, self._threads())
        else:
            engine = TreeEngine(affinities, self.n_components, self.angle, self._threads())
        return self._make_descent(rows.shape[0], engine, first, affinities.error)

    def _make_descent(self, n: int, engine: Engine, first: Any, error: float) -> MapDescent:
        early = min(self._EXPLORATION_MAX_ITER, self.max_iter)
        phases = (
            Phase(early, self.early_exaggeration, _MOMENTUM[0], self._rate(n, self.early_exaggeration)),
            Phase(self.max_iter, self.exaggeration, _MOMENTUM[1], self._rate(n, self.exaggeration)),
        )
        every, patience = self._N_ITER_CHECK, self.n_iter_without_progress
        return MapDescent(engine, first, phases, every, self.min_grad_norm, patience, error)

    def _count_steps(self) -> int:
        return -(-self.max_iter // self._N_ITER_CHECK) + 1

    def _rate(self, n: int, exaggeration: float) -> float:
        if isinstance(self.learning_rate, str):
            return max(n / exaggeration / 4.0, _LEAST_RATE)
        return float(self.learning_rate)

    @property
    def _freedom(self) -> float:
        return GAUSSIAN if self.kernel == "gaussian" else float(self.dof)

    def _fitted(self, state: EmbeddingState) -> dict[str, Any]:
        places = state.place.astype(np.float32)
        return {"embedding_": places, "kl_divergence_": state.divergence, "n_iter_": state.iteration}

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.metric)
        # Maps are float32 whatever the rows are, as in scikit-learn.
        tags.transformer_tags.preserves_dtype = []
        # On a device repulsion is computed by the grid.
        if self.method in ("fft", "auto"):
            tags.places, tags.array_api_support = ("memory", "device"), True
        return tags
