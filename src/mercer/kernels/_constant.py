"""Kernels that do not look at the columns: a constant, and noise of each row's own."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._plain import plain
from mercer._types import Array
from mercer.kernels._kernel import Kernel, make_tile
from mercer.kernels._prepared import Prepared, find_same_rows, floating
from mercer.kernels._radial import BOUNDS


@plain
@dataclass
class Constant(Kernel):
    """The same value for all pairs: scales a kernel in products, shifts it in sums.

    Parameters
    ----------
    constant_value : float, default=1.0
    constant_value_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
    """

    constant_value: float = 1.0
    constant_value_bounds: Any = BOUNDS

    stationary: ClassVar[bool] = True
    _free: ClassVar[tuple[str, ...]] = ("constant_value",)

    def diagonal(self, X: Array) -> Array:
        X = floating(X)
        return np.full(X.shape[0], self.constant_value, dtype=X.dtype)

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        self._check_positive("constant_value", self.constant_value)
        return Prepared(floating(X))

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        tile = make_tile(rows, others, out)
        tile[...] = self.constant_value
        return tile

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        values = self.between(rows, others)
        return values, values[:, :, None] if self.n_dims else np.empty((*values.shape, 0))

    def tile_sums(self, rows: Prepared, others: Prepared, weights: Array, K: Array = None) -> Array:
        return np.array([self.constant_value * weights.sum()])[: self.n_dims]

    def slope_products(self, rows: Prepared, others: Prepared, vectors: Array, K: Array = None) -> Array:
        sums = self.constant_value * vectors.sum(axis=0)
        return np.broadcast_to(sums, (self.n_dims, len(rows), vectors.shape[1]))

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        return np.zeros((len(X), *Y.shape))

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values in array-API operations, for rows on any device: the definition."""
        return xp.zeros_like(X[:, :1] + Y[:, :1].T) + self.constant_value


@plain
@dataclass
class White(Kernel):
    """The value `noise_level` of a row with itself, and 0 of two rows, even of equal ones.

    A row is itself only within one set of rows: values between two sets are 0.

    Parameters
    ----------
    noise_level : float, default=1.0
    noise_level_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
    """

    noise_level: float = 1.0
    noise_level_bounds: Any = BOUNDS

    stationary: ClassVar[bool] = True
    _free: ClassVar[tuple[str, ...]] = ("noise_level",)

    def diagonal(self, X: Array) -> Array:
        X = floating(X)
        return np.full(X.shape[0], self.noise_level, dtype=X.dtype)

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        self._check_positive("noise_level", self.noise_level)
        return Prepared(floating(X))

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        tile = make_tile(rows, others, out)
        tile[...] = 0.0
        tile[find_same_rows(rows, others)] = self.noise_level
        return tile

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        values = self.between(rows, others)
        return values, values[:, :, None] if self.n_dims else np.empty((*values.shape, 0))

    def tile_sums(self, rows: Prepared, others: Prepared, weights: Array, K: Array = None) -> Array:
        return np.array([self.noise_level * weights[find_same_rows(rows, others)].sum()])[: self.n_dims]

    def slope_products(self, rows: Prepared, others: Prepared, vectors: Array, K: Array = None) -> Array:
        sums = np.zeros((self.n_dims, len(rows), vectors.shape[1]))
        here, there = find_same_rows(rows, others)
        sums[:, here] = self.noise_level * vectors[there]
        return sums

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        return np.zeros((len(X), *Y.shape))

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values between two sets, which are zeros, in array-API operations."""
        return xp.zeros_like(X[:, :1] + Y[:, :1].T)
