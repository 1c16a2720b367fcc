"""Conversion of a name, a function or an object to a kernel object."""

from numbers import Real
from typing import Any

import numpy as np

from mercer._source.namespace import is_sparse_matrix
from mercer.errors import ParameterError
from mercer.kernels._constant import Constant
from mercer.kernels._dot_product import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels._kernel import Kernel
from mercer.kernels._laplacian import Laplacian
from mercer.kernels._radial import RBF, Matern
from mercer.kernels._wrapped import Callable, Pairwise, Precomputed, ScikitKernel

KERNEL_NAMES = (
    "linear", "poly", "polynomial", "rbf", "sigmoid", "laplacian", "matern", "cosine", "chi2", "additive_chi2",
    "precomputed",
)  # fmt: skip


def as_kernel(
    kernel: Any,
    *,
    gamma: Any = None,
    degree: float = 3,
    coef0: float = 1.0,
    rows: Any = None,
    parameters: dict[str, Any] | None = None,
    pairs: bool = False,
) -> Kernel:
    """Return the kernel object of a name, a function, or an object that is a kernel already.

    Parameters
    ----------
    kernel : str, callable, Kernel, or a kernel of scikit-learn's Gaussian processes
    gamma : float, "scale", "auto" or None
        For kernels by name. "scale" is 1 / (d * variance of all values), "auto" and None are 1 / d.
    degree, coef0 : of polynomials and tanh
    rows : array or sparse matrix of shape (n, d)
        Needed where gamma is not a number.
    parameters : dict or None
        Further arguments of a function.
    pairs : bool
        Whether a function takes two rows and returns one value, instead of two matrices.
    """
    if isinstance(kernel, str) and kernel in KERNEL_NAMES:
        return _make_named(kernel, gamma, degree, coef0, rows)
    # A number can be an operand in a sum of kernels, but it is no kernel that a model could be given.
    if (given := read_operand(kernel)) is not None and not isinstance(kernel, Real):
        return given
    if callable(kernel):
        return Callable(kernel, pairs, parameters or {})
    raise ParameterError(
        f"kernel must be one of {', '.join(KERNEL_NAMES)}, a function or a kernel object; got {kernel!r}."
    )


def _make_named(name: str, gamma: Any, degree: float, coef0: float, rows: Any) -> Kernel:
    if name == "linear":
        return Linear()
    if name == "cosine":
        return Cosine()
    if name == "precomputed":
        return Precomputed()
    if name == "matern":
        return Matern()
    if name in ("chi2", "additive_chi2"):
        # Rules such as 'scale' are for distances of columns; the chi-squared kernels take a number, 1 by default.
        return Pairwise(name, 1.0 if gamma is None or isinstance(gamma, str) else gamma)
    gamma = resolve_gamma(gamma, rows)
    if name == "rbf":
        return RBF(gamma=gamma)
    if name == "laplacian":
        return Laplacian(norm="manhattan", gamma=gamma)
    return Sigmoid(gamma, coef0) if name == "sigmoid" else Polynomial(degree, gamma, coef0)


def resolve_gamma(gamma: Any, rows: Any) -> float:
    """Return the value that a setting of `gamma` means for `rows`."""
    if isinstance(gamma, Real) and not isinstance(gamma, bool):
        return float(gamma)
    if gamma not in (None, "auto", "scale"):
        raise ParameterError(f"gamma must be a number in (0, inf), 'scale', 'auto' or None; got {gamma!r}.")
    if rows is None:
        raise ParameterError(f"as_kernel: gamma={gamma!r} depends on the data; give rows, or a number.")
    n_features = rows.shape[1]
    if gamma != "scale":
        return 1.0 / n_features
    if is_sparse_matrix(rows):
        # The zeros that are not stored count too: each adds mean^2 to the sum of squares.
        values = rows.data.astype(np.float64, copy=False)
        size = rows.shape[0] * n_features
        mean = values.sum() / size
        variance = ((values - mean) ** 2).sum() / size + mean**2 * (1.0 - len(values) / size)
    else:
        variance = np.asarray(rows).var(dtype=np.float64)
    return 1.0 / (n_features * float(variance)) if variance > 0 else 1.0


def read_operand(value: Any) -> Kernel | None:
    """Return the kernel that a term of a sum or a factor of a product means; None if it means none."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        return Constant(float(value))
    from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel

    return ScikitKernel(value) if isinstance(value, ScikitLearnKernel) else None
