"""Shrink a covariance towards a multiple of the identity, by a given weight or by that of Ledoit and Wolf (2004)."""

import numpy as np

from mercer._types import Array


def shrink_covariance(covariance: Array, weight: float) -> Array:
    """Return (1 - weight) C + weight tr(C) / d I, for one covariance C or a stack of them."""
    d = covariance.shape[-1]
    level = np.trace(covariance, axis1=-2, axis2=-1) / d
    return (1.0 - weight) * covariance + np.expand_dims(weight * level, (-2, -1)) * np.eye(d)


def compute_ledoit_wolf_weight(covariance: Array, fourth: float, total_weight: float) -> float:
    """Return the weight of the identity with the least expected squared Frobenius error.

    The covariance has mean variance one. `fourth` is the sum of the fourth powers of the lengths of the centred rows,
    see :class:`mercer._statistic.products.FourthNorms`, and `total_weight` the sum of the row weights. The weight
    is beta / delta: delta is the squared distance of the covariance from the identity, and beta the part of it that
    comes from the variance of the estimate.
    """
    d = len(covariance)
    squares = float(np.sum(covariance * covariance))
    delta = (squares - d) / d
    # The variance of the estimate cannot exceed the whole distance; a larger beta is sampling error.
    beta = min((fourth / total_weight - squares) / (d * total_weight), delta)
    return 0.0 if beta <= 0 or delta <= 0 else beta / delta
