"""Linkage matrices in SciPy's format, the distances of few wide rows for them, and the partitions cut from them."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial.distance import squareform
from sklearn.utils import check_array

from mercer._base.parameter import Array as ArrayLike
from mercer._base.parameter import Choice, Function, Integer, Nothing, Real, Text, check_parameters
from mercer._base.validation import check_weight
from mercer._source.memory import require_memory
from mercer._source.threads import n_threads, one_blas_thread, run_numbered
from mercer._types import Array
from mercer.cluster import _crossovers
from mercer.cluster._distances import check_distances, safe_scale, square_matrix
from mercer.cluster._hierarchy.merging import (
    SQUARED,
    Merges,
    merge_matrix,
    merge_points,
    run_alone,
    span_matrix,
    span_points,
    yield_steps,
)
from mercer.cluster._hierarchy.tree import Tree, widest_gap
from mercer.errors import DataError

# Weights from here to its inverse are used as they are: products of three of them neither overflow nor vanish.
_LIGHTEST = 1e-100

METHODS = ("single", "complete", "average", "weighted", "ward", "centroid", "median")


def linkage(
    X: Any,
    method: str = "single",
    metric: Any = "euclidean",
    *,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> Array:
    """Cluster rows hierarchically and return SciPy's linkage matrix.

    Parameters
    ----------
    X : array-like of shape (n, d) or (n (n - 1) / 2,)
        Rows, or the distances of all pairs as SciPy's ``pdist`` orders them.
    method : one of 'single', 'complete', 'average', 'weighted', 'ward', 'centroid', 'median', default='single'
        The distance of two clusters. The last three need Euclidean distances.
    metric : a string or a callable, default='euclidean'
        As in SciPy's ``pdist``; not looked at when `X` holds distances.
    sample_weight : array-like of shape (n,), default=None
        A positive weight for each row: a row of weight w counts as w equal rows, which merge first, at height zero.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads that measure distances; changes no result.

    Returns
    -------
    Z : ndarray of shape (n - 1, 4)
        Per merge, in rising height (in order of merging for centroid and median, whose heights may fall): the two
        clusters, numbered as in SciPy, the height, and the weight of the new cluster.

    Notes
    -----
    Single linkage and Ward's of more Euclidean rows than columns take O(n) memory and n^2 d steps; all else takes n^2
    distances, which are forecast.

    Examples
    --------
    >>> from mercer.cluster import linkage
    >>> Z = linkage([[0.0], [1.0], [5.0], [7.0]], "average")
    >>> Z[:, 2].tolist()
    [1.0, 2.0, 5.5]
    """
    rules = {
        "method": Choice(*METHODS),
        "metric": Text() | Function(),
        "sample_weight": ArrayLike() | Nothing(),
        "n_jobs": Integer() | Nothing(),
    }
    check_parameters("linkage", rules, locals())
    X, matrix = _open_rows(X, method, metric)
    n = len(matrix) if X is None else len(X)
    weight = check_weight(None, sample_weight, n)
    if weight is not None and weight.min() <= 0:
        raise DataError("linkage: sample_weight must be positive; got 0. Leave those rows out.")
    with one_blas_thread():
        calls = merging("linkage", X, matrix, method, metric, weight, n_threads(n_jobs))
        merges = run_alone(yield_steps(calls, n, None))
    # Only these two linkages can have inversions: a merge lower than one below it.
    return Tree.of(merges, n, method in ("centroid", "median"), weight).matrix()


def _open_rows(X: Any, method: str, metric: Any) -> tuple[Any, Any]:
    """Return checked rows and None, or None and a square matrix that may be overwritten."""
    X = check_array(X, dtype=np.float64, order="C", ensure_2d=False, input_name="X", estimator="linkage")
    if X.ndim == 1:
        # n (n - 1) / 2 = m solved for n.
        n = int(np.ceil(np.sqrt(2 * len(X))))
        if n * (n - 1) // 2 != len(X) or n < 2:
            raise DataError(
                f"linkage: the distances of n rows are n (n - 1) / 2 numbers; got {len(X)}. Give those of all pairs."
            )
        _forecast("linkage", n)
        return None, squareform(X)
    if X.ndim != 2 or len(X) < 2:
        raise DataError(f"linkage: X must be rows, at least 2, or their distances; got shape {X.shape}.")
    if method in SQUARED and metric not in ("euclidean", "l2"):
        raise DataError(
            f"linkage: method {method!r} needs metric='euclidean'; got {metric!r}. Give distances to use others."
        )
    return X, None


def _forecast(subject: str, n: int) -> None:
    cure = "use linkage 'ward' or 'single' with Euclidean rows, or cluster fewer rows or prototypes of them"
    require_memory(subject, 8.0 * n * n, f"the {n} x {n} distances", cure)


def merging(
    subject: str, X: Any, matrix: Any, method: str, metric: Any, weight: Array | None, threads: int
) -> Iterator[Merges]:
    """Yield the merges so far of rows `X`, or of a `matrix` of distances, which is overwritten."""
    # Rows are scaled by a power of two, which is exact, so that squares neither overflow nor vanish.
    euclidean = X is not None and isinstance(metric, str) and metric in ("euclidean", "l2")
    # A power of two brings huge or tiny rows into the range of squares; heights are divided by it again.
    scale = safe_scale(X) if euclidean else 1.0
    X = X if scale == 1.0 else X * scale
    # Ward's heights grow with the square root of the weights; those of other linkages depend on their ratios alone.
    root, weight = _scale_weights(subject, weight)
    root = root if method == "ward" else 1.0
    # Of few long rows a matrix of distances is no larger than the rows, and products fill it in less time.
    wide = euclidean and are_wide(X)
    if euclidean and method in ("single", "ward") and not wide:
        calls = span_points(X) if method == "single" else merge_points(X, weight)
    else:
        if matrix is None:
            _forecast(subject, len(X))
            matrix = measure_wide(subject, X, threads) if wide else square_matrix(subject, X, metric, threads)
        if not euclidean:
            check_distances(subject, matrix)
            scale = safe_scale(matrix)
            matrix = matrix if scale == 1.0 else np.multiply(matrix, scale, out=matrix)
        calls = _merging_matrix(matrix, method, weight)
    for merges in calls:
        yield merges if scale * root == 1.0 else Merges(merges.pairs, merges.heights / scale / root)


def _scale_weights(subject: str, weight: Array | None) -> tuple[float, Array | None]:
    """Return weights whose products do not overflow, and the square root of the factor: a power of two, hence exact."""
    if weight is None or _LIGHTEST < weight.min() <= weight.max() < 1 / _LIGHTEST:
        return 1.0, weight
    root = 2.0 ** -(math.frexp(float(weight.max()))[1] // 2)
    # In two steps: the factor itself may overflow.
    scaled = weight * root * root
    if scaled.min() < _LIGHTEST:
        raise DataError(
            f"{subject}: sample_weight must not differ by more than a factor of {1 / _LIGHTEST:g}; got "
            f"{weight.min():g} and {weight.max():g}. Drop the rows of the smallest weights."
        )
    return root, scaled


def _merging_matrix(matrix: Array, method: str, weight: Array | None) -> Iterator[Merges]:
    if method == "single":
        return span_matrix(matrix)
    if method in SQUARED:
        np.multiply(matrix, matrix, out=matrix)
    # Ward's squared height of two rows of weights v and w: 2 v w / (v + w) |x - y|^2.
    if method == "ward" and weight is not None:
        for i in range(len(matrix)):
            matrix[i] *= 2 * weight[i] * weight / (weight[i] + weight)
    return merge_matrix(matrix, method, weight)


def cut_linkage(Z: Any, *, n_clusters: int | None = None, height: float | None = None) -> Array:
    """Cut a dendrogram by number, by height or, when neither is given, at its widest gap.

    Parameters
    ----------
    Z : array-like of shape (n - 1, 4)
        A linkage matrix, of :func:`linkage` or of SciPy.
    n_clusters : an integer in [1, inf) or None, default=None
        Clusters to cut into.
    height : a number in [0, inf) or None, default=None
        Clusters whose merge is at or above this height stay apart.

    Returns
    -------
    labels : ndarray of shape (n,)
        Clusters numbered in the order of their first rows.

    Examples
    --------
    >>> from mercer.cluster import cut_linkage, linkage
    >>> Z = linkage([[0.0], [1.0], [20.0], [22.0]], "average")
    >>> cut_linkage(Z).tolist(), cut_linkage(Z, height=1.5).tolist()
    ([0, 0, 1, 1], [0, 0, 1, 2])
    """
    rules = {"n_clusters": Integer(1) | Nothing(), "height": Real(0) | Nothing()}
    check_parameters("cut_linkage", rules, locals())
    Z = check_array(Z, dtype=np.float64, input_name="Z", estimator="cut_linkage")
    # With n leaves and n - 1 merges, a child has a number of at most 2 n - 3 = 2 len(Z) - 1.
    if Z.shape[1] != 4 or Z[:, :2].max() > 2 * len(Z) - 1:
        raise DataError(
            f"cut_linkage: Z must be a linkage matrix of four columns; got shape {Z.shape}. Use linkage to make one."
        )
    if n_clusters is not None and height is not None:
        raise DataError("cut_linkage: give n_clusters or height, not both.")
    tree = Tree.read(Z)
    if n_clusters is not None and n_clusters > tree.n:
        raise DataError(
            f"cut_linkage: n_clusters must be at most the {tree.n} leaves; got {n_clusters}. Lower n_clusters."
        )
    if height is not None:
        return tree.cut_at_height(height)
    return tree.cut_at_number(widest_gap(tree.monotone_heights()) if n_clusters is None else n_clusters)


# Columns of one product, whose sums are added in the order of the columns: some 10 ms for 300 rows.
_COLUMNS = 2048
# Squares of distances below this share of the squared lengths are sums of differences: a product leaves them fewer
# than 12 digits.
_CLOSE = 1e-3
# Where more than this share of the pairs is so close, all are measured by differences.
_MANY_CLOSE = 1 / 16
# Values of the differences that are held at a time: 2 MiB.
_DIFFERENCES = 2**18


def are_wide(X: Array) -> bool:
    """Return whether the distances of all pairs of rows take no more memory than the rows."""
    return X.shape[0] <= X.shape[1]


def measure_wide(subject: str, X: Array, threads: int) -> Array:
    """Return the Euclidean distance of each pair of rows, (n, n), up to a relative rounding of about 1e-12.

    The square is |x|^2 + |y|^2 - 2 x y. Rows far from the origin are moved to their mean first, which changes no
    distance and keeps digits of it.
    """
    if len(X) * X.size < _crossovers.PRODUCT_VALUES:
        return square_matrix(subject, X, "euclidean", threads)
    lengths = np.einsum("ij,ij->i", X, X)
    centred = X - X.mean(axis=0)
    moved = np.einsum("ij,ij->i", centred, centred)
    # By the median: one long row moves the mean, and the others then lie far from it.
    if np.median(moved) < 0.5 * np.median(lengths):
        X = centred
    squares = _find_squares(X, threads)
    sizes = np.diagonal(squares).copy()
    reach = sizes[:, None] + sizes
    squares *= -2.0
    squares += reach
    close = np.argwhere(np.triu(squares <= _CLOSE * reach, 1))
    if len(close) > _MANY_CLOSE * squares.size / 2:
        return square_matrix(subject, X, "euclidean", threads)
    step = max(1, _DIFFERENCES // X.shape[1])
    for first in range(0, len(close), step):
        left, right = close[first : first + step].T
        gaps = X[left] - X[right]
        squares[left, right] = squares[right, left] = np.einsum("ij,ij->i", gaps, gaps)
    np.fill_diagonal(squares, 0.0)
    return np.sqrt(squares, out=squares)


def _find_squares(X: Array, threads: int) -> Array:
    """Return the products of all pairs of rows: sums over runs of columns, added in their order."""
    runs = [X[:, first : first + _COLUMNS] for first in range(0, X.shape[1], _COLUMNS)]
    total = np.zeros((len(X), len(X)))
    for first in range(0, len(runs), threads):
        parts: list[Array] = [total] * len(runs[first : first + threads])

        def multiply(number: int, first: int = first, parts: list[Array] = parts) -> None:
            parts[number] = runs[first + number] @ runs[first + number].T

        run_numbered(multiply, len(parts), threads)
        for part in parts:
            total += part
    return total
