"""Kernels that others define: functions, given matrices, scikit-learn's kernels."""

from collections.abc import Callable as Function
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from mercer._plain import plain
from mercer._types import Array
from mercer.errors import DataError
from mercer.kernels._kernel import Hyperparameter, Kernel, make_tile
from mercer.kernels._prepared import Prepared, floating


class _Whole(Kernel):
    """A kernel of unchanged rows, whose tiles `_values` computes."""

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        return Prepared(floating(X))

    def diagonal(self, X: Array) -> Array:
        X = floating(X)
        return np.array([self._values(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])], dtype=X.dtype)

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        tile = make_tile(rows, others, out)
        values = np.asarray(self._values(rows.rows, others.rows))
        if values.shape != tile.shape:
            raise DataError(
                f"{type(self).__name__}: the kernel of {len(rows)} rows and {len(others)} others must have shape "
                f"{tile.shape}; got shape {values.shape}. Return k(x, y) of all pairs."
            )
        if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise DataError(
                f"{type(self).__name__}: the values of the kernel must be finite numbers; got an array of "
                f"{values.dtype.name} with other entries. Return a number for each pair."
            )
        tile[...] = values
        return tile

    def _values(self, X: Array, Y: Array) -> Array:
        raise NotImplementedError


@dataclass
class Callable(_Whole):
    """A function ``function(X, Y)`` that returns the values of all rows of X with all rows of Y.

    With ``pairs=True`` it is called with two rows and returns one value.
    """

    function: Function[..., Any]
    pairs: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)

    def _values(self, X: Array, Y: Array) -> Array:
        from sklearn.metrics.pairwise import pairwise_kernels

        if self.pairs:
            return pairwise_kernels(X, Y, metric=self._measure_pair)
        return self.function(X, Y, **self.parameters)

    def _measure_pair(self, first: Array, second: Array) -> Any:
        """Return the value of two rows, or raise if it is no number."""
        found = self.function(first, second, **self.parameters)
        value = np.asarray(found)
        if value.ndim or value.dtype.kind not in "biuf":
            raise DataError(
                f"Callable: a kernel of two rows must return one real number; got {value.dtype.name} of shape "
                f"{value.shape}. Return k(x, y)."
            )
        return found


@plain
@dataclass
class Pairwise(_Whole):
    """A kernel that scikit-learn knows by name, such as ``"chi2"``.

    Parameters
    ----------
    metric : str
    gamma : float or None, default=None
    """

    metric: str = "chi2"
    gamma: float | None = None

    def _values(self, X: Array, Y: Array) -> Array:
        from sklearn.metrics.pairwise import pairwise_kernels

        # The additive kernel has no gamma.
        given = {} if self.gamma is None or self.metric == "additive_chi2" else {"gamma": self.gamma}
        return pairwise_kernels(X, Y, metric=self.metric, **given)


@plain
@dataclass
class Precomputed(Kernel):
    """Given values: each row holds the kernel values of a row with all rows of the fit."""

    def __call__(self, X: Array, Y: Array = None, eval_gradient: bool = False) -> Any:
        return (floating(X), np.empty((*X.shape, 0))) if eval_gradient else floating(X)

    def diagonal(self, X: Array) -> Array:
        X = floating(X)
        if X.shape[0] != X.shape[1]:
            raise DataError(f"Precomputed: the diagonal needs a square matrix of kernels; got shape {X.shape}.")
        return X.diagonal().copy()

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        return Prepared(floating(X))

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        """Return the columns of `rows` that belong to `others`, a part of the rows of the fit."""
        tile = make_tile(rows, others, out)
        values = rows.rows if others.numbers is None else rows.rows[:, others.numbers]
        tile[...] = values.toarray() if hasattr(values, "toarray") else values
        return tile


@dataclass
class ScikitKernel(Kernel):
    """One of scikit-learn's kernels for Gaussian processes, with its own values, gradients and hyper-parameters.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    """

    kernel: Any

    _inner: ClassVar[tuple[str, ...]] = ("kernel",)

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        """Whether the wrapped kernel is stationary."""
        return bool(self.kernel.is_stationary())

    def __call__(self, X: Array, Y: Array = None, eval_gradient: bool = False) -> Any:
        return self.kernel(floating(X), None if Y is None else floating(Y), eval_gradient)

    def diagonal(self, X: Array) -> Array:
        return self.kernel.diag(floating(X))

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        return Prepared(floating(X))

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        tile = make_tile(rows, others, out)
        # For scikit-learn a missing second set means the first one; white noise depends on it.
        itself = rows.token is others.token and rows.numbers is None and others.numbers is None
        if itself:
            tile[...] = self.kernel(rows.rows)
            return tile
        tile[...] = self.kernel(rows.rows, others.rows)
        if rows.token is others.token:
            from mercer.kernels._prepared import find_same_rows

            here, there = find_same_rows(rows, others)
            tile[here, there] = self.kernel.diag(rows.rows[here])
        return tile

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        if rows.token is not others.token or rows.numbers is not None or others.numbers is not None:
            raise DataError("ScikitKernel: scikit-learn's kernels have gradients for one set of rows only; got two.")
        return self.kernel(rows.rows, eval_gradient=True)

    def gradient_sums(self, rows: Prepared, weights: Array, K: Array = None, threads: int = 1) -> Array:
        slopes = self.kernel(rows.rows, eval_gradient=True)[1]
        return np.einsum("ij,ijp->p", weights, slopes)

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        return [
            Hyperparameter(
                f"kernel__{parameter.name}", "fixed" if parameter.fixed else parameter.bounds, parameter.n_elements
            )
            for parameter in self.kernel.hyperparameters
        ]

    @Kernel.theta.getter  # type: ignore[attr-defined]
    def theta(self) -> Array:
        return self.kernel.theta

    @property
    def bounds(self) -> Array:
        return self.kernel.bounds

    def with_theta(self, theta: Array) -> Kernel:
        return ScikitKernel(clone(self.kernel).clone_with_theta(np.asarray(theta, dtype=np.float64)))
