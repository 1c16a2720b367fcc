"""The task that every solver of a principal component analysis gets, and the axes that it returns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate
from mercer._types import Array
from mercer.errors import DataError


@plain
@dataclass(frozen=True)
class PrincipalAxes:
    """Orthonormal axes with the sum of squares along each: a finished model, or the state of an unfinished solver.

    With the rows X, centred (and scaled) unless the task says otherwise, ``sizes[k]`` is |X axes[k]|^2, ``rest`` the
    sum of squares that all axes leave, ``limit`` the most axes that the data can have, ``residuals[k]``
    |X^T X axes[k] - sizes[k] axes[k]| / max sizes. ``basis`` and ``steps`` belong to the solver: its unrounded vectors,
    and the number of products with them. ``solver`` names one that took over from the one that was chosen.
    """

    weight: float
    mean: Array
    scale: Array
    axes: Array
    sizes: Array
    rest: float
    limit: int
    residuals: Array
    basis: Array = None
    steps: int = 0
    solver: str = ""


@dataclass(frozen=True)
class Task:
    """The task of a solver: the number of axes, the rows and the accuracy."""

    subject: str
    n_components: Any
    limit: int
    n_features: int
    dtype: Any
    is_sparse: bool
    refuse: Callable[[], None]
    scaled: bool = False
    centred: bool = True
    ddof: int = 1
    tol: float = 0.0
    iterations: int = 0
    n_oversamples: int = 10
    normalizer: str = "QR"
    seed: Any = None
    # Whether the solver was chosen for the rows, and these may be read again by another one.
    may_change: bool = False

    @property
    def tiny(self) -> float:
        """Eigenvalues of a scatter or Gram matrix below this share of the largest are rounding."""
        return max(10, self.n_features) * float(np.finfo(np.float64).eps)

    def degrees(self, weight: float) -> float:
        """Return the divisor that makes a variance of a sum of squares: `weight` minus ddof."""
        if weight <= self.ddof:
            raise DataError(
                f"{self.subject}: a variance needs a total weight above ddof={self.ddof}; got n_samples={weight:g}. "
                f"Give more rows, or set ddof=0."
            )
        return weight - self.ddof

    def scale(self, weight: float, mean: Array, squares: Array) -> Array:
        """Return the standard deviation of each column, 1 for a constant one; None if rows are not scaled."""
        degrees = self.degrees(weight)
        if not self.scaled:
            return None
        # In a constant column only the rounding of its mean is left: about eps |mean| in each row.
        noise = weight * (8 * np.finfo(np.float64).eps * mean) ** 2
        return np.sqrt(np.where(squares > noise, squares / degrees, 1.0))


def fix_signs(axes: Array) -> Array:
    """Return the rows with signs by which the entry of largest magnitude is positive: scikit-learn's convention."""
    if axes.shape[0] == 0:
        return axes
    largest = np.argmax(np.abs(axes), axis=1)
    return axes * np.where(axes[np.arange(axes.shape[0]), largest] < 0, -1.0, 1.0)[:, None]


def settle(axes: Array, sizes: Array, count: int, tiny: float, dtype: Any) -> tuple[Array, Array]:
    """Return `count` axes as a model shows them: signs fixed, in the precision of the data, none left to rounding.

    Axes whose size is within `tiny` of the largest have no variance that the solver can tell from zero, and any basis
    of the space that the others leave would do. They are replaced by a basis that depends on that space only, with size
    zero, so that solvers, weights and repetitions agree on them too.
    """
    known = int(np.count_nonzero(sizes > tiny * sizes.max(initial=0.0)))
    if known < count:
        axes = complete(axes[:known], count)
        sizes = np.append(sizes[:known], np.zeros(count - known))
    return np.ascontiguousarray(fix_signs(axes), dtype=dtype), sizes


def complete(axes: Array, count: int) -> Array:
    """Extend orthonormal rows to `count` rows by unit vectors of the features, each made orthogonal to those before it.

    The next feature is the first whose squared distance from the span is at least half the largest one: far from the
    span, and the same one if rounding differs.
    """
    basis = np.concatenate([axes, np.empty((count - len(axes), axes.shape[1]))])
    # The squared distance of each unit vector from the span is one minus the squares of its entries.
    distances = 1.0 - (axes**2).sum(axis=0)
    for row in range(len(axes), count):
        feature = int(np.argmax(distances >= distances.max() / 2))
        vector = np.zeros(axes.shape[1])
        vector[feature] = 1.0
        # Gram-Schmidt twice: the second pass removes the rounding of the first.
        for _ in range(2):
            vector -= (basis[:row] @ vector) @ basis[:row]
        basis[row] = vector / np.sqrt((vector**2).sum())
        distances -= basis[row] ** 2
    return basis


def residuals_of(products: Array, axes: Array, sizes: Array) -> Array:
    """Return |A v_k - s_k v_k| / max s for each k, from ``products[k] = A v_k``."""
    largest = sizes.max(initial=0.0)
    if largest == 0:
        return np.zeros(len(sizes))
    gaps = products - sizes[:, None] * axes.astype(np.float64, copy=False)
    # Divided before it is squared, so that data of size 1e-200 does not underflow.
    return np.sqrt(((gaps / largest) ** 2).sum(axis=1))


def certify(residuals: Array, tolerance: float) -> Certificate:
    """Return the certificate: the largest residual of the axes as eigenvectors."""
    return Certificate.of(
        "residual",
        residuals.max(initial=0.0),
        tolerance,
        "Largest |C v - lambda v| / lambda_max over the components v; each lambda is within it, times lambda_max, of "
        "an eigenvalue of the covariance C.",
    )
