"""The method by which a kernel density is summed: profile, metric and algorithm."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.neighbors import BallTree, KDTree

from mercer._types import Array
from mercer.errors import ParameterError
from mercer.neighbors._cell_grid import CellGrid, GridPlan
from mercer.neighbors._profile import log_volume
from mercer.neighbors._row_tree import Locations, RowTree
from mercer.neighbors._tree_sums import PairSums, TreeSums

# The norms among scikit-learn's metrics, by their exponent; Minkowski's is a parameter.
_NORMS = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0}
_NORMS |= {"chebyshev": np.inf, "infinity": np.inf}
# Nodes in the largest lattice that algorithm='auto' makes: 128 MiB.
_LARGEST_GRID = 2**24


@dataclass(frozen=True)
class Method:
    """The parameters of a :class:`KernelDensity` that determine how it sums.

    Parameters
    ----------
    subject : str
        The name of the estimator, for errors.
    algorithm, profile, metric : str
    metric_params : dict
    rtol, atol : float
        The error of a density that is allowed.
    threads : int
    """

    subject: str
    algorithm: str
    profile: str
    metric: str
    metric_params: dict[str, Any] = field(default_factory=dict)
    rtol: float = 0.0
    atol: float = 0.0
    threads: int = 1

    @property
    def norm(self) -> float | None:
        """The exponent of the norm that the metric is; None if it is no norm."""
        if self.metric in ("minkowski", "p") and self.metric_params.keys() <= {"p"}:
            return float(self.metric_params.get("p", 2.0))
        return None if self.metric_params else _NORMS.get(self.metric)

    @property
    def is_euclidean(self) -> bool:
        """Whether distances are Euclidean, as trees and lattices need."""
        return self.norm == 2

    def check(self) -> None:
        """Raise a ParameterError if algorithm, profile and metric do not go together."""
        known = set(KDTree.valid_metrics) | (set() if self.algorithm == "kd_tree" else set(BallTree.valid_metrics))
        if self.metric not in known:
            raise ParameterError(
                f"{self.subject}: invalid metric for algorithm={self.algorithm!r}: metric must be one of "
                f"{', '.join(sorted(known))}; got {self.metric!r}."
            )
        if self.algorithm == "grid":
            # The lattice interpolates, so it needs an error that it may make.
            allowed = self.rtol > 0 or self.atol > 0
            if not (self.profile == "gaussian" and self.is_euclidean and allowed):
                raise ParameterError(
                    f"{self.subject}: algorithm='grid' needs kernel='gaussian', the Euclidean metric and an rtol or "
                    f"atol above zero; got kernel={self.profile!r}, metric={self.metric!r}, rtol={self.rtol!r} and "
                    f"atol={self.atol!r}. Use algorithm='auto'."
                )

    def log_constant(self, tree: RowTree, bandwidth: Any) -> float:
        """Return the log of the normaliser of sums, W h^d V: weight, bandwidths, and volume under the profile."""
        d = tree.data.shape[1]
        sides = d * math.log(bandwidth) if isinstance(bandwidth, float) else float(np.sum(np.log(bandwidth)))
        return math.log(tree.total) + log_volume(self.profile, d, self.norm or 2.0) + sides

    def sums(self, tree: RowTree, bandwidth: Any, rtol: float, atol: float) -> Any:
        """Return the object that sums over the rows to within `rtol` and `atol`; `atol` in units of sums."""
        if not self.is_euclidean:
            return PairSums(tree, self.profile, float(bandwidth), self.metric, self.metric_params, self.threads)
        columns = np.full(tree.data.shape[1], bandwidth, dtype=np.float64)
        return TreeSums(tree, self.profile, columns, rtol, atol, self.algorithm == "brute", self.threads)

    def log_sums(self, tree: RowTree, bandwidth: Any, grid: CellGrid | None, points: Array) -> Array:
        """Return the logarithm of the sum at each point, (m,), by the lattice where its error is small enough."""
        # The error allowed is of the density; the sums are larger by its constant.
        atol = self.atol * (math.exp(self.log_constant(tree, bandwidth))) if self.atol else 0.0
        sums = self.sums(tree, bandwidth, self.rtol, atol)
        if grid is None:
            return sums.log_at(points)
        values, error = grid.sums_at(points, self.threads)
        # The true sum is at least values - error, so the second condition implies the error that is allowed.
        certain = values > error
        certain[certain] = error[certain] <= self.rtol * (values - error)[certain] + atol
        logarithms = np.log(values, where=certain, out=np.empty(len(values)))
        if not certain.all():
            logarithms[~certain] = sums.log_at(points[~certain])
        return logarithms

    def log_left_out(self, tree: RowTree, bandwidth: float, locations: Locations, leaves: Array, rtol: float) -> Array:
        """Return the log of the sum at each row of some leaves over all rows but its equals, to within `rtol`."""
        sums = self.sums(tree, bandwidth, rtol, 0.0)
        rows = tree.rows_of(leaves)
        columns = np.full(tree.data.shape[1], bandwidth)
        plan = self._plan(tree, columns, rtol, len(rows))
        if plan is None:
            return sums.log_left_out(locations, leaves)
        grid = CellGrid.build(tree, columns, plan, self.threads, self.subject)
        whole, error = grid.sums_at(tree.data[rows].astype(np.float64, copy=False), self.threads)
        # The contribution of equal rows is subtracted, which leaves the rounding of the whole sum.
        # 2^-50 of the whole sum bounds the rounding of the difference.
        values, error = whole - locations.mass[locations.of_row[rows]], error + 2.0**-50 * whole
        certain = error <= rtol * (values - error)
        logarithms = np.log(values, where=certain, out=np.empty(len(values)))
        if not certain.all():
            leaf = np.arange(len(leaves)).repeat(np.diff(tree.bounds[leaves], axis=1)[:, 0])
            doubtful = np.unique(leaf[~certain])
            logarithms[np.isin(leaf, doubtful)] = sums.log_left_out(locations, leaves[doubtful])
        return logarithms

    def make_grid(self, tree: RowTree, bandwidth: Any) -> CellGrid | None:
        """Return the lattice if it is asked for, or faster for as many points as there are rows; else None."""
        n, d = tree.data.shape
        columns = np.full(d, bandwidth, dtype=np.float64)
        rtol = self.rtol if self.rtol or not self.atol else 1e-6
        if self.algorithm == "grid":
            return CellGrid.build(tree, columns, GridPlan.of(tree, columns, rtol), self.threads, self.subject)
        plan = self._plan(tree, columns, rtol, n)
        return None if plan is None else CellGrid.build(tree, columns, plan, self.threads, self.subject)

    def _plan(self, tree: RowTree, columns: Array, rtol: float, n_points: int) -> GridPlan | None:
        """Return the lattice for `n_points` points, if it is possible and faster than the tree; else None."""
        possible = self.profile == "gaussian" and self.is_euclidean and self.algorithm in ("auto", "grid")
        if not possible or rtol == 0:
            return None
        n, d = tree.data.shape
        plan = GridPlan.of(tree, columns, rtol)
        # A point meets the rows in reach at 1 ns each: four times as many as if rows were spread evenly in their box.
        share = np.exp(log_volume("tophat", d)) * float(plan.reach) ** d / np.prod([float(s) for s in plan.shape])
        by_tree = 1e-9 * n * n_points * min(1.0, 4 * share)
        return plan if plan.size <= _LARGEST_GRID and plan.seconds(n_points) < by_tree else None
