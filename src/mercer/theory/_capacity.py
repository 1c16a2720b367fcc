"""Capacity: the VC dimension of classes of functions, of hyperplanes with a margin, and of the sine, which has none."""

import math
from math import pi
from typing import Any, NamedTuple

import numpy as np

from mercer._base.reading import read_integer, read_numbers
from mercer.errors import DataError, ParameterError
from mercer.kernels import Constant, Difference, Linear, Polynomial, Product, Sum
from mercer.theory._dichotomies import find_shattered
from mercer.theory._learners import draw_points, find_dimension

# Labels that double precision can tell apart: w reaches pi 10^15, and w x is known to a rounding of 10^-15 w x.
_MOST_LABELS = 14
# Frequencies tried at a time: 1 MiB of float64 for eight points.
_TILE = 2**14


class SineFit(NamedTuple):
    """A curve a sin(w x) through points."""

    #: a.
    amplitude: float
    #: w.
    frequency: float
    #: The largest distance of the curve from a target.
    error: float


def find_sine_frequency(labels: Any) -> float:
    r"""Return the w for which the sign of sin(w x) gives the points 0.1, 0.01, 0.001, ... any labels.

    .. math:: w = \pi \Big( 1 + \sum_i \frac{1 - y_i}{2} 10^i \Big)

    At :math:`x_j = 10^{-j}` the terms with i > j add even multiples of pi, the term i = j adds pi if the label is -1,
    and what is left is less than pi / 4. So a class with one parameter labels any number of points in every way: the
    number of parameters does not measure capacity.

    Parameters
    ----------
    labels : array-like of shape (n_points,)
        Labels -1 and 1, at most 14.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import find_sine_frequency
    >>> labels = [1, -1, -1, 1]
    >>> x = 10.0 ** -np.arange(1, 5)
    >>> np.sign(np.sin(find_sine_frequency(labels) * x)).astype(int).tolist()
    [1, -1, -1, 1]
    """
    y = np.asarray(labels)
    if y.ndim != 1 or not np.isin(y, (-1, 1)).all():
        raise DataError("find_sine_frequency: labels must be a list of -1 and 1; give np.where(y, 1, -1).")
    if len(y) > _MOST_LABELS:
        raise DataError(
            f"find_sine_frequency: float64 can tell {_MOST_LABELS} labels apart; got {len(y)}. Give fewer points."
        )
    return pi * (1 + sum(10**i for i, label in enumerate(y.tolist(), start=1) if label < 0))


def fit_sine(x: Any, y: Any, *, max_frequency: float = 1e5, n_frequencies: int = 1_000_000) -> SineFit:
    """Search the curve a sin(w x) that comes nearest to points, by trying many frequencies.

    Two parameters come near to any few targets if w may be as large as it likes. Such a curve says nothing of points
    between them: a small training error alone proves nothing.

    Parameters
    ----------
    x, y : array-like of shape (n_points,)
        The points.
    max_frequency : float, default=1e5
        Largest w.
    n_frequencies : int, default=1_000_000
        Frequencies tried, evenly spaced.

    Returns
    -------
    SineFit

    Examples
    --------
    >>> from mercer.theory import fit_sine
    >>> fit_sine([0.31, 0.57, 0.83], [0.4, -0.3, 0.2]).error < 0.02
    True
    """
    x, y = (read_numbers("fit_sine", name, value) for name, value in (("x", x), ("y", y)))
    if x.shape != y.shape or x.ndim != 1:
        raise DataError(
            f"fit_sine: x and y must have the same length; got shapes {x.shape} and {y.shape}. Give two lists."
        )
    count = read_integer("fit_sine", "n_frequencies", n_frequencies, 1)
    best = SineFit(0.0, 0.0, float(np.abs(y).max(initial=0.0)))
    for start in range(0, count, _TILE):
        frequencies = np.arange(start + 1, min(start + _TILE, count) + 1) * (max_frequency / count)
        waves = np.sin(frequencies[:, None] * x)
        # The amplitude of least squares: a = <s, y> / <s, s>; a wave that is zero everywhere has none.
        squares = np.maximum(np.einsum("fi,fi->f", waves, waves), np.finfo(np.float64).tiny)
        amplitudes = waves @ y / squares
        errors = np.abs(amplitudes[:, None] * waves - y).max(axis=1)
        place = int(np.argmin(errors))
        if errors[place] < best.error:
            best = SineFit(float(amplitudes[place]), float(frequencies[place]), float(errors[place]))
    return best


def vc_dimension(model_class: Any, n_features: int = 1, *, points: Any = None, random_state: Any = None) -> float:
    """Return the Vapnik-Chervonenkis dimension of a class of binary classifiers, by a formula or by a search.

    Parameters
    ----------
    model_class : str, classifier or list of functions
        A class with a known dimension: ``"hyperplanes"`` and ``"origin hyperplanes"``, halfspaces with and without an
        offset; ``"thresholds"`` and ``"intervals"`` of one column; ``"boxes"`` along the axes; ``"balls"``; and
        ``"sine"``, the sign of sin(w x), which has one parameter and no finite dimension. A classifier of mercer or
        scikit-learn: linear ones and nearest neighbours have a known dimension, others are searched. Or a list of
        functions of points, a finite class.
    n_features : int, default=1
        Columns; thresholds, intervals and sine have one.
    points : array-like of shape (n_points, n_features), default=None
        Points to search, at most 12 for a classifier. By default a few are drawn.
    random_state : None, int, RandomState or Generator, default=None
        The seed of points that are drawn.

    Returns
    -------
    float
        The largest number of points that the class can label in every way. A search returns the size of the largest
        such set among the points (:func:`find_shattered`): a lower bound, and exact for a list of functions if the
        points are all there are.

    Examples
    --------
    >>> from mercer.theory import vc_dimension
    >>> vc_dimension("hyperplanes", 2), vc_dimension("sine")
    (3, inf)
    >>> from mercer.tree import DecisionTreeClassifier
    >>> vc_dimension(DecisionTreeClassifier(max_leaf_nodes=3), points=[[0.0], [1.0], [2.0], [3.0]])
    3.0
    """
    if not (isinstance(n_features, int) and not isinstance(n_features, bool) and n_features >= 1):
        raise ParameterError(
            f"vc_dimension: n_features must be an integer in [1, inf); got {n_features!r}. Count the columns."
        )
    if not isinstance(model_class, str):
        return _search_dimension(model_class, n_features, points, random_state)
    # Boxes have two bounds per axis. Balls shatter d + 1 points, as halfspaces do, and no more (Dudley, 1979).
    known = {
        "hyperplanes": n_features + 1,
        "origin hyperplanes": n_features,
        "thresholds": 1,
        "intervals": 2,
        "boxes": 2 * n_features,
        "balls": n_features + 1,
        "sine": math.inf,
    }
    if model_class not in known:
        raise ParameterError(f"vc_dimension: model_class must be one of {', '.join(known)}; got {model_class!r}.")
    return known[model_class]


def _search_dimension(model_class: Any, n_features: int, points: Any, random_state: Any) -> float:
    """Return the dimension of a learner or a list of functions, by a formula or among points."""
    if points is None:
        known = find_dimension(model_class, n_features) if hasattr(model_class, "fit") else None
        if known is not None:
            return known
        points = draw_points(n_features, random_state)
    return float(len(find_shattered(points, model_class)))


def margin_bound(model: Any, X: Any, *, ceiling: bool = True) -> float:
    r"""Return a bound on the VC dimension of hyperplanes with a margin as wide as the model's.

    .. math:: h \le \min(\lceil R^2 / \rho^2 \rceil, n) + 1

    with :math:`\rho` the margin, R the radius of the smallest sphere around the rows in feature space, and n the
    dimension of that space: the number of columns d for the linear kernel, of monomials for a polynomial one, sums and
    products of these for sums and products of kernels, infinite for other kernels.

    Parameters
    ----------
    model : SVC or LinearSVC
        Fitted to two classes.
    X : array-like or sparse matrix of shape (n_samples, d)
        The rows that the sphere is to hold.
    ceiling : bool, default=True
        Whether to round R^2 / rho^2 up.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.svm import SVC
    >>> from mercer.theory import margin_bound
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> model = SVC(C=1e6, kernel="linear").fit(X, [0, 0, 1, 1])
    >>> margin_bound(model, X)
    3.0
    """
    # Imported here, so that the bounds that need no machine load without them.
    from mercer.svm import SVDD, margin_width

    width = margin_width(model)
    # A machine without kernel, such as LinearSVC, works on the columns themselves.
    kernel = getattr(model, "_kernel", Linear())
    radius = SVDD(1.0, kernel=kernel, tol=1e-6).fit(X).radius_
    ratio = (radius / width) ** 2
    # Rounding alone must not raise an integer to the next one.
    ratio = float(math.ceil(ratio * (1 - 1e-9))) if ceiling else ratio
    return min(ratio, count_dimensions(kernel, model.n_features_in_)) + 1.0


def count_dimensions(kernel: Any, n_features: int) -> float:
    """Return the dimension of a kernel's feature space; infinity where it is not known.

    A sum of kernels has the features of both side by side, a product all products of two.
    """
    if isinstance(kernel, Linear):  # of unit vectors too
        return float(n_features)
    if isinstance(kernel, Constant):
        return 1.0
    if isinstance(kernel, Polynomial) and kernel.positive_definite:
        # Monomials of all degrees up to p in d columns, or of degree p alone without an offset.
        degree = int(kernel.degree)
        return float(math.comb(n_features + degree - (kernel.coef0 == 0), degree))
    if isinstance(kernel, Difference):
        return math.inf
    if isinstance(kernel, Sum):
        return count_dimensions(kernel.k1, n_features) + count_dimensions(kernel.k2, n_features)
    if isinstance(kernel, Product):
        return count_dimensions(kernel.k1, n_features) * count_dimensions(kernel.k2, n_features)
    return math.inf
