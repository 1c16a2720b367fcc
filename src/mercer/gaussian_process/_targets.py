"""Checks and scales of the targets of a process: their number, their noise, their units."""

from typing import Any

import numpy as np

from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError, ParameterError

__all__ = ["check_targets", "compute_scales", "read_noise"]


def check_targets(y: Array, wanted: int | None) -> None:
    """Raise unless `y` has as many targets as the parameter `n_targets`, here `wanted`, says."""
    seen = y.shape[1] if y.ndim > 1 else 1
    if wanted is not None and seen != wanted:
        message = (
            f"The number of targets seen in `y` is different from the parameter `n_targets`. Got {seen} != {wanted}."
        )
        raise DataError(message)


def read_noise(subject: str, alpha: Any, n: int) -> np.ndarray:
    """Return the noise variance of each of `n` rows, from one value or one for each row."""
    noise = np.ravel(np.asarray(to_numpy(alpha), dtype=np.float64))
    if len(noise) not in (1, n):
        message = f"alpha must be a scalar or an array with same number of entries as y. ({len(noise)} != {n})"
        raise ParameterError(message)
    if not (np.isfinite(noise).all() and (noise >= 0).all()):
        message = f"{subject}: every alpha must be a number in [0, inf); got {noise.min():g} as the least."
        raise ParameterError(message)
    return np.broadcast_to(noise, n).copy()


def compute_scales(y: np.ndarray, weight: Any, normalised: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and deviation of the targets if `normalised`; else zeros and ones."""
    shape = y.shape[1:] or (1,)
    if not normalised:
        return np.zeros(shape), np.ones(shape)
    mean = np.average(y, axis=0, weights=weight)
    std = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weight))
    # Targets that differ only by rounding are constant.
    std = np.where(std > 10 * np.finfo(float).eps * np.abs(mean), std, 1.0)
    return np.reshape(mean, shape), np.reshape(std, shape)
