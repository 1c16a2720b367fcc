"""Rotations of factor loadings towards few large entries: varimax and quartimax."""

import math
from typing import Any

import numpy as np

from mercer._base.reading import read_numbers
from mercer.errors import DataError, ParameterError

# Sweeps over all pairs of factors; rotations settle in some ten, and more mean a criterion that is flat.
_SWEEPS = 200
# Angle in radians below which a pair has settled.
_ANGLE = 1e-9


def rotate_loadings(components: Any, *, method: str = "varimax") -> np.ndarray:
    r"""Rotate loadings so that each factor has few large ones; the covariance they make stays the same.

    Of all rotations R of the loadings L = R ``components`` the result maximises
    :math:`\sum_{ij} L_{ij}^4 - \frac{\gamma}{d} \sum_i (\sum_j L_{ij}^2)^2`: with gamma = 1 the variance of the squared
    loadings within factors (varimax), with gamma = 0 their fourth powers (quartimax).

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        Loadings, a factor in each row.
    method : {"varimax", "quartimax"}, default="varimax"
        The criterion.

    Returns
    -------
    ndarray of shape (n_components, n_features)
        Rotated loadings.

    References
    ----------
    Kaiser (1958), The varimax criterion for analytic rotation in factor analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import rotate_loadings
    >>> simple = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    >>> turned = np.array([[0.8, 0.6], [-0.6, 0.8]]) @ simple
    >>> np.abs(rotate_loadings(turned)).round(6).sum(axis=1)
    array([2., 2.])
    """
    L = read_numbers("rotate_loadings", "components", components, closed="neither")
    if L.ndim != 2:
        raise DataError(f"rotate_loadings: components must be a matrix, a factor in each row; got shape {L.shape}.")
    if method not in ("varimax", "quartimax"):
        raise ParameterError(f"rotate_loadings: method must be one of 'varimax', 'quartimax'; got {method!r}.")
    gamma = 1.0 if method == "varimax" else 0.0
    L = L.copy()
    for _ in range(_SWEEPS):
        # Every pair of factors is turned by its best angle, until none turns any more.
        angles = [_turn_pair(L, p, q, gamma) for p in range(len(L)) for q in range(p + 1, len(L))]
        if max(angles, default=0.0) <= _ANGLE:
            break
    return L


def _turn_pair(L: np.ndarray, p: int, q: int, gamma: float) -> float:
    """Turn two factors in their plane to the best angle, which has a closed form; return its size."""
    x, y = L[p].copy(), L[q].copy()
    u, v = x * x - y * y, 2.0 * x * y
    rise = 2.0 * float(u @ v) - 2.0 * gamma * float(u.sum() * v.sum()) / len(x)
    run = float(u @ u - v @ v) - gamma * float(u.sum() ** 2 - v.sum() ** 2) / len(x)
    # The criterion is a cosine of four times the angle.
    angle = math.atan2(rise, run) / 4.0
    L[p], L[q] = math.cos(angle) * x + math.sin(angle) * y, math.cos(angle) * y - math.sin(angle) * x
    return abs(angle)
