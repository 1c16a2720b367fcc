"""Least-squares regression: the best linear unbiased estimator, with its rank, its noise and its errors."""

import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgWarning, lapack
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.batches import forget_batches
from mercer._base.linear.prediction import target_columns
from mercer._base.parameter import Boolean, Nothing, Real, parameter
from mercer._solver import Outcome, Solver
from mercer._solver.linear_state import LinearState
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._source.namespace import to_numpy
from mercer._statistic import Moments, MomentSums
from mercer._stored import Stored, floats, integers, members
from mercer.errors import DataError
from mercer.linear_model._inference.inference import Inferring
from mercer.linear_model._least_squares.running import RunningRegressor
from mercer.linear_model._solvers.closed_form.lsqr import LsqrState, by_lsqr
from mercer.linear_model._solvers.closed_form.nonnegative import by_nonnegative_sweeps
from mercer.linear_model._solvers.closed_form.normal_equations import (
    by_eigenvectors,
    by_normal_equations,
    by_orthogonal_triangle,
)

# The seminormal equations with one correction match an orthogonal method down to here; see normal_equations.
_WELL_CONDITIONED = 1e-8
_SINGULAR = 1e-14
# Up to this many columns a sparse problem is solved in closed form; beyond, by LSQR, which forms nothing d x d.
_GRAM_COLUMNS = 1000
# Sparse rows with this many entries, zeros included, may be made dense a block at a time: 32 MiB.
_FEW = 2**22
# Sweeps that nonnegative least squares may take; it ends by itself after a handful.
_SWEEPS = 10_000


class LinearRegression(Inferring, RunningRegressor):
    """Linear regression by least squares.

    Minimises, for each target,

        sum_i w_i (y_i - b - x_i . c)^2

    over the coefficients c (``coef_``) and the intercept b (``intercept_``), with w the ``sample_weight``. Where many
    coefficients do equally well (more columns than rows, or columns that others determine) those of least norm are
    taken, with a warning.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept.
    rank_ : int
        Singular values that count; for dense rows.
    singular_ : ndarray
        Singular values of the centred rows, largest first; for dense rows. After ``"cholesky"`` they come from the
        scatter, and the smallest may be off by one part in 10^8.
    residual_variance_ : float or ndarray of shape (n_targets,)
        The estimate of the noise, RSS / (sum of weights - rank - 1), or NaN where nothing is left to divide by.
    solver_used_ : str
        ``"cholesky"``, ``"svd"``, ``"lsqr"`` or ``"active set"``; of ``partial_fit`` also ``"eigh"``.
    n_samples_seen_ : int or float
        Total weight of the rows of all calls of ``partial_fit``.
    history_, converged_, n_iter_, certificate_
        How the fit went; see the tour. The certificate is the norm of the gradient (with ``positive``, the violation
        of the optimality conditions) over |X| |y|.

    Notes
    -----
    With n >= d one pass forms the d x d scatter and a second corrects its Cholesky solution by the residuals of the
    data, which gives the accuracy of an orthogonal method down to a condition number of 10^4: n d^2 multiplications
    and O(d^2) memory. Beyond, and for n < d, the rows are reduced to a triangle by Householder reflections, block by
    block, and the SVD of the triangle gives the answer: 2 n d^2 and O(d^2). The answer is exact to rounding. Rows:
    NumPy, frames, memory maps, SciPy sparse (never made dense).

    References
    ----------
    A. Bjorck, Stability analysis of the method of seminormal equations, 1987. J. Demmel and others,
    Communication-optimal parallel and sequential QR and LU factorizations, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import LinearRegression
    >>> X = np.array([[1, 1], [1, 2], [2, 2], [2, 3]])
    >>> y = X @ [1, 2] + 3
    >>> model = LinearRegression().fit(X, y)
    >>> model.predict([[3, 5]]).round(6)
    array([16.])
    """

    tol: float = parameter(
        Real(0),
        default=1e-6,
        after="copy_X",
        doc="Singular values of X, with its columns on one scale, up to ``tol`` times the largest count as zero. "
        "Where LSQR is used (large sparse rows) and with ``positive``, the certificate to reach.",
    )
    positive: bool = parameter(
        Boolean(), default=False, after="n_jobs", doc="Whether the coefficients must not be negative."
    )
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    _cure = "raise tol or max_time"

    _stored: ClassVar[dict[str, Stored]] = {
        "residual_variance_": floats(" | *"),
        "rank_": integers(" | *", low=0) | members(integers(low=0)),
        "singular_": floats("*") | members(floats("*")),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LinearRegression":
        """Fit the model."""
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr")
        forget_batches(self)
        outcome = self._learn(source)
        self._describe(outcome.state, source)
        self._conclude(outcome, self._cure)
        return self

    def standard_errors(self, X: Any, sample_weight: Any = None) -> tuple[np.ndarray, Any]:
        """Compute standard errors of the coefficients and of the intercept, under equal independent noise.

        These are the roots of the diagonal of residual_variance_ (Z^T W Z)^-1, where Z is X with a column of ones for
        the intercept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows the model was fitted to.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Their weights.

        Returns
        -------
        coef_errors : ndarray of the shape of ``coef_``
        intercept_errors : float or ndarray of the shape of ``intercept_``
            Zero without an intercept.
        """
        check_is_fitted(self)
        source = self._open(X, None, sample_weight, accept_sparse="csr", reset=False)
        moments = source.reduce(Moments(self.fit_intercept))
        factor, failed = lapack.dpotrf(moments.scatter, lower=False)
        # The reciprocal condition number of the scatter; near rounding it says nothing of the errors.
        if failed or lapack.dpocon(factor, np.abs(moments.scatter).sum(axis=0).max(), uplo="U")[0] < _SINGULAR:
            raise DataError(
                "LinearRegression: standard errors need columns of full rank; drop columns that others determine."
            )
        inverse = lapack.dpotri(factor, lower=False)[0]
        variance = np.asarray(to_numpy(self.residual_variance_))[..., None]
        # The intercept is y_mean - mean . coef: its variance is 1 / n + mean' S^-1 mean, times that of the noise.
        mean_part = moments.mean @ lapack.dpotrs(factor, moments.mean, lower=False)[0]
        intercept = np.sqrt(variance[..., 0] * (1.0 / moments.weight + mean_part)) if self.fit_intercept else 0.0
        return source.send((np.sqrt(variance * np.diagonal(inverse)), intercept))

    def _learn(self, source: Source) -> Outcome:
        flat = source.target_shape == ()
        fitted = partial(self._linear_attributes, dtype=source.dtype_name, flat_coef=flat, flat_intercept=flat)
        outcome = self._drive(lambda start: self._solver(source, start), source, fitted=fitted)
        self._complete(outcome)
        return outcome

    def _solver(self, source: Source, start: Any) -> Solver:
        """Choose the method: sweeps for ``positive``, else sums, steps, a triangle or normal equations."""
        centre, alpha = self.fit_intercept, np.zeros(source.n_targets)
        n_rows, n_features = source.known_rows or source.n_features, source.n_features
        # The tolerance separates singular values that count from those that do not, as in scipy.linalg.lstsq.
        # Relative to the largest singular value.
        cutoff = max(self.tol, max(n_rows, n_features) * np.finfo(np.float64).eps)
        by_triangle = partial(self._by_triangle, alpha, cutoff)
        by_steps = partial(self._by_steps, source, alpha, start)
        is_sparse = source.is_sparse and n_rows * n_features > _FEW
        if self.positive:
            return by_nonnegative_sweeps(alpha, centre, self.tol, _SWEEPS, start)
        if source.place == "sums":
            return self._by_sums(alpha, cutoff)
        if is_sparse and (isinstance(start, LsqrState) or n_features > _GRAM_COLUMNS):
            return by_steps()
        # Fewer rows than columns: the scatter is singular, and the triangle is the smaller matrix.
        if n_rows < n_features and not is_sparse:
            self._forecast_triangle(source)
            return by_triangle()
        require_memory("LinearRegression", 24 * n_features**2, "the scatter of the columns", "select columns")
        return by_normal_equations(
            alpha,
            centre,
            self.tol,
            refine_below=np.inf,
            # The scatter has the squared singular values, hence cutoff^2.
            give_up_below=max(_WELL_CONDITIONED, 10 * cutoff**2),
            otherwise=by_steps if is_sparse else by_triangle,
            spectrum=not is_sparse,
        )

    def _by_steps(self, source: Source, alpha: np.ndarray, start: Any, _: Any = None) -> Solver:
        """Solve by LSQR, which multiplies with the rows and forms no matrix."""
        self._needs_memory(source, "least squares of many sparse columns", "use Ridge(solver='sparse_cg')")
        most = 10 * min(source.known_rows or source.n_features, source.n_features) + 10
        return by_lsqr(alpha, target_columns(source.y), self.fit_intercept, self.tol, most, start)

    def _by_triangle(self, alpha: np.ndarray, cutoff: float, moments: MomentSums | None = None) -> Solver:
        """Solve by the singular values of a triangle; those below `cutoff` times the largest count as zero."""
        return by_orthogonal_triangle(alpha, self.fit_intercept, self.tol, cutoff=cutoff, moments=moments)

    def _by_sums(self, alpha: np.ndarray, cutoff: float) -> Solver:
        """Solve from sums alone, which no residual of the rows can correct."""
        return by_normal_equations(
            alpha,
            self.fit_intercept,
            self.tol,
            refine_below=0.0,
            give_up_below=max(_SINGULAR, 10 * cutoff**2),
            otherwise=lambda moments: by_eigenvectors(alpha, moments, self.tol, cutoff=cutoff),
            spectrum=True,
        )

    def _forecast_triangle(self, source: Source) -> None:
        n_bytes = 5 * 8 * source.n_rows * source.n_features
        require_memory("LinearRegression", n_bytes, "the SVD of more columns than rows", "use Ridge(solver='lsqr')")

    def _describe(self, state: Any, source: Source) -> None:
        """Store rank, singular values and noise, if the method knows them; warn if the answer is one of many."""
        for name in ("rank_", "singular_", "residual_variance_"):
            self.__dict__.pop(name, None)
        if not isinstance(state, LinearState):
            return
        # Without freedom left the residuals are zero and say nothing of the noise.
        # Weights count as rows.
        freedom = source.total_weight() - state.rank - int(self.fit_intercept)
        variance = state.squares / freedom if freedom > 0 else np.full(state.squares.shape, np.nan)
        self.residual_variance_ = float(variance[0]) if source.target_shape == () else variance
        if state.singular is None:
            return
        self.rank_ = state.rank
        self.singular_ = state.singular.astype(source.host_dtype)
        if state.rank < source.n_features:
            warnings.warn(
                f"LinearRegression: {source.n_features} columns have rank {state.rank} at tol={self.tol:g}; many "
                f"coefficients fit equally well, and those of least norm were taken; drop columns, or use Ridge.",
                LinAlgWarning,
                stacklevel=5,
            )
