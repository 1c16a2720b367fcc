"""Kernels made of kernels: sums, products and whole powers of kernels are kernels again."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer._plain import plain
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array, Rows
from mercer.errors import ParameterError
from mercer.kernels._constant import Constant, White
from mercer.kernels._kernel import Hyperparameter, Kernel, make_tile
from mercer.kernels._prepared import Prepared, find_same_rows, floating


class Composite(Kernel):
    """A kernel of other kernels, which are the fields that `_inner` names."""

    _inner: ClassVar[tuple[str, ...]] = ()

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return tuple(getattr(self, name) for name in self._inner)

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        """Whether all parts have this property."""
        return all(part.positive_definite for part in self.kernels)

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        """Whether all parts have this property."""
        return all(part.stationary for part in self.kernels)

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        X = floating(X)
        known = (None,) * len(self.kernels) if like is None else like.parts
        made = [part.prepare(X, like=rows) for part, rows in zip(self.kernels, known, strict=True)]
        # A set of rows has one identity, which all parts share.
        token = object()
        return Prepared(X, token=token, parts=tuple(_share_token(rows, token) for rows in made))

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        return [
            replace(parameter, name=f"{name}__{parameter.name}")
            for name, part in zip(self._inner, self.kernels)
            for parameter in part.hyperparameters
        ]

    @property
    def n_dims(self) -> int:
        return sum(part.n_dims for part in self.kernels)

    @Kernel.theta.getter  # type: ignore[attr-defined]
    def theta(self) -> Array:
        return np.concatenate([part.theta for part in self.kernels])

    @property
    def bounds(self) -> Array:
        return np.concatenate([part.bounds for part in self.kernels])

    def with_theta(self, theta: Array) -> Kernel:
        theta, changed, at = np.asarray(theta, dtype=np.float64), {}, 0
        for name, part in zip(self._inner, self.kernels):
            count = part.n_dims
            changed[name] = part.with_theta(theta[at : at + count])
            at += count
        return replace(self, **changed)  # type: ignore[type-var]


@plain
@dataclass
class Sum(Composite):
    """The sum of two kernels: features side by side."""

    k1: Kernel
    k2: Kernel

    _inner: ClassVar[tuple[str, ...]] = ("k1", "k2")
    # The factor of the second kernel.
    sign: ClassVar[float] = 1.0

    def diagonal(self, X: Array) -> Array:
        return self.k1.diagonal(X) + self.sign * self.k2.diagonal(X)

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        first = self.k1.between(rows.parts[0], others.parts[0], out)
        # White is zero except for a row with itself, so it needs no tile of its own.
        if isinstance(self.k2, White):
            first[find_same_rows(rows.parts[1], others.parts[1])] += self.sign * self.k2.noise_level
            return first
        second = self.k2.between(rows.parts[1], others.parts[1])
        return np.add(first, second, out=first) if self.sign > 0 else np.subtract(first, second, out=first)

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        first, first_slopes = self.k1.between_gradient(rows.parts[0], others.parts[0])
        second, second_slopes = self.k2.between_gradient(rows.parts[1], others.parts[1])
        return first + self.sign * second, np.concatenate([first_slopes, self.sign * second_slopes], axis=2)

    def tile_sums(self, rows: Prepared, others: Prepared, weights: Array, K: Array = None) -> Array:
        first = self.k1.tile_sums(rows.parts[0], others.parts[0], weights)
        return np.concatenate([first, self.sign * self.k2.tile_sums(rows.parts[1], others.parts[1], weights)])

    def slope_products(self, rows: Prepared, others: Prepared, vectors: Array, K: Array = None) -> Array:
        first = self.k1.slope_products(rows.parts[0], others.parts[0], vectors)
        return np.concatenate([first, self.sign * self.k2.slope_products(rows.parts[1], others.parts[1], vectors)])

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        return self.k1.differentiate_rows(X, Y) + self.sign * self.k2.differentiate_rows(X, Y)

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values in array-API operations, for rows on any device: the definition."""
        return self.k1.of(xp, X, Y) + self.sign * self.k2.of(xp, X, Y)


@plain
@dataclass
class Difference(Sum):
    """The difference of two kernels, which need not be positive definite."""

    sign: ClassVar[float] = -1.0
    positive_definite: ClassVar[bool] = False


@plain
@dataclass
class Product(Composite):
    """The product of two kernels: all products of a feature of one with a feature of the other."""

    k1: Kernel
    k2: Kernel

    _inner: ClassVar[tuple[str, ...]] = ("k1", "k2")

    def diagonal(self, X: Array) -> Array:
        return self.k1.diagonal(X) * self.k2.diagonal(X)

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        if isinstance(self.k1, Constant):
            # This is by far the most common product: one pass over the tile instead of three.
            values = self.k2.between(rows.parts[1], others.parts[1], out)
            return np.multiply(values, values.dtype.type(self.k1.constant_value), out=values)
        first = self.k1.between(rows.parts[0], others.parts[0], out)
        return np.multiply(first, self.k2.between(rows.parts[1], others.parts[1]), out=first)

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        first, first_slopes = self.k1.between_gradient(rows.parts[0], others.parts[0])
        second, second_slopes = self.k2.between_gradient(rows.parts[1], others.parts[1])
        # The product rule: d(k1 k2) = k2 dk1 + k1 dk2.
        slopes = [first_slopes * second[:, :, None], second_slopes * first[:, :, None]]
        return first * second, np.concatenate(slopes, axis=2)

    def tile_sums(self, rows: Prepared, others: Prepared, weights: Array, K: Array = None) -> Array:
        second = self._find_second(rows, others, K)
        # theta holds log c, so the derivative of c k2 is c k2 itself; no kernel of k1 has to be computed.
        if isinstance(self.k1, Constant):
            own = np.full(self.k1.n_dims, np.einsum("ij,ij->", weights, second))
            sums = np.concatenate([own, self.k2.tile_sums(rows.parts[1], others.parts[1], weights, second)])
            return self.k1.constant_value * sums
        # The product rule: d(k1 k2) = k2 dk1 + k1 dk2, with the other factor moved into the weights.
        first = self.k1.between(rows.parts[0], others.parts[0])
        sums = self.k1.tile_sums(rows.parts[0], others.parts[0], weights * second, first)
        return np.concatenate([sums, self.k2.tile_sums(rows.parts[1], others.parts[1], weights * first, second)])

    def slope_products(self, rows: Prepared, others: Prepared, vectors: Array, K: Array = None) -> Array:
        if not isinstance(self.k1, Constant):
            return super().slope_products(rows, others, vectors)
        values = self._find_second(rows, others, K)
        own = np.broadcast_to(values @ vectors, (self.k1.n_dims, len(rows), vectors.shape[1]))
        second = self.k2.slope_products(rows.parts[1], others.parts[1], vectors, values)
        return self.k1.constant_value * np.concatenate([own, second])

    def _find_second(self, rows: Prepared, others: Prepared, K: Array) -> Array:
        """Return the values of the second kernel; where the first is a constant, from the values `K` of the product."""
        if K is None or not isinstance(self.k1, Constant):
            return self.k2.between(rows.parts[1], others.parts[1])
        return K / self.k1.constant_value

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        first = self.k1.differentiate_rows(X, Y) * self.k2(X, Y)[:, :, None]
        return first + self.k2.differentiate_rows(X, Y) * self.k1(X, Y)[:, :, None]

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values in array-API operations, for rows on any device: the definition."""
        return self.k1.of(xp, X, Y) * self.k2.of(xp, X, Y)


@plain
@dataclass
class Power(Composite):
    """A power of a kernel; a kernel again if the exponent is a whole number."""

    kernel: Kernel
    exponent: float

    _inner: ClassVar[tuple[str, ...]] = ("kernel",)

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        """Whether the kernel is positive definite and the exponent a whole number."""
        return self.kernel.positive_definite and self.exponent >= 0 and self.exponent == int(self.exponent)

    def _check(self) -> None:
        if not np.isscalar(self.exponent) or not np.isfinite(self.exponent):
            raise ParameterError(f"Power: exponent must be a finite number; got {self.exponent!r}.")

    def diagonal(self, X: Array) -> Array:
        return self.kernel.diagonal(X) ** self.exponent

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        self._check()
        values = self.kernel.between(rows.parts[0], others.parts[0], out)
        return np.power(values, self.exponent, out=values)

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        values, slopes = self.kernel.between_gradient(rows.parts[0], others.parts[0])
        return values**self.exponent, self.differentiate_power(values)[:, :, None] * slopes

    def tile_sums(self, rows: Prepared, others: Prepared, weights: Array, K: Array = None) -> Array:
        values = self.kernel.between(rows.parts[0], others.parts[0])
        return self.kernel.tile_sums(rows.parts[0], others.parts[0], weights * self.differentiate_power(values), values)

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        return self.differentiate_power(self.kernel(X, Y))[:, :, None] * self.kernel.differentiate_rows(X, Y)

    def differentiate_power(self, values: Array) -> Array:
        """Return the derivative p k^(p - 1) of the power by the inner kernel's `values` k."""
        return self.exponent * values ** (self.exponent - 1.0)

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values in array-API operations, for rows on any device: the definition."""
        return self.kernel.of(xp, X, Y) ** self.exponent


@plain
@dataclass
class Columns(Composite):
    """A kernel of some of the columns."""

    kernel: Kernel
    columns: Any

    _inner: ClassVar[tuple[str, ...]] = ("kernel",)

    def list_columns(self, n_features: int) -> Array:
        """Return the indices of the columns, among `n_features`."""
        columns = self.columns if isinstance(self.columns, slice) else np.asarray(self.columns)
        return np.atleast_1d(np.arange(n_features)[columns])

    def _select(self, X: Rows) -> Array:
        X = floating(X)
        selected = X[:, self.list_columns(X.shape[1])]
        return selected.tocsr() if is_sparse_matrix(selected) else np.ascontiguousarray(selected)

    def take_columns(self, xp: Any, X: Array) -> Array:
        """Return the columns of rows on any device."""
        return xp.take(X, xp.asarray(self.list_columns(X.shape[1]), device=getattr(X, "device", None)), axis=1)

    def diagonal(self, X: Array) -> Array:
        return self.kernel.diagonal(self._select(X))

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        return self.kernel.prepare(self._select(X), like=like)

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        return self.kernel.between(rows, others, make_tile(rows, others, out))

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        return self.kernel.between_gradient(rows, others)

    def tile_sums(self, rows: Prepared, others: Prepared, weights: Array, K: Array = None) -> Array:
        return self.kernel.tile_sums(rows, others, weights, K)

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        slopes = np.zeros((len(X), *Y.shape))
        slopes[:, :, self.list_columns(Y.shape[1])] = self.kernel.differentiate_rows(self._select(X), self._select(Y))
        return slopes

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values in array-API operations, for rows on any device: the definition."""
        return self.kernel.of(xp, self.take_columns(xp, X), self.take_columns(xp, Y))


def _share_token(prepared: Prepared, token: object) -> Prepared:
    """Return the rows with another identity, that of the set of a composite kernel."""
    return replace(prepared, token=token, parts=tuple(_share_token(part, token) for part in prepared.parts))
