"""A class with one parameter and no finite VC dimension: the sign of sin(w x)."""

from math import pi
from typing import Any, NamedTuple

import numpy as np

from mercer._base.reading import read_integer, read_numbers
from mercer.errors import DataError

# Labels that double precision can tell apart: w reaches pi 10^15, and w x is known to a rounding of 10^-15 w x.
_MOST_LABELS = 14
# Frequencies tried at a time: 1 MiB of float64 for eight points.
_TILE = 2**14


class SineFit(NamedTuple):
    """A curve a sin(w x) through points."""

    #: a.
    amplitude: float
    #: w.
    frequency: float
    #: The largest distance of the curve from a target.
    error: float


def find_sine_frequency(labels: Any) -> float:
    r"""Return the w for which the sign of sin(w x) gives the points 0.1, 0.01, 0.001, ... any labels.

    .. math:: w = \pi \Big( 1 + \sum_i \frac{1 - y_i}{2} 10^i \Big)

    At :math:`x_j = 10^{-j}` the terms with i > j add even multiples of pi, the term i = j adds pi if the label is -1,
    and what is left is less than pi / 4. So a class with one parameter labels any number of points in every way: the
    number of parameters does not measure capacity.

    Parameters
    ----------
    labels : array-like of shape (n_points,)
        Labels -1 and 1, at most 14.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import find_sine_frequency
    >>> labels = [1, -1, -1, 1]
    >>> x = 10.0 ** -np.arange(1, 5)
    >>> np.sign(np.sin(find_sine_frequency(labels) * x)).astype(int).tolist()
    [1, -1, -1, 1]
    """
    y = np.asarray(labels)
    if y.ndim != 1 or not np.isin(y, (-1, 1)).all():
        raise DataError("find_sine_frequency: labels must be a list of -1 and 1; give np.where(y, 1, -1).")
    if len(y) > _MOST_LABELS:
        raise DataError(
            f"find_sine_frequency: float64 can tell {_MOST_LABELS} labels apart; got {len(y)}. Give fewer points."
        )
    return pi * (1 + sum(10**i for i, label in enumerate(y.tolist(), start=1) if label < 0))


def fit_sine(x: Any, y: Any, *, max_frequency: float = 1e5, n_frequencies: int = 1_000_000) -> SineFit:
    """Search the curve a sin(w x) that comes nearest to points, by trying many frequencies.

    Two parameters come near to any few targets if w may be as large as it likes. Such a curve says nothing of points
    between them: a small training error alone proves nothing.

    Parameters
    ----------
    x, y : array-like of shape (n_points,)
        The points.
    max_frequency : float, default=1e5
        Largest w.
    n_frequencies : int, default=1_000_000
        Frequencies tried, evenly spaced.

    Returns
    -------
    SineFit

    Examples
    --------
    >>> from mercer.theory import fit_sine
    >>> fit_sine([0.31, 0.57, 0.83], [0.4, -0.3, 0.2]).error < 0.02
    True
    """
    x, y = (read_numbers("fit_sine", name, value) for name, value in (("x", x), ("y", y)))
    if x.shape != y.shape or x.ndim != 1:
        raise DataError(
            f"fit_sine: x and y must have the same length; got shapes {x.shape} and {y.shape}. Give two lists."
        )
    count = read_integer("fit_sine", "n_frequencies", n_frequencies, 1)
    best = SineFit(0.0, 0.0, float(np.abs(y).max(initial=0.0)))
    for start in range(0, count, _TILE):
        frequencies = np.arange(start + 1, min(start + _TILE, count) + 1) * (max_frequency / count)
        waves = np.sin(frequencies[:, None] * x)
        # The amplitude of least squares: a = <s, y> / <s, s>; a wave that is zero everywhere has none.
        squares = np.maximum(np.einsum("fi,fi->f", waves, waves), np.finfo(np.float64).tiny)
        amplitudes = waves @ y / squares
        errors = np.abs(amplitudes[:, None] * waves - y).max(axis=1)
        place = int(np.argmin(errors))
        if errors[place] < best.error:
            best = SineFit(float(amplitudes[place]), float(frequencies[place]), float(errors[place]))
    return best
