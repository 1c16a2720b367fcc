"""The grid of a self-organising map: positions of its units, distances between them, and neighbours."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._base.parameter import Boolean, Choice, Integer, Real, check_parameters
from mercer._types import Array
from mercer.errors import ParameterError

# Distance between rows of a hexagonal grid whose units are one apart.
_ROW_HEIGHT = np.sqrt(3.0) / 2.0
# Neighbours are at most this far apart: the eight around a unit of a rectangular grid (sqrt 2), the six of a hexagonal
# one.
_REACH = {"rectangular": 1.5, "hexagonal": 1.1}


@dataclass(frozen=True)
class Grid:
    """Units in rows and columns with index ``row * n_columns + column``; neighbours are one apart.

    On a hexagonal grid every other row is shifted by half a unit. On a torus the first row follows the last, and the
    first column the last.
    """

    n_rows: int
    n_columns: int
    topology: str = "rectangular"
    torus: bool = False

    def check(self, subject: str) -> None:
        """Raise a ParameterError if the grid cannot be closed to a torus."""
        if self.torus and self.topology == "hexagonal" and self.n_rows % 2:
            raise ParameterError(
                f"{subject}: a hexagonal torus needs an even number of rows, or the shifted ones meet; got n_rows="
                f"{self.n_rows}. Add or drop a row."
            )

    @property
    def n_units(self) -> int:
        """The number of units."""
        return self.n_rows * self.n_columns

    @cached_property
    def positions(self) -> Array:
        """The position of each unit, across and up, (k, 2)."""
        row, column = np.divmod(np.arange(self.n_units), self.n_columns)
        if self.topology == "rectangular":
            return np.column_stack([column, row]).astype(np.float64)
        return np.column_stack([column + 0.5 * (row % 2), _ROW_HEIGHT * row])

    def factors(self, sigma: float) -> tuple[Array, Array]:
        """Return exp(-D^2 / (2 sigma^2)) between any two positions across, and between any two up; h is their product.

        Across, positions are half units apart: 2 c + (row % 2) on a hexagonal grid, 2 c on a rectangular one.
        """
        halves = 0.5 * np.arange(2 * self.n_columns)
        height = _ROW_HEIGHT if self.topology == "hexagonal" else 1.0
        heights = height * np.arange(self.n_rows)
        across = self._gaps(halves, float(self.n_columns))
        up = self._gaps(heights, height * self.n_rows)
        return np.exp(-0.5 * (across / sigma) ** 2), np.exp(-0.5 * (up / sigma) ** 2)

    @cached_property
    def places(self) -> tuple[Array, Array]:
        """The index of each unit's position across and up, as `factors` counts them."""
        row, column = np.divmod(np.arange(self.n_units), self.n_columns)
        shift = row % 2 if self.topology == "hexagonal" else 0
        return (2 * column + shift).astype(np.int32), row.astype(np.int32)

    def neighbourhood(self, sigma: float) -> Array:
        """Return h = exp(-D^2 / (2 sigma^2)) between any two units, (k, k); D is their distance on the grid."""
        across, up = self.factors(sigma)
        column, row = self.places
        return across[np.ix_(column, column)] * up[np.ix_(row, row)]

    @cached_property
    def distances(self) -> Array:
        """The distance on the grid between any two units, (k, k)."""
        height = _ROW_HEIGHT if self.topology == "hexagonal" else 1.0
        across = self._gaps(self.positions[:, 0], float(self.n_columns))
        up = self._gaps(self.positions[:, 1], height * self.n_rows)
        return np.hypot(across, up)

    @cached_property
    def neighbours(self) -> Array:
        """Whether two units are neighbours, (k, k): eight around each on a rectangular grid, six on a hexagonal one."""
        return (self.distances <= _REACH[self.topology]) & ~np.eye(self.n_units, dtype=bool)

    def _gaps(self, places: Array, period: float) -> Array:
        gaps = np.abs(places[:, None] - places[None, :])
        return np.minimum(gaps, period - gaps) if self.torus else gaps


def grid_neighbourhood(
    n_rows: int, n_columns: int, sigma: float, *, topology: str = "rectangular", torus: bool = False
) -> np.ndarray:
    """Return h = exp(-D^2 / (2 sigma^2)) between any two units of a grid, D their distance on it.

    Parameters
    ----------
    n_rows, n_columns : int
    sigma : float
        The width, in units of the grid.
    topology : {"rectangular", "hexagonal"}, default="rectangular"
    torus : bool, default=False
        Whether the first row and column follow the last.

    Returns
    -------
    h : ndarray of shape (n_rows * n_columns, n_rows * n_columns)
        Unit ``row * n_columns + column``.

    Examples
    --------
    >>> from mercer.cluster import grid_neighbourhood
    >>> grid_neighbourhood(1, 3, 1.0).round(3)
    array([[1.   , 0.607, 0.135],
           [0.607, 1.   , 0.607],
           [0.135, 0.607, 1.   ]])
    """
    rules = {
        "n_rows": Integer(1),
        "n_columns": Integer(1),
        "sigma": Real(0, closed="neither"),
        "topology": Choice("rectangular", "hexagonal"),
        "torus": Boolean(),
    }
    values = {"n_rows": n_rows, "n_columns": n_columns, "sigma": sigma, "topology": topology, "torus": torus}
    check_parameters("grid_neighbourhood", rules, values)
    grid = Grid(n_rows, n_columns, topology, torus)
    grid.check("grid_neighbourhood")
    return grid.neighbourhood(sigma)
