"""What a process knows of its targets before a fit: how many, how noisy, and in which units."""

from typing import Any

import numpy as np

from mercer._source.namespace import to_numpy
from mercer.errors import DataError, ParameterError

__all__ = ["check_targets", "noise_of", "scales_of"]

Array = Any


def check_targets(y: Array, wanted: int | None) -> None:
    """Raise unless there are as many targets as the parameter says."""
    seen = y.shape[1] if y.ndim > 1 else 1
    if wanted is not None and seen != wanted:
        message = (
            f"The number of targets seen in `y` is different from the parameter `n_targets`. Got {seen} != {wanted}."
        )
        raise DataError(message)


def noise_of(subject: str, alpha: Any, n: int) -> np.ndarray:
    """The variance of each of n rows' noise, from one number or one a row."""
    noise = np.ravel(np.asarray(to_numpy(alpha), dtype=np.float64))
    if len(noise) not in (1, n):
        message = f"alpha must be a scalar or an array with same number of entries as y. ({len(noise)} != {n})"
        raise ParameterError(message)
    if not (np.isfinite(noise).all() and (noise >= 0).all()):
        message = f"{subject}: every alpha must be a number in [0, inf); got {noise.min():g} as the least."
        raise ParameterError(message)
    return np.broadcast_to(noise, n).copy()


def scales_of(y: np.ndarray, weight: Any, normalised: bool) -> tuple[np.ndarray, np.ndarray]:
    """The mean and deviation that targets are freed of: none unless they are to be normalised."""
    shape = y.shape[1:] or (1,)
    if not normalised:
        return np.zeros(shape), np.ones(shape)
    mean = np.average(y, axis=0, weights=weight)
    std = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weight))
    # Targets that differ by rounding alone have no deviation.
    std = np.where(std > 10 * np.finfo(float).eps * np.abs(mean), std, 1.0)
    return np.reshape(mean, shape), np.reshape(std, shape)
