"""Functions of the squared distance, by which radial kernels differ."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gamma as gamma_function
from scipy.special import kve

from mercer._native.dual import kernel_values
from mercer._types import Array
from mercer.kernels._prepared import Prepared

# The codes of the profiles in native code.
SQUARE = 0
GAUSSIAN = 1
EXPONENTIAL = 2
MATERN_3 = 3
MATERN_5 = 4
QUADRATIC = 5
# Bytes of a line of a panel of rows, in the layout of native code.
_PANEL = 128


@dataclass(frozen=True)
class Profile:
    """The value factor * p(s) at the squared distance s, with p(0) = 1.

    With r the root of s and t = scale r, p is exp(-scale s), exp(-t), (1 + t) exp(-t), (1 + t + t^2 / 3) exp(-t) or
    (1 + scale s)^-shape.
    """

    kind: int
    scale: float = 1.0
    shape: float = 1.0
    factor: float = 1.0

    @property
    def form(self) -> Array:
        """Kind, shape, scale and factor, as native code takes them."""
        return np.array([self.kind, self.shape, self.scale, self.factor], dtype=np.float64)

    def fill(self, tile: Array, squares: Array, others: Array) -> None:
        """Turn a tile of dot products into values."""
        kernel_values.radial(self.kind, self.shape, self.scale, squares, others, tile)
        if self.factor != 1.0:
            tile *= tile.dtype.type(self.factor)

    def fill_rows(
        self, prepared: Prepared, chosen: Array, columns: Array, slots: Array, table: Array, first: int
    ) -> None:
        """Write the values between rows of one set to a table, in one native call."""
        dtype, width = table.dtype, prepared.rows.shape[1]
        across = _PANEL // dtype.itemsize
        panels = -(-len(columns) // across)
        left, right = np.empty((8, width), dtype), np.empty((panels, width, across), dtype)
        scratch = (left, right, np.empty(len(columns), dtype), np.empty((8, panels * across), dtype))
        places = (chosen, columns, slots, first)
        kernel_values.radial_rows(self.form, prepared.rows, prepared.squares, *places, *scratch, table)

    def fill_slopes(self, tile: Array, squares: Array, others: Array) -> None:
        """Turn a tile of dot products into -2 dk/ds."""
        kernel_values.slopes(self.kind, self.shape, self.scale, squares, others, tile)
        if self.factor != 1.0:
            tile *= tile.dtype.type(self.factor)

    def of(self, xp: Any, s: Array) -> Array:
        """Compute the values at squared distances `s` in array-API operations: the definition."""
        if self.kind == GAUSSIAN:
            value = xp.exp(-self.scale * s)
        elif self.kind == QUADRATIC:
            # (1 + scale s)^(-shape), by the logarithm that keeps digits near s = 0.
            value = xp.exp(-self.shape * xp.log1p(self.scale * s))
        else:
            t = self.scale * xp.sqrt(s)
            polynomial = {EXPONENTIAL: 1.0, MATERN_3: 1.0 + t, MATERN_5: 1.0 + t + t * t / 3.0}[self.kind]
            value = polynomial * xp.exp(-t)
        return value if self.factor == 1.0 else self.factor * value

    def slopes_of(self, xp: Any, s: Array) -> Array:
        """Compute -2 dk/ds in array-API operations; zero at s = 0 where the exponential profile has no derivative."""
        if self.kind == GAUSSIAN:
            slope = 2.0 * self.scale * xp.exp(-self.scale * s)
        elif self.kind == QUADRATIC:
            slope = 2.0 * self.shape * self.scale * xp.exp(-(self.shape + 1.0) * xp.log1p(self.scale * s))
        else:
            # d/dt of exp(-t), (1 + t) exp(-t) and (1 + t + t^2 / 3) exp(-t), times dt/ds = scale^2 / (2 t).
            t = self.scale * xp.sqrt(s)
            safe = xp.where(t > 0, t, xp.ones_like(t))
            zero = xp.zeros_like(t)
            ratio = {EXPONENTIAL: xp.where(t > 0, 1.0 / safe, zero), MATERN_3: zero + 1.0, MATERN_5: (1.0 + t) / 3.0}
            slope = self.scale**2 * ratio[self.kind] * xp.exp(-t)
        return slope if self.factor == 1.0 else self.factor * slope

    @property
    def slope_is_value(self) -> bool:
        """Whether -2 dk/ds is k itself."""
        return self.kind == GAUSSIAN and self.scale == 0.5


@dataclass(frozen=True)
class BesselProfile(Profile):
    """The profile of the Matern kernel of any order: 2^(1 - nu) / Gamma(nu) t^nu K_nu(t), with `shape` for nu."""

    kind: int = SQUARE

    def fill(self, tile: Array, squares: Array, others: Array) -> None:
        kernel_values.radial(SQUARE, 1.0, 1.0, squares, others, tile)
        tile[...] = self.of(np, tile)

    def fill_slopes(self, tile: Array, squares: Array, others: Array) -> None:
        # d/dt (t^nu K_nu) = -t^nu K_(nu - 1), and dt/ds = scale^2 / (2 t).
        kernel_values.radial(SQUARE, 1.0, 1.0, squares, others, tile)
        t = self.scale * np.sqrt(tile)
        safe = np.where(t > 0, t, 1.0)
        slopes = self._constant * self.scale**2 * safe ** (self.shape - 1) * kve(self.shape - 1, safe) * np.exp(-safe)
        at_zero = self.scale**2 / (2.0 * (self.shape - 1.0)) if self.shape > 1 else 0.0
        tile[...] = np.where(t > 0, slopes, at_zero)

    def slopes_of(self, xp: Any, s: Array) -> Array:
        raise NotImplementedError  # no array library has Bessel functions: derivatives on a device are refused before

    def of(self, xp: Any, s: Array) -> Array:
        t = self.scale * np.sqrt(np.asarray(s, dtype=np.float64))
        safe = np.where(t > 0, t, 1.0)
        return np.where(t > 0, self._constant * safe**self.shape * kve(self.shape, safe) * np.exp(-safe), 1.0)

    @property
    def _constant(self) -> float:
        return math.exp((1.0 - self.shape) * math.log(2.0)) / float(gamma_function(self.shape))
