"""Checks of distance matrices that users give, and distances by any metric."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer._native.space import points
from mercer._solver.neighbours.metric import check_function, explain_arguments, measure_pairs
from mercer._source.threads import run_numbered
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
# Points of a panel: a whole number of turns of four registers at every CPU level, and lines of eight cache lines.
LANES = 64
# Rows of a matrix that one call fills.
_RUN = 32
# The square of a larger value, times the sizes of two clusters, may overflow.
_LARGEST = 1e120
# The square of a smaller value, times the sizes of two clusters, may lose its digits.
_SMALLEST = 1e-120


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
    name = _SCIPY_NAMES.get(metric, metric) if isinstance(metric, str) else metric
    if name in _SKLEARN_NAMES:
        return np.ascontiguousarray(measure_pairs(X, Y, name, options), dtype=np.float64)
    check_function(name, X, Y, options)
    try:
        with explain_arguments(metric, options):
            return cdist(X, Y, name, **options)
    except ValueError as error:
        # SciPy says "Unknown" for a name that it does not know; its other errors concern the options.
        if "nknown" not in str(error):
            raise
        raise ParameterError(
            f"{subject}: metric must be one that SciPy's cdist knows, or 'precomputed'; got {metric!r}."
        ) from error


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


class RowDistances:
    """Distances between n rows."""

    n: int
    # The rows, unless only distances are known.
    rows: Any
    # Whether lines are computed, so that it pays to pass memory for them.
    takes_memory = False

    def lines(self, rows: Array, out: Array | None = None) -> Array:
        """Return the distances of `rows`, indices in rising order, to all rows: (b, n), in `out` if that helps."""
        raise NotImplementedError  # each kind below defines its own

    def among(self, rows: Array) -> "RowDistances":
        """Return the distances of some rows to one another."""
        raise NotImplementedError  # each kind below defines its own


@dataclass(frozen=True, eq=False)
class GivenDistances(RowDistances):
    """Distances in a given matrix."""

    matrix: Array

    @property
    def n(self) -> int:  # type: ignore[override]
        return len(self.matrix)

    def lines(self, rows: Array, out: Array | None = None) -> Array:
        first, last = int(rows[0]), int(rows[-1])
        # Consecutive rows need no copy.
        return self.matrix[first : last + 1] if last - first + 1 == len(rows) else self.matrix[rows]

    def among(self, rows: Array) -> "GivenDistances":
        return GivenDistances(np.ascontiguousarray(self.matrix[np.ix_(rows, rows)]))


class PointDistances(RowDistances):
    """Euclidean distances between rows, by native code."""

    takes_memory = True

    def __init__(self, X: Array) -> None:
        self.n = len(X)
        self.rows = X
        self.scale = safe_scale(X)
        self.panels = pack_points(X if self.scale == 1.0 else X * self.scale)

    def lines(self, rows: Array, out: Array | None = None) -> Array:
        return self.reach(self.rows[rows], out)

    def reach(self, X: Array, out: Array | None = None) -> Array:
        """Return the distances of the rows of `X` to all these rows, (m, n)."""
        out = np.empty((len(X), self.n)) if out is None else out[: len(X)]
        scaled = X.astype(np.float64, copy=False)
        scaled = np.ascontiguousarray(scaled if self.scale == 1.0 else scaled * self.scale)
        points.measure(self.panels, scaled, True, np.empty(LANES), out)
        if self.scale != 1.0:
            out /= self.scale
        return out

    def among(self, rows: Array) -> "PointDistances":
        return PointDistances(self.rows[rows])


@dataclass(frozen=True, eq=False)
class MeasuredDistances(RowDistances):
    """Distances of rows by any metric that SciPy or scikit-learn knows, or by a function of two rows."""

    rows: Any
    metric: Any
    options: dict[str, Any]

    @property
    def n(self) -> int:  # type: ignore[override]
        return len(self.rows)

    def lines(self, rows: Array, out: Array | None = None) -> Array:
        return self.reach(self.rows[rows])

    def reach(self, X: Array) -> Array:
        """Return the distances of the rows of `X` to all these rows, (m, n)."""
        return measure_metric("KMedoids", X, self.rows, self.metric, self.options)

    def among(self, rows: Array) -> "MeasuredDistances":
        return MeasuredDistances(self.rows[rows], self.metric, self.options)


def open_distances(X: Array, metric: Any, options: dict[str, Any] | None) -> Any:
    """Return the distances between the rows of `X`, or those that `X` holds."""
    if isinstance(metric, str) and metric == "precomputed":
        return GivenDistances(X)
    if isinstance(metric, str) and metric in ("euclidean", "l2") and not options:
        return PointDistances(X)
    return MeasuredDistances(X, metric, options or {})
