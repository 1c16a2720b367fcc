"""Targets of a process: checks, noise, units, and the problems of two classes that labels make."""

from itertools import combinations
from typing import Any

import numpy as np

from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError, ParameterError


def check_targets(y: Array, wanted: int | None) -> None:
    """Raise unless `y` has as many targets as the parameter `n_targets`, here `wanted`, says."""
    seen = y.shape[1] if y.ndim > 1 else 1
    if wanted is not None and seen != wanted:
        raise DataError(
            f"The number of targets seen in `y` is different from the parameter `n_targets`. Got {seen} != {wanted}."
        )


def read_noise(subject: str, alpha: Any, n: int) -> np.ndarray:
    """Return the noise variance of each of `n` rows, from one value or one for each row."""
    noise = np.ravel(np.asarray(to_numpy(alpha), dtype=np.float64))
    if len(noise) not in (1, n):
        raise ParameterError(
            f"alpha must be a scalar or an array with same number of entries as y. ({len(noise)} != {n})"
        )
    if not (np.isfinite(noise).all() and (noise >= 0).all()):
        raise ParameterError(f"{subject}: every alpha must be a number in [0, inf); got {noise.min():g} as the least.")
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


def check_classes(classes: Array) -> None:
    """Raise unless there are two classes or more."""
    if len(classes) == 1:
        raise DataError(
            f"GaussianProcessClassifier requires 2 or more distinct classes; got 1 class (only class {classes[0]} is "
            f"present)"
        )


def list_problems(xp: Any, y: Array, labels: list[Any], multi_class: str) -> list[tuple[Array, Array]]:
    """Return for each problem of two classes the indices of its rows, and which of them are of the second class."""
    every_row = xp.arange(y.shape[0], device=y.device)
    if len(labels) == 2:
        return [(every_row, y == labels[1])]
    if multi_class == "one_vs_rest":
        return [(every_row, y == label) for label in labels]
    pairs = [(xp.nonzero((y == first) | (y == second))[0], second) for first, second in combinations(labels, 2)]
    return [(rows, xp.take(y, rows, axis=0) == second) for rows, second in pairs]
