"""Rows in the layout that native code measures one point against all in, and their distances."""

from typing import Any

import numpy as np

from mercer._native.space import points
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.cluster._distances import measure_metric, metric_options

# Points of a panel: a whole number of turns of four registers at every CPU level, and lines of eight cache lines.
LANES = 64
# Rows of a matrix that one call fills.
_RUN = 32
# The square of a larger value, times the sizes of two clusters, may overflow.
_LARGEST = 1e120
# The square of a smaller value, times the sizes of two clusters, may lose its digits.
_SMALLEST = 1e-120


def safe_scale(X: Array) -> float:
    """Return a power of two that scales `X` so that squares of its entries neither overflow nor underflow."""
    largest = float(max(np.max(X, initial=0.0), -np.min(X, initial=0.0)))
    if largest == 0.0 or _SMALLEST < largest < _LARGEST:
        return 1.0
    # 2^1023 is the largest power of two; it brings the smallest values, near 1e-308, to about one.
    return float(2.0 ** min(-np.floor(np.log2(largest)), 1023.0))


def pack_points(X: Array) -> Array:
    """Return rows in panels of LANES, feature by feature; lanes without a row hold infinity."""
    n, d = X.shape
    panels = -(-n // LANES)
    padded = np.full((panels * LANES, d), np.inf)
    padded[:n] = X
    return np.ascontiguousarray(padded.reshape(panels, LANES, d).transpose(0, 2, 1))


def unpack_points(panels: Array) -> Array:
    """Return the points of all lanes, one per row."""
    return panels.transpose(0, 2, 1).reshape(-1, panels.shape[1])


def measure_points(panels: Array, rows: Array, out: Array) -> Array:
    """Write the Euclidean distance of each of `rows` to each packed point to `out`, (b, n), and return it."""
    points.measure(panels, rows, True, np.empty(LANES), out)
    return out


def square_matrix(subject: str, X: Array, metric: Any, threads: int) -> Array:
    """Return the n x n matrix of distances between rows."""
    n = len(X)
    matrix = np.empty((n, n))
    if isinstance(metric, str) and metric in ("euclidean", "l2"):
        panels = pack_points(X)

        def fill(run: int) -> None:
            part = slice(run * _RUN, (run + 1) * _RUN)
            measure_points(panels, X[part], matrix[part])
    else:
        options = metric_options(X, metric, None)

        def fill(run: int) -> None:
            part = slice(run * _RUN, (run + 1) * _RUN)
            matrix[part] = measure_metric(subject, X[part], X, metric, options)

    run_numbered(fill, -(-n // _RUN), threads)
    return matrix
