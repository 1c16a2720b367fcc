"""Dichotomies: the labellings of given points that a class can realise, and Cover's count of those of hyperplanes."""

from collections.abc import Callable
from itertools import combinations
from math import comb, e, inf, pi
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.special import betainc
from sklearn.utils import check_array

from mercer._base.reading import read_integer
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.theory._learners import list_realised

# Points up to which the share is a quotient of whole numbers with one rounding: 2^16 take half a second, and the work
# grows with the square. Beyond, the share is a probability of the binomial distribution, right to some 1e-13.
_MOST_EXACT = 2**14
# A labelling counts as separable from this margin on, with columns scaled to a largest entry of one: far above the
# rounding of the linear program (1e-9), far below the margins of points in general position.
_MARGIN = 1e-7


def count_separable(n_points: int, n_dimensions: int) -> int:
    r"""Count the labellings of points in general position that a hyperplane through the origin separates.

    .. math:: T(N, K) = 2 \sum_{k=0}^{K-1} \binom{N-1}{k} = T(N-1, K) + T(N-1, K-1)

    A labelling of N - 1 points can be continued by both labels of a further point only if a hyperplane through that
    point has this labelling, and hyperplanes through a point have one dimension less: hence the recursion. All
    :math:`2^N` labellings are possible if and only if K >= N. For hyperplanes with an offset in d dimensions take
    K = d + 1.

    Parameters
    ----------
    n_points : int
        N, the number of points. Any K of them must be linearly independent.
    n_dimensions : int
        K, the dimension of the space.

    Returns
    -------
    int

    References
    ----------
    T. Cover, Geometrical and statistical properties of systems of linear inequalities with applications in pattern
    recognition, 1965.

    Examples
    --------
    >>> from mercer.theory import count_separable
    >>> [count_separable(4, k) for k in (1, 2, 3, 4)]
    [2, 8, 14, 16]
    """
    N, K = _read("count_separable", n_points, n_dimensions)
    total = term = 1
    for k in range(1, min(K, N)):
        # Each binomial coefficient from the one before: a product and a quotient by numbers of one word.
        term = term * (N - k) // k
        total += term
    return 2 * total


def separable_fraction(n_points: int, n_dimensions: int) -> float:
    r"""Return the share of all labellings that a hyperplane through the origin separates, :math:`T(N, K) / 2^N`.

    The share is one up to N = K and exactly one half at N = 2 K: a neuron with K inputs can learn about two random
    labels per input. The larger K is, the steeper is the fall around 2 K.

    Parameters
    ----------
    n_points : int
        N.
    n_dimensions : int
        K.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import separable_fraction
    >>> [round(separable_fraction(n, 10), 6) for n in (10, 20, 40)]
    [1.0, 0.5, 0.000533]
    """
    N, K = _read("separable_fraction", n_points, n_dimensions)
    if K >= N:
        return 1.0
    if N == 2 * K:
        return 0.5
    if N <= _MOST_EXACT:
        # Both are whole numbers of any length; Python divides them with one rounding.
        return count_separable(N, K) / 2**N
    # The share is the probability of fewer than K heads in N - 1 throws.
    return float(betainc(N - K, K, 0.5))


def ambiguous_fraction(n_points: int, n_dimensions: int) -> float:
    r"""Return the share of separable labellings that leave the label of a further point open.

    A further point is ambiguous if some separating hyperplanes put it on one side and some on the other. The share is
    :math:`T(P, N-1) / T(P, N)`. At a fixed ratio r = P / N it tends to 1 for r <= 2 and to 1 / (r - 1) above: only with
    more than two labels per input does a neuron begin to generalise.

    Parameters
    ----------
    n_points : int
        P, the number of labelled points.
    n_dimensions : int
        N, the dimension of the space, at least two.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import ambiguous_fraction
    >>> [round(ambiguous_fraction(ratio * 400, 400), 4) for ratio in (1, 3, 4)]
    [1.0, 0.4963, 0.3317]
    """
    P, N = _read("ambiguous_fraction", n_points, n_dimensions)
    N = read_integer(
        "ambiguous_fraction", "n_dimensions", N, 2, cure="A line has one direction and no ambiguous point."
    )
    return count_separable(P, N - 1) / count_separable(P, N)


def _read(subject: str, n_points: int, n_dimensions: int) -> tuple[int, int]:
    """Check the number of points and of dimensions."""
    return read_integer(subject, "n_points", n_points, 1), read_integer(subject, "n_dimensions", n_dimensions, 1)


def list_dichotomies(points: Any, model_class: Any, *, max_frequency: float = 1000.0) -> Array:
    """List the labellings of points that a class of classifiers can realise.

    Parameters
    ----------
    points : array-like of shape (n_points, n_features)
        The points; thresholds, intervals and sine take one column.
    model_class : str, classifier or list of functions
        ``"hyperplanes"`` and ``"origin hyperplanes"``, halfspaces with and without an offset; ``"thresholds"``, x > t;
        ``"intervals"``, a < x < b; ``"boxes"`` along the axes, positive inside; ``"sine"``, the sign of sin(w x). Of a
        classifier, the labellings of at most 12 points that a fit gives back, and those with one label; of functions
        of points, those that one of them gives, as -1 and 1 or truth values.
    max_frequency : float, default=1000.0
        Largest w of ``"sine"``, whose labellings change at the multiples of pi / x. A larger one finds more of them.

    Returns
    -------
    ndarray of shape (n_dichotomies, n_points), int8
        Labels -1 and 1, sorted.

    Examples
    --------
    >>> from mercer.theory import list_dichotomies
    >>> list_dichotomies([[0.0], [1.0]], "thresholds").tolist()
    [[-1, -1], [-1, 1], [1, 1]]
    >>> len(list_dichotomies([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], "hyperplanes"))
    14
    """
    rows = check_array(points, dtype=np.float64, input_name="points")
    if not isinstance(model_class, str):
        return np.unique(list_realised("list_dichotomies", rows, model_class).astype(np.int8), axis=0)
    listing = _find_listing("list_dichotomies", model_class)
    if model_class in ("thresholds", "intervals", "sine") and rows.shape[1] != 1:
        raise DataError(
            f"list_dichotomies: {model_class} need points of one column; got {rows.shape[1]}. Give one column."
        )
    found = list_sine(rows, max_frequency) if model_class == "sine" else listing(rows)
    return np.unique(np.asarray(found, dtype=np.int8).reshape(-1, len(rows)), axis=0)


def is_shattered(points: Any, model_class: Any, *, max_frequency: float = 1000.0) -> bool:
    """Return whether a class of classifiers can label points in every way.

    Parameters
    ----------
    points, model_class, max_frequency
        As in :func:`list_dichotomies`.

    Returns
    -------
    bool

    Examples
    --------
    >>> from mercer.theory import is_shattered
    >>> is_shattered([[0, 0], [0, 1], [1, 0]], "hyperplanes"), is_shattered([[0, 0], [1, 1], [2, 2]], "hyperplanes")
    (True, False)
    """
    found = list_dichotomies(points, model_class, max_frequency=max_frequency)
    return len(found) == 2 ** found.shape[1]


def find_shattered(points: Any, model_class: Any, *, max_frequency: float = 1000.0) -> Array:
    """Search for a largest set among the points that a class of classifiers can label in every way.

    Its size is a lower bound of the VC dimension, and reaches it if the points hold a set that shows it. Subsets of
    such a set are such sets, so that the search goes on from those of one point less.

    Parameters
    ----------
    points, model_class, max_frequency
        As in :func:`list_dichotomies`.

    Returns
    -------
    ndarray of int
        The indices of the points of the set, in rising order: of several largest ones the first.

    Examples
    --------
    >>> from mercer.theory import find_shattered
    >>> find_shattered([[0, 0], [1, 1], [2, 2], [0, 1]], "hyperplanes").tolist()
    [0, 1, 3]
    """
    positive = list_dichotomies(points, model_class, max_frequency=max_frequency) > 0
    sets: list[tuple[int, ...]] = [()]
    while True:
        longer = [
            (*chosen, point)
            for chosen in sets
            for point in range(chosen[-1] + 1 if chosen else 0, positive.shape[1])
            if _counts_all(positive[:, [*chosen, point]])
        ]
        if not longer:
            return np.array(sets[0], dtype=np.intp)
        sets = longer


def _counts_all(labels: Array) -> bool:
    """Return whether rows of labels are all that there are."""
    size = labels.shape[1]
    return len(np.unique(labels @ (1 << np.arange(size)))) == 1 << size


def growth_function(model_class: str, n_points: int, n_features: int = 1) -> int:
    r"""Return the most labellings of N points that a class can realise, :math:`m_H(N)`.

    Up to the VC dimension it is :math:`2^N`, and its logarithm G(N) = N ln 2; above it is a polynomial in N, so that
    :math:`G(N) \le d (1 + \ln (N / d))` grows like a logarithm.

    Parameters
    ----------
    model_class : {"hyperplanes", "origin hyperplanes", "thresholds", "intervals", "boxes", "sine"}
        As in :func:`list_dichotomies`. Of boxes in several columns it is known up to twice as many points as columns.
    n_points : int
        N.
    n_features : int, default=1
        Columns of the points; thresholds, intervals and sine have one.

    Returns
    -------
    int

    Examples
    --------
    >>> from mercer.theory import growth_function
    >>> [growth_function("hyperplanes", n, 2) for n in range(1, 8)]
    [2, 4, 8, 14, 22, 32, 44]
    """
    N = read_integer("growth_function", "n_points", n_points, 1)
    d = read_integer("growth_function", "n_features", n_features, 1)
    known: dict[str, Callable[[], int]] = {
        "hyperplanes": lambda: count_separable(N, d + 1),
        "origin hyperplanes": lambda: count_separable(N, d),
        # The threshold lies in one of N + 1 gaps.
        "thresholds": lambda: N + 1,
        # The two ends lie in different gaps, or no point is inside.
        "intervals": lambda: comb(N + 1, 2) + 1,
        "boxes": lambda: _count_boxes(N, d),
        "sine": lambda: 2**N,
    }
    if model_class not in known:
        raise ParameterError(f"growth_function: model_class must be one of {', '.join(known)}; got {model_class!r}.")
    return known[model_class]()


def _count_boxes(N: int, d: int) -> int:
    """Return the most labellings of N points by boxes along d axes."""
    if d == 1:
        return comb(N + 1, 2) + 1
    if 2 * d < N:
        raise ParameterError(
            f"growth_function: of boxes in {d} columns n_points must be at most {2 * d}, their VC dimension; got {N}. "
            f"Use sauer_bound, or count list_dichotomies of your points."
        )
    # The ends of the axes are labelled in every way.
    return 2**N


def sauer_bound(n_points: int, dimension: float, *, closed_form: bool = False) -> float:
    r"""Bound the growth function of a class by its VC dimension d: :math:`m_H(N) \le \sum_{i \le d} \binom{N}{i}`.

    Parameters
    ----------
    n_points : int
        N.
    dimension : int or inf
        d, such as :func:`vc_dimension` returns it.
    closed_form : bool, default=False
        Return the looser :math:`(e N / d)^d`, which holds for N >= d; below it, :math:`2^N` is returned.

    Returns
    -------
    int or float

    Examples
    --------
    >>> from mercer.theory import sauer_bound
    >>> [sauer_bound(n, 3) for n in range(1, 8)]
    [2, 4, 8, 15, 26, 42, 64]
    """
    N = read_integer("sauer_bound", "n_points", n_points, 1)
    if dimension == inf:
        return 2**N
    d = read_integer("sauer_bound", "dimension", dimension, 0)
    if closed_form and N >= d > 0:
        return (e * N / d) ** d
    return sum(comb(N, i) for i in range(min(d, N) + 1))


def _find_listing(subject: str, model_class: str) -> Callable[[Array], Any]:
    """Return the function that lists the labellings of a class."""
    known: dict[str, Callable[..., Any]] = {
        # An offset takes up any shift of the points, and coefficients any unit of a column.
        "hyperplanes": lambda rows: list_halfspaces(
            np.column_stack([_scale_columns(rows - rows.mean(axis=0)), np.ones(len(rows))])
        ),
        "origin hyperplanes": lambda rows: list_halfspaces(_scale_columns(rows)),
        "thresholds": list_thresholds,
        "intervals": list_boxes,
        "boxes": list_boxes,
        "sine": list_sine,
    }
    if model_class not in known:
        raise ParameterError(f"{subject}: model_class must be one of {', '.join(known)}; got {model_class!r}.")
    return known[model_class]


def _scale_columns(rows: Array) -> Array:
    """Return the rows with columns whose largest entry is one."""
    largest = np.abs(rows).max(axis=0)
    return rows / np.where(largest > 0, largest, 1.0)


def list_halfspaces(rows: Array) -> list[tuple[int, ...]]:
    """List the labellings of halfspaces through the origin, point after point.

    Only labellings that separate the points before can separate one more, so that the number of linear programs is
    twice the number of labellings and not 2^N.
    """
    # A point at the origin lies on every hyperplane: no label of it is strict, and none is counted.
    found: list[tuple[int, ...]] = [()]
    for count in range(1, len(rows) + 1):
        # The labellings come in pairs, each with its negative: the first label is taken as 1.
        labels = (1,) if count == 1 else (-1, 1)
        longer = ((*given, label) for given in found for label in labels)
        found = [labelling for labelling in longer if _is_separable(rows[:count], np.array(labelling))]
    return found + [tuple(-label for label in labelling) for labelling in found]


def _is_separable(rows: Array, labels: Array) -> bool:
    """Return whether some w has y_i (w . x_i) > 0 for all rows: maximise the least of them over |w_j| <= 1."""
    d = rows.shape[1]
    scale = np.abs(rows).max(initial=0.0) or 1.0
    # Variables w and t: minimise -t under t - y_i (w . x_i) <= 0.
    left = np.column_stack([-labels[:, None] * rows / scale, np.ones(len(rows))])
    result = linprog(np.append(np.zeros(d), -1.0), A_ub=left, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * d + [(0, 1)])
    return bool(result.status == 0 and -result.fun > _MARGIN)


def list_thresholds(rows: Array) -> list[Array]:
    """List the labellings of x > t: the points above each of their values, and all."""
    x = rows[:, 0]
    return [np.where(x > t, 1, -1) for t in (-inf, *np.unique(x))]


def list_boxes(rows: Array) -> list[Array]:
    """List the labellings of boxes: the smallest box around some points is positive, and with it all points inside.

    The smallest box around any points has on each side one of them, so that 2 d points suffice to make all boxes.
    """
    n, d = rows.shape
    found = [np.full(n, -1)]
    for size in range(1, min(2 * d, n) + 1):
        for chosen in combinations(range(n), size):
            corner = rows[list(chosen)]
            inside = ((rows >= corner.min(axis=0)) & (rows <= corner.max(axis=0))).all(axis=1)
            found.append(np.where(inside, 1, -1))
    return found


def list_sine(rows: Array, max_frequency: float) -> list[Array]:
    """List the labellings by the sign of sin(w x) for w in (0, max_frequency), one between any two changes."""
    x = rows[:, 0]
    if not 0 < max_frequency < inf:
        raise ParameterError(f"list_dichotomies: max_frequency must be a number in (0, inf); got {max_frequency!r}.")
    # sin(w x) changes its sign at w = k pi / |x|.
    changes = [np.arange(1, int(max_frequency * size / pi) + 1) * (pi / size) for size in np.abs(x) if size > 0]
    ends = np.unique(np.concatenate([[0.0], *changes, [max_frequency]]))
    middles = 0.5 * (ends[1:] + ends[:-1])
    return list(np.unique(np.where(np.sin(middles[:, None] * x) > 0, 1, -1), axis=0))
