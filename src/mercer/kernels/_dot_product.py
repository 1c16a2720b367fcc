"""Kernels of the dot product."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import diags_array

from mercer._native.dual import kernel_values
from mercer._plain import plain
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.kernels._distances import products
from mercer.kernels._kernel import Kernel, make_tile
from mercer.kernels._prepared import Prepared, floating, lengths


@plain
@dataclass
class Linear(Kernel):
    """The dot product x.y; ``Linear() + Constant(c)`` has an offset."""

    def diagonal(self, X: Array) -> Array:
        return lengths(floating(X))

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        return Prepared(floating(X))

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        return products(rows, others, make_tile(rows, others, out))

    def tile_sums(self, rows: Prepared, others: Prepared, weights: Array, K: Array = None) -> Array:
        return np.empty(0)

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        return np.broadcast_to(Y[None, :, :], (len(X), *Y.shape)).copy()

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values in array-API operations, for rows on any device: the definition."""
        return X @ Y.T


@plain
@dataclass
class Cosine(Linear):
    """The cosine of the angle between rows: x.y / (|x| |y|), and 0 with a row of zeros."""

    def diagonal(self, X: Array) -> Array:
        squares = lengths(floating(X))
        return (squares > 0).astype(squares.dtype)

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        X = floating(X)
        size = np.sqrt(lengths(X))
        # A row of zeros has no direction; it stays zero, and so do its cosines.
        inverse = (1.0 / np.where(size > 0, size, 1.0)).astype(X.dtype)
        return Prepared((diags_array(inverse) @ X).tocsr() if is_sparse_matrix(X) else X * inverse[:, None])

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        sizes = np.linalg.norm(X, axis=1)
        sizes = np.where(sizes > 0, sizes, 1.0)
        x, y = X / sizes[:, None], self.prepare(Y).rows
        # d(x.y / |x|) = (y - (x.y) x) / |x| for unit vectors x and y: only the part across x turns the row.
        return (y[None, :, :] - (x @ y.T)[:, :, None] * x[:, None, :]) / sizes[:, None, None]

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        sizes = [xp.sqrt(xp.sum(Z * Z, axis=1))[:, None] for Z in (X, Y)]
        X, Y = (Z / xp.where(size > 0, size, xp.ones_like(size)) for Z, size in zip((X, Y), sizes))
        return X @ Y.T


@plain
@dataclass
class Polynomial(Kernel):
    """The kernel (gamma x.y + coef0)^degree: all products of up to `degree` columns.

    Parameters
    ----------
    degree : int, default=3
        A number that is not whole makes the function no kernel, and negative bases an error.
    gamma : float, default=1.0
    coef0 : float, default=1.0
        Not below zero, or the kernel is not positive definite.
    gamma_bounds, coef0_bounds : pair of floats or "fixed", default="fixed"
    """

    degree: float = 3
    gamma: float = 1.0
    coef0: float = 1.0
    gamma_bounds: Any = "fixed"
    coef0_bounds: Any = "fixed"

    _free: ClassVar[tuple[str, ...]] = ("coef0", "gamma")

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        """Whether the offset is not negative, and the degree a whole number."""
        return self.coef0 >= 0 and self.degree == int(self.degree)

    def _check(self) -> None:
        self._check_positive("gamma", self.gamma)
        if not 0 <= self.degree < np.inf:
            raise ParameterError(f"Polynomial: degree must be a number in [0, inf); got {self.degree!r}.")

    def _raise(self, tile: Array, degree: float) -> Array:
        """Turn dot products into powers, in place."""
        # Whole powers are products, defined for negative bases too; others need a base of at least zero.
        if degree == int(degree):
            kernel_values.powers(self.gamma, self.coef0, int(degree), tile)
            return tile
        tile *= self.gamma
        tile += self.coef0
        if tile.min(initial=0.0) < 0:
            raise DataError(
                f"Polynomial: a degree that is not whole, {self.degree!r}, needs gamma x.y + coef0 >= 0; got "
                f"{tile.min():.3g}. Raise coef0, or take a whole degree."
            )
        return np.power(tile, degree, out=tile)

    def diagonal(self, X: Array) -> Array:
        self._check()
        return (self.gamma * lengths(floating(X)) + self.coef0) ** self.degree

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        self._check()
        return Prepared(floating(X))

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        return self._raise(products(rows, others, make_tile(rows, others, out)), self.degree)

    def _compute_inner(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        """Return dot products, and the derivative of the value with respect to gamma x.y + coef0."""
        inner = products(rows, others, make_tile(rows, others, None))
        # d(t^p)/dt = p t^(p - 1); for degree 0 the factor p makes it zero, whatever the power.
        return inner, self.degree * self._raise(inner.copy(), max(self.degree - 1, 0))

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        inner, slopes = self._compute_inner(rows, others)
        # Derivatives by logarithms: dk/dlog p = p dk/dp.
        steps = {"coef0": self.coef0 * slopes, "gamma": self.gamma * inner * slopes}
        free = [steps[parameter.name] for parameter in self.hyperparameters if not parameter.fixed]
        return self.between(rows, others), np.stack(free, axis=2) if free else np.empty((*inner.shape, 0))

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        slopes = self._compute_inner(self.prepare(X), self.prepare(Y))[1]
        return self.gamma * slopes[:, :, None] * Y[None, :, :]

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values in array-API operations, for rows on any device: the definition."""
        return (self.gamma * (X @ Y.T) + self.coef0) ** self.degree


@plain
@dataclass
class Sigmoid(Kernel):
    """The function tanh(gamma x.y + coef0): used like a kernel, though it is not positive definite.

    Parameters
    ----------
    gamma : float, default=1.0
    coef0 : float, default=0.0
    gamma_bounds, coef0_bounds : pair of floats or "fixed", default="fixed"
    """

    gamma: float = 1.0
    coef0: float = 0.0
    gamma_bounds: Any = "fixed"
    coef0_bounds: Any = "fixed"

    positive_definite: ClassVar[bool] = False
    _free: ClassVar[tuple[str, ...]] = ("coef0", "gamma")

    def diagonal(self, X: Array) -> Array:
        return np.tanh(self.gamma * lengths(floating(X)) + self.coef0)

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        self._check_positive("gamma", self.gamma)
        return Prepared(floating(X))

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        tile = products(rows, others, make_tile(rows, others, out))
        kernel_values.tangents(self.gamma, self.coef0, tile)
        return tile

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        inner = products(rows, others, make_tile(rows, others, None))
        values = self.between(rows, others)
        # tanh' = 1 - tanh^2; derivatives are by logarithms, as for the polynomial.
        slopes = 1.0 - values**2
        steps = {"coef0": self.coef0 * slopes, "gamma": self.gamma * inner * slopes}
        free = [steps[parameter.name] for parameter in self.hyperparameters if not parameter.fixed]
        return values, np.stack(free, axis=2) if free else np.empty((*inner.shape, 0))

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        values = self.between(self.prepare(X), self.prepare(Y))
        return self.gamma * (1.0 - values**2)[:, :, None] * Y[None, :, :]

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values in array-API operations, for rows on any device: the definition."""
        return xp.tanh(self.gamma * (X @ Y.T) + self.coef0)
