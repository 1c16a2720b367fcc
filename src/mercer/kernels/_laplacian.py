"""The Laplacian kernel, in either norm, and the periodic kernel."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._native.dual import kernel_values
from mercer._plain import plain
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.kernels._kernel import Hyperparameter, Kernel, make_tile, require_dense
from mercer.kernels._prepared import Prepared, floating, lengths
from mercer.kernels._profile import GAUSSIAN, Profile
from mercer.kernels._radial import BOUNDS, Matern, Radial


class _Manhattan(Kernel):
    """exp(-|x - y|_1), of rows already in units."""

    stationary = True

    def __init__(self, unit: Any) -> None:
        self.unit = np.asarray(unit, dtype=np.float64)

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        X = require_dense(X, "Laplacian")
        return Prepared(X / self.unit.astype(X.dtype))

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        tile = make_tile(rows, others, out)
        columns = np.ascontiguousarray(others.rows.T, dtype=tile.dtype)
        kernel_values.add_absolute(rows.rows.astype(tile.dtype, copy=False), columns, tile)
        kernel_values.exponentials(1.0, tile)
        return tile

    def compute_gaps(self, rows: Prepared, others: Prepared) -> Array:
        """Return the absolute differences in each column, divided by its length scale."""
        return np.abs(rows.rows[:, None, :].astype(np.float64) - others.rows[None, :, :])

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        values = self(X, Y)
        return -values[:, :, None] * np.sign(X[:, None, :] - Y[None, :, :]) / self.unit


@plain
@dataclass
class Laplacian(Kernel):
    """The kernel exp(-|x - y| / length_scale), with a cusp at x = y.

    Parameters
    ----------
    length_scale : float or ndarray of shape (d,), default=1.0
    norm : {"euclidean", "manhattan"}, default="euclidean"
        Which length is meant; scikit-learn's ``laplacian`` is the manhattan one, a sum over columns.
    length_scale_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
    gamma : float or None, default=None
        If given, the kernel is exp(-gamma |x - y|) and `length_scale` must be 1.
    """

    length_scale: Any = 1.0
    norm: str = "euclidean"
    length_scale_bounds: Any = BOUNDS
    gamma: float | None = None

    stationary: ClassVar[bool] = True
    _free: ClassVar[tuple[str, ...]] = ("length_scale",)

    def get_unit(self) -> Any:
        if self.gamma is None:
            self._check_positive("length_scale", self.length_scale)
            return self.length_scale
        self._check_positive("gamma", self.gamma)
        if np.ndim(self.length_scale) or self.length_scale != 1.0:
            raise ParameterError(
                f"Laplacian: give gamma or length_scale; got both ({self.gamma!r} and {self.length_scale!r})."
            )
        # exp(-gamma |x - y|) has the length scale 1 / gamma.
        return 1.0 / self.gamma

    @property
    def form(self) -> Any:
        """The kernel that computes the values: Matern of order 1/2, or the one of the Manhattan distance."""
        if self.norm not in ("euclidean", "manhattan"):
            raise ParameterError(f"Laplacian: norm must be one of 'euclidean', 'manhattan'; got {self.norm!r}.")
        return _Manhattan(self.get_unit()) if self.norm == "manhattan" else Matern(self.get_unit(), nu=0.5)

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        if self.gamma is None:
            return super().hyperparameters
        bounds = self.length_scale_bounds
        # Bounds are given for the length scale; gamma is its inverse, so they swap.
        if not isinstance(bounds, str):
            bounds = tuple(1.0 / np.asarray(bounds, dtype=np.float64).ravel()[::-1])
        return [Hyperparameter("gamma", bounds)]

    def diagonal(self, X: Array) -> Array:
        X = floating(X)
        return np.ones(X.shape[0], dtype=X.dtype)

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        return self.form.prepare(X, like=like)

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        return self.form.between(rows, others, out)

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        # By log length-scale the derivative of exp(-t) is t exp(-t); by log gamma, its inverse, the same with minus.
        form, sign = self.form, 1.0 if self.gamma is None else -1.0
        if not self.n_dims:
            values = form.between(rows, others)
            return values, np.empty((*values.shape, 0))
        if self.norm == "euclidean":
            values, slopes = form.between_gradient(rows, others)
            return values, sign * slopes
        values = form.between(rows, others)
        slopes = form.compute_gaps(rows, others) * values[:, :, None]
        # One scale for all columns: the chain rule adds up those of the columns.
        slopes = slopes if self.hyperparameters[0].n_elements > 1 else slopes.sum(axis=2, keepdims=True)
        return values, sign * slopes

    def tile_sums(self, rows: Prepared, others: Prepared, weights: Array, K: Array = None) -> Array:
        if self.norm == "euclidean" and self.n_dims:
            return (1.0 if self.gamma is None else -1.0) * self.form.tile_sums(rows, others, weights, K)
        return super().tile_sums(rows, others, weights, K)

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        return self.form.differentiate_rows(X, Y)

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values in array-API operations, for rows on any device: the definition."""
        if self.norm == "euclidean":
            return self.form.of(xp, X, Y)
        unit = xp.asarray(
            np.asarray(self.get_unit(), dtype=np.float64), dtype=X.dtype, device=getattr(X, "device", None)
        )
        return xp.exp(-xp.sum(xp.abs((X[:, None, :] - Y[None, :, :]) / unit), axis=2))


@plain
@dataclass
class Periodic(Radial):
    """The kernel exp(-2 sum over columns of sin^2(pi (x - y) / periodicity) / length_scale^2).

    This is the Gaussian kernel of points on circles, one circle for each column, so it is positive definite for any
    number of columns; for one column it is scikit-learn's ``ExpSineSquared``.

    Parameters
    ----------
    length_scale : float, default=1.0
    periodicity : float, default=1.0
    length_scale_bounds, periodicity_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
    """

    length_scale: float = 1.0
    periodicity: float = 1.0
    length_scale_bounds: Any = BOUNDS
    periodicity_bounds: Any = BOUNDS

    _free: ClassVar[tuple[str, ...]] = ("length_scale", "periodicity")

    def make_profile(self, n_features: int) -> Profile:
        return Profile(GAUSSIAN, 0.5)

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        for name in self._free:
            self._check_positive(name, getattr(self, name))
        X = require_dense(X, "Periodic")
        # |(cos a, sin a) - (cos b, sin b)|^2 = 4 sin^2((a - b) / 2): the kernel is Gaussian in these points.
        angles = 2.0 * math.pi / self.periodicity * X.astype(np.float64)
        circles = np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / self.length_scale
        rows = np.ascontiguousarray(circles, dtype=X.dtype)
        return Prepared(rows, lengths(rows), parts=(Prepared(X),))

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        values = self.between(rows, others)
        steps = {"length_scale": self._differentiate_length, "periodicity": self._differentiate_period}
        slopes = [
            values * steps[parameter.name](rows, others) for parameter in self.hyperparameters if not parameter.fixed
        ]
        return values, np.stack(slopes, axis=2) if slopes else np.empty((*values.shape, 0))

    def tile_sums(self, rows: Prepared, others: Prepared, weights: Array, K: Array = None) -> Array:
        return Kernel.tile_sums(self, rows, others, weights, K)

    def _differentiate_length(self, rows: Prepared, others: Prepared) -> Array:
        # dlog k/dlog l is the squared distance of the points on circles of radius 1 / l.
        gaps = rows.squares[:, None] + others.squares[None, :] - 2.0 * (rows.rows @ others.rows.T)
        return np.maximum(gaps, 0.0)

    def _differentiate_period(self, rows: Prepared, others: Prepared) -> Array:
        # dlog k/dlog p = (2 / l^2) sum over columns of z sin(2 z), z = pi (x - y) / p.
        total = np.zeros((len(rows), len(others)))
        for x, y in zip(rows.parts[0].rows.T.astype(np.float64), others.parts[0].rows.T):
            z = np.pi / self.periodicity * (x[:, None] - y[None, :])
            total += z * np.sin(2.0 * z)
        return 2.0 / self.length_scale**2 * total

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        rate = np.pi / self.periodicity
        gaps = X[:, None, :] - Y[None, :, :]
        return -self(X, Y)[:, :, None] * 2.0 * rate / self.length_scale**2 * np.sin(2.0 * rate * gaps)

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Compute the values in array-API operations, for rows on any device: the definition."""
        waves = xp.sin(math.pi / self.periodicity * (X[:, None, :] - Y[None, :, :]))
        return xp.exp(-2.0 / self.length_scale**2 * xp.sum(waves * waves, axis=2))

    def scale_rows(self, xp: Any, X: Array) -> Array:
        """Return rows on any device as points on circles; the values are the Gaussian profile of their distances."""
        angles = 2.0 * math.pi / self.periodicity * xp.astype(X, xp.float64)
        return xp.astype(xp.concat([xp.cos(angles), xp.sin(angles)], axis=1) / self.length_scale, X.dtype)
