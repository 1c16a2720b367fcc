"""How far apart classes are along a direction: old functions, until their names go (see :mod:`mercer._renaming`).

:mod:`mercer.discriminant_analysis` has the same measures of X and y.
"""

from typing import Any

import numpy as np

from mercer._base.reading import read_numbers
from mercer.errors import DataError

__all__ = ["mean_direction", "separation_ratio"]


def mean_direction(first: Any, second: Any) -> tuple[np.ndarray, float]:
    """Return the direction along which two class means are farthest apart, and how far.

    The maximum over unit vectors w of w'(m2 - m1) is at w proportional to m2 - m1; positive projections are then on the
    side of the second class.

    Parameters
    ----------
    first, second : array-like of shape (d,)
        Class means.

    Returns
    -------
    direction : ndarray of shape (d,)
        Of length one.
    distance : float
    """
    offset = read_numbers("mean_direction", "second", second) - read_numbers("mean_direction", "first", first)
    distance = float(np.linalg.norm(offset))
    if offset.ndim != 1 or not distance > 0:
        message = "mean_direction: the means must be two different vectors of one length; got the same point twice."
        raise DataError(message)
    return offset / distance, distance


def separation_ratio(first: Any, second: Any, direction: Any = None) -> Any:
    """Compute the signal-to-noise ratio of two classes: difference of means over root of summed variances.

    Its square along a direction is Fisher's criterion there, and is largest along (S1 + S2)^-1 (m2 - m1).

    Parameters
    ----------
    first, second : array-like of shape (n1, d) and (n2, d)
        Rows of each class.
    direction : array-like of shape (d,) or None, default=None
        A direction to project on; None looks at each column.

    Returns
    -------
    float, or ndarray of shape (d,)
    """
    groups = [np.atleast_2d(read_numbers("separation_ratio", "rows", rows)) for rows in (first, second)]
    if groups[0].shape[1] != groups[1].shape[1]:
        message = "separation_ratio: both classes must have as many columns; got " + " and ".join(
            str(rows.shape[1]) for rows in groups
        )
        raise DataError(message + ".")
    if direction is not None:
        # Along a direction each class is a vector of numbers, and the ratio is one number.
        groups = [rows @ read_numbers("separation_ratio", "direction", direction) for rows in groups]
    spread = np.sqrt(sum(rows.var(axis=0) for rows in groups))
    if not np.all(spread > 0):
        message = "separation_ratio: a column that is constant in both classes has no noise to compare with. Drop it."
        raise DataError(message)
    # (m2 - m1) / sqrt(s1^2 + s2^2), with variances divided by n.
    return (groups[1].mean(axis=0) - groups[0].mean(axis=0)) / spread
