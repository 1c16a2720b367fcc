"""Integrals over boxes of few dimensions, refined where the integrand is rough."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mercer.errors import DataError

# Lobatto's five points, with the outer two moved inwards by a millionth. Gauss's rule could miss a kink beyond its
# outermost point in a cell and in both halves; and a singularity at an end of the box must not be evaluated.
_NODES = np.array([-(1 - 2e-6), -np.sqrt(3 / 7), 0.0, np.sqrt(3 / 7), 1 - 2e-6])
# Weights that integrate polynomials of degree four at these points exactly, and of degree seven to rounding.
_WEIGHTS = np.linalg.solve(np.vander(_NODES, increasing=True).T, [2, 0, 2 / 3, 0, 2 / 5])
# Cells of each axis at the start, by dimension: enough to find any bump wider than a thirtieth of the box.
_FIRST = {1: 64, 2: 24, 3: 10}
# The most cells that are refined at once; each has 5^d points.
_MOST_CELLS = 40_000


@dataclass(frozen=True)
class Integral:
    """The value of an integral, and an estimate of its error.

    Attributes
    ----------
    value : float
    error : float
        The sum over cells of what the last refinement changed.
    n_points : int
        Evaluations of the integrand.
    """

    value: float
    error: float
    n_points: int


def integrate_box(
    function: Callable[[np.ndarray], Any],
    low: Any,
    high: Any,
    *,
    tol: float = 1e-9,
    max_depth: int = 50,
    subject: str = "integrate_box",
) -> Integral:
    """Integrate a function over a box of one to three dimensions.

    Each cell is integrated by Lobatto's rule, whole and cut into halves along every axis; where the two differ,
    the pieces are cells of the next round. Kinks, such as those of a minimum of densities, cost cells only where they
    are.

    Parameters
    ----------
    function : callable
        From points (m, d) to values (m,).
    low, high : array-like of shape (d,)
        Corners of the box.
    tol : float, default=1e-9
        The error allowed, relative to the integral of the absolute value.
    max_depth : int, default=50
        Rounds of refinement.
    subject : str, default="integrate_box"
        The name that errors begin with.

    Returns
    -------
    Integral

    Examples
    --------
    >>> from mercer.estimation import integrate_box
    >>> round(integrate_box(lambda x: abs(x[:, 0] - 0.3), [0.0], [1.0]).value, 9)
    0.29
    """
    low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in (low, high))
    d = len(low)
    if d not in _FIRST or low.shape != high.shape or not (np.isfinite(low) & np.isfinite(high) & (high > low)).all():
        raise DataError(
            f"{subject}: limits must be finite, low below high, in one to three dimensions; got {low} and {high}."
        )
    corner, width = _first_cells(low, high)
    value, size, n_points = _cell_sums(function, corner, width, subject)
    scale, done, error = float(size.sum()), 0.0, 0.0
    shifts = np.array(list(product((0.0, 0.5), repeat=d)))
    for _ in range(max_depth):
        # Every open cell is cut into 2^d pieces of half its sides.
        width = width / 2
        corners = (corner[:, None] + 2 * width * shifts).reshape(-1, d)
        parts, sizes, more = _cell_sums(function, corners, width, subject)
        n_points += more
        parts, sizes = parts.reshape(-1, 2**d), sizes.reshape(-1, 2**d)
        change = np.abs(parts.sum(axis=1) - value)
        # The scale of the integrand, by which `tol` is relative, may grow as details appear.
        scale = max(scale, abs(done) + float(sizes.sum()))
        # A quarter of the allowed error is divided among the open cells; the rest is left for later rounds.
        settled = change <= 0.25 * tol * scale / max(len(corner), 64)
        done += float(parts[settled].sum())
        error += float(change[settled].sum())
        if settled.all():
            return Integral(done, error, n_points)
        # The pieces of cells that are not settled are the cells of the next round.
        corner = corners.reshape(-1, 2**d, d)[~settled].reshape(-1, d)
        value = parts[~settled].ravel()
        if len(corner) * 2**d > _MOST_CELLS:
            break
    # The depth or the number of cells is exhausted: what is open counts with its error.
    rest = float(value.sum())
    return Integral(done + rest, error + float(change[~settled].sum()), n_points)


def _first_cells(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest corners of equal cells, and their common width."""
    cells = _FIRST[len(low)]
    width = (high - low) / cells
    steps = np.stack(np.meshgrid(*[np.arange(cells)] * len(low), indexing="ij"), axis=-1).reshape(-1, len(low))
    return low + steps * width, width


def _cell_sums(
    function: Callable[[np.ndarray], Any], corner: np.ndarray, width: np.ndarray, subject: str
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the integrals over cells of the function and of its absolute value, and the number of points."""
    d = len(width)
    # Lobatto's nodes on [0, 1] in every dimension; the weights are products.
    points = np.array(list(product((_NODES + 1) / 2, repeat=d)))
    weight = np.prod(np.array(list(product(_WEIGHTS / 2, repeat=d))), axis=1) * np.prod(width)
    at = (corner[:, None] + points * width).reshape(-1, d)
    values = np.asarray(function(at), dtype=np.float64).reshape(len(corner), -1)
    if not np.isfinite(values).all():
        raise DataError(
            f"{subject}: the integrand must be finite inside the limits; got NaN or infinity. Move the limits."
        )
    return values @ weight, np.abs(values) @ weight, len(at)
