"""Kernels of the distance between rows."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import diags_array

from mercer._plain import plain
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.kernels._distances import find_centre, multiply_gaps, products, square_distances, square_gaps, sum_gaps
from mercer.kernels._kernel import Hyperparameter, Kernel, make_tile
from mercer.kernels._prepared import Prepared, find_same_rows, floating, lengths
from mercer.kernels._profile import EXPONENTIAL, GAUSSIAN, MATERN_3, MATERN_5, QUADRATIC, BesselProfile, Profile

BOUNDS = (1e-5, 1e5)


class Radial(Kernel):
    """A kernel of the distance between rows, with columns divided by length scales."""

    stationary = True

    def make_profile(self, n_features: int) -> Profile:
        """Return the function of the squared distance."""
        raise NotImplementedError  # each kernel defines its own

    def get_unit(self) -> Any:
        """Return the length scales that columns are divided by: one value, or one for each column."""
        return getattr(self, "length_scale", 1.0)

    def diagonal(self, X: Array) -> Array:
        X = floating(X)
        return np.full(X.shape[0], self.make_profile(X.shape[1]).factor, dtype=X.dtype)

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        X = floating(X)
        unit = self._check_unit(X.shape[1]) if like is None or like.unit is None else like.unit
        if is_sparse_matrix(X):
            inverse = np.broadcast_to(1.0 / unit, X.shape[1]).astype(X.dtype)
            rows = (X @ diags_array(inverse)).tocsr()
            return Prepared(rows, lengths(rows), unit=unit)
        # Dense rows are centred, since |x - y|^2 = |x|^2 + |y|^2 - 2 x.y loses fewer digits near the origin. A set that
        # is compared with another one (`like`) has its shift.
        if like is not None and like.shift is not None:
            X = X if X.dtype == like.dtype else X.astype(np.result_type(X.dtype, like.dtype))
            shift = like.shift
        else:
            shift = find_centre(X)
        rows = X - shift
        rows /= unit
        return Prepared(rows, lengths(rows), shift, unit=unit)

    def _check_unit(self, n_features: int) -> Array:
        given = self.get_unit()
        self._check_positive("length_scale", given)
        unit = np.asarray(given, dtype=np.float64)
        if unit.ndim and unit.size not in (1, n_features):
            raise DataError(
                f"{type(self).__name__}: length_scale must be one number, or one a column; got {unit.size} numbers for "
                f"{n_features} columns."
            )
        return unit

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        rows, others = self._align(rows, others)
        tile = products(rows, others, make_tile(rows, others, out))
        profile = self.make_profile(rows.rows.shape[1])
        profile.fill(tile, *_cast_squares(tile, rows, others))
        # Rounding leaves a small distance of a row to itself, whose root would show in kernels with a cusp.
        if rows.token is others.token:
            tile[find_same_rows(rows, others)] = profile.factor
        return tile

    def write_rows(
        self, prepared: Prepared, chosen: Array, columns: Array, slots: Array, table: Array, first: int
    ) -> None:
        profile = self.profile(prepared)
        if profile is None:
            super().write_rows(prepared, chosen, columns, slots, table, first)
        else:
            profile.fill_rows(prepared, chosen, columns, slots, table, first)

    def profile(self, prepared: Prepared) -> Profile | None:
        profile = self.make_profile(prepared.rows.shape[1])
        # Native code reads dense rows, and has no Bessel functions.
        return None if is_sparse_matrix(prepared.rows) or type(profile) is not Profile else profile

    def _fill_slopes(self, rows: Prepared, others: Prepared) -> Array:
        """Return a tile of -2 dk/ds, with s the squared distance in length scales; zero for a row with itself."""
        rows, others = self._align(rows, others)
        tile = products(rows, others, make_tile(rows, others, None))
        self.make_profile(rows.rows.shape[1]).fill_slopes(tile, *_cast_squares(tile, rows, others))
        # Rounding leaves a small distance of a row to itself, where the slope of a kernel with a cusp is large.
        if rows.token is others.token:
            tile[find_same_rows(rows, others)] = 0.0
        return tile

    def _align(self, rows: Prepared, others: Prepared) -> tuple[Prepared, Prepared]:
        """Return the two sets with one origin of coordinates."""
        if rows.shift is others.shift or (rows.shift is None and others.shift is None):
            return rows, others
        if rows.shift is None or is_sparse_matrix(rows.rows):
            others, rows = self._align(others, rows)
            return rows, others
        origin = 0.0 if others.shift is None else others.shift
        if np.array_equal(rows.shift, np.broadcast_to(origin, rows.shift.shape)):
            return rows, others
        # Rows are stored as (x - shift) / unit; adding the difference of the shifts gives them the origin of the
        # others.
        moved = rows.rows + ((rows.shift - origin) / np.asarray(self.get_unit())).astype(rows.dtype)
        return replace(rows, rows=moved, squares=lengths(moved), shift=others.shift), others

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        rows, others = self._align(rows, others)
        values = self.between(rows, others)
        slopes = self._fill_slopes(rows, others)
        gradients = []
        for parameter in self.hyperparameters:
            if parameter.fixed:
                continue
            if parameter.name in ("length_scale", "gamma"):
                parts = square_gaps(rows, others) * slopes[:, :, None]
                parts = parts if parameter.n_elements > 1 else parts.sum(axis=2, keepdims=True)
                # gamma = 1 / (2 l^2): a step in log gamma is minus half a step in log l.
                gradients.append(parts if parameter.name == "length_scale" else -0.5 * parts)
            else:
                gradients.append(self.compute_shape_slopes(np, values, rows.rows.shape[1])[:, :, None])
        return values, np.concatenate(gradients, axis=2) if gradients else np.empty((*values.shape, 0))

    def tile_sums(self, rows: Prepared, others: Prepared, weights: Array, K: Array = None) -> Array:
        rows, others = self._align(rows, others)
        free = [parameter for parameter in self.hyperparameters if not parameter.fixed]
        profile = self.make_profile(rows.rows.shape[1])
        # dk/dlog(length) of the Gaussian kernel is k times squared differences: the values serve as slopes.
        needs_values = profile.slope_is_value or any(
            parameter.name not in ("length_scale", "gamma") for parameter in free
        )
        values = self.between(rows, others) if K is None and needs_values else K
        totals = []
        for parameter in free:
            if parameter.name in ("length_scale", "gamma"):
                # -2 dk/ds of exp(-s / 2) is the kernel itself.
                slopes = values if profile.slope_is_value else self._fill_slopes(rows, others)
                sums = sum_gaps(weights * slopes, rows.rows, others.rows)
                sums = sums if parameter.n_elements > 1 else sums.sum(keepdims=True)
                totals.append(sums if parameter.name == "length_scale" else -0.5 * sums)
            else:
                slopes = self.compute_shape_slopes(np, values, rows.rows.shape[1])
                totals.append(np.array([np.vdot(weights, slopes)]))
        return np.concatenate(totals) if totals else np.empty(0)

    def slope_products(self, rows: Prepared, others: Prepared, vectors: Array, K: Array = None) -> Array:
        free = [parameter for parameter in self.hyperparameters if not parameter.fixed]
        if [parameter.name for parameter in free] != ["length_scale"]:
            return super().slope_products(rows, others, vectors)
        rows, others = self._align(rows, others)
        known = K is not None and self.make_profile(rows.rows.shape[1]).slope_is_value
        products = multiply_gaps(K if known else self._fill_slopes(rows, others), rows.rows, others.rows, vectors)
        return products if free[0].n_elements > 1 else products.sum(axis=0, keepdims=True)

    def compute_shape_slopes(self, xp: Any, values: Array, n_features: int) -> Array:
        """Compute derivatives by the logarithm of the hyper-parameter that is no length scale, from the `values`."""
        raise NotImplementedError

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        unit = np.asarray(self.get_unit(), dtype=np.float64)
        rows = self.prepare(X)
        slopes = self._fill_slopes(rows, self.prepare(Y, like=rows))
        # dk/dx = dk/ds 2 (x - y) / l^2, and the tile holds -2 dk/ds.
        return -slopes[:, :, None] * (X[:, None, :] - Y[None, :, :]) / unit**2

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values in array-API operations, for rows on any device: the definition."""
        profile = self.make_profile(X.shape[1])
        if isinstance(profile, BesselProfile) and not isinstance(X, np.ndarray):
            return super().of(xp, X, Y)
        return profile.of(xp, square_distances(xp, self.scale_rows(xp, X), self.scale_rows(xp, Y)))

    def scale_rows(self, xp: Any, X: Array) -> Array:
        """Return rows on any device divided by the length scales; the values are the profile of their distances."""
        return X / xp.asarray(self._check_unit(X.shape[1]), dtype=X.dtype, device=getattr(X, "device", None))


@plain
@dataclass
class RBF(Radial):
    """The Gaussian kernel exp(-s / 2), with s the sum over columns of ((x - y) / length_scale)^2.

    Parameters
    ----------
    length_scale : float or ndarray of shape (d,), default=1.0
        One for all columns, or one for each column.
    length_scale_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
    gamma : float or None, default=None
        If given, the kernel is exp(-gamma |x - y|^2) and `length_scale` must be 1: gamma is 1 / (2 length_scale^2).
    """

    length_scale: Any = 1.0
    length_scale_bounds: Any = BOUNDS
    gamma: float | None = None

    _free: ClassVar[tuple[str, ...]] = ("length_scale",)

    def make_profile(self, n_features: int) -> Profile:
        return Profile(GAUSSIAN, 0.5)

    def get_unit(self) -> Any:
        if self.gamma is None:
            return self.length_scale
        self._check_positive("gamma", self.gamma)
        single = isinstance(self.length_scale, float) or not np.ndim(self.length_scale)
        if not (single and self.length_scale == 1.0):
            raise ParameterError(
                f"RBF: give gamma or length_scale; got both ({self.gamma!r} and {self.length_scale!r})."
            )
        return 1.0 / math.sqrt(2.0 * self.gamma)

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        if self.gamma is None:
            return super().hyperparameters
        bounds = self.length_scale_bounds
        if not isinstance(bounds, str):
            # gamma = 1 / (2 l^2) falls with the length scale l, so that the bounds change places.
            bounds = tuple(0.5 / np.asarray(bounds, dtype=np.float64).ravel()[::-1] ** 2)
        return [Hyperparameter("gamma", bounds)]


@plain
@dataclass
class Matern(Radial):
    """The Matern kernel: functions that are `nu` times differentiable, about.

    With r the distance in units of `length_scale`: exp(-r) for nu = 1/2, (1 + t) exp(-t) with t = sqrt(3) r for 3/2,
    (1 + t + t^2 / 3) exp(-t) with t = sqrt(5) r for 5/2, the Gaussian kernel for infinity, and Bessel functions
    between.

    Parameters
    ----------
    length_scale : float or ndarray of shape (d,), default=1.0
    length_scale_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
    nu : float, default=1.5
    """

    length_scale: Any = 1.0
    length_scale_bounds: Any = BOUNDS
    nu: float = 1.5

    _free: ClassVar[tuple[str, ...]] = ("length_scale",)

    def make_profile(self, n_features: int) -> Profile:
        if not self.nu > 0:
            raise ParameterError(f"Matern: nu must be a number in (0, inf]; got {self.nu!r}.")
        # The limit of large nu is exp(-r^2 / 2).
        if self.nu == math.inf:
            return Profile(GAUSSIAN, 0.5)
        # For nu = p + 1/2 the Bessel function is exp(-s) times a polynomial in s = sqrt(2 nu) r.
        known = {0.5: EXPONENTIAL, 1.5: MATERN_3, 2.5: MATERN_5}
        scale = math.sqrt(2.0 * self.nu)
        return Profile(known[self.nu], scale) if self.nu in known else BesselProfile(scale=scale, shape=self.nu)


@plain
@dataclass
class RationalQuadratic(Radial):
    """The kernel (1 + s / (2 alpha))^-alpha: Gaussian kernels of many length scales, mixed.

    Parameters
    ----------
    length_scale : float or ndarray of shape (d,), default=1.0
    alpha : float, default=1.0
        Small values mix widely; with alpha to infinity this is the Gaussian kernel.
    length_scale_bounds, alpha_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
    """

    length_scale: Any = 1.0
    alpha: float = 1.0
    length_scale_bounds: Any = BOUNDS
    alpha_bounds: Any = BOUNDS

    _free: ClassVar[tuple[str, ...]] = ("alpha", "length_scale")

    def make_profile(self, n_features: int) -> Profile:
        self._check_positive("alpha", self.alpha)
        return Profile(QUADRATIC, 0.5 / self.alpha, self.alpha)

    def compute_shape_slopes(self, xp: Any, values: Array, n_features: int) -> Array:
        # With L = log(1 + s / (2 alpha)) = -log(k) / alpha: alpha dk/dalpha = alpha k (1 - exp(-L) - L).
        least = xp.zeros_like(values) + float(xp.finfo(values.dtype).smallest_normal)
        L = -xp.log(xp.maximum(values, least)) / self.alpha
        return self.alpha * values * (-xp.expm1(-L) - L)


class _Softened(Radial):
    """The kernel (|x - y|^2 + c^2)^-power, where c is the field that `_free` names."""

    def _power(self, n_features: int) -> float:
        raise NotImplementedError

    def make_profile(self, n_features: int) -> Profile:
        name = self._free[0]
        c, power = getattr(self, name), self._power(n_features)
        self._check_positive(name, c)
        return Profile(QUADRATIC, 1.0 / c**2, power, float(c) ** (-2.0 * power))

    def compute_shape_slopes(self, xp: Any, values: Array, n_features: int) -> Array:
        # dk/dlog c = -2 p c^2 (s + c^2)^(-p - 1), and (s + c^2) = k^(-1 / p).
        power = self._power(n_features)
        return -2.0 * power * getattr(self, self._free[0]) ** 2 * values ** (1.0 + 1.0 / power)


@plain
@dataclass
class InverseMultiquadric(_Softened):
    """The kernel (|x - y|^2 + offset^2)^(-1/2).

    Parameters
    ----------
    offset : float, default=1.0
    offset_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
    """

    offset: float = 1.0
    offset_bounds: Any = BOUNDS

    _free: ClassVar[tuple[str, ...]] = ("offset",)

    def _power(self, n_features: int) -> float:
        return 0.5


@plain
@dataclass
class Plummer(_Softened):
    """The kernel (|x - y|^2 + softening^2)^(-dimension / 2).

    Parameters
    ----------
    softening : float, default=1.0
    dimension : float or None, default=None
        None means the number of columns.
    softening_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
    """

    softening: float = 1.0
    dimension: float | None = None
    softening_bounds: Any = BOUNDS

    _free: ClassVar[tuple[str, ...]] = ("softening",)

    def _power(self, n_features: int) -> float:
        dimension = n_features if self.dimension is None else self.dimension
        self._check_positive("dimension", dimension)
        return 0.5 * dimension


def _cast_squares(tile: Array, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
    return rows.squares.astype(tile.dtype, copy=False), others.squares.astype(tile.dtype, copy=False)
