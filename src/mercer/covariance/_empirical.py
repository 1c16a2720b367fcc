"""The covariance of rows by maximum likelihood, and what every estimate of a covariance can do."""

import math
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import svdvals
from sklearn.utils import metadata_routing
from sklearn.utils.metaestimators import available_if

from mercer._base import Estimator, fitting, open_new_rows
from mercer._base.batches import forget_batches, open_batch
from mercer._base.parameter import Boolean, Integer, Nothing, Real, attribute, parameter
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement
from mercer._statistic import Moments
from mercer._stored import Stored, alike, floats, integers
from mercer._types import Array
from mercer.covariance._state import CovarianceState, estimate
from mercer.errors import DataError, UnsupportedError

_CURE = (
    "use LedoitWolf, OAS, ShrunkCovariance or ridge, give more rows than columns, or drop columns that others determine"
)


def log_likelihood(emp_cov: Any, precision: Any) -> float:
    """Mean log-likelihood of rows with a given covariance under a Gaussian of a given precision and the same mean.

    Parameters
    ----------
    emp_cov : ndarray of shape (n_features, n_features)
        Covariance of the rows about the mean of the Gaussian.
    precision : ndarray of shape (n_features, n_features)
        Inverse of the covariance of the Gaussian.

    Returns
    -------
    float
        In nats per row.
    """
    emp_cov, precision = np.asarray(emp_cov), np.asarray(precision)
    sign, logarithm = np.linalg.slogdet(precision)
    determinant = logarithm if sign > 0 else -math.inf
    return float(-np.sum(emp_cov * precision) + determinant - len(precision) * math.log(2.0 * math.pi)) / 2.0


@dataclass(frozen=True, eq=False)
class _Mahalanobis:
    """The squared distance of each row of a block in the metric of a precision."""

    location: Array
    precision: Array

    def __call__(self, block: Block) -> Array:
        # Differences are taken before products: rows far from zero keep their digits.
        rows = block.centre(self.location)
        precision = block.xp.astype(self.precision, block.wide, copy=False)
        return block.xp.astype(block.xp.sum((rows @ precision) * rows, axis=1), block.X.dtype, copy=False)


def _works_from_moments(estimator: Any) -> bool:
    return estimator._from_moments


class CovarianceEstimator(Estimator):
    """A Gaussian's mean and covariance: what is shared by all ways to estimate them."""

    store_precision: bool = parameter(Boolean(), default=True, doc="Whether to keep the inverse of the covariance.")
    assume_centered: bool = parameter(Boolean(), default=False, doc="Whether the mean is known to be zero.")
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    # Of the scorer's signature: rows are called X_test in scikit-learn, which is no metadata.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"X_test": metadata_routing.UNUSED}
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _objective_moves: ClassVar[str | None] = "up"
    # Whether mean and scatter are all it takes, which add up over time.
    _from_moments: ClassVar[bool] = True
    location_: Any = attribute()
    covariance_: Any = attribute()
    precision_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "location_": floats("columns"),
        **alike(floats("columns, columns | none"), "covariance_", "precision_"),
        "rank_": integers(low=0),
        **alike(floats(), "condition_", "shrinkage_"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "CovarianceEstimator":
        """Estimate mean and covariance."""
        source = self._open(X, None, sample_weight)
        purpose = f"the covariance of {source.n_features} columns"
        # Six d x d matrices of float64, among them sums, covariance, eigenvectors and precision.
        require_memory(type(self).__name__, 48 * source.n_features**2, purpose, "select columns")
        forget_batches(self)
        self._learn(source)
        return self

    @available_if(_works_from_moments)
    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "CovarianceEstimator":
        """Estimate mean and covariance of these rows and of all that earlier calls were given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows; read once, and not kept.

        Returns
        -------
        self
            The fitted estimator, with the total weight of all rows so far in ``n_samples_seen_``.
        """
        self._learn(open_batch(self, X, None, sample_weight, centre=not self.assume_centered))
        return self

    def _learn(self, source: Source) -> None:
        if source.known_rows == 1:
            warnings.warn(
                "Only one sample available. You may want to reshape your data array: give more rows.", stacklevel=4
            )
        outcome = self._drive(
            lambda start: estimate(not self.assume_centered, self._share, self.store_precision, self._adjust),
            source,
            fitted=partial(self._attributes_of, dtype=source.dtype_name),
            max_steps=1,
        )
        if outcome.interrupt is None:
            self.converged_ = outcome.converged = True
        if self.store_precision and self.precision_ is None:
            self._warn_of_singularity()
        self._conclude(outcome)

    def _share(self, moments: Any) -> Generator[Any, Any, float | None]:
        """Return the weight of the identity in the estimate; None without shrinkage."""
        raise NotImplementedError  # each estimate defines its own

    def _adjust(self, covariance: Array, weight: float) -> Array:
        """Return the covariance of rows of summed `weight` with another divisor or a larger diagonal."""
        return covariance

    def _attributes_of(self, state: CovarianceState, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes of a state, as arrays of `dtype`."""
        attributes = {
            "location_": state.location.astype(dtype),
            "covariance_": state.covariance.astype(dtype),
            "precision_": None if state.precision is None else state.precision.astype(dtype),
            "rank_": state.rank,
            "condition_": state.condition,
        }
        return attributes if math.isnan(state.shrinkage) else attributes | {"shrinkage_": state.shrinkage}

    def _warn_of_singularity(self) -> None:
        name = type(self).__name__
        warnings.warn(
            f"{name}: the covariance has rank {self.rank_} of {len(self.covariance_)} and no inverse, so precision_ is "
            f"None; {_CURE}.",
            stacklevel=6,
        )

    def get_precision(self) -> Any:
        """Return the inverse of the covariance.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            An error says so where there is none, and what to do.
        """
        if self.rank_ < self.covariance_.shape[0]:
            raise DataError(
                f"{type(self).__name__}: the covariance must have full rank to be inverted; got rank {self.rank_} of "
                f"{self.covariance_.shape[0]}: {_CURE}."
            )
        if self.precision_ is not None:
            return self.precision_
        covariance = to_numpy(self.covariance_)
        precision = np.linalg.inv(covariance.astype(np.float64)).astype(covariance.dtype)
        return Placement.of(self.covariance_).put(precision)

    def score(self, X_test: Any, y: Any = None) -> float:
        """Mean log-likelihood of rows under the Gaussian of this mean and covariance.

        Parameters
        ----------
        X_test : array-like of shape (n_samples, n_features), or rows in any other place
            Rows.

        Returns
        -------
        float
            In nats per row.
        """
        source = open_new_rows(self, X_test)
        precision = to_numpy(self.get_precision()).astype(np.float64)
        moments = source.reduce(Moments())
        # Squares about another mean: the scatter about their own plus the squared distance of the two.
        step = moments.mean - to_numpy(self.location_)
        return log_likelihood(moments.scatter / moments.weight + np.outer(step, step), precision)

    def score_samples(self, X: Any) -> Any:
        """Compute the log-density of each row under the Gaussian of this mean and covariance.

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats.
        """
        distances = self.mahalanobis(X)
        _, logarithm = np.linalg.slogdet(to_numpy(self.get_precision()).astype(np.float64))
        return 0.5 * (float(logarithm) - self.n_features_in_ * math.log(2.0 * math.pi)) - 0.5 * distances

    def error_norm(self, comp_cov: Any, norm: str = "frobenius", scaling: bool = True, squared: bool = True) -> float:
        """Return the distance between this covariance and another one.

        Parameters
        ----------
        comp_cov : array-like of shape (n_features, n_features)
            The covariance to compare with.
        norm : {"frobenius", "spectral"}, default="frobenius"
            Root of the sum of squares, or largest singular value, of the difference.
        scaling : bool, default=True
            Whether to divide the squared norm by the number of columns.
        squared : bool, default=True
            Whether to return the squared norm.

        Returns
        -------
        float
            The distance.
        """
        other, own = to_numpy(comp_cov), to_numpy(self.covariance_)
        if np.shape(other) != own.shape:
            raise DataError(
                f"error_norm: comp_cov must have the shape of covariance_, {own.shape}; got {np.shape(other)}. Give a "
                f"covariance of the same columns."
            )
        error = other - own
        if norm not in ("frobenius", "spectral"):
            raise UnsupportedError(f"error_norm: norm must be one of 'frobenius', 'spectral'; got {norm!r}.")
        size = float(np.sum(error**2) if norm == "frobenius" else svdvals(error).max() ** 2)
        size = size / len(error) if scaling else size
        return size if squared else math.sqrt(size)

    def mahalanobis(self, X: Any) -> Any:
        """Return the squared distance of rows to the mean, in the metric of the precision.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Of Gaussian rows, chi-squared with as many degrees of freedom as there are columns.
        """
        source = open_new_rows(self, X)
        return source.map(_Mahalanobis(self.location_, self.get_precision()))


class EmpiricalCovariance(CovarianceEstimator):
    """Covariance by maximum likelihood.

    The mean m (``location_``) and the covariance (``covariance_``)

        C = sum_i w_i (x_i - m)(x_i - m)^T / (sum_i w_i - ddof) + ridge I

    of Gaussian rows x_i of weight w_i. C has rank n - 1 at most, and with few rows its large eigenvalues are too large
    and its small ones too small: :class:`LedoitWolf` and :class:`OAS` mend that.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        Mean.
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance.
    precision_ : ndarray of shape (n_features, n_features) or None
        Its inverse; None, with a warning, where it has none, and without `store_precision`.
    rank_ : int
        How many eigenvalues of the covariance are larger than rounding can have made.
    condition_ : float
        The largest of them over the smallest; infinite where the rank is not full.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of the rows.

    Notes
    -----
    One pass, n d^2 multiplications, O(d^2) memory; exact to rounding also where means are far from zero. Rows: NumPy,
    frames, files, streams (also such as can be read only once), Dask, devices.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque, Algorithms for computing the sample variance, 1983.

    Examples
    --------
    >>> from mercer.covariance import EmpiricalCovariance
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = EmpiricalCovariance().fit(X)
    >>> model.rank_, round(model.condition_, 1), round(model.score(X), 3)
    (4, 177.4, -2.533)
    """

    ddof: float = parameter(
        Real(0),
        default=0,
        after="assume_centered",
        doc="What is subtracted from the number of rows (or the sum of their weights) in the divisor: 0 is maximum "
        "likelihood, 1 the unbiased estimate.",
    )
    ridge: float = parameter(
        Real(0, math.inf, "left"), default=0.0, doc="Added to the diagonal, so that the covariance can be inverted."
    )

    _check_exceptions: ClassVar[dict[str, str]] = {
        "check_array_api_input": "the check has fewer rows than columns: no inverse to score by, and the error says so"
    }

    def _share(self, moments: Any) -> Generator[Any, Any, float | None]:
        yield from ()
        return None

    def _adjust(self, covariance: Array, weight: float) -> Array:
        if self.ddof == 0 and self.ridge == 0:
            return covariance
        if weight <= self.ddof:
            raise DataError(
                f"{type(self).__name__}: the sum of the rows' weights must be larger than ddof={self.ddof}; got "
                f"{weight:g}. Give more rows, or ddof=0."
            )
        # Maximum likelihood divides by the weight; n / (n - ddof) corrects it.
        return covariance * (weight / (weight - self.ddof)) + self.ridge * np.eye(len(covariance))
