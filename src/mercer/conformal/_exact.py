"""Full conformal prediction: the residuals of all rows as functions of the candidate value of a new one.

Least squares, ridge regression, kernel ridge regression and nearest neighbours predict linearly in the targets. If a
new row is fitted with the others, with a candidate y as its target, the residual of row i is a_i + b_i y. The new row
conforms to the others where enough of their absolute residuals are at least its own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer.conformal._quantile import find_rank
from mercer.errors import UnsupportedError

# Slopes that differ by less, beside one, are the same up to rounding.
_EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals a + b y of the rows of the fit (n, m) and of the new row itself (m,), for m new rows one by one."""

    constant: np.ndarray
    slope: np.ndarray
    own_constant: np.ndarray
    own_slope: np.ndarray


def find_residuals(model: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Residuals:
    """Return the residuals of all rows when each new row is fitted with the others."""
    kind = type(model).__name__
    if kind == "LinearRegression" or (kind == "Ridge" and np.ndim(getattr(model, "alpha", 1.0)) == 0):
        return _follow_linear(float(getattr(model, "alpha", 0.0)), bool(model.fit_intercept), X, y, new)
    if kind == "KernelRidge":
        return _follow_kernel(model, X, y, new)
    if kind == "KNeighborsRegressor" and isinstance(getattr(model, "weights", None), str):
        return _follow_neighbours(model, X, y, new)
    raise UnsupportedError(
        f"ConformalRegressor: method='full' must refit for every candidate value, which is exact for LinearRegression, "
        f"Ridge, KernelRidge and KNeighborsRegressor; got {kind}. Use method='cv+'."
    )


def _follow_linear(alpha: float, intercept: bool, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Residuals:
    """Follow ridge regression by the rank-one change that a new row makes to the normal equations."""
    if intercept:
        # The centre is a column of its own, without a penalty; centred columns keep the equations well conditioned.
        centre = X.mean(axis=0)
        X = np.column_stack([X - centre, np.ones(len(X))])
        new = np.column_stack([new - centre, np.ones(len(new))])
    penalty = np.full(X.shape[1], alpha)
    if intercept:
        penalty[-1] = 0.0
    inverse = scipy.linalg.pinvh(X.T @ X + np.diag(penalty))
    solved = inverse @ new.T
    reach = np.einsum("md,dm->m", new, solved)
    # Sherman and Morrison: the new row shrinks what points in its own direction.
    coefficients = (inverse @ (X.T @ y))[:, None] - solved * ((new @ (inverse @ (X.T @ y))) / (1.0 + reach))
    directions = solved / (1.0 + reach)
    return Residuals(
        y[:, None] - X @ coefficients,
        -X @ directions,
        -np.einsum("md,dm->m", new, coefficients),
        1.0 - np.einsum("md,dm->m", new, directions),
    )


def _follow_kernel(model: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Residuals:
    """Follow kernel ridge regression: residuals are alpha (K + alpha I)^-1 y, with one more row and column."""
    gram, cross = _compare(model, X, X), _compare(model, X, new)
    own = np.array([_compare(model, row[None], row[None])[0, 0] for row in new])
    alpha = float(model.alpha)
    factor = scipy.linalg.cho_factor(gram + alpha * np.eye(len(X)), lower=True)
    dual = scipy.linalg.cho_solve(factor, y)
    solved = scipy.linalg.cho_solve(factor, cross)
    rest = own + alpha - np.einsum("nm,nm->m", cross, solved)
    # The inverse of a matrix with one more row, by the complement of the new row.
    own_constant = -(cross.T @ dual) / rest
    return Residuals(
        alpha * (dual[:, None] - solved * own_constant), -alpha * solved / rest, alpha * own_constant, alpha / rest
    )


def _compare(model: Any, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return the kernel that the model would use between rows."""
    kernel = model.kernel
    if callable(kernel) and not isinstance(kernel, str):
        try:
            return np.asarray(kernel(X, Z), dtype=np.float64)
        except (TypeError, ValueError):
            return np.array([[float(kernel(x, z)) for z in Z] for x in X])
    from sklearn.metrics.pairwise import pairwise_kernels

    options = {} if model.gamma is None else {"gamma": model.gamma}
    options |= {"degree": model.degree, "coef0": model.coef0}
    return np.asarray(pairwise_kernels(X, Z, metric=kernel, filter_params=True, **options))


def _follow_neighbours(model: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Residuals:
    """Follow the mean of the k nearest other rows: a new row takes the place of the farthest of them, if it is
    nearer."""
    if model.weights != "uniform":
        raise UnsupportedError(
            f"ConformalRegressor: method='full' needs KNeighborsRegressor(weights='uniform'); got {model.weights!r}."
        )
    k = int(model.n_neighbors)
    if k >= len(X):
        raise UnsupportedError(
            f"ConformalRegressor: method='full' leaves each row out of its own neighbours, so n_neighbors must be "
            f"below {len(X)} rows; got {k}."
        )
    distance, nearest = model.kneighbors(n_neighbors=k)
    sums, last = y[nearest].sum(axis=1), y[nearest[:, -1]]
    far, chosen = model.kneighbors(new, n_neighbors=k)
    del far
    between = _measure(model, X, new)
    enters = between < distance[:, -1:]
    constant = y[:, None] - (sums[:, None] - np.where(enters, last[:, None], 0.0)) / k
    return Residuals(constant, np.where(enters, -1.0 / k, 0.0), -y[chosen].mean(axis=1), np.ones(len(new)))


def _measure(model: Any, X: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the distances between rows in the metric of the model."""
    from sklearn.metrics import pairwise_distances

    metric = getattr(model, "effective_metric_", model.metric)
    options = dict(getattr(model, "effective_metric_params_", None) or {})
    return np.asarray(pairwise_distances(X, new, metric=metric, **options))


def find_interval(residuals: Residuals, column: int, coverage: float) -> tuple[float, float]:
    """Return the smallest interval that holds all values at which a new row conforms."""
    a, b = residuals.constant[:, column], residuals.slope[:, column]
    own, tilt = residuals.own_constant[column], residuals.own_slope[column]
    # |a + b y| does not change with the sign of both.
    a, b = np.where(b < 0, -a, a), np.abs(b)
    if tilt < 0:
        own, tilt = -own, -tilt
    n = len(a)
    # A value is kept if its rank among n + 1 residuals is at most the rank of the quantile.
    needed = n + 1 - int(find_rank(n, coverage))
    if needed <= 0:
        return -np.inf, np.inf
    starts, ends = _list_ranges(a, b, own, tilt)
    starts, ends = np.sort(starts), np.sort(ends)
    # The number of ranges that hold a point changes at their ends alone.
    at_starts = np.searchsorted(starts, starts, side="right") - np.searchsorted(ends, starts, side="left")
    at_ends = np.searchsorted(starts, ends, side="right") - np.searchsorted(ends, ends, side="left")
    low, high = starts[at_starts >= needed], ends[at_ends >= needed]
    if not len(low):
        # No value conforms: the one at which the new row has no residual comes nearest.
        middle = -own / tilt if tilt else 0.0
        return middle, middle
    return float(low.min()), float(high.max())


def _list_ranges(a: np.ndarray, b: np.ndarray, own: float, tilt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and ends of the ranges of y in which each |a + b y| is at least |own + tilt y|."""
    scale = max(1.0, abs(tilt))
    flat = np.abs(tilt - b) <= _EQUAL * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        first = (a - own) / (tilt - b)
        second = -(a + own) / (tilt + b)
    low, high = np.minimum(first, second), np.maximum(first, second)
    steep = (b > tilt) & ~flat
    starts = np.where(steep, -np.inf, low)
    ends = np.where(steep, low, high)
    # Equal slopes leave one crossing: all values on the side of the larger residual.
    middle = np.where(flat & (tilt + b > 0), -(a + own) / np.where(tilt + b > 0, tilt + b, 1.0), 0.0)
    right = a >= own
    starts = np.where(flat, np.where(right, middle, -np.inf), starts)
    ends = np.where(flat, np.where(right, np.inf, middle), ends)
    even = flat & (a == own)
    starts, ends = np.where(even, -np.inf, starts), np.where(even, np.inf, ends)
    return np.concatenate([starts, high[steep]]), np.concatenate([ends, np.full(int(steep.sum()), np.inf)])
