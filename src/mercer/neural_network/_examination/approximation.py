"""Universal approximation by construction: steps, sigmoids and cosines that add up to a function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from mercer._types import Array
from mercer.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class UnitSum:
    """A network of one hidden layer: f(x) = offset + sum_j v_j g(x . w_j + b_j).

    Attributes
    ----------
    weights : ndarray of shape (d, n_units)
        The input weights w.
    biases : ndarray of shape (n_units,)
        b.
    outputs : ndarray of shape (n_units,)
        The output weights v.
    offset : float
    kind : str
        The activation g: 'step', 'sigmoid' or 'cosine'.
    """

    weights: Array
    biases: Array
    outputs: Array
    offset: float
    kind: str

    def __call__(self, X: Any) -> Array:
        """Return the sum at points of shape (n,) for one variable, or (n, d)."""
        points = np.asarray(X, dtype=np.float64)
        inputs = (points[:, None] if points.ndim == 1 else points) @ self.weights + self.biases
        if self.kind == "step":
            values = (inputs >= 0).astype(np.float64)
        else:
            values = expit(inputs) if self.kind == "sigmoid" else np.cos(inputs)
        return self.offset + values @ self.outputs


def approximate_by_units(
    function: Callable[[Array], Any],
    n_units: int,
    *,
    low: float = 0.0,
    high: float = 1.0,
    steepness: float | None = None,
) -> UnitSum:
    """Approximate a function of one variable by a sum of shifted steps or sigmoids, without learning.

    The interval is cut into `n_units` pieces. A unit switches on at the start of each piece, by the difference of the
    function between the middles of that piece and the one before. For a function of slope at most L the error of steps
    is at most L (high - low) / (2 n_units).

    Parameters
    ----------
    function : callable
        From an array of shape (m,) to one of the same shape.
    n_units : int
    low, high : float, default=0 and 1
        The interval.
    steepness : float or None, default=None
        None takes steps; a number takes sigmoids of this slope, in units of pieces per switch.

    Returns
    -------
    UnitSum

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import approximate_by_units
    >>> x = np.linspace(0, 1, 1001)
    >>> [round(float(abs(approximate_by_units(np.sin, n)(x) - np.sin(x)).max()), 3) for n in (10, 100)]
    [0.05, 0.005]
    """
    if n_units < 1 or not low < high:
        raise ParameterError(
            f"approximate_by_units: n_units must be at least 1 and low below high; got {n_units}, {low} and {high}."
        )
    width = (high - low) / n_units
    starts = low + width * np.arange(n_units)
    # The value in the middle of each piece.
    values = np.asarray(function(starts + 0.5 * width), dtype=np.float64)
    if values.shape != starts.shape or not np.isfinite(values).all():
        raise DataError(f"approximate_by_units: the function must give {n_units} finite numbers for {n_units} points.")
    # The first piece needs no switch: its value is the offset.
    jumps, places = np.diff(values), starts[1:]
    scale = 1.0 if steepness is None else steepness / width
    weights = np.full((1, n_units - 1), scale)
    kind = "step" if steepness is None else "sigmoid"
    return UnitSum(weights, -scale * places, jumps, float(values[0]), kind)


def approximate_by_cosines(function: Callable[[Array], Any], n_frequencies: int) -> UnitSum:
    r"""Approximate a function on the unit square by a sum of cosines of weighted sums, without learning.

    A cosine series has terms :math:`a_{jk} \cos(\pi j x_1) \cos(\pi k x_2)`, and
    :math:`\cos \alpha \cos \beta = \tfrac12 \cos(\alpha + \beta) + \tfrac12 \cos(\alpha - \beta)`: each term is two
    hidden units, :math:`\cos(w_1 x_1 + w_2 x_2)`.

    Parameters
    ----------
    function : callable
        From points of shape (m, 2) to values of shape (m,).
    n_frequencies : int
        Frequencies 0, 1, ... along each axis; the network has 2 n_frequencies^2 units.

    Returns
    -------
    UnitSum

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import approximate_by_cosines
    >>> def hill(x): return np.exp(-10 * ((x - 0.5) ** 2).sum(axis=1))
    >>> points = np.random.default_rng(0).random((500, 2))
    >>> errors = [abs(approximate_by_cosines(hill, n)(points) - hill(points)).max() for n in (3, 15)]
    >>> bool(errors[1] < 0.5 * errors[0])
    True
    """
    if n_frequencies < 1:
        raise ParameterError(f"approximate_by_cosines: n_frequencies must be at least 1; got {n_frequencies}.")
    # The midpoint rule integrates products of cosines exactly below its own frequency.
    m = max(64, 4 * n_frequencies)
    middles = (np.arange(m) + 0.5) / m
    first, second = np.meshgrid(middles, middles, indexing="ij")
    values = np.asarray(function(np.column_stack([first.ravel(), second.ravel()])), dtype=np.float64).reshape(m, m)
    frequencies = np.arange(n_frequencies)
    waves = np.cos(np.pi * np.outer(frequencies, middles))
    norms = np.where(frequencies == 0, 1.0, 2.0)
    # Fourier coefficients by the midpoint rule; the constant has norm 1, cosines 1/2.
    coefficients = norms[:, None] * norms * (waves @ values @ waves.T) / m**2
    j, k = (np.pi * part.ravel() for part in np.meshgrid(frequencies, frequencies, indexing="ij"))
    weights = np.concatenate([np.stack([j, k]), np.stack([j, -k])], axis=1)
    outputs = 0.5 * np.tile(coefficients.ravel(), 2)
    return UnitSum(weights, np.zeros(weights.shape[1]), outputs, 0.0, "cosine")
