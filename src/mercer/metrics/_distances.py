"""Distances between rows: L_p, Mahalanobis, cosine and those that kernels induce; and the axioms of a metric."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances as sklearn_distances
from sklearn.utils import check_array

from mercer._base.reading import read_covariance
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.kernels import Kernel, feature_distances

# Names of distances, as scikit-learn and SciPy have them, and the exponent p of those that are L_p distances.
_EXPONENTS = {
    "euclidean": 2.0,
    "l2": 2.0,
    "manhattan": 1.0,
    "cityblock": 1.0,
    "l1": 1.0,
    "chebyshev": math.inf,
}
_OTHERS = ("sqeuclidean", "minkowski", "mahalanobis", "cosine", "precomputed")
# Names that scikit-learn answers.
_PASSED_ON = (
    *("braycurtis", "canberra", "correlation", "dice", "hamming", "haversine", "jaccard", "nan_euclidean"),
    *("rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "yule"),
)


def lp_norm(X: Any, p: float = 2.0) -> Array:
    r"""Compute the norm :math:`\|x\|_p = (\sum_j |x_j|^p)^{1/p}` of each row; the largest entry for infinite p.

    It does not rise with p.

    Parameters
    ----------
    X : array-like of shape (n, d) or (d,)
    p : float in [1, inf], default=2.0

    Returns
    -------
    ndarray of shape (n,), or float for one vector

    Examples
    --------
    >>> from mercer.metrics import lp_norm
    >>> [float(lp_norm([3.0, -4.0], p)) for p in (1, 2, float("inf"))]
    [7.0, 5.0, 4.0]
    """
    exponent = _read_exponent("lp_norm", p)
    rows = np.abs(check_array(X, dtype=np.float64, ensure_2d=False, input_name="X"))
    # Divided by the largest entry first, so that powers neither overflow nor vanish.
    most = rows.max(axis=-1)
    if math.isinf(exponent):
        return most
    scale = np.where(most > 0, most, 1.0)
    return most * ((rows / scale[..., None]) ** exponent).sum(axis=-1) ** (1.0 / exponent)


def pairwise_distances(
    X: Any,
    Y: Any = None,
    metric: Any = "euclidean",
    *,
    n_jobs: int | None = None,
    ensure_all_finite: Any = True,
    p: float = 2.0,
    covariance: Any = None,
    **kwds: Any,
) -> Array:
    r"""Compute the distances between rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d), or (n, m) with ``metric="precomputed"``
    Y : array-like of shape (m, d) or None, default=None
        None means `X`.
    metric : str, Kernel or callable, default="euclidean"
        - "euclidean", "manhattan", "chebyshev": :math:`\|x - y\|_p` with p = 2, 1, infinity;
        - "minkowski": :math:`\|x - y\|_p` with `p`;
        - "sqeuclidean": :math:`\|x - y\|^2`, which is no metric: the triangle inequality fails;
        - "mahalanobis": :math:`\sqrt{(x - y)^T S^{-1} (x - y)}`;
        - "cosine": 1 less the cosine of the angle, no metric either;
        - a kernel of :mod:`mercer.kernels`: :math:`\sqrt{k(x, x) - 2 k(x, y) + k(y, y)}`, the distance of features;
        - "precomputed": `X` holds the distances, which are checked to be non-negative, and zero from a row to itself;
        - another name that scikit-learn knows, or a function of two rows: these, sparse rows and `kwds` are passed on
          to its function of the same name.
    n_jobs : int or None, default=None
    ensure_all_finite : bool or "allow-nan", default=True
        For what is passed on to scikit-learn.
    p : float in [1, inf], default=2.0
        The exponent of "minkowski".
    covariance : array-like of shape (d, d) or None, default=None
        S of "mahalanobis". None means the covariance of the rows of `X` and `Y`, divided by their number less one.
    **kwds : dict
        Further arguments of a metric that is passed on.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> from mercer.metrics import pairwise_distances
    >>> pairwise_distances([[0.0, 0.0], [3.0, 4.0]], metric="manhattan")
    array([[0., 7.],
           [7., 0.]])
    >>> pairwise_distances([[0.0, 0.0]], [[3.0, 4.0]], metric="mahalanobis", covariance=[[9.0, 0.0], [0.0, 16.0]])
    array([[1.41421356]])
    """
    if isinstance(metric, str) and metric == "precomputed":
        return _read_distances(X, Y)
    named = isinstance(metric, str) and metric in _PASSED_ON
    # scikit-learn has all other metrics; its answer is returned as it is.
    if named or kwds or issparse(X) or (callable(metric) and not isinstance(metric, Kernel)):
        options = kwds | ({"p": p} if metric == "minkowski" else {})
        return sklearn_distances(X, Y, metric, n_jobs=n_jobs, ensure_all_finite=ensure_all_finite, **options)
    rows = check_array(X, dtype=np.float64, input_name="X")
    others = rows if Y is None else check_array(Y, dtype=np.float64, input_name="Y")
    if rows.shape[1] != others.shape[1]:
        raise DataError(f"pairwise_distances: Y must have {rows.shape[1]} columns, as X has; got {others.shape[1]}.")
    size = (len(rows), len(others))
    require_memory("pairwise_distances", 8.0 * size[0] * size[1], "a {} x {} table".format(*size), "use fewer rows")
    if isinstance(metric, Kernel):
        distances = np.sqrt(feature_distances(metric, rows, None if Y is None else others))
    elif metric == "mahalanobis":
        distances = _compute_mahalanobis(rows, others, covariance, Y is None)
    elif metric == "cosine":
        # Rounding may bring a cosine just over one, and the distance just below zero.
        distances = np.maximum(1.0 - _unit(rows) @ _unit(others).T, 0.0)
    elif metric == "sqeuclidean":
        distances = cdist(rows, others, "sqeuclidean")
    else:
        distances = _compute_lp(rows, others, _choose_exponent(metric, p))
    if Y is None:
        # A row is at distance zero from itself, whatever cancellation leaves.
        np.fill_diagonal(distances, 0.0)
    return distances


def _choose_exponent(metric: Any, p: float) -> float:
    if metric == "minkowski":
        return _read_exponent("pairwise_distances", p)
    if not isinstance(metric, str) or metric not in _EXPONENTS:
        known = ", ".join(repr(name) for name in (*_EXPONENTS, *_OTHERS, *_PASSED_ON))
        raise ParameterError(
            f"pairwise_distances: metric must be a kernel, a function or one of {known}; got {metric!r}."
        )
    return _EXPONENTS[metric]


def _read_exponent(subject: str, p: Any) -> float:
    if not isinstance(p, int | float | np.number) or not p >= 1:
        raise ParameterError(
            f"{subject}: p must be a number in [1, inf]; got {p!r}. Below 1 the triangle inequality fails."
        )
    return float(p)


def _compute_lp(rows: Array, others: Array, exponent: float) -> Array:
    # The special cases avoid a power for each coordinate.
    if exponent == 2.0:
        return cdist(rows, others, "euclidean")
    if exponent == 1.0:
        return cdist(rows, others, "cityblock")
    if math.isinf(exponent):
        return cdist(rows, others, "chebyshev")
    return cdist(rows, others, "minkowski", p=exponent)


def _compute_mahalanobis(rows: Array, others: Array, covariance: Any, same: bool) -> Array:
    """Return Euclidean distances after whitening: with S = L L', |L^-1 (x - y)|."""
    if covariance is None:
        covariance = np.cov(rows if same else np.concatenate([rows, others]), rowvar=False).reshape(
            rows.shape[1], rows.shape[1]
        )
    _, factor = read_covariance("pairwise_distances", "covariance", covariance, rows.shape[1])
    # The origin does not matter; about a mean, fewer digits are lost.
    centre = rows.mean(axis=0)
    white, whiter = (solve_triangular(factor, (part - centre).T, lower=True).T for part in (rows, others))
    return cdist(white, whiter, "euclidean")


def _unit(rows: Array) -> Array:
    norms = lp_norm(rows)
    if not (norms > 0).all():
        raise DataError("pairwise_distances: metric='cosine' needs rows with a direction; got a row of zeros. Drop it.")
    return rows / norms[:, None]


def _read_distances(X: Any, Y: Any) -> Array:
    matrix = check_array(X, dtype=np.float64, input_name="X")
    if Y is not None:
        raise DataError("pairwise_distances: metric='precomputed' takes the distances as X and no Y; got both.")
    # Only a square table has a diagonal of self-distances; others are between two sets.
    square = matrix.shape[0] == matrix.shape[1]
    if matrix.min() < 0 or (square and np.any(np.diag(matrix) != 0)):
        raise DataError(
            "pairwise_distances: precomputed distances must be non-negative, zero on the diagonal; got others."
        )
    return matrix


@dataclass(frozen=True)
class MetricCheck:
    """Which axioms of a metric a table of distances satisfies; what :func:`check_metric` returns.

    Attributes
    ----------
    is_nonnegative, is_symmetric : bool
    is_zero_on_diagonal : bool
        Whether d(x, x) = 0.
    separates : bool
        Whether different rows of the table are at positive distances; without, it is a pseudometric.
    has_triangles : bool
        Whether d(i, j) <= d(i, k) + d(k, j) for all i, j and k.
    excess : float
        The largest d(i, j) - d(i, k) - d(k, j); at most zero where the triangle inequality holds.
    worst : tuple of int
        i, k and j with that excess: the detour by k is shorter than the direct way.
    """

    is_nonnegative: bool
    is_symmetric: bool
    is_zero_on_diagonal: bool
    separates: bool
    has_triangles: bool
    excess: float
    worst: tuple[int, int, int]

    @property
    def is_metric(self) -> bool:
        """Whether all axioms hold."""
        axioms = (self.is_nonnegative, self.is_symmetric, self.is_zero_on_diagonal, self.separates, self.has_triangles)
        return all(axioms)


def check_metric(distances: Any, *, tolerance: float = 1e-9) -> MetricCheck:
    """Check the axioms of a metric on a table of distances.

    Parameters
    ----------
    distances : array-like of shape (n, n)
    tolerance : float, default=1e-9
        What counts as rounding, relative to the largest distance.

    Returns
    -------
    MetricCheck

    Notes
    -----
    Costs n^3, and memory for two tables.

    Examples
    --------
    >>> from mercer.metrics import check_metric, pairwise_distances
    >>> X = [[0.0], [1.0], [3.0]]
    >>> check_metric(pairwise_distances(X)).is_metric
    True
    >>> squared = check_metric(pairwise_distances(X, metric="sqeuclidean"))
    >>> squared.has_triangles, squared.excess, squared.worst  # 9 > 1 + 4
    (False, 4.0, (0, 1, 2))
    """
    D = check_array(distances, dtype=np.float64, input_name="distances")
    n = len(D)
    if D.shape != (n, n):
        raise DataError(f"check_metric: distances must be a square table; got shape {D.shape}.")
    slack = tolerance * float(np.abs(D).max())
    excess, worst = -math.inf, (0, 0, 0)
    for middle in range(n):
        # over[i, j] = d(i, j) - d(i, middle) - d(middle, j), which the triangle inequality keeps at or below zero.
        over = D - D[:, middle, None] - D[None, middle, :]
        here = float(over.max())
        if here > excess:
            first, last = (int(index) for index in np.unravel_index(int(over.argmax()), over.shape))
            excess, worst = here, (first, middle, last)
    apart = ~np.eye(n, dtype=bool)
    return MetricCheck(
        is_nonnegative=bool((slack >= -D).all()),
        is_symmetric=bool((np.abs(D - D.T) <= slack).all()),
        is_zero_on_diagonal=bool((np.abs(np.diag(D)) <= slack).all()),
        separates=bool((D[apart] > slack).all()),
        has_triangles=excess <= slack,
        excess=excess,
        worst=worst,
    )
