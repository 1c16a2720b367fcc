"""Sums of a profile by any metric of scikit-learn: every row against every point, a tile at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.metrics import DistanceMetric

from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.neighbors._profile import value
from mercer.neighbors._row_tree import Locations, RowTree

# Distances in a tile: 8 MiB.
_PAIRS = 2**20


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
