"""The graphical lasso: a Gaussian whose precision is sparse."""

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, attribute, parameter
from mercer._solver import Solver
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._statistic import Moments
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.covariance._empirical import CovarianceEstimator
from mercer.covariance._graphical_descent import GraphicalProblem, GraphicalState, solve_directly
from mercer.errors import DataError


class GraphicalModel(CovarianceEstimator):
    """A Gaussian with a penalty on the entries of its precision off the diagonal."""

    mode: str = parameter(
        Choice("cd", "lars"),
        default="cd",
        doc="Has no effect: both of scikit-learn's ways have the same answer. Kept so that its calls run.",
    )
    tol: float = parameter(Real(0), default=1e-4, doc="The fit ends when the duality gap is at most this.")
    enet_tol: float = parameter(
        Real(0),
        default=1e-4,
        doc="Descent on a column ends when no slope moves by more than this share of the mean covariance.",
    )
    max_iter: int = parameter(Integer(0), default=100, doc="The most sweeps over the columns; one is always done.")
    verbose: bool | int = parameter(Boolean() | Integer(0), default=False)
    eps: float = parameter(
        Real(0),
        default=np.finfo(np.float64).eps,
        doc="Has no effect: no division needs it. Kept so that scikit-learn's calls run.",
    )
    assume_centered: bool = parameter(Boolean(), default=False, doc="Whether the mean is known to be zero.")
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)
    store_precision: bool = attribute(True)

    _from_moments: ClassVar[bool] = False
    _depends_on_units = ("columns", "scale")
    _objective_moves: ClassVar[str | None] = None

    @property
    def costs_(self) -> list[tuple[float, float]]:
        """The objective and the duality gap after each sweep."""
        history = self.history_
        return list(zip(history["objective"].tolist(), history["gap"].tolist(), strict=True))

    def _check_columns(self, S: Array) -> None:
        """Raise unless every column varies."""
        flat = np.flatnonzero(~(np.diagonal(S) > 0))
        if len(flat):
            raise DataError(
                f"{type(self).__name__}: the covariance must have a positive diagonal, or no precision of full rank is "
                f"likeliest; column {flat[0]} is constant. Drop it."
            )

    def _open_columns(self, X: Any, sample_weight: Any) -> Source:
        source: Source = self._open(X, None, sample_weight, ensure_min_features=2, ensure_min_samples=2)
        # Covariances, coefficients, precision, their copies and what the factorisations need.
        n_bytes = 80 * source.n_features**2
        require_memory(type(self).__name__, n_bytes, f"the covariance of {source.n_features} columns", "select columns")
        return source

    def _read_state(self, state: GraphicalState, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes, in the precision of the rows."""
        regular = state.precision is not None and math.isfinite(state.objective)
        # The eigenvalues of a precision of moderate size are cheap beside the sweeps.
        values = np.linalg.eigvalsh(state.precision) if regular else np.array([0.0, 1.0])
        return {
            "location_": state.location.astype(dtype),
            "covariance_": state.covariance.astype(dtype),
            "precision_": state.precision.astype(dtype) if regular else None,
            "rank_": len(state.covariance) if regular else 0,
            "condition_": float(values[-1] / values[0]) if regular else math.inf,
        }


class GraphicalLasso(GraphicalModel):
    """Covariance whose inverse is sparse, by a penalty on the entries of the inverse.

    With S the covariance of the rows, the precision P (``precision_``) minimises over positive definite matrices

        tr(S P) - log det P + alpha sum_{i != j} |P_ij|

    the negative log-likelihood of Gaussian rows with an l1 penalty. Where P_ij is zero, columns i and j are independent
    given all others: the entries that are not zero are the edges of a graph.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        Mean.
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance, the dual solution: it has the diagonal of S and differs from it by ``alpha`` at most.
    precision_ : ndarray of shape (n_features, n_features)
        P.
    costs_ : list of (objective, duality gap) pairs
        One for each sweep, as in ``history_``.
    rank_, condition_
        The number of columns, and the largest eigenvalue of P over the smallest.
    n_iter_ : int
        Sweeps over the columns.
    history_, converged_, certificate_
        How the fit went; the certificate is the duality gap.

    Notes
    -----
    One pass for the covariance, n d^2 multiplications; then sweeps over the columns of the dual, each a lasso of d - 1
    coefficients by coordinate descent from the sweep before, d^2 operations for each coefficient that moves. O(d^2)
    memory. Rows: NumPy, frames, files, streams (also such as can be read only once), Dask, devices.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani, Sparse inverse covariance estimation with the graphical lasso, 2008. O.
    Banerjee, L. El Ghaoui and A. d'Aspremont, Model selection through sparse maximum likelihood estimation, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.covariance import GraphicalLasso
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(500, 4))
    >>> X[:, [1, 3]] += X[:, [0, 2]]  # two pairs of columns
    >>> (GraphicalLasso(alpha=0.2).fit(X).precision_ != 0).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 1, 1],
           [0, 0, 1, 1]])
    """

    alpha: float = parameter(
        Real(0), default=0.01, kw_only=False, doc="The penalty. At the largest covariance of two columns P is diagonal."
    )
    covariance: str | None = parameter(
        Choice("precomputed") | Nothing(),
        default=None,
        after="mode",
        doc="'precomputed' means that ``fit`` is given the covariance instead of rows.",
    )

    _stored: ClassVar[dict[str, Stored]] = {"precision_": floats("columns, columns | none")}

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GraphicalLasso":
        """Estimate mean, covariance and precision.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or the covariance of shape (n_features, n_features)
            Rows.
        """
        source = self._open_columns(X, sample_weight)
        given = self._read_covariance(source) if self.covariance == "precomputed" else None
        outcome = self._drive(
            partial(self._solve, given=given),
            source,
            fitted=partial(self._read_state, dtype=source.dtype_name),
            max_steps=max(1, self.max_iter),
        )
        if self.precision_ is None:
            self._warn_of_singularity()
        self._conclude(outcome, "raise max_iter, tol or alpha")
        return self

    def _read_covariance(self, source: Source) -> Array:
        """Return the covariance that was given instead of rows."""
        self._needs_memory(source, "covariance='precomputed'", "give rows")
        S = np.asarray(source.whole(), dtype=np.float64)
        if S.shape[0] != S.shape[1] or not np.allclose(S, S.T, rtol=1e-6, atol=1e-12 * np.abs(S).max(initial=0.0)):
            raise DataError(
                f"GraphicalLasso: with covariance='precomputed' X must be a symmetric matrix; got shape {S.shape}. "
                f"Give the covariance of the columns, or covariance=None."
            )
        return 0.5 * (S + S.T)

    def _solve(self, start: GraphicalState | None, given: Array | None) -> Solver[GraphicalState]:
        """Sum the moments of the rows, where no covariance is given, and solve."""
        if given is None:
            moments = yield Moments(not self.assume_centered)
            S, location = moments.scatter / moments.weight, np.array(moments.mean)
        else:
            S, location = given, np.zeros(len(given))
        self._check_columns(S)
        problem = GraphicalProblem(np.ascontiguousarray(S), float(self.alpha), self.tol, self.enet_tol)
        if self.alpha == 0:
            return (yield from solve_directly(problem, location))
        return (yield from problem.solve(location, self.max_iter, start))
