"""Reduced sets: the axes of a kernel principal component analysis in the span of a few points."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.kernel_choice import KernelSum, wide_rows
from mercer._source.threads import one_blas_thread
from mercer._types import Array
from mercer.errors import DataError
from mercer.kernels import Kernel

__all__ = ["ReducedAxes", "reduce_axes"]


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


def reduce_axes(model: Any, points: Any = 100, random_state: int = 0) -> ReducedAxes:
    """Approximate the axes of a fitted :class:`KernelPCA` by the span of a few points.

    For points z the coefficients of least distance to the axis with coefficients a are K_zz^-1 K_zx a.

    Parameters
    ----------
    model : KernelPCA
        Fitted to rows, not to precomputed kernels.
    points : int or array-like of shape (q, d), default=100
        How many rows to draw as points, or the points themselves: rows, or centres of clusters.
    random_state : int, default=0
        Seed of the draw; more points of one seed contain the fewer.

    Returns
    -------
    ReducedAxes
        With ``transform``, and the ``errors`` that were made: they fall as points are added, and are zero for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import KernelPCA, reduce_axes
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = KernelPCA(3, kernel="rbf", gamma=0.5).fit(X)
    >>> bool(reduce_axes(model, 40).errors.max() < 0.1 and reduce_axes(model, 300).errors.max() < 1e-6)
    True
    """
    check_is_fitted(model)
    if model._is_precomputed:
        message = "reduce_axes: the model must be fitted to rows; got one fitted to precomputed kernels."
        raise DataError(message)
    rows = model.X_fit_
    if isinstance(points, int | np.integer):
        order = np.random.default_rng(random_state).permutation(rows.shape[0])
        points = rows[order[:points]]
    points = points if hasattr(points, "dtype") else np.asarray(points, dtype=rows.dtype)
    kernel, (axes, _) = model.kernel_, model._axes()
    axes = axes.astype(np.float64)
    with one_blas_thread():
        ready = kernel.prepare(wide_rows(rows))
        few = kernel.prepare(wide_rows(points), like=ready)
        across = kernel.between(few, ready)
        right = across @ axes
        values, vectors = np.linalg.eigh(kernel.between(few, few))
        # Eigenvalues within rounding of zero have no inverse: the points are then nearly dependent.
        kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
        inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
        coefficients = vectors @ (inverse[:, None] * (vectors.T @ right))
        # Axes have length one and p is an orthogonal projection: |e - p|^2 = 1 - |p|^2.
        errors = np.maximum(1.0 - (coefficients * right).sum(axis=0), 0.0)
        offset = -(across.mean(axis=1) @ coefficients)
    errors[model.eigenvalues_ <= 0] = 0.0
    kind = rows.dtype
    return ReducedAxes(kernel, points, coefficients.astype(kind), offset.astype(kind), errors)
