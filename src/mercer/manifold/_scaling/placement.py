"""Places for new rows in a map by scaling: where their own stress is least."""

import numpy as np

from mercer._types import Array
from mercer.manifold._scaling.smacof import Ranking, Stress

# Moves below this share of the spread of the map end the search for a place.
_STILL = 1e-8
# A row is one of the fit if its dissimilarity is below this share of the largest: distances of equal rows computed by
# products have errors of root eps.
_SAME = 1e-7
# Nearest points whose mean is the first place.
_FIRST = 3


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
