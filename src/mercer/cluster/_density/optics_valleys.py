"""Clusters of rows in the order of OPTICS: below one level, or as valleys between steep sides."""

from dataclasses import dataclass

import numpy as np

from mercer._base.parameter import Boolean, Integer, Nothing, Real, Share, check_parameters
from mercer._types import Array
from mercer.errors import DataError


@dataclass
class _Descent:
    """A steep way down: its first and last place, and the highest place between it and the place looked at."""

    first: int
    last: int
    between: float = 0.0


def read_size(subject: str, name: str, size: float, n_rows: int) -> int:
    """Return a number of rows; what is at most one is a share of them."""
    if size > n_rows:
        raise DataError(
            f"{subject}: {name} must be no greater than the number of rows (n_samples={n_rows}); got {size}. Lower it."
        )
    if n_rows < 2:
        raise DataError(f"{subject}: needs at least 2 rows; got n_samples={n_rows}. Give more rows.")
    return max(2, int(size * n_rows)) if size <= 1 else int(size)


def cluster_optics_dbscan(*, reachability: Array, core_distances: Array, ordering: Array, eps: float) -> Array:
    """Return the clusters of DBSCAN at the distance `eps`, from the order of :class:`OPTICS`.

    Parameters
    ----------
    reachability, core_distances, ordering : ndarrays of shape (n,)
        As the attributes of the same names with an underscore.
    eps : float
        The distance; border rows may belong to another cluster than DBSCAN gives them to.

    Returns
    -------
    labels : ndarray of shape (n,)
        -1 for noise.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import cluster_optics_dbscan
    >>> reach, core = np.array([np.inf, 1.0, 4.0, 1.0]), np.ones(4)
    >>> cluster_optics_dbscan(reachability=reach, core_distances=core, ordering=np.arange(4), eps=2.0).tolist()
    [0, 0, 1, 1]
    """
    check_parameters("cluster_optics_dbscan", {"eps": Real(0)}, locals())
    unreached, core = reachability > eps, core_distances <= eps
    # A core row that is reached from none before begins a cluster.
    labels = np.empty(len(ordering), np.int64)
    labels[ordering] = np.cumsum((unreached & core)[ordering]) - 1
    labels[unreached & ~core] = -1
    return labels


def cluster_optics_xi(
    *,
    reachability: Array,
    predecessor: Array,
    ordering: Array,
    min_samples: float,
    min_cluster_size: float | None = None,
    xi: float = 0.05,
    predecessor_correction: bool = True,
) -> tuple[Array, Array]:
    """Return the clusters that steep sides of the reachability enclose, from the order of :class:`OPTICS`.

    Parameters
    ----------
    reachability, predecessor, ordering : ndarrays of shape (n,)
        As the attributes of the same names with an underscore.
    min_samples, min_cluster_size, xi, predecessor_correction
        As of :class:`OPTICS`.

    Returns
    -------
    labels : ndarray of shape (n,)
        -1 for noise; of clusters in one another the innermost.
    clusters : ndarray of shape (n_clusters, 2)
        First and last place in the order, those inside another before it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import cluster_optics_xi
    >>> reach = np.array([np.inf, 1.0, 1.0, 9.0, 1.0, 1.0])
    >>> before = np.array([-1, 0, 1, 2, 3, 4])
    >>> cluster_optics_xi(reachability=reach, predecessor=before, ordering=np.arange(6), min_samples=2)[0].tolist()
    [0, 0, 0, 1, 1, 1]
    """
    subject, n = "cluster_optics_xi", len(reachability)
    rules = {
        "min_samples": Integer(2) | Share(0, 1),
        "min_cluster_size": Integer(2) | Share(0, 1) | Nothing(),
        "xi": Real(0, 1),
        "predecessor_correction": Boolean(),
    }
    check_parameters(subject, rules, locals())
    m = read_size(subject, "min_samples", min_samples, n)
    smallest = m if min_cluster_size is None else read_size(subject, "min_cluster_size", min_cluster_size, n)
    ranks = None
    if predecessor_correction:
        # The place in the order of the row that each one, in the order, is reached from.
        places = np.empty(n + 1, np.int64)
        places[ordering], places[-1] = np.arange(n), -1
        ranks = places[predecessor[ordering]]
    clusters = _find_valleys(reachability[ordering], ranks, float(xi), m, smallest)
    labels, number = np.full(n, -1, np.int64), 0
    for first, last in clusters:
        inside = ordering[first : last + 1]
        if (labels[inside] < 0).all():
            labels[inside] = number
            number += 1
    return labels, np.array(clusters, dtype=np.int64)


def _find_valleys(reach: Array, ranks: Array | None, xi: float, m: int, smallest: int) -> list[tuple[int, int]]:
    """Return the valleys of a curve: each way up is joined with those ways down that end as high (Ankerst, 1999)."""
    heights, keep = np.append(reach, np.inf), 1.0 - xi
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = heights[:-1] / heights[1:]
        down, up = ratio >= np.float64(1.0) / keep, ratio <= keep
    falls, rises = ratio > 1.0, ratio < 1.0
    descents: list[_Descent] = []
    clusters: list[tuple[int, int]] = []
    place, between = 0, 0.0
    for steep in np.flatnonzero(down | up).tolist():
        if steep < place:
            continue
        between = max(between, float(heights[place : steep + 1].max()))
        descents = _keep_open(descents, between, keep, heights)
        if down[steep]:
            last = _extend(down, rises, steep, m)
            descents.append(_Descent(steep, last))
        else:
            last = _extend(up, falls, steep, m)
            found = [_enclose(one, steep, last, keep, heights, ranks, smallest) for one in descents]
            clusters += [one for one in reversed(found) if one is not None]
        place = last + 1
        between = float(heights[place])
    return clusters


def _extend(steep: Array, against: Array, start: int, m: int) -> int:
    """Return the last steep place of a way that goes on while nothing goes against it, nor `m` places are flat."""
    last, flat = start, 0
    for place in range(start, len(steep)):
        if steep[place]:
            last, flat = place, 0
        elif against[place]:
            break
        else:
            flat += 1
            if flat > m:
                break
    return last


def _keep_open(descents: list[_Descent], between: float, keep: float, heights: Array) -> list[_Descent]:
    """Return the ways down that begin higher than all places since; a valley cannot hold a higher place."""
    if np.isinf(between):
        return []
    still = [one for one in descents if between <= heights[one.first] * keep]
    for one in still:
        one.between = max(one.between, between)
    return still


def _enclose(
    descent: _Descent, up: int, last: int, keep: float, heights: Array, ranks: Array | None, smallest: int
) -> tuple[int, int] | None:
    """Return the valley between a way down and a way up, both cut to the same height; None if there is none."""
    first, left, right = descent.first, heights[descent.first], heights[last + 1]
    if right * keep < descent.between:
        return None
    if left * keep >= right:
        # The left side is higher: begin where it is as low as the right.
        while heights[first + 1] > right and first < descent.last:
            first += 1
    elif right * keep >= left:
        while heights[last - 1] > left and last > up:
            last -= 1
    if ranks is not None:
        # Drop rows at the end that are reached from outside.
        while first < last and heights[first] <= heights[last] and not first <= ranks[last] < last:
            last -= 1
        if first >= last:
            return None
    fits = last - first + 1 >= smallest and first <= descent.last and last >= up
    return (first, last) if fits else None
