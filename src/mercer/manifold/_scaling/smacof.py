"""Stress majorisation (SMACOF): each step moves all points to the minimum of a quadratic upper bound of the stress.

With distances d_ij of the points X and disparities delta_ij, the raw stress is sum_{i<j} (d_ij - delta_ij)^2. Guttman's
transform X <- B(X) X / n, with B_ij = -delta_ij / d_ij off the diagonal and rows that sum to zero, never raises it.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from mercer._plain import plain
from mercer._solver import Certificate, Dense, Step
from mercer._source.threads import run_numbered
from mercer._types import Array

# Values of a tile: 2**15 float64 are 256 KiB, so that the few arrays of a tile stay in a second-level cache.
_TILE = 2**15
STATEMENT = "Length of one more step of Guttman's transform, relative to the length of all coordinates."
# Moves below this share of the spread of the map end the search for a place.
_STILL = 1e-8
# A row is one of the fit if its dissimilarity is below this share of the largest: distances of equal rows computed by
# products have errors of root eps.
_SAME = 1e-7
# Nearest points whose mean is the first place.
_FIRST = 3


@plain
@dataclass(frozen=True)
class ScalingState:
    """Points, their raw stress, the sum of their squared distances, the relative length of the next move, and steps.

    Before the first step the stress is infinite.
    """

    points: Array
    stress: float
    squares: float
    move: float
    steps: int = 0
    converged: bool = False

    def improves_on(self, other: "ScalingState") -> bool:
        """Return whether the stress is lower by more than rounding."""
        return self.stress < other.stress * (1.0 - 1e-12)


@dataclass(frozen=True, eq=False)
class Stress:
    """The stress of points for given dissimilarities, in tiles of rows that fit a cache."""

    dissimilarities: Array
    threads: int = 1

    def step(self, points: Array, targets: Array) -> tuple[Array, float, float]:
        """Return Guttman's transform of points, their raw stress, and the sum of their squared distances."""
        n = len(points)
        height = max(1, _TILE // n)
        columns = np.ascontiguousarray(points.T)
        moved, sums = np.empty_like(points), np.empty((-(-n // height), 2))

        def work(number: int) -> None:
            rows = slice(number * height, min(n, (number + 1) * height))
            distances, wanted = _distances(columns, rows), targets[rows]
            gaps = distances - wanted
            sums[number] = np.vdot(gaps, gaps), np.vdot(distances, distances)
            # Points that coincide have no direction to move in: any unit vector is a subgradient, and zero is taken.
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(distances > 0, wanted / distances, 0.0)
            moved[rows] = ratio.sum(axis=1)[:, None] * points[rows] - ratio @ points

        run_numbered(work, len(sums), self.threads)
        stress, squares = sums.sum(axis=0)
        # Each pair was counted twice.
        return moved / n, float(stress) / 2.0, float(squares) / 2.0

    def distances(self, points: Array) -> Array:
        """Return the distances between all pairs of points."""
        return _distances(np.ascontiguousarray(points.T), slice(None))


def _distances(columns: Array, rows: slice) -> Array:
    """Return distances from some points to all, by differences: nothing cancels."""
    total = np.zeros((columns[0][rows].shape[0], columns.shape[1]))
    for column in columns:
        gaps = column[rows, None] - column[None, :]
        total += gaps * gaps
    return np.sqrt(total)


class Ranking:
    """Disparities that keep the order of the dissimilarities: the monotone regression of distances on them."""

    def __init__(self, dissimilarities: Array) -> None:
        n = len(dissimilarities)
        self.upper = np.triu_indices(n, 1)
        values = dissimilarities[self.upper]
        # As in scikit-learn, a dissimilarity of zero is a missing one.
        self.known = np.flatnonzero(values)
        # Equal dissimilarities get equal disparities: they are one observation with their number as weight.
        _, self.group, self.counts = np.unique(values[self.known], return_inverse=True, return_counts=True)
        self.n, self.values = n, values[self.known]

    def disparities(self, distances: Array) -> Array:
        """Return disparities, scaled so that their squares sum to the number of pairs."""
        sums = np.bincount(self.group, distances[self.upper][self.known], len(self.counts))
        fitted = isotonic_regression(sums / self.counts, weights=self.counts.astype(float)).x
        return self.spread(fitted[self.group])

    def first(self) -> Array:
        """Return the dissimilarities themselves, scaled as disparities are."""
        return self.spread(self.values)

    def spread(self, values: Array) -> Array:
        """Return a symmetric matrix of the values of the known pairs, scaled."""
        squares = float(values @ values)
        scale = np.sqrt(self.n * (self.n - 1) / 2 / squares) if squares > 0 else 1.0
        flat = np.zeros(len(self.upper[0]))
        flat[self.known] = scale * values
        matrix = np.zeros((self.n, self.n))
        matrix[self.upper] = flat
        return matrix + matrix.T


def majorise(stress: Stress, run: ScalingState, *, metric: bool, max_iter: int, eps: float) -> Any:
    """Minimise the stress from the points of a run; a step is one transform of all points. Returns the last run."""
    targets = stress.dissimilarities
    # Sorting takes some ten operations on each value.
    ranking, n_values = None, 16 * targets.size
    if not metric:
        # Sorting all pairs, and the monotone regression on them, cannot be cut into pieces.
        ranking = yield Dense.over(partial(Ranking, targets), n_values)
        begin = ranking.first if run.steps == 0 else partial(_rank_points, stress, ranking, run.points)
        targets = yield Dense.over(begin, n_values)
    following = (yield Dense(partial(stress.step, run.points, targets)))[0]
    while run.steps < max_iter and not run.converged:
        before, points = run.stress, following
        if ranking is None:
            following, value, squares = yield Dense(partial(stress.step, points, targets))
        else:
            # The stress counts against the disparities that the points were moved towards; the next move has new ones.
            _, value, squares = yield Dense(partial(stress.step, points, targets))
            targets = yield Dense.over(partial(_rank_points, stress, ranking, points), n_values)
            following = (yield Dense(partial(stress.step, points, targets)))[0]
        change = (before - value) / squares if squares > 0 else 0.0
        converged = bool(np.isfinite(before) and change < eps)
        run = ScalingState(points, value, squares, _measure_move(points, following), run.steps + 1, converged)
        yield Step(value, run, certify(run, eps))
    return run


def _rank_points(stress: Stress, ranking: Ranking, points: Array) -> Array:
    """Return the disparities of the distances between points."""
    return ranking.disparities(stress.distances(points))


def _measure_move(points: Array, following: Array) -> float:
    centred = points - points.mean(axis=0)
    size = float(np.linalg.norm(centred))
    return float(np.linalg.norm(following - following.mean(axis=0) - centred)) / size if size > 0 else 0.0


def certify(state: ScalingState, eps: float) -> Certificate:
    # For metric scaling the stress falls by at least n |step|^2, and the sum of squared distances is n |X|^2: a fall
    # below eps means a step below root eps.
    return Certificate.of("fixed point", state.move, float(np.sqrt(eps)), STATEMENT)


def measure_stress(state: ScalingState, normalized: bool) -> float:
    """Return the stress, raw or as Kruskal's stress-1: the root of its share of the sum of squared distances."""
    if not normalized:
        return state.stress
    return float(np.sqrt(state.stress / state.squares)) if state.squares > 0 else 0.0


def place_points(points: Array, dissimilarities: Array, targets: Array, max_iter: int) -> Array:
    """Return a place for each row of dissimilarities to fixed points.

    Guttman's transform of one point y is the mean over j of y_j + target_j (y - y_j) / |y - y_j|; it never raises the
    stress of y.
    """
    count = min(_FIRST, len(points))
    nearest = np.argpartition(dissimilarities, count - 1, axis=1)[:, :count]
    places = points[nearest].mean(axis=1)
    same = dissimilarities.min(axis=1) <= _SAME * float(dissimilarities.max(initial=0.0))
    spread = float(np.abs(points - points.mean(axis=0)).max(initial=0.0)) or 1.0
    for _ in range(max_iter):
        distances = np.sqrt(np.sum((places[:, None, :] - points[None]) ** 2, axis=2))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(distances > 0, targets / distances, 0.0)
        moved = points.mean(axis=0) + (ratio.sum(axis=1)[:, None] * places - ratio @ points) / len(points)
        gap = float(np.abs(moved - places).max(initial=0.0))
        places = moved
        if gap <= _STILL * spread:
            break
    places[same] = points[np.argmin(dissimilarities[same], axis=1)]
    return places


def follow_order(fitted: Array, points: Array, dissimilarities: Array) -> Array:
    """Return disparities of new dissimilarities: the monotone function of the fit, interpolated, in the map's units."""
    distances = Stress(fitted).distances(points)
    ranking = Ranking(fitted)
    if len(ranking.known) == 0:
        return np.zeros_like(dissimilarities)
    matrix = ranking.disparities(distances)
    known, values = fitted[ranking.upper][ranking.known], matrix[ranking.upper][ranking.known]
    order = np.argsort(known, kind="stable")
    # Disparities have one scale for all maps: that of the map is the regression of its distances on them.
    squares = float(values @ values)
    scale = float(values @ distances[ranking.upper][ranking.known]) / squares if squares > 0 else 1.0
    return scale * np.interp(dissimilarities, known[order], values[order])
