"""Metric and non-metric multidimensional scaling by stress majorisation."""

import warnings
from collections.abc import Generator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array

from mercer._base import Estimator, check_new_rows, fitting, seed_sequence
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Options, Real, Seed, Text, parameter
from mercer._solver import Solution, Solver
from mercer._solver.restarts import Restarts, keep_best_run, keep_history_of
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.manifold._scaling.classical import ClassicalMDS
from mercer.manifold._scaling.dissimilarities import check_dissimilarities, compute_dissimilarities
from mercer.manifold._scaling.smacof import (
    ScalingState,
    Stress,
    certify,
    follow_order,
    majorise,
    measure_stress,
    place_points,
)


class MDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Multidimensional scaling: points whose distances are as near as possible to given dissimilarities.

    Metric scaling minimises the raw stress :math:`\sum_{i<j} (|y_i - y_j| - \delta_{ij})^2`. Non-metric scaling keeps
    only the order of the dissimilarities: :math:`\delta_{ij}` is replaced by the monotone regression of the distances
    on them, in every step. The method is stress majorisation, which never raises the stress.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The points.
    stress_ : float
        Their stress.
    dissimilarity_matrix_ : ndarray of shape (n_samples, n_samples)
        The dissimilarities.
    n_iter_ : int
        Steps of the start that was kept.
    history_ : dict of ndarray
        Per step of that start: ``objective``, the raw stress.
    certificate_ : Certificate
        ``"fixed point"``: the relative length of one more step. A stationary point may be a local minimum only.

    Notes
    -----
    A step takes O(n^2 n_components) operations in tiles that stay in a cache, and no memory beyond the n x n
    dissimilarities; non-metric steps sort nothing, since the order of the dissimilarities never changes. New rows are
    placed one by one where their own stress is least, the points of the fit held fast.

    References
    ----------
    J. Kruskal, Nonmetric multidimensional scaling: a numerical method, 1964. J. de Leeuw, Applications of convex
    analysis to multidimensional scaling, 1977. I. Borg and P. Groenen, Modern multidimensional scaling, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import MDS
    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> model = MDS().fit(np.hstack([corners, corners, corners]))
    >>> round(model.stress_, 6)
    0.0
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_components: int = parameter(Integer(1), default=2, kw_only=False, doc="Coordinates of a row.")
    metric_mds: bool = parameter(
        Boolean(), default=True, doc="Whether dissimilarities count by their values (True) or by their order only."
    )
    n_init: int = parameter(
        Integer(1),
        default=1,
        doc='Starts; the one with the least stress is kept. With ``init="classical_mds"`` there is one.',
    )
    init: str = parameter(
        Choice("classical_mds", "random", "warn"),
        default="warn",
        doc="First points: those of :class:`ClassicalMDS`, or random ones. 'warn', the default of scikit-learn, "
        "means 'classical_mds' here, without a warning.",
    )
    max_iter: int = parameter(Integer(1), default=300, doc="Most steps of a start.")
    verbose: int = parameter(Boolean() | Integer(0), default=0)
    eps: float = parameter(
        Real(0),
        default=1e-6,
        doc="A start ends when the stress falls by less than this share of the sum of squared distances.",
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)
    random_state: Any = parameter(Seed(), default=None, doc="Of random first points.")
    dissimilarity: str = parameter(
        Choice("deprecated", "euclidean", "precomputed"), default="deprecated", doc="The old name of `metric`."
    )
    metric: Any = parameter(
        Text() | Function() | Boolean(),
        default="euclidean",
        doc='The distance between rows, as scikit-learn\'s ``pairwise_distances`` takes it, or ``"precomputed"``. '
        "A boolean is the old meaning, that of `metric_mds`.",
    )
    metric_params: dict[str, Any] | None = parameter(
        Options() | Nothing(), default=None, doc="Further arguments of the metric."
    )
    normalized_stress: Any = parameter(
        Boolean() | Choice("auto"),
        default="auto",
        doc="Whether ``stress_`` is the root of the share of the sum of squared distances (Kruskal's stress-1) or "
        'the raw one; ``"auto"`` is True for non-metric scaling.',
    )
    max_time: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="Seconds after which the fit ends with the best points so far."
    )

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the dissimilarities of all pairs of rows are n^2 numbers, forecast before they are taken",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "dissimilarity_matrix_": floats("rows, rows"),
        "_X_fit": floats("rows, columns", finite=True),
        "embedding_": floats("rows, components"),
        "stress_": floats(),
    }
    _depends_on_units = ("columns", "place")

    @fitting
    @one_blas_thread()
    def fit(self, X: Any, y: Any = None, init: Any = None) -> "MDS":
        """Find the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) with ``metric="precomputed"``
            Rows, or dissimilarities.
        init : array-like of shape (n_samples, n_components) or None, default=None
            First points; they take the place of the parameter `init`.
        """
        metric, by_value = self._read_metric()
        source = self._open(X)
        rows = source.whole()
        if metric == "precomputed":
            D = check_dissimilarities("MDS", rows)
        else:
            if rows.shape[0] == rows.shape[1]:
                warnings.warn(
                    "MDS: The provided input is a square matrix: its rows are taken for points and their distances are "
                    "computed. Set metric='precomputed' if it holds dissimilarities.",
                    UserWarning,
                    stacklevel=4,
                )
            D = compute_dissimilarities("MDS", rows, metric, self.metric_params)
        first = self._check_first(init, len(D))
        dtype = source.host_dtype
        known = {"dissimilarity_matrix_": D.astype(dtype, copy=False)}
        known["_X_fit"] = None if metric == "precomputed" else rows.copy()
        solve = partial(self._solver, D, first, by_value)
        fitted = partial(self._describe, by_value=by_value, dtype=dtype)
        starts = self.n_init if first is None and self.init == "random" else 1
        outcome = self._drive(solve, source, fitted=fitted, max_steps=starts * self.max_iter, attributes=known)
        best, restart = outcome.state.choose()
        self.history_ = keep_history_of(restart, outcome.history)
        self.n_iter_ = best.steps
        self._conclude(outcome, "raise max_iter or eps")
        return self

    def fit_transform(self, X: Any, y: Any = None, init: Any = None) -> Array:
        """Find the points, and return them.

        Parameters
        ----------
        X, y, init
            As ``fit`` takes them.
        """
        return self.fit(X, init=init).embedding_

    @one_blas_thread()
    def transform(self, X: Any) -> Array:
        """Place rows where their stress is least, the points of the fit held fast.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n_samples) with ``metric="precomputed"``
            Rows, or their dissimilarities to the rows of the fit; one that equals a row of the fit gets its point.
        """
        rows = check_new_rows(self, X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            metric, by_value = self._read_metric()
        if self._X_fit is None:
            D = np.asarray(rows, dtype=np.float64)
        else:
            D = compute_dissimilarities("MDS", rows, metric, self.metric_params, self._X_fit)
        points = self.embedding_.astype(np.float64)
        targets = D
        if not by_value:
            # Without values, targets come from the monotone regression of the fit.
            targets = follow_order(np.asarray(self.dissimilarity_matrix_, dtype=np.float64), points, D)
        return place_points(points, D, targets, self.max_iter).astype(self.embedding_.dtype)

    def _read_metric(self) -> tuple[Any, bool]:
        """Return the metric and whether values count, under old names too."""
        metric, by_value = self.metric, self.metric_mds
        if self.dissimilarity != "deprecated":
            if not isinstance(metric, bool | np.bool_) and metric != "euclidean":
                raise ParameterError("MDS: You provided both `dissimilarity` and `metric`. Please use only `metric`.")
            warnings.warn("MDS: dissimilarity is the old name of metric; use metric.", FutureWarning, stacklevel=4)
        if isinstance(metric, bool | np.bool_):
            warnings.warn(f"MDS: Use metric_mds={metric} instead of metric={metric}.", FutureWarning, stacklevel=4)
            metric, by_value = "euclidean", bool(metric)
        return (metric if self.dissimilarity == "deprecated" else self.dissimilarity), by_value

    def _check_first(self, init: Any, n: int) -> Array | None:
        if init is None:
            return None
        first = check_array(init, dtype=np.float64, input_name="init")
        if first.shape[0] != n:
            raise DataError(
                f"MDS: init matrix should be of shape ({n}, {self.n_components}); got {first.shape}. Give one point "
                f"per row."
            )
        if self.n_init > 1:
            warnings.warn(
                f"MDS: Explicit initial positions passed: performing only one init of the MDS instead of "
                f"{self.n_init}; set n_init=1.",
                UserWarning,
                stacklevel=4,
            )
        return first

    def _solver(self, D: Array, first: Array | None, by_value: bool, state: Restarts | None) -> Solver:
        stress = Stress(D, self._threads())
        complete = partial(majorise, stress, metric=by_value, max_iter=self.max_iter, eps=self.eps)
        seed = np.asarray(seed_sequence(self.random_state).generate_state(4))
        starts = self.n_init if first is None and self.init == "random" else 1
        last: Restarts = yield from keep_best_run(partial(self._begin, D, first), complete, starts, seed, state)
        best = last.choose()[0]
        return Solution(last, best.converged, certify(best, self.eps), "" if best.converged else "max_iter")

    def _begin(
        self, D: Array, first: Array | None, seed: np.random.SeedSequence, number: int
    ) -> Generator[Any, Any, ScalingState]:
        """Return the first points of a start; a generator, though it asks for nothing."""
        if first is None and self.init == "random":
            first = np.random.default_rng(seed).uniform(size=(len(D), self.n_components))
        elif first is None:
            first = ClassicalMDS(self.n_components, metric="precomputed").fit(D).embedding_
        yield from ()
        return ScalingState(np.array(first, dtype=np.float64), np.inf, 0.0, np.inf)

    def _describe(self, state: Restarts, by_value: bool, dtype: Any) -> dict[str, Any]:
        best = state.choose()[0]
        normalized = not by_value if self.normalized_stress == "auto" else bool(self.normalized_stress)
        return {"embedding_": best.points.astype(dtype), "stress_": measure_stress(best, normalized)}

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = "precomputed" in (self.metric, self.dissimilarity)
        return tags


def smacof(
    dissimilarities: Any,
    *,
    metric: bool = True,
    n_components: int = 2,
    init: Any = None,
    n_init: int = 1,
    n_jobs: int | None = None,
    max_iter: int = 300,
    verbose: int = 0,
    eps: float = 1e-6,
    random_state: Any = None,
    return_n_iter: bool = False,
    normalized_stress: Any = "auto",
) -> Any:
    """Compute multidimensional scaling of dissimilarities by stress majorisation; see :class:`MDS`.

    Parameters
    ----------
    dissimilarities : array-like of shape (n, n)
        Symmetric and not negative.
    metric : bool, default=True
        Whether values count, or only their order.
    n_components : int, default=2
        Coordinates.
    init : array-like of shape (n, n_components) or None, default=None
        First points; None means random ones.
    n_init, n_jobs, max_iter, verbose, eps, random_state, normalized_stress
        As :class:`MDS` has them.
    return_n_iter : bool, default=False
        Whether to return the number of steps too.

    Returns
    -------
    points : ndarray of shape (n, n_components)
    stress : float
    n_iter : int
        With `return_n_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import smacof
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> points, stress = smacof(D, init=np.eye(3)[:, :2])
    >>> bool(stress < 1e-4)
    True
    """
    if init is not None:
        n_components = np.shape(init)[1]
    model = MDS(
        n_components,
        metric="precomputed",
        metric_mds=metric,
        init="random",
        n_init=n_init,
        n_jobs=n_jobs,
        max_iter=max_iter,
        verbose=verbose,
        eps=eps,
        random_state=random_state,
        normalized_stress=normalized_stress,
    ).fit(dissimilarities, init=init)
    result = model.embedding_, model.stress_
    return (*result, model.n_iter_) if return_n_iter else result
