"""Sums of a profile over the rows of a tree, at any points: exact to rounding, or to an allowed error."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.metrics import DistanceMetric

from mercer._native.space import density_sums
from mercer._solver.neighbours import nearest_rows
from mercer._solver.neighbours.metric import explain_arguments
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.neighbors._profile import PROFILES, value
from mercer.neighbors._row_tree import Locations, RowTree, build_tree

# Least points in a tile: enough to share the layout of a leaf, few enough to stay near one another.
_TILE = 8
# Work in one native call, as pairs of a point and a row times the cost of each: about ten milliseconds.
_WORK = 2**26
# A smaller sum has lost digits to subnormal values, or is zero.
_UNDERFLOW = 1e-290
# Relative error of sums that are exact to rounding: half a unit in the last place of float64.
_EXACT = 2.0**-53
# Distances in a tile: 8 MiB.
_PAIRS = 2**20


@dataclass(frozen=True, eq=False)
class TreeSums:
    """Sums of the profile of distances, in bandwidths, over the rows of a tree.

    Parameters
    ----------
    tree : RowTree
    profile : str
    bandwidth : ndarray of shape (d,)
    rtol, atol : float
        Each sum errs by at most rtol times itself plus atol, or by rounding if both are zero.
    every_row : bool
        Whether the distance to every row is computed, however little it contributes.
    threads : int
    """

    tree: RowTree
    profile: str
    bandwidth: Array
    rtol: float = 0.0
    atol: float = 0.0
    every_row: bool = False
    threads: int = 1

    def log_at(self, points: Array) -> Array:
        """Return the logarithm of the sum at each point, (m,)."""
        return self._log_sums(points)[0]

    def log_left_out(self, locations: Locations, leaves: Array) -> Array:
        """Return the logarithm of the sum at each row of some leaves, over all rows but those equal to it."""
        tree = self.tree
        points = tree.data[tree.rows_of(leaves)].astype(np.float64, copy=False)
        # A leaf is a tile, or several tiles with its box if it would keep native code busy for too long.
        sizes, most = np.diff(tree.bounds[leaves], axis=1)[:, 0], self._points_at_once
        parts = -(-sizes // most)
        starts = np.concatenate([start + np.arange(0, size, most) for start, size in zip(_starts(sizes), sizes)])
        tiles = np.column_stack([starts, np.append(starts[1:], len(points))])
        boxes = leaves.repeat(parts)
        sums = self._sums(points, tiles, tree.lower[boxes], tree.upper[boxes], apart=True)
        return self._rescue(points, sums, locations)[0]

    def gradient_of_log(self, points: Array) -> Array:
        """Return the gradient of :meth:`log_at` at each point, (m, d); NaN where the sum is zero."""
        exact = TreeSums(self.tree, self.profile, self.bandwidth, threads=self.threads)
        logarithms, shift = exact._log_sums(points)
        # Shifted sums do not underflow; the shift cancels in slopes / sums.
        sums = np.exp(logarithms + shift)
        slopes = np.empty(points.shape)
        rows = max(1, self._points_at_once // 4)

        def add(run: int) -> None:
            part = slice(run * rows, (run + 1) * rows)
            self._call(density_sums.sum_slopes, points[part], shift[part], sums[part], out=slopes[part])

        run_numbered(add, -(-len(points) // rows), self.threads)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(sums[:, None] > 0, slopes / sums[:, None], np.nan)

    def _log_sums(self, points: Array) -> tuple[Array, Array]:
        """Return the logarithms of the sums, and the shift of exponents by which each was found."""
        # A few points are tiles of their own, whose boxes are the points themselves.
        if len(points) <= _TILE:
            indices = np.arange(len(points))
            tiles = np.column_stack([indices, indices + 1]), points, points
            return self._rescue(points, self._sums(points, *tiles))
        near = build_tree(points, None, self.bandwidth, min(_TILE, self._points_at_once), threads=self.threads)
        leaves = near.leaves
        sums = np.empty(len(points))
        # The tree sorts the points; `order` takes the sums back to the order of the caller.
        sums[near.order] = self._sums(near.data, near.bounds[leaves], near.lower[leaves], near.upper[leaves])
        return self._rescue(points, sums)

    def _sums(self, points: Array, tiles: Array, lower: Array, upper: Array, apart: bool = False) -> Array:
        sums = np.empty(len(points))
        if self.every_row:
            rtol = atol = -1.0
        else:
            rtol, atol = max(self.rtol, _EXACT), self.atol
        # Rows are halved until few are left in a tile, so no tile is larger than the first by more than one.
        run = max(1, self._points_at_once // int(tiles[0, 1] - tiles[0, 0] + 1))

        def add(item: int) -> None:
            part = slice(item * run, (item + 1) * run)
            boxes = tiles[part], lower[part], upper[part]
            self._call(density_sums.sum_tiles, points, *boxes, 0.0, rtol, atol, apart, out=sums)

        if len(tiles) <= run:
            add(0)  # A single item on the threads takes longer than a few points do.
        else:
            run_numbered(add, -(-len(tiles) // run), self.threads)
        return sums

    def _rescue(self, points: Array, sums: Array, locations: Locations | None = None) -> tuple[Array, Array]:
        """Return the logarithms of `sums` and their shifts; sums that underflow are computed again with a shift."""
        shift = np.zeros(len(points))
        far = np.flatnonzero(sums < _UNDERFLOW) if self.profile in ("gaussian", "exponential") else ()
        if len(far):
            square = self._nearest_squares(points[far], None if locations is None else locations.first)
            # exp(shift) makes the nearest row's term 1, so that the sum is at least its weight.
            shift[far] = 0.5 * square if self.profile == "gaussian" else np.sqrt(square)
            again = np.empty(len(far))

            def add(item: int) -> None:
                point = points[far[item] : far[item] + 1]
                apart = locations is not None
                box, out = (np.array([[0, 1]]), point, point), again[item : item + 1]
                self._call(density_sums.sum_tiles, point, *box, shift[far[item]], _EXACT, 0.0, apart, out=out)

            run_numbered(add, len(far), self.threads)
            # Squares above 1e16 have rounding above one: then only the nearest row's term is known.
            sums[far] = np.where(np.isfinite(again) & (again > 0), again, 1.0)
        with np.errstate(divide="ignore"):
            return np.log(sums) - shift, shift

    def _nearest_squares(self, points: Array, different: Array | None) -> Array:
        """Return the squared distance in bandwidths to the nearest row, or to the second nearest of `different`."""
        rows = self.tree.data if different is None else self.tree.data[different]
        scaled = points / self.bandwidth, rows / self.bandwidth
        _, nearest = nearest_rows(*scaled, 1 if different is None else 2, threads=self.threads)
        # Column by column, as native code adds them, so that the nearest row's exponent is zero to the last bit.
        square = np.zeros(len(points))
        for at, row, unit in zip(points.T, rows[nearest[:, -1]].T, 1 / self.bandwidth, strict=True):
            step = (at - row) * unit
            square += step * step
        return square

    @property
    def _points_at_once(self) -> int:
        """Points for which native code may visit every row in one call; a pair costs about d + 8 operations."""
        n, d = self.tree.data.shape
        return max(1, _WORK // (n * (d + 8)))

    def _call(self, function: Callable[..., None], *arguments: Any, out: Array) -> None:
        """Call native code with the rows and the record of the tree before its own arguments."""
        tree, kind = self.tree, PROFILES.index(self.profile)
        nodes = tree.bounds, tree.lower, tree.upper, tree.mass
        longest = max(2, tree.largest_leaf)
        scratch = np.empty((tree.data.shape[1], longest)), np.empty((3, longest)), np.empty(64, np.intp)
        record = density_sums.Tree(kind, tree.weight, 1 / self.bandwidth, nodes, scratch)
        function(tree.data, record, *arguments, out)


def _starts(sizes: Array) -> Array:
    """Return the start of each of some consecutive pieces of these sizes."""
    return np.cumsum(sizes) - sizes


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums of the profile of distances, in bandwidths, over all rows.

    Parameters
    ----------
    tree : RowTree
        The rows; its boxes are not used.
    profile : str
    bandwidth : float
    metric : str
    metric_params : dict
    threads : int
    """

    tree: RowTree
    profile: str
    bandwidth: float
    metric: str
    metric_params: dict[str, Any]
    threads: int = 1

    def log_at(self, points: Array) -> Array:
        """Return the logarithm of the sum at each point, (m,)."""
        return self._log_sums(points, self._logarithms)

    def log_left_out(self, locations: Locations, leaves: Array) -> Array:
        """Return the logarithm of the sum at each row of some leaves, over all rows but those equal to it."""
        rows = self.tree.rows_of(leaves)

        def log_others(distances: Array, start: int) -> Array:
            own = locations.of_row[rows[start : start + len(distances)]]
            return np.where(own[:, None] == locations.of_row, -np.inf, self._logarithms(distances, start))

        return self._log_sums(self.tree.data[rows].astype(np.float64, copy=False), log_others)

    def _log_sums(self, points: Array, logarithms: Any) -> Array:
        with explain_arguments(self.metric, self.metric_params):
            metric = DistanceMetric.get_metric(self.metric, **self.metric_params)
        rows = self.tree.data.astype(np.float64, copy=False)
        out, step = np.empty(len(points)), max(1, _PAIRS // len(rows))

        def add(tile: int) -> None:
            part = slice(tile * step, (tile + 1) * step)
            terms = logarithms(metric.pairwise(points[part], rows) / self.bandwidth, tile * step)
            # Sums in logarithms: terms far away underflow one by one.
            out[part] = logsumexp(terms, axis=1)

        run_numbered(add, -(-len(points) // step), self.threads)
        return out

    def _logarithms(self, distances: Array, start: int) -> Array:
        """Return log w_j + log k(distance), (m, n); exact also where the profile itself would underflow."""
        with np.errstate(divide="ignore"):
            # These two profiles have logarithms in closed form, finite where exp itself underflows.
            if self.profile == "gaussian":
                terms = -0.5 * distances**2
            elif self.profile == "exponential":
                terms = -distances
            else:
                terms = np.log(value(self.profile, distances))
            return terms + np.log(self._weights())

    def _weights(self) -> Array:
        return self.tree.weight if len(self.tree.weight) else np.ones(len(self.tree.data))
