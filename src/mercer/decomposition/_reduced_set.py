"""Reduced sets: the axes of a kernel principal component analysis in the span of a few points."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.kernel_choice import KernelSum, wide_rows
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import one_blas_thread
from mercer._types import Array
from mercer.errors import DataError
from mercer.kernels import Kernel

# Half the width of central differences, in units of a column's spread: near the cube root of rounding, where the errors
# of rounding and of curvature meet.
_DIFFERENCE = 1e-5
# Of the gradient and of changes of the sum of squared distances, each at most one.
_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class ReducedAxes:
    """Axes in feature space that a few points span; what :func:`reduce_axes` returns.

    Attributes
    ----------
    kernel : Kernel
    points : ndarray of shape (q, d)
    coefficients : ndarray of shape (q, n_components)
        An axis is the sum over points of its coefficients times their features.
    offset : ndarray of shape (n_components,)
        What centres the projections.
    errors : ndarray of shape (n_components,)
        Squared distance of each axis, of length one, from the one it stands for.
    """

    kernel: Kernel
    points: Array
    coefficients: Array
    offset: Array
    errors: Array

    def transform(self, X: Any) -> np.ndarray:
        """Project rows, at the cost of one kernel value for each point."""
        X = X if hasattr(X, "dtype") and X.dtype.kind == "f" else np.asarray(X, dtype=np.float64)
        return KernelSum(self.kernel, self.points, self.coefficients, self.offset).of_rows(X)


def reduce_axes(
    model: Any, points: Any = 100, random_state: int = 0, *, optimize: bool = False, max_iter: int = 200
) -> ReducedAxes:
    """Approximate the axes of a fitted :class:`KernelPCA` by the span of a few points.

    For points z the coefficients of least distance to the axis with coefficients a are K_zz^-1 K_zx a. With
    ``optimize=True`` the points move as well: L-BFGS lowers the sum of the squared distances, with the best
    coefficients at each step.

    Parameters
    ----------
    model : KernelPCA
        Fitted to rows, not to precomputed kernels.
    points : int or array-like of shape (q, d), default=100
        How many rows to draw as points, or the points themselves: rows, or centres of clusters.
    random_state : int, default=0
        Seed of the draw; more points of one seed contain the fewer.
    optimize : bool, default=False
        Whether to move the points to a minimum of the sum of ``errors`` near them. Rows must be dense.
    max_iter : int, default=200
        The largest number of steps of ``optimize=True``; a warning tells if it ended them.

    Returns
    -------
    ReducedAxes
        With ``transform``, and the ``errors`` that were made: they fall as points are added, and are zero for all rows.

    Notes
    -----
    A step with ``optimize=True`` costs 2 d q (n + q) kernel values for q points: derivatives of the kernel are central
    differences, so that every kernel can be used.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import KernelPCA, reduce_axes
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = KernelPCA(3, kernel="rbf", gamma=0.5).fit(X)
    >>> bool(reduce_axes(model, 40).errors.max() < 0.1 and reduce_axes(model, 300).errors.max() < 1e-6)
    True
    >>> drawn, moved = reduce_axes(model, 8), reduce_axes(model, 8, optimize=True)
    >>> bool(moved.errors.sum() < 0.5 * drawn.errors.sum())
    True
    """
    check_is_fitted(model)
    if model._is_precomputed:
        raise DataError("reduce_axes: the model must be fitted to rows; got one fitted to precomputed kernels.")
    rows = model.X_fit_
    if isinstance(points, int | np.integer):
        order = np.random.default_rng(random_state).permutation(rows.shape[0])
        points = rows[order[:points]]
    points = points if hasattr(points, "dtype") else np.asarray(points, dtype=rows.dtype)
    if points.ndim != 2 or points.shape[1] != rows.shape[1] or not points.shape[0]:
        raise DataError(f"reduce_axes: points must have shape (q, {rows.shape[1]}), q at least 1; got {points.shape}.")
    kernel, (axes, _) = model.kernel_, model._axes()
    # Axes without variance have no direction to approximate.
    span = _Span(kernel, wide_rows(rows), np.where(model.eigenvalues_ > 0, axes, 0.0).astype(np.float64))
    with one_blas_thread():
        if optimize:
            points = _move_points(span, points, max_iter).astype(rows.dtype)
        across, coefficients, errors = span.fit(wide_rows(points))
        # Scores are centred as those of the model: less the mean over its rows.
        offset = -(across.mean(axis=1) @ coefficients)
    errors[model.eigenvalues_ <= 0] = 0.0
    kind = rows.dtype
    return ReducedAxes(kernel, points, coefficients.astype(kind), offset.astype(kind), errors)


@dataclass(frozen=True, eq=False)
class _Span:
    """Axes with coefficients (n, k) of the features of rows, and their best approximation in the span of points."""

    kernel: Kernel
    rows: Array
    axes: Array

    def fit(self, points: Array) -> tuple[Array, Array, Array]:
        """Return K_zx, the coefficients of the points (q, k), and the squared distance of each axis."""
        ready = self.kernel.prepare(self.rows)
        few = self.kernel.prepare(points, like=ready)
        across = self.kernel.between(few, ready)
        right = across @ self.axes
        values, vectors = np.linalg.eigh(self.kernel.between(few, few))
        # Eigenvalues within rounding of zero have no inverse: the points are then nearly dependent.
        kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
        inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
        coefficients = vectors @ (inverse[:, None] * (vectors.T @ right))
        # Axes have length one and p is an orthogonal projection: |e - p|^2 = 1 - |p|^2.
        return across, coefficients, np.maximum(1.0 - (coefficients * right).sum(axis=0), 0.0)

    def differentiate(self, points: Array, steps: Array) -> tuple[float, Array]:
        """Return the sum of the squared distances, and its derivative by the points.

        With c = K_zz^-1 K_zx a the sum is k - tr(a' K_xz c). Its derivative is that of tr(c' K_zz c) - 2 tr(c' K_zx a)
        with c fixed, because c minimises this expression: 2 sum_j w_j dk(z, j)/dz over points and rows j.
        """
        _, coefficients, errors = self.fit(points)
        weights = 2.0 * np.hstack([-coefficients @ self.axes.T, coefficients @ coefficients.T])
        others = self.kernel.prepare(np.vstack([self.rows, points]))
        slope = np.empty_like(points)
        for column, step in enumerate(steps):
            # Kernel values of a point depend on that point alone, so that all points are moved at once.
            shift = np.zeros(points.shape[1])
            shift[column] = step
            ahead, behind = (
                self.kernel.between(self.kernel.prepare(moved, like=others), others)
                for moved in (points + shift, points - shift)
            )
            slope[:, column] = (weights * (ahead - behind)).sum(axis=1) / (2.0 * step)
        return float(errors.sum()), slope


def _move_points(span: _Span, points: Array, max_iter: int) -> Array:
    """Return points at a minimum of the sum of squared distances, found from the given ones."""
    # Only this option minimises anything: PCA should not pay for the import.
    from mercer.optim import GradientNorm, MaxIter, SmallChange, minimize

    if is_sparse_matrix(span.rows):
        raise DataError("reduce_axes: optimize=True moves points in all columns; got sparse rows. Fit to dense rows.")
    start = np.array(points, dtype=np.float64)
    spread = span.rows.std(axis=0)
    # Columns in units of their spread, so that one step length suits all; constant columns keep their unit.
    unit = np.where(spread > 0, spread, 1.0)
    steps = _DIFFERENCE * unit

    def value_and_slope(scaled: Array) -> tuple[float, Array]:
        value, slope = span.differentiate(scaled.reshape(start.shape) * unit, steps)
        return value, (slope * unit).ravel()

    stop = GradientNorm(_TOLERANCE) | SmallChange(_TOLERANCE, patience=5) | MaxIter(max_iter)
    return minimize(value_and_slope, (start / unit).ravel(), grad=True, stop=stop).x.reshape(start.shape) * unit
