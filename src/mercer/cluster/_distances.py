"""Checks of distance matrices that users give, and distances by any metric."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer._types import Array
from mercer.errors import DataError, ParameterError

# scikit-learn's names for metrics of SciPy.
_SCIPY_NAMES = {"l1": "cityblock", "l2": "euclidean", "manhattan": "cityblock"}
# Metrics that only scikit-learn computes.
_SKLEARN_NAMES = ("haversine", "nan_euclidean")
# Rows compared with columns at a time: two tiles of 512 KiB.
_TILE = 256
# Largest difference of d(x, y) and d(y, x), relative to the largest distance, that rounding may cause.
_ROUNDING = 1e-6


def check_distances(subject: str, D: Array) -> None:
    """Raise unless `D` is square, finite, non-negative and symmetric, with a diagonal of zeros."""
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise DataError(
            f"{subject}: Distance matrix should be square, got matrix of shape {D.shape}. Give all pairs of rows."
        )
    least = D.min(initial=0.0)
    if not np.isfinite(least) or not np.isfinite(most := float(D.max(initial=0.0))):
        raise DataError(
            f"{subject}: distances must be finite; got {least if not np.isfinite(least) else most}. Fill them in."
        )
    if least < 0:
        raise DataError(
            f"{subject}: distances must be non-negative; got {least:g}. Subtract similarities from their largest."
        )
    slack = _ROUNDING * most
    if np.diagonal(D).max(initial=0.0) > slack:
        raise DataError(
            f"{subject}: the distance of a row to itself must be 0; got {np.diagonal(D).max():g}. "
            f"Subtract similarities from their largest."
        )
    # Tile by tile, against the transposed tile.
    for start in range(0, len(D), _TILE):
        part = slice(start, start + _TILE)
        for other in range(start, len(D), _TILE):
            beside = slice(other, other + _TILE)
            gap = np.abs(D[part, beside] - D[beside, part].T).max()
            if gap > slack:
                raise DataError(
                    f"{subject}: distances must be symmetric; got two of one pair that differ by {gap:g}. "
                    f"Give (D + D.T) / 2 or the larger of both."
                )


def metric_options(X: Array, metric: Any, options: dict[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of a metric; scales that SciPy would take from the rows of one call come from all of `X`."""
    options = dict(options or {})
    if metric == "seuclidean" and "V" not in options:
        options["V"] = np.var(X, axis=0, ddof=1, dtype=np.float64)
    if metric == "mahalanobis" and "VI" not in options:
        options["VI"] = np.linalg.inv(np.atleast_2d(np.cov(X.T)))
    return options


def measure_metric(subject: str, X: Array, Y: Array, metric: Any, options: dict[str, Any]) -> Array:
    """Return the distances from the rows of `X` to those of `Y`, (n, m), by a metric's name or by a function."""
    from sklearn.metrics import pairwise_distances

    name = _SCIPY_NAMES.get(metric, metric) if isinstance(metric, str) else metric
    if name in _SKLEARN_NAMES:
        return np.ascontiguousarray(pairwise_distances(X, Y, metric=name, **options), dtype=np.float64)
    try:
        return cdist(X, Y, name, **options)
    except ValueError as error:
        # SciPy says "Unknown" for a name that it does not know; its other errors concern the options.
        if "nknown" not in str(error):
            raise
        raise ParameterError(
            f"{subject}: metric must be one that SciPy's cdist knows, or 'precomputed'; got {metric!r}."
        ) from error
