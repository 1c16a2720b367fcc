"""Capacity: the VC dimension of classes of functions, and of hyperplanes with a margin."""

import math
from typing import Any

from mercer.errors import ParameterError
from mercer.kernels import Constant, Difference, Linear, Polynomial, Product, Sum


def vc_dimension(model_class: str, n_features: int = 1) -> float:
    """Return the Vapnik-Chervonenkis dimension of classes of binary classifiers for which it is known.

    Parameters
    ----------
    model_class : {"hyperplanes", "origin hyperplanes", "thresholds", "intervals", "boxes", "balls", "sine"}
        Halfspaces with and without an offset; one-dimensional thresholds, intervals; boxes along the axes; balls; and
        the sign of sin(w x), which has one parameter and no finite dimension.
    n_features : int, default=1
        Columns; thresholds, intervals and sine have one.

    Returns
    -------
    float
        The largest number of points that the class can label in every way.

    Examples
    --------
    >>> from mercer.theory import vc_dimension
    >>> vc_dimension("hyperplanes", 2), vc_dimension("sine")
    (3, inf)
    """
    if not (isinstance(n_features, int) and not isinstance(n_features, bool) and n_features >= 1):
        raise ParameterError(
            f"vc_dimension: n_features must be an integer in [1, inf); got {n_features!r}. Count the columns."
        )
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
    return min(ratio, _count_dimensions(kernel, model.n_features_in_)) + 1.0


def _count_dimensions(kernel: Any, n_features: int) -> float:
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
        return _count_dimensions(kernel.k1, n_features) + _count_dimensions(kernel.k2, n_features)
    if isinstance(kernel, Product):
        return _count_dimensions(kernel.k1, n_features) * _count_dimensions(kernel.k2, n_features)
    return math.inf
