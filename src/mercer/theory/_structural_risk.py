"""Structural risk minimisation: of nested classes, choose the one with the least sum of empirical risk and capacity."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import svd
from scipy.optimize import brentq
from sklearn.base import clone
from sklearn.utils import check_array

from mercer._base.reading import read_numbers
from mercer._types import Array
from mercer.errors import DataError
from mercer.theory._generalisation import vc_confidence
from mercer.theory._risk import empirical_risk


@dataclass(frozen=True)
class StructuralRisk:
    """Both terms of the bound for each of some nested classes.

    Attributes
    ----------
    names : tuple of str
        The classes, from the smallest on.
    empirical : ndarray of shape (n_classes,)
        Empirical risks.
    confidence : ndarray of shape (n_classes,)
        Capacity terms.
    best : int
        The class with the least sum; of equals, the smallest class.
    models : tuple
        The fitted models.
    """

    names: tuple[str, ...]
    empirical: Array
    confidence: Array
    best: int
    models: tuple[Any, ...]

    @property
    def bound(self) -> Array:
        """The sums of both terms."""
        return self.empirical + self.confidence

    def __str__(self) -> str:
        width = max(len("class"), *(len(name) for name in self.names))
        lines = [f"{'class':{width}}  empirical  capacity  bound"]
        for place, name in enumerate(self.names):
            numbers = f"{self.empirical[place]:9.4f}  {self.confidence[place]:8.4f}  {self.bound[place]:.4f}"
            lines.append(f"{name:{width}}  {numbers}{'  <- chosen' if place == self.best else ''}")
        return "\n".join(lines)


def minimise_structural_risk(
    models: Mapping[str, Any], X: Any, y: Any, dimensions: Any, *, eta: float = 0.05
) -> StructuralRisk:
    r"""Fit classifiers of nested classes, and choose the one with the least bound on its error.

    The bound is the share of training rows in error plus :func:`vc_confidence`. Along the classes the first term falls
    and the second rises. The bound is loose, so that a validation set mostly chooses better; it needs no further rows.

    Parameters
    ----------
    models : mapping of str to classifier
        Unfitted, from the smallest class to the largest.
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.
    dimensions : array-like of shape (n_classes,)
        VC dimensions of the classes, rising.
    eta : float in (0, 1), default=0.05
        The probability that a bound fails.

    Returns
    -------
    StructuralRisk

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import minimise_structural_risk
    >>> from mercer.tree import DecisionTreeClassifier
    >>> X = np.random.default_rng(0).uniform(size=(500, 1))
    >>> trees = {f"{leaves} leaves": DecisionTreeClassifier(max_leaf_nodes=leaves) for leaves in (2, 4, 8)}
    >>> found = minimise_structural_risk(trees, X, (X[:, 0] > 0.25) & (X[:, 0] < 0.75), [2, 4, 8])
    >>> found.names[found.best]
    '4 leaves'
    """
    sizes = read_numbers("minimise_structural_risk", "dimensions", dimensions, 1.0)
    if sizes.shape != (len(models),) or not models or (np.diff(sizes) < 0).any():
        raise DataError(
            f"minimise_structural_risk: dimensions must be {len(models)} rising numbers, one for each model; got "
            f"{np.asarray(dimensions).tolist()}. Sort the models from the smallest class to the largest."
        )
    fitted = tuple(clone(model).fit(X, y) for model in models.values())
    empirical = np.array([empirical_risk(y, model.predict(X)) for model in fitted])
    confidence = np.array([vc_confidence(len(y), int(size), eta) for size in sizes])
    return StructuralRisk(tuple(models), empirical, confidence, int(np.argmin(empirical + confidence)), fitted)


class BallSolution(NamedTuple):
    """Least squares with coefficients of bounded length."""

    #: The coefficients.
    coef: Array
    #: The penalty of ridge regression that has the same coefficients; zero if the bound does not bind.
    alpha: float


def solve_in_ball(X: Any, y: Any, radius: float) -> BallSolution:
    r"""Minimise :math:`|X w - y|^2` over the ball :math:`|w| \le A`: nested classes by the length of the coefficients.

    By Lagrange's theorem the minimiser is that of ridge regression, :math:`(X^T X + \alpha I)^{-1} X^T y`, with the
    :math:`\alpha` at which its length is A. The length falls as the penalty rises, so that there is one such penalty.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows; no intercept is added.
    y : array-like of shape (n_samples,)
        Targets.
    radius : float in (0, inf)
        A.

    Returns
    -------
    BallSolution

    Examples
    --------
    >>> from mercer.theory import solve_in_ball
    >>> solution = solve_in_ball([[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0], 1.0)
    >>> solution.coef.round(6).tolist(), round(solution.alpha, 6)
    ([0.6, 0.8], 4.0)
    """
    rows, targets = check_array(X, dtype=np.float64, input_name="X"), read_numbers("solve_in_ball", "y", y)
    A = float(read_numbers("solve_in_ball", "radius", radius, 0.0, closed="neither"))
    if targets.shape != (len(rows),):
        raise DataError(
            f"solve_in_ball: y must have one target for each of the {len(rows)} rows; got shape {targets.shape}."
        )
    left, sizes, right = svd(rows, full_matrices=False)
    scores = left.T @ targets
    # Directions without variance get no coefficient: the shortest of all least-squares solutions.
    known = sizes > sizes.max(initial=0.0) * max(rows.shape) * np.finfo(np.float64).eps

    def shrink(alpha: float) -> Array:
        return np.where(known, sizes * scores / np.where(known, sizes**2 + alpha, 1.0), 0.0)

    if np.linalg.norm(shrink(0.0)) <= A:
        return BallSolution(right.T @ shrink(0.0), 0.0)
    # |w| <= |s scores| / alpha, so that the length is below A from this penalty on.
    most = float(np.linalg.norm(sizes * scores)) / A
    alpha = float(brentq(lambda value: 1.0 / np.linalg.norm(shrink(value)) - 1.0 / A, 0.0, most, xtol=1e-12 * most))
    return BallSolution(right.T @ shrink(alpha), alpha)
