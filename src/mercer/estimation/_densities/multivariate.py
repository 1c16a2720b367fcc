"""The Gaussian density of rows, with its marginals and conditionals."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from mercer._base.randomness import seed_sequence
from mercer._base.reading import read_covariance, read_numbers, read_weight
from mercer._plain import plain
from mercer.errors import DataError, ParameterError
from mercer.estimation._densities.family import read_rows


@plain
@dataclass(frozen=True, eq=False)
class MultivariateGaussianDensity:
    """The Gaussian density of rows of d numbers.

    log N(x; m, S) = -1/2 [d log 2 pi + log det S + (x - m)' S^-1 (x - m)], by a Cholesky factor of S.

    Parameters
    ----------
    mean : array-like of shape (d,)
        m.
    covariance : array-like of shape (d, d)
        S, symmetric and positive definite.
    known : {None, "mean", "covariance"}, default=None
        What `fit` keeps as it is.
    regularization : float, default=0.0
        `fit` adds this multiple of the identity to the covariance; zero raises where it is singular.
    ddof : {0, 1}, default=0
        `fit` divides by n - ddof: 0 for maximum likelihood, 1 for an unbiased covariance.

    Notes
    -----
    `fit` costs n d^2, `logpdf` n d^2, both O(d^2) memory above the rows' copies.

    Examples
    --------
    >>> from mercer.estimation import MultivariateGaussianDensity
    >>> joint = MultivariateGaussianDensity([1.0, 2.0], [[2.0, 1.0], [1.0, 3.0]])
    >>> given = joint.conditional([0], [3.0])  # of the second number, where the first is 3
    >>> given.mean, given.covariance
    (array([3.]), array([[2.5]]))
    """

    mean: Any
    covariance: Any
    known: str | None = None
    regularization: float = 0.0
    ddof: int = 0
    is_gaussian: ClassVar[bool] = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        mean = read_numbers(name, "mean", self.mean, closed="neither", error=ParameterError)
        if mean.ndim != 1:
            raise ParameterError(f"{name}: mean must have shape (d,); got shape {mean.shape}.")
        covariance, _ = read_covariance(name, "covariance", self.covariance, len(mean))
        if self.known not in (None, "mean", "covariance"):
            raise ParameterError(f"{name}: known must be None, 'mean' or 'covariance'; got {self.known!r}.")
        if self.ddof not in (0, 1) or not self.regularization >= 0:
            raise ParameterError(
                f"{name}: ddof must be 0 or 1 and regularization non-negative; got {self.ddof!r} and "
                f"{self.regularization!r}."
            )
        # The dataclass is frozen; its own constructor may still replace lists by arrays.
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)

    @cached_property
    def _factor(self) -> np.ndarray:
        return np.linalg.cholesky(self.covariance)

    @classmethod
    def standard(cls, d: int, **options: Any) -> "MultivariateGaussianDensity":
        """Return the density of d independent standard normal numbers.

        Parameters
        ----------
        d : int
            Number of columns.
        **options : dict
            ``known``, ``regularization`` and ``ddof``.
        """
        return cls(np.zeros(d), np.eye(d), **options)

    def fit(self, X: Any, sample_weight: Any = None) -> "MultivariateGaussianDensity":
        """Fit mean and covariance, or the one that is not known.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights; a weight of two is the row twice.

        Returns
        -------
        MultivariateGaussianDensity
        """
        X = read_rows(type(self).__name__, X, len(self.mean))
        weight = read_weight(type(self).__name__, sample_weight, len(X))
        total, d = weight.sum(), len(self.mean)
        mean = self.mean if self.known == "mean" else weight @ X / total
        options = (self.known, self.regularization, self.ddof)
        if self.known == "covariance":
            return MultivariateGaussianDensity(mean, self.covariance, *options)
        offset = X - mean
        # A mean that is known takes no degree of freedom from the rows.
        divisor = total if self.known == "mean" else total - self.ddof
        if divisor <= 0:
            raise DataError(
                f"{type(self).__name__}: the unbiased covariance needs total weight above 1; got {total:g}."
            )
        covariance = (offset * weight[:, None]).T @ offset / divisor + self.regularization * np.eye(d)
        return MultivariateGaussianDensity(mean, covariance, *options)

    def logpdf(self, X: Any) -> np.ndarray:
        """Return the log-density of each row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        d = len(self.mean)
        # log det C is twice the sum of the logarithms of the factor's diagonal.
        constant = d * np.log(2 * np.pi) + 2 * np.log(np.diag(self._factor)).sum()
        return -0.5 * (constant + self.squared_distance(X))

    def squared_distance(self, X: Any) -> np.ndarray:
        """Return the squared Mahalanobis distance of each row from the mean.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        # With C = L L', (x - m)' C^-1 (x - m) = |L^-1 (x - m)|^2: one triangular solve, and no inverse.
        rows = read_rows(type(self).__name__, X, len(self.mean))
        white = solve_triangular(self._factor, (rows - self.mean).T, lower=True)
        return np.square(white).sum(axis=0)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw independent rows.

        Parameters
        ----------
        n : int
            How many.
        random_state : None, int, RandomState or Generator, default=None
            The seed.

        Returns
        -------
        ndarray of shape (n, d)
        """
        random = np.random.default_rng(seed_sequence(random_state))
        return self.mean + random.standard_normal((n, len(self.mean))) @ self._factor.T

    def parameters(self) -> dict[str, Any]:
        """Return mean and covariance, without what is known.

        Returns
        -------
        dict of str to ndarray
        """
        return {name: getattr(self, name) for name in ("mean", "covariance") if name != self.known}

    def parameter_sizes(self) -> dict[str, int]:
        """Return how many free numbers each parameter has: d means, d (d + 1) / 2 variances and covariances."""
        d = len(self.mean)
        return {name: d if name == "mean" else d * (d + 1) // 2 for name in self.parameters()}

    def fisher_information(self) -> np.ndarray:
        """Return the expected outer product of the score, for one row.

        That of the mean is S^-1. Of the entries of S on and below the diagonal it is D' (S^-1 x S^-1) D / 2, where x is
        the Kronecker product and D writes a symmetric matrix out of them. Mean and covariance have none in common.

        Returns
        -------
        ndarray of shape (p, p)
            The mean first, then the lower triangle of the covariance row by row; without what is known.
        """
        d = len(self.mean)
        # S^-1 = L^-T L^-1.
        half = solve_triangular(self._factor, np.eye(d), lower=True)
        inverse = half.T @ half
        places = np.tril_indices(d)
        # Each off-diagonal entry stands for two places of the matrix.
        duplication = np.zeros((d * d, len(places[0])))
        for column, (i, j) in enumerate(zip(*places, strict=True)):
            duplication[[i * d + j, j * d + i], column] = 1.0
        blocks = {"mean": inverse, "covariance": 0.5 * duplication.T @ np.kron(inverse, inverse) @ duplication}
        return block_diag(*(blocks[name] for name in self.parameters()))

    def marginal(self, columns: Any) -> "MultivariateGaussianDensity":
        """Return the density of some columns, whatever the others are.

        Parameters
        ----------
        columns : sequence of int
            Which, in the order wanted.

        Returns
        -------
        MultivariateGaussianDensity
        """
        kept = self._columns(columns)
        return MultivariateGaussianDensity(self.mean[kept], self.covariance[np.ix_(kept, kept)])

    def conditional(self, columns: Any, values: Any) -> "MultivariateGaussianDensity":
        """Return the density of the other columns where some are known.

        With x the known columns and t the others: mean m_t + S_tx S_xx^-1 (x - m_x), covariance
        S_tt - S_tx S_xx^-1 S_xt, the same for every x.

        Parameters
        ----------
        columns : sequence of int
            Which are known.
        values : array-like of shape (n_known,)
            What they are.

        Returns
        -------
        MultivariateGaussianDensity
        """
        given = self._columns(columns)
        values = read_numbers(type(self).__name__, "values", values)
        if values.shape != (len(given),) or len(given) == len(self.mean):
            raise DataError(
                f"{type(self).__name__}: conditional needs one value for each known column, and a column that is not "
                f"known; got {len(given)} columns of {len(self.mean)} and values of shape {values.shape}."
            )
        # conditional_moments serves many rows at once; this is one row.
        mean, covariance = self.conditional_moments(columns, values[None])
        return MultivariateGaussianDensity(mean[0], covariance)

    def conditional_moments(self, columns: Any, values: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of the other columns for many known values, and their common covariance.

        Parameters
        ----------
        columns : sequence of int
            Which are known.
        values : array-like of shape (n, n_known)
            What they are, row by row.

        Returns
        -------
        means : ndarray of shape (n, d - n_known)
        covariance : ndarray of shape (d - n_known, d - n_known)
        """
        given = self._columns(columns)
        wanted = np.setdiff1d(np.arange(len(self.mean)), given)
        # m_a + C_ab C_bb^-1 (x_b - m_b) and C_aa - C_ab C_bb^-1 C_ba, both from one factor L L' = C_bb.
        factor = np.linalg.cholesky(self.covariance[np.ix_(given, given)])
        half = solve_triangular(factor, self.covariance[np.ix_(given, wanted)], lower=True)
        white = solve_triangular(factor, (read_rows(type(self).__name__, values) - self.mean[given]).T, lower=True)
        return self.mean[wanted] + white.T @ half, self.covariance[np.ix_(wanted, wanted)] - half.T @ half

    def _columns(self, columns: Any) -> np.ndarray:
        chosen = np.atleast_1d(np.asarray(columns))
        d = len(self.mean)
        if chosen.dtype.kind not in "iu" or not ((chosen >= 0) & (chosen < d)).all() or len(set(chosen)) < len(chosen):
            raise DataError(
                f"{type(self).__name__}: columns must be different integers in [0, {d - 1}]; got {columns!r}."
            )
        return chosen
