"""Local reachability densities and outlier factors, from the distances of rows to their neighbours."""

from dataclasses import dataclass

import numpy as np

from mercer._base.outliers.repetition import NeighbourShares, put_own_first, share_neighbours
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.neighbours.metric_search import Search
from mercer._types import Array, Rows

# Added to mean reachability distances, as a share of the mean distance to the last neighbour: where a row has k
# duplicates the distance is zero, and densities must stay finite. scikit-learn adds this number itself.
_SMOOTHING = 1e-10
# Rows from which the search runs on a thread of its own, open to Ctrl-C.
_MANY_ROWS = 2000
EXACT = Certificate.none("Neighbours are found exactly, and factors are a closed form of their distances.")


@plain
@dataclass(frozen=True, eq=False)
class OutlierFactorState:
    """Local reachability densities (n,), the distance of each row's last neighbour (n,), and negative factors (n,)."""

    densities: Array
    last_distances: Array
    negative_factors: Array
    smoothing: float


def find_factors(search: Search, rows: Rows, k: int, weight: Array) -> Solver:
    """Find neighbours, densities, and factors; `weight` is None or counts the copies of each row."""
    n = rows.shape[0]
    heavy = n > _MANY_ROWS
    if weight is None:
        distances, indices = yield Dense(lambda: search.nearest(rows, k, leave_out_self=True), heavy=heavy)
        # A table without weights stands for itself: every neighbour counts once.
        shares = NeighbourShares(distances, indices, np.ones((1, k)))
    else:
        shares = yield Dense(lambda: _share(search, rows, k, weight), heavy=heavy)
    distances, indices = shares.distances.astype(rows.dtype, copy=False), shares.indices
    last = np.ascontiguousarray(distances[:, -1] if weight is None else shares.last_distances().astype(rows.dtype))
    scale = float(np.average(last.astype(np.float64), weights=weight))
    smoothing = _SMOOTHING * scale if scale > 0 else _SMOOTHING
    reach = np.maximum(distances, last[indices])
    densities = 1.0 / (_average(shares, reach, weight) + smoothing)
    factors = _average(shares, densities[indices] / densities[:, None], weight)
    state = OutlierFactorState(densities, last, -factors, smoothing)
    yield Step(float(np.average(factors.astype(np.float64), weights=weight)), state, EXACT)
    return Solution(state, True, EXACT)


def _share(search: Search, rows: Rows, k: int, weight: Array) -> NeighbourShares:
    """Return the neighbours of all rows, and how many of the k neighbours each stands for."""
    return share_neighbours(
        lambda count: put_own_first(
            lambda others: search.nearest(rows, others, leave_out_self=True), rows.shape[0], count
        ),
        weight,
        k,
        rows.shape[0],
        # One copy of a row is the row itself.
        lambda distances, near: np.minimum(near[:, 0], 1.0),
    )


def _average(shares: NeighbourShares, values: Array, weight: Array) -> Array:
    """Return means over neighbours, in the type of the values."""
    return np.mean(values, axis=1) if weight is None else shares.mean(values).astype(values.dtype, copy=False)


def score_new(shares: NeighbourShares, state: OutlierFactorState, weight: Array) -> Array:
    """Return minus the factors of new rows, from their neighbours among the rows of the fit."""
    reach = np.maximum(shares.distances, state.last_distances[shares.indices])
    densities = 1.0 / (_average(shares, reach, weight) + state.smoothing)
    return -_average(shares, state.densities[shares.indices] / densities[:, None], weight)
