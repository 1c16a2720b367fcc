"""The minimum covariance determinant: a mean and a covariance that outliers cannot move."""

import math
import warnings
from collections.abc import Generator
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from mercer._base import fitting, seed_sequence
from mercer._base.parameter import Nothing, Real, Seed, attribute, parameter
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import run_large
from mercer._source.memory import require_memory
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, flags, floats
from mercer._types import Array
from mercer.covariance._concentration import (
    ConcentrationState,
    Search,
    chi_squared_quantile,
    consistency_factor,
    invert,
    measure_distances,
    shortest_windows,
)
from mercer.covariance._empirical import CovarianceEstimator
from mercer.covariance._state import spectrum
from mercer.errors import DataError, ParameterError

# The share of Gaussian rows that reweighting leaves out.
_LEFT_OUT = 0.025


class MinCovDet(CovarianceEstimator):
    r"""Minimum covariance determinant: mean and covariance that outliers cannot move.

    Of all subsets of h rows, takes the one whose covariance has the least determinant; its mean and covariance
    (``raw_location_``, ``raw_covariance_``) do not depend on the other n - h rows, however far these are. Then all rows
    whose squared distance from it is below the 97.5 % quantile of the chi-squared distribution are taken
    (``support_``), and ``location_`` and ``covariance_`` are theirs, multiplied by the factor that makes them those of
    all rows where rows are Gaussian.

    Attributes
    ----------
    raw_location_, raw_covariance_, raw_support_
        Mean and covariance of the h rows of least determinant, and these rows as a mask.
    location_, covariance_, precision_, rank_, condition_
        As of :class:`EmpiricalCovariance`, after reweighting; where the covariance has no inverse ``precision_`` is the
        pseudo-inverse, with a warning.
    support_ : ndarray of shape (n_samples,), bool
        The rows that ``location_`` and ``covariance_`` are made of.
    dist_ : ndarray of shape (n_samples,)
        Squared distances of the rows of the fit.
    history_ : dict of ndarray
        Steps with the least logarithm of the determinant so far as objective.
    certificate_ : Certificate
        ``"fixed point"``: how much one more C-step would lower the logarithm of the determinant.

    Notes
    -----
    FAST-MCD: 80 to 500 starts of d + 1 rows, two C-steps each, on all rows if there are fewer than 600, else on up to
    five disjoint subsets of 300; the best ten of each on their union, and the best ten of these on all rows until the
    determinant stays. A C-step costs O(n d^2). The result is a local minimum, the best that was found; with one column
    it is the global one. Rows that lie close together, not far from the others, can have the least determinant
    themselves, even if they are fewer. Moving, scaling or rotating the rows moves, scales or rotates the estimate. Rows
    must be in memory.

    References
    ----------
    P. J. Rousseeuw and K. Van Driessen, A fast algorithm for the minimum covariance determinant estimator, 1999.
    C. Croux and G. Haesbroeck, Influence function and efficiency of the minimum covariance determinant scatter matrix
    estimator, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.covariance import EmpiricalCovariance, MinCovDet
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> X[:60] += 20.0  # three rows of ten
    >>> model = MinCovDet(random_state=0).fit(X)
    >>> bool(np.abs(model.location_).max() < 0.2), bool(EmpiricalCovariance().fit(X).location_.min() > 5)
    (True, True)
    """

    _needs_rows: ClassVar[str] = "it draws subsets of rows again and again"

    support_fraction: float | None = parameter(
        Real(0, 1, closed="right") | Nothing(),
        default=None,
        after="assume_centered",
        doc="h / n; None means h = (n + d + 1) / 2, which up to half of the rows cannot mislead.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="The seed of the random starts.")
    max_time: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="Seconds after which the search ends with the best subset so far."
    )

    _documents = {
        "n_jobs": (
            "Threads of :meth:`mahalanobis` and :meth:`score_samples`; None means all that are free. Never changes "
            "a result."
        ),
    }

    _places: ClassVar[tuple[str, ...]] = ("memory",)
    _objective_moves: ClassVar[str | None] = "down"
    _from_moments: ClassVar[bool] = False
    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "starts are drawn at random by the numbers of rows: another order gives other starts",
        "memory": "C-steps run on standardised copies of the rows, and sort their distances",
    }
    raw_location_: Any = attribute()
    raw_covariance_: Any = attribute()
    raw_support_: Any = attribute()
    support_: Any = attribute()
    dist_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "raw_location_": floats("columns"),
        "raw_covariance_": floats("columns, columns"),
        "raw_support_": flags("rows"),
        "support_": flags("rows"),
        "dist_": floats("rows"),
    }

    @fitting
    @one_blas_thread()
    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Find the subset of least determinant, and reweight the rows by it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, at least two.
        """
        self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        source = self._open(X, ensure_min_samples=2)
        name, rows = type(self).__name__, source.whole()
        # The rows in float64, scaled and centred, and distances.
        require_memory(name, 24 * rows.size, f"copies of {rows.shape[0]} rows of {rows.shape[1]}", "give fewer rows")
        X = run_large(lambda: rows.astype(np.float64), rows.size)
        h = _count_support(rows.shape, self.support_fraction)
        listing = partial(self._list_attributes, X=X, h=h, dtype=source.dtype_name)
        outcome = self._drive(
            partial(_search, X, h, seed_sequence(self.random_state)),
            source,
            fitted=lambda state: run_large(partial(listing, state), 4 * X.size),
        )
        if self.rank_ < X.shape[1]:
            self._warn_of_singularity(X.shape)
        self._conclude(outcome)

    def _list_attributes(self, state: ConcentrationState, X: Array, h: int, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes that the rows of least determinant stand for."""
        d, support = X.shape[1], state.support
        location, covariance = state.location, state.covariance
        if self.assume_centered:
            location, covariance = np.zeros(d), X[support].T @ X[support] / h
        if h < len(X) and not covariance.any():
            raise DataError(
                f"{type(self).__name__}: The covariance matrix of the support data is equal to 0, try to increase "
                f"support_fraction; {h} of {len(X)} rows are equal."
            )
        precision, _ = invert(covariance)
        # The covariance of the nearest rows is too small by a factor that a Gaussian gives.
        distances = measure_distances(X, location, precision) / consistency_factor(h / len(X), d)
        # Rows beyond the 97.5 % quantile of chi^2 are left out of the reweighted estimate.
        weights = distances < chi_squared_quantile(1.0 - _LEFT_OUT, d)
        rows = X[weights]
        mean = np.zeros(d) if self.assume_centered else rows.mean(axis=0)
        scatter = (rows - mean).T @ (rows - mean) * (consistency_factor(1.0 - _LEFT_OUT, d) / len(rows))
        inverse, _ = invert(scatter)
        rank, condition = spectrum(np.linalg.eigvalsh(scatter))
        return {
            "raw_location_": location.astype(dtype),
            "raw_covariance_": covariance.astype(dtype),
            "raw_support_": support,
            "location_": mean.astype(dtype),
            "covariance_": scatter.astype(dtype),
            "precision_": inverse.astype(dtype) if self.store_precision else None,
            "support_": weights,
            "dist_": measure_distances(X, mean, inverse).astype(dtype),
            "rank_": rank,
            "condition_": condition,
        }

    def _share(self, moments: Any) -> Generator[Any, Any, float | None]:
        raise NotImplementedError  # no shrinkage: `fit` is its own

    def _warn_of_singularity(self, shape: tuple[int, int] = (0, 0)) -> None:
        n, d = shape
        cure = f"give more than {2 * d} rows (there are {n})" if n <= 2 * d else "raise support_fraction"
        warnings.warn(
            f"{type(self).__name__}: The covariance matrix associated to your dataset is not full rank: it has rank "
            f"{self.rank_} of {d}, and distances are measured within its span only; {cure}, or drop columns that are "
            f"constant or determined by others.",
            stacklevel=6,
        )

    def get_precision(self) -> Any:
        """Return the inverse of the covariance; its pseudo-inverse where it has none.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        if self.precision_ is not None:
            return self.precision_
        return invert(self.covariance_.astype(np.float64))[0].astype(self.covariance_.dtype)


def fast_mcd(
    X: Any, support_fraction: float | None = None, cov_computation_method: Any = None, random_state: Any = None
) -> tuple[Array, Array, Array, Array]:
    """Find the rows whose covariance has the least determinant.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    support_fraction : float in (0, 1] or None, default=None
        The share of rows in the subset; None means (n + d + 1) / 2 rows.
    cov_computation_method : empirical_covariance or None, default=None
        How covariances are computed, for scikit-learn's calls: there is one way.
    random_state : None, int, RandomState or Generator, default=None
        The seed of the random starts.

    Returns
    -------
    location : ndarray of shape (n_features,)
        Mean of the subset.
    covariance : ndarray of shape (n_features, n_features)
        Its covariance, without correction or reweighting: :class:`MinCovDet` has both.
    support : ndarray of shape (n_samples,), bool
        The rows of the subset.
    dist : ndarray of shape (n_samples,)
        Squared distances of all rows from it.

    Examples
    --------
    >>> from mercer.covariance import fast_mcd
    >>> location, covariance, support, _ = fast_mcd([[1.0], [1.2], [1.1], [9.0]])
    >>> float(round(location[0], 3)), support.tolist()
    (1.1, [True, True, True, False])
    """
    if getattr(cov_computation_method, "__name__", None) not in (None, "empirical_covariance"):
        raise ParameterError(
            f"fast_mcd: cov_computation_method must be empirical_covariance or None, since the covariances of subsets "
            f"are updated in native code; got {cov_computation_method!r}."
        )
    model = MinCovDet(support_fraction=support_fraction, random_state=random_state, store_precision=False)
    with warnings.catch_warnings():
        # The raw estimate may be singular; only its inverse, which is not asked for, would be doubtful.
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X)
    rows = np.asarray(X, dtype=np.float64)
    precision, _ = invert(model.raw_covariance_.astype(np.float64))
    distances = measure_distances(rows, model.raw_location_.astype(np.float64), precision)
    return model.raw_location_, model.raw_covariance_, model.raw_support_, distances


def _count_support(shape: tuple[int, int], share: float | None) -> int:
    """Return h, the number of rows of the subset."""
    n, d = shape
    h = math.ceil(0.5 * (n + d + 1)) if share is None else int(share * n)
    return min(max(h, 2), n)


def _search(X: Array, h: int, seed: Any, start: ConcentrationState | None) -> Solver:
    """Search for the h rows of least determinant: exactly in one column, else by C-steps from random starts."""
    if X.shape[1] == 1:
        return _search_windows(X, h)
    return Search(X, h, seed).solve(start)


def _search_windows(X: Array, h: int) -> Solver:
    yield from ()
    # In one dimension the h values of least variance are neighbours when sorted, so n - h + 1 windows are all there is.
    mean, variance, support = shortest_windows(X[:, 0], h)
    state = ConcentrationState(
        np.array([mean]), np.array([[variance]]), support, math.log(variance) if variance > 0 else -math.inf, 0
    )
    certificate = Certificate.of("fixed point", 0.0, 0.0, "All windows of h neighbouring values were compared.")
    yield Step(state.log_determinant, state, certificate)
    return Solution(state, True, certificate)
