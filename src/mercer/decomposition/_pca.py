"""Principal component analysis: the orthonormal directions of greatest variance.

Maximising variance along a unit vector is not a convex problem, and is solved by an eigenvector: the stationary points
of w^T C w + lambda (1 - w^T w) are C w = lambda w. No distribution is assumed; the Gaussian enters only in the
likelihood of :meth:`PCA.score`.
"""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.batches import forget_batches, open_batch
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Seed, parameter
from mercer._base.validation import check_finite
from mercer._solver import Outcome
from mercer._source import Source
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, floats, numbers
from mercer.decomposition._axes import PrincipalAxes, Task
from mercer.decomposition._direct import covariance_eigh, full, gram
from mercer.decomposition._iterative import arpack, iterate_subspace, power
from mercer.decomposition._policy import (
    SPARSE,
    check_count,
    choose_solver,
    count_effective_rows,
    count_iterations,
    works_from_sums,
)
from mercer.decomposition._projection import Projection
from mercer.errors import DataError


class PCA(Projection, LimitedEstimator):
    """Principal component analysis: the orthonormal directions that hold most of the variance.

    With C the covariance of the rows, the k components W maximise the variance of the scores, and so minimise the
    squared error of restoring the rows from them::

        max  trace(W C W^T)   subject to   W W^T = I

    Row i of ``components_`` is the i-th eigenvector of C, ``explained_variance_[i]`` its eigenvalue.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, by falling variance; the entry of largest magnitude in each is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (n_components_,)
        Variance of each score, its share of the total, and the norm of the scores.
    mean_, scale_ : ndarray of shape (n_features,)
        What is taken off the columns and what they are divided by; ``scale_`` is None unless `scale`.
    noise_variance_ : float
        Mean variance along the directions left out.
    n_components_ : int
    n_samples_ : int or float
        Rows, or their total weight; ``n_samples_seen_`` is the same after ``partial_fit``.
    solver_used_ : str
        The solver that ran.
    history_ : dict of ndarray
        The captured variance (``objective``), which rises step by step.
    certificate_ : Certificate
        Largest ``|C v - lambda v| / lambda_max`` over the components.

    Notes
    -----
    For n rows, d features, k components: O(n d^2 + d^3) for ``"covariance_eigh"`` and ``"full"`` with O(d^2) memory,
    O(n^2 d + n^3) and O(n^2) for ``"gram"``, O(n d k) an iteration and O(d k) for the others, which form the d x d
    scatter matrix instead where that takes less work. Rows are read in blocks and never copied whole; sparse rows stay
    sparse (not with ``"full"`` and ``"gram"``). One outlier can turn the first component: PCA is not robust.

    References
    ----------
    Tipping and Bishop (1999), Probabilistic principal component analysis. Minka (2000), Automatic choice of
    dimensionality for PCA. Zhu and Ghodsi (2006), Automatic dimensionality selection from the scree plot. Halko,
    Martinsson and Tropp (2011), Finding structure with randomness.

    Examples
    --------
    >>> from mercer.decomposition import PCA
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = PCA(n_components=0.95).fit(X)
    >>> model.n_components_, round(float(model.explained_variance_ratio_.sum()), 3)
    (2, 0.978)
    """

    n_components: Any = parameter(
        Integer(0) | Real(0, 1, "neither") | Choice("mle", "elbow") | Nothing(),
        default=None,
        kw_only=False,
        doc='How many components: a number; a share of the variance to exceed; ``"mle"``, Minka\'s evidence; '
        '``"elbow"``, the bend of the scree plot by profile likelihood; None for all. The last but None need an '
        "exact solver.",
    )
    copy: bool = parameter(
        Boolean(),
        default=True,
        doc="The rows are never overwritten, whatever this says; it is here so that scikit-learn's code runs.",
    )
    whiten: Any = parameter(
        Boolean() | Choice("zca"),
        default=False,
        doc='Divide scores by their standard deviations, so that their covariance is I; ``"zca"`` then turns them '
        "back to the features, the white rows nearest to the given ones.",
    )
    svd_solver: str = parameter(
        Choice("auto", "full", "covariance_eigh", "arpack", "randomized", "power", "gram"),
        default="auto",
        doc='Exact: ``"covariance_eigh"`` (one pass; squares the condition number), ``"full"`` (SVD through QR of '
        'blocks; one pass, keeps singular values down to 1e-16 of the largest), ``"gram"`` (n x n inner '
        'products, for wide rows). Iterative: ``"arpack"`` (Lanczos), ``"randomized"`` (subspace iteration), '
        '``"power"`` (one vector at a time, with deflation). ``"auto"`` chooses by shape as scikit-learn does, '
        'and ``"gram"`` for wide rows; where ``"covariance_eigh"`` would lose an axis that is asked for, ``"full"`` '
        "takes over.",
    )
    tol: float = parameter(
        Real(0, closed="left"),
        default=0.0,
        doc="Where the iterative solvers stop: the largest relative residual. 0 means machine precision for "
        '``"arpack"``, 1e-10 for ``"power"``, and no early stop for ``"randomized"``.',
    )
    iterated_power: Any = parameter(
        Integer(0) | Choice("auto"),
        default="auto",
        doc='Power iterations of ``"randomized"`` (``"auto"``: 7, or 4 for more than a tenth of the components); '
        'most iterations per component of ``"power"`` (``"auto"``: 1000).',
    )
    n_oversamples: int = parameter(Integer(1), default=10, doc='Extra random vectors of ``"randomized"``.')
    power_iteration_normalizer: str = parameter(
        Choice("auto", "QR", "LU", "none"),
        default="auto",
        doc='How ``"randomized"`` keeps its vectors apart between iterations; ``"auto"`` is ``"QR"``.',
    )
    random_state: Any = parameter(Seed(), default=None, doc="Of the iterative solvers' first vectors.")
    ddof: int = parameter(Integer(0, 1), default=1, doc="Variances divide by the total weight less this.")
    scale: bool = parameter(
        Boolean(), default=False, doc="Divide columns by their standard deviations first. This changes the components."
    )
    whiten_floor: float = parameter(
        Real(0, 1), default=0.0, doc="Whitening raises variances below this share of the largest to it."
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("axes, columns"),
        "mean_": floats("columns"),
        "explained_variance_": floats("axes"),
        "singular_values_": floats("axes"),
        "scale_": floats("columns | none"),
        "n_samples_": numbers(),
    }
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _objective_moves: ClassVar[str | None] = "up"
    _takes_sparse = True
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "PCA":
        """Find the components of `X`."""
        forget_batches(self)
        # The solver's first pass sees NaN and infinity in its sums, so that no pass of its own looks for them.
        source = self._open(X, sample_weight=sample_weight, accept_sparse=self._accept(X), ensure_all_finite=False)
        outcome = self._learn(source)
        self._check_enough_rows(source)
        self._conclude(outcome, "raise iterated_power or tol")
        return self

    @available_if(works_from_sums)
    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "PCA":
        """Find the components of these rows and of all that earlier calls were given.

        The moments of the rows add up over time, so the model is that of one ``fit`` with
        ``svd_solver="covariance_eigh"`` to all rows together, to rounding; nothing is cut off as in
        :class:`IncrementalPCA`. A batch is read once and not kept; d x d sums are. Parameters may change between calls.
        ``fit`` forgets all batches, and keeps nothing that a later batch could be added to.

        Returns
        -------
        PCA
            The fitted estimator, with the total weight of all rows so far in ``n_samples_seen_``.
        """
        source = open_batch(self, X, None, sample_weight, accept_sparse="csr")
        outcome = self._learn(source)
        self._conclude(outcome)
        return self

    def _learn(self, source: Source) -> Outcome:
        """Choose the solver and drive it; return the outcome."""
        n_rows = count_effective_rows(source)
        asked = "covariance_eigh" if source.place == "sums" else self.svd_solver
        solver = choose_solver(asked, self.n_components, n_rows, source.n_features, is_sparse=source.is_sparse)
        if solver == "gram":
            solver = self._without_gram(source)
        task = self._task(source, n_rows, solver)
        methods: dict[str, Any] = {
            "full": full,
            "covariance_eigh": covariance_eigh,
            "gram": partial(gram, n_rows=source.n_rows if solver == "gram" else 0),
            "arpack": arpack,
            "randomized": iterate_subspace,
            "power": power,
        }
        with np.errstate(invalid="ignore", over="ignore"):
            return self._drive(partial(methods[solver], task), source, attributes={"solver_used_": solver})

    def _without_gram(self, source: Source) -> str:
        """Return the solver for wide rows: ``"gram"`` if all rows are in memory, else ``"randomized"``."""
        if self.svd_solver == "gram":
            self._needs_memory(source, "svd_solver='gram'", "use svd_solver='randomized'")
        return "gram" if source.place == "memory" else "randomized"

    def _check_enough_rows(self, source: Source) -> None:
        """Check the number of rows again, since a stream knows it only at its end."""
        if source.place == "stream" and source.n_rows < source.n_features:
            raise DataError(
                f"PCA: {source.description} has {source.n_rows} rows and {source.n_features} columns; a stream must "
                f"have at least as many rows as columns. Join its blocks into one array."
            )

    def _accept(self, X: Any) -> Any:
        if is_sparse_matrix(X) and self.svd_solver not in SPARSE:
            raise TypeError(
                f"PCA: sparse rows need svd_solver to be one of {', '.join(map(repr, SPARSE))}; got "
                f"{self.svd_solver!r}, which would make them dense."
            )
        return "csr" if self.svd_solver in SPARSE else False

    def _task(self, source: Source, n_rows: int, solver: str) -> Task:
        limit = min(n_rows, source.n_features)
        wish = check_count(self.n_components, solver, n_rows, source.n_features)
        return Task(
            subject=type(self).__name__,
            n_components=wish,
            limit=limit,
            n_features=source.n_features,
            dtype=source.host_dtype,
            is_sparse=source.is_sparse,
            refuse=partial(self._refuse, source),
            scaled=self.scale,
            ddof=self.ddof,
            tol=self.tol,
            iterations=count_iterations(self.iterated_power, solver, wish, limit),
            n_oversamples=self.n_oversamples,
            normalizer={"auto": "QR"}.get(self.power_iteration_normalizer, self.power_iteration_normalizer),
            seed=seed_sequence(self.random_state).spawn(1)[0],
            may_change=self.svd_solver == "auto" and source.place in ("memory", "file", "dask"),
        )

    def _refuse(self, source: Source) -> None:
        if source.place == "memory":
            check_finite(source.whole(), self._threads(), self)
        source.check_finite()
        raise DataError(
            "PCA: the squares of the rows overflow float64; divide the rows by a constant, or set scale=True."
        )

    def _fitted(self, state: PrincipalAxes) -> dict[str, Any]:
        order = np.argsort(-state.sizes, kind="stable")
        sizes, dtype = state.sizes[order], state.axes.dtype
        degrees = state.weight - self.ddof
        # The variance left over is shared by the directions that were left out.
        left, total = state.limit - len(sizes), float(sizes.sum()) + state.rest
        return {
            "components_": state.axes[order],
            "mean_": state.mean.astype(dtype),
            "scale_": None if state.scale is None else state.scale.astype(dtype),
            "explained_variance_": (sizes / degrees).astype(dtype),
            "explained_variance_ratio_": (sizes / (total or 1.0)).astype(dtype),
            "singular_values_": np.sqrt(sizes).astype(dtype),
            "noise_variance_": state.rest / degrees / left if left > 0 else 0.0,
            # scikit-learn's number is NumPy's where it was estimated, which programs format as such.
            "n_components_": np.int64(len(sizes)) if self.n_components == "mle" else len(sizes),
            **({"solver_used_": state.solver} if state.solver else {}),
            "n_samples_": int(state.weight) if state.weight == int(state.weight) else state.weight,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.svd_solver in SPARSE
        return tags
