"""The evidence of a Gaussian process: the log marginal likelihood of the targets, its gradient, and the posterior.

For targets y with covariance C = K(theta) + diag(noise),

    log p(y) = -1/2 y^T C^-1 y - 1/2 log |C| - n/2 log 2 pi,    d log p / d theta = 1/2 sum_ij W_ij dC_ij / d theta,

with W = a a^T - C^-1 and a = C^-1 y. The sums are taken tile by tile with C^-1 made tile by tile, so that beside the
factor of C and its inverse there is no matrix, and none with a third dimension. The curvature of log p is about the
average of its observed and its expected value, less the parts with second derivatives of C (Gilmour, Thompson and
Cullis, 1995),

    A_ij = 1/2 a^T (dC / d theta_i) C^-1 (dC / d theta_j) a,

which has no negative eigenvalue and needs only products of matrices with a few columns.

A row of weight w is w rows of independent noise d_i: they inform about the function as one row of noise d_i / w does,
and their likelihood has the further factor (2 pi d_i)^(-(w - 1) / 2) w^(-1/2).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._solver.tiled_cholesky import TILE, factorise, inverse_factor, inverse_tile, lower_tiles, solve
from mercer._source.memory import require_memory
from mercer._source.source import SumTree
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.errors import DataError, UnsupportedError
from mercer.kernels import Kernel, Prepared
from mercer.kernels.array_form import compute_diagonal, sum_diagonal_slopes

# Shares of the mean of the diagonal that are added to it, one after the other, until the matrix has a factor.
JITTERS = (0.0, 1e-12, 1e-10, 1e-8, 1e-6)
# Bound on errors in units of rounding. The values of about thirty problems, with condition numbers from 1e2 to 1e17 and
# up to 3 000 rows, deviated by 0.01 to 0.14 of the bound when hyper-parameters changed in the tenth digit.
_ROUNDINGS = 8.0


@dataclass(frozen=True)
class Posterior:
    """The lower factor of the covariance C of the targets, C^-1 Y, the jitter added to C, and the evidence."""

    L: Array
    alpha: Array
    jitter: float
    value: float


class Measurement(NamedTuple):
    """The evidence at one setting of the hyper-parameters: -inf where the covariance has no factor.

    ``information`` approximates the curvatures by a positive semidefinite matrix, or is None where that is expensive;
    ``rounding`` estimates the largest error of the value, and is zero where that is not known. ``fit`` and
    ``volume`` estimate the second derivatives of y^T C^-1 y / 2 and of log |C| / 2, or are None; far from a maximum
    their sum may have negative eigenvalues.
    """

    value: float
    slope: Array
    information: Array | None = None
    rounding: float = 0.0
    fit: Array | None = None
    volume: Array | None = None


class Evidence:
    """The function of the hyper-parameters that a fit maximises; several threads may call `evaluate` at a time."""

    # Whether values and slopes are exact; False for estimates.
    exact: ClassVar[bool] = True

    @property
    def n_scaled(self) -> int:
        """The number of target values, where the evidence of e^t C is that of C with y e^(-t/2); 0 elsewhere."""
        return 0

    def evaluate(self, kernel: Kernel, slope: bool = True, threads: int = 1) -> tuple[float, Array]:
        """Return the log marginal likelihood and its gradient by theta; -inf where the covariance has no factor."""
        raise NotImplementedError  # each kind of evidence below defines its own

    def measure(self, kernel: Kernel, threads: int = 1) -> Measurement:
        """Return the evidence and its gradient, with curvatures and rounding where they are known."""
        return Measurement(*self.evaluate(kernel, True, threads))

    def list_parts(self, kernel: Kernel) -> "list[Any]":
        """Return the evidences of fewer rows, from few to half, on which a search may begin; none by default.

        A part has half as many rows as the next.
        """
        return []

    def count_bytes(self) -> float:
        """Count the bytes that one evaluation needs."""
        raise NotImplementedError  # each kind of evidence below defines its own


@dataclass(frozen=True)
class ExactEvidence(Evidence):
    """By a Cholesky factor of all rows.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    Y : ndarray of shape (n, k)
        Targets, each a function of its own with the same covariance.
    noise : ndarray of shape (n,)
        Variances added to the diagonal.
    weight : ndarray of shape (n,) or None
    """

    X: Array
    Y: Array
    noise: Array
    weight: Array = None

    @property
    def n_scaled(self) -> int:
        return self.Y.size if self.weight is None else 0

    def count_bytes(self) -> float:
        return 16.0 * len(self.Y) ** 2

    def evaluate(self, kernel: Kernel, slope: bool = True, threads: int = 1) -> tuple[float, Array]:
        return self._measure_all(kernel, slope, False, threads)[:2]

    def measure(self, kernel: Kernel, threads: int = 1) -> Measurement:
        return self._measure_all(kernel, True, True, threads)

    def _measure_all(self, kernel: Kernel, slope: bool, curvature: bool, threads: int) -> Measurement:
        rows = kernel.prepare(self.X)
        # The noise that each repetition of a row has by itself.
        d = None if self.weight is None else self.noise + compute_own_noise(kernel, rows, self.X)
        # The covariance of rows that fit in one tile is kept for the derivatives; that of more is made again.
        K = self.fill_covariance(kernel, rows, threads) if len(rows) <= TILE else None
        factored = self._factorise(kernel, rows, d, threads, K)
        nothing = np.zeros(kernel.n_dims)
        if factored is None or not slope:
            return Measurement(-np.inf if factored is None else factored[2], nothing)
        L, alpha, value, _ = factored
        # C^-1 = V^T V with V = L^-1.
        V = inverse_factor(L, threads)
        information = self._compute_information(kernel, rows, K, V, alpha, d, threads) if curvature else None
        gradient, balance = self._compute_slope(kernel, rows, K, V, alpha, d, threads)
        return Measurement(value, gradient, information, self._estimate_rounding(kernel, alpha, balance, d, value))

    def _estimate_rounding(self, kernel: Kernel, alpha: Array, balance: Array, d: Array, value: float) -> float:
        """Estimate the largest error of the value, from the diagonal of W (`balance`)."""
        variances = kernel.diagonal(self.X) + self.noise
        if d is not None:
            variances = variances + d / self.weight - d
        shares = 2.0 * (alpha**2).sum(axis=1) - balance
        return estimate_rounding(float(variances @ shares), value, self.Y.size)

    def compute_posterior(self, kernel: Kernel, threads: int = 1) -> Posterior:
        """Return the factor and the weights of predictions; raise where no jitter is enough."""
        rows = kernel.prepare(self.X)
        d = None if self.weight is None else self.noise + compute_own_noise(kernel, rows, self.X)
        factored = self._factorise(kernel, rows, d, threads)
        if factored is None:
            raise describe_indefinite(kernel)
        L, alpha, value, jitter = factored
        clear_upper(L, threads)
        return Posterior(L, alpha, jitter, value)

    def fitted(self, kernel: Kernel, threads: int) -> dict[str, Any]:
        """Return the fitted attributes that predictions need."""
        posterior = self.compute_posterior(kernel, threads)
        return {
            "L_": posterior.L, "alpha_": posterior.alpha, "jitter_": posterior.jitter,
            "log_marginal_likelihood_value_": posterior.value,
        }  # fmt: skip

    def fill_covariance(self, kernel: Kernel, rows: Prepared, threads: int, out: Array = None) -> Array:
        """Fill the tiles on and below the diagonal of the covariance of the function, in `out` or a new matrix."""
        n = len(rows)
        C, tiles, parts = np.empty((n, n)) if out is None else out, lower_tiles(n), list_row_tiles(rows)

        def fill(number: int) -> None:
            here, there = tiles[number]
            C[here, there] = kernel.between(parts[here.start], parts[there.start])

        run_numbered(fill, len(tiles), threads)
        return C

    def _factorise(
        self, kernel: Kernel, rows: Prepared, d: Array, threads: int, K: Array = None, out: Array = None
    ) -> tuple[Array, Array, float, float] | None:
        """Return the factor L, C^-1 Y, the log-likelihood and the jitter; None where no jitter is enough.

        `K` is the covariance of the function, if it is known already; L is written to `out`, if given.
        """
        for share in JITTERS:
            C = self.fill_covariance(kernel, rows, threads, out) if K is None else K.copy()
            diagonal = np.einsum("ii->i", C)
            diagonal += self.noise
            if d is not None:
                # A row of weight w stands for w rows with noise of their own: their mean has noise d / w.
                diagonal += d / self.weight - d
            jitter = share * float(diagonal.mean())
            diagonal += jitter
            # A failed factorisation has overwritten the matrix, so each jitter fills it anew.
            if factorise(C, threads) == 0 and np.isfinite(diagonal).all():
                alpha = solve(C, self.Y)
                return C, alpha, self._compute_value(C, alpha, d), jitter
        return None

    def _compute_value(self, L: Array, alpha: Array, d: Array) -> float:
        n, k = self.Y.shape
        value = -0.5 * float(np.einsum("ij,ij->", self.Y, alpha)) - k * float(np.log(np.einsum("ii->i", L)).sum())
        value -= 0.5 * n * k * float(np.log(2.0 * np.pi))
        if d is not None:
            value -= 0.5 * k * float(((self.weight - 1.0) * np.log(2.0 * np.pi * d) + np.log(self.weight)).sum())
        return value

    def _compute_information(
        self, kernel: Kernel, rows: Prepared, K: Array, V: Array, alpha: Array, d: Array, threads: int
    ) -> Array:
        """Return the matrix A of the module's docstring."""
        n, k = self.Y.shape
        parts, cuts = list_row_tiles(rows), [slice(first, min(first + TILE, n)) for first in range(0, n, TILE)]
        turned, total = np.empty((n, kernel.n_dims * k)), SumTree()

        def turn(number: int) -> None:
            here = cuts[number]
            products: Array = sum(
                kernel.slope_products(parts[here.start], parts[at.start], alpha[at], K) for at in cuts
            )
            turned[here] = products.transpose(1, 0, 2).reshape(here.stop - here.start, -1)

        def squares(number: int) -> Array:
            here = cuts[number]
            # V dC a, whose squared lengths are the average of observed and expected information.
            half = (V[here, : here.stop] @ turned[: here.stop]).reshape(here.stop - here.start, -1, k)
            return np.tensordot(half, half, axes=((0, 2), (0, 2)))

        run_numbered(turn, len(cuts), threads)
        if d is not None:
            shared = multiply_own_noise(kernel, rows, self.X, (1.0 / self.weight - 1.0)[:, None] * alpha)
            turned += np.moveaxis(shared, 0, 1).reshape(n, -1)
        run_numbered(squares, len(cuts), threads, total.add)
        return 0.5 * np.asarray(total.total())

    def _compute_slope(
        self, kernel: Kernel, rows: Prepared, K: Array, V: Array, alpha: Array, d: Array, threads: int
    ) -> tuple[Array, Array]:
        """Return the gradient, and the diagonal of W."""
        n, k = self.Y.shape
        tiles, total = lower_tiles(n), SumTree()
        squares, parts = np.empty(n), list_row_tiles(rows)

        def sums(number: int) -> Array:
            here, there = tiles[number]
            # W = a a^T - k C^-1, tile by tile.
            W = alpha[here] @ alpha[there].T - k * inverse_tile(V, here, there)
            if here == there:
                squares[here] = np.einsum("ii->i", W)
            # A tile below the diagonal counts for its mirror image as well.
            return (0.5 if here == there else 1.0) * kernel.tile_sums(parts[here.start], parts[there.start], W, K)

        run_numbered(sums, len(tiles), threads, total.add)
        slope = np.asarray(total.total(), dtype=np.float64)
        if d is not None:
            factors = 0.5 * squares * (1.0 / self.weight - 1.0) - 0.5 * k * (self.weight - 1.0) / d
            slope = slope + sum_own_noise(kernel, rows, self.X, factors)
        return slope, squares


def estimate_rounding(charge: float, value: float, n_terms: int) -> float:
    """Estimate the largest error of an evidence whose covariance is rounded.

    Relative errors e of a covariance C change its evidence by 1/2 tr(W e C) with W = a a^T - C^-1. Errors of one row do
    not cancel: `charge` is the sum of C_ii (a_i^2 + C^-1_ii). The errors of a sum of `n_terms` terms are added.
    """
    return _ROUNDINGS * float(np.finfo(np.float64).eps) * (charge + abs(value) + n_terms)


def clear_upper(L: Array, threads: int) -> None:
    """Write zeros above the diagonal of a factor, which factorisation leaves as it was."""
    n = len(L)

    def clean(number: int) -> None:
        part = slice(number * TILE, min((number + 1) * TILE, n))
        L[part, part.start :] = np.tril(L[part, part.start :])

    run_numbered(clean, -(-n // TILE), threads)


def list_row_tiles(rows: Prepared) -> dict[int, Prepared]:
    """Return the rows of each tile by the index of its first row; taking them anew for each pair of tiles is slow."""
    n = len(rows)
    return {first: rows.take(slice(first, min(first + TILE, n))) for first in range(0, n, TILE)}


def compute_own_noise(kernel: Kernel, rows: Prepared, X: Array) -> Array:
    """Return the white noise of each row: k(x, x) minus the kernel of x with an equal but other row."""
    try:
        # Exact: the distance of a row to its copy is zero, where |x|^2 + |y|^2 - 2 x.y leaves 1e-16 of |x|^2, and its
        # root, which a kernel with a cusp takes, 1e-8 of |x|.
        return compute_diagonal(kernel, np, X) - compute_diagonal(kernel, np, X, itself=False)
    except UnsupportedError:
        noise = np.empty(len(rows))
    for part, here, copies in _pair_with_copies(kernel, rows, X):
        noise[part] = np.einsum("ii->i", kernel.between(here, here) - kernel.between(here, copies))
    # Smaller differences are rounding.
    return np.where(noise > 1e-12 * np.abs(kernel.diagonal(X)), noise, 0.0)


def multiply_own_noise(kernel: Kernel, rows: Prepared, X: Array, vectors: Array) -> Array:
    """Return the derivatives by theta of each row's white noise times its row of `vectors` (n, k): shape (p, n, k)."""
    products = np.empty((kernel.n_dims, *vectors.shape))
    for part, here, copies in _pair_with_copies(kernel, rows, X):
        with_itself = kernel.slope_products(here, here, vectors[part])
        products[:, part] = with_itself - kernel.slope_products(here, copies, vectors[part])
    return products


def sum_own_noise(kernel: Kernel, rows: Prepared, X: Array, factors: Array) -> Array:
    """Return the sum over rows of factors_i times the derivative by theta of their white noise."""
    try:
        own = sum_diagonal_slopes(kernel, np, X, factors)
        return np.asarray(own - sum_diagonal_slopes(kernel, np, X, factors, itself=False), dtype=np.float64)
    except UnsupportedError:
        total = np.zeros(kernel.n_dims)
    for part, here, copies in _pair_with_copies(kernel, rows, X):
        weights = np.diag(factors[part])
        total += kernel.tile_sums(here, here, weights) - kernel.tile_sums(here, copies, weights)
    return total


def _pair_with_copies(kernel: Kernel, rows: Prepared, X: Array) -> Iterator[tuple[slice, Prepared, Prepared]]:
    """Yield, for every 64 rows, their slice, the rows, and equal rows that the kernel takes for other rows."""
    # White noise is on a row with itself only, so that the difference of the two kernels is the noise alone. Only the
    # diagonal of each tile is used: small tiles waste few values.
    others = kernel.prepare(X, like=rows)
    for first in range(0, len(rows), 64):
        part = slice(first, min(first + 64, len(rows)))
        yield part, rows.take(part), others.take(part)


def describe_indefinite(kernel: Kernel) -> DataError:
    """Return the error of a covariance that is not positive definite with the largest jitter either."""
    return DataError(
        f"The kernel, {kernel}, is not returning a positive definite matrix, even with {JITTERS[-1]:g} of its diagonal "
        f"added. Try gradually increasing the 'alpha' parameter of your GaussianProcessRegressor estimator, or use a "
        f"kernel that is positive definite."
    )


def check_room(subject: str, n: int, copies: float, cure: str) -> None:
    """Raise if memory does not hold `copies` matrices of all pairs of `n` rows."""
    require_memory(subject, 8.0 * copies * n * n, f"the {n} x {n} covariance of the rows", cure)


def check_noise(subject: str, d: Array) -> None:
    """Raise unless every row has noise: a weight is how often a row was seen, with other noise each time."""
    if not (d > 0).all():
        raise DataError(f"{subject}: sample_weight needs noise on every row to share out; got alpha=0. Raise alpha.")
