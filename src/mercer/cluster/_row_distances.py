"""Distances from some rows to all rows, computed on request or read from a matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.space import points
from mercer._types import Array
from mercer.cluster._distances import measure_metric
from mercer.cluster._packed_points import LANES, pack_points, safe_scale


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
