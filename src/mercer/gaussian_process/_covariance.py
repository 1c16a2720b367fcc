"""From the kernel that a user gave to the covariance that is computed with, and back.

scikit-learn's kernels are translated to mercer's where these have the same hyper-parameters in the same order; any
other is worked with through its own verbs, tile by tile. The usual covariances have a closed form of few numbers.
"""

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as scikit

from mercer._base.parameter import Rule
from mercer._types import Array
from mercer.errors import UnsupportedError
from mercer.kernels import (
    RBF,
    Constant,
    Hyperparameter,
    Kernel,
    Matern,
    Power,
    Precomputed,
    Prepared,
    Product,
    RationalQuadratic,
    Sum,
    White,
)

# Distance from a bound, as a share of the range in logarithms, that counts as being at the bound.
_NEAR = 1e-2
# Places in the slope that native code writes; length scales follow.
AMPLITUDE = 0
WHITE = 1
LENGTHS = 2
# The profiles of these Matern kernels are exponentials of polynomials; others have Bessel functions.
_PLAIN_ORDERS = (0.5, 1.5, 2.5, math.inf)


class IsKernel(Rule):
    """A kernel object of either library."""

    text = "a kernel of mercer.kernels or of scikit-learn"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Kernel | scikit.Kernel)


def make_default_kernel(fixed: bool = False) -> Kernel:
    """Return a constant times the Gaussian kernel of unit length scale, as in scikit-learn; `fixed` keeps both."""
    if fixed:
        return Constant(1.0, "fixed") * RBF(1.0, "fixed")
    return Constant(1.0) * RBF(1.0)


def make_covariance(kernel: Any, subject: str) -> Kernel:
    """Return the kernel to compute with, whose theta and bounds are those of the user's `kernel`."""
    if isinstance(kernel, Precomputed):
        raise UnsupportedError(
            f"{subject}: kernel must be a function of rows; got Precomputed(), which cannot say k(x, x) of others."
        )
    if isinstance(kernel, Kernel):
        return kernel
    return _translate(kernel) or Foreign(kernel)


def replace_theta(kernel: Any, theta: Array) -> Any:
    """Return a kernel of the same library as `kernel`, with other free hyper-parameters `theta`."""
    return kernel.with_theta(theta) if isinstance(kernel, Kernel) else kernel.clone_with_theta(np.asarray(theta))


def takes_vectors(kernel: Any) -> bool:
    """Return whether the rows of `kernel` are vectors; scikit-learn has kernels of texts and other objects."""
    return isinstance(kernel, Kernel) or kernel is None or bool(kernel.requires_vector_input)


def has_array_form(kernel: Any) -> bool:
    """Return whether `kernel` is one of mercer's or is translated to one: others compute with NumPy's arrays only."""
    if kernel is None or isinstance(kernel, Kernel):
        return True
    return isinstance(kernel, scikit.Kernel) and _translate(kernel) is not None


def find_scale(kernel: Kernel) -> int | None:
    """Return the place in theta of a constant that multiplies all values of `kernel`; None where there is none."""
    if isinstance(kernel, Constant):
        return 0 if kernel.n_dims else None
    if not isinstance(kernel, Product):
        return None
    first, second = find_scale(kernel.k1), find_scale(kernel.k2)
    return first if first is not None or second is None else kernel.k1.n_dims + second


def _translate(kernel: Any) -> Kernel | None:
    """Return the same kernel as an object of mercer.kernels; None where there is none."""
    kind = type(kernel)
    if kind in (scikit.Sum, scikit.Product):
        k1, k2 = _translate(kernel.k1), _translate(kernel.k2)
        return None if k1 is None or k2 is None else (Sum if kind is scikit.Sum else Product)(k1, k2)
    if kind is scikit.Exponentiation:
        inner = _translate(kernel.kernel)
        return None if inner is None else Power(inner, kernel.exponent)
    if kind is scikit.ConstantKernel:
        return Constant(kernel.constant_value, kernel.constant_value_bounds)
    if kind is scikit.WhiteKernel:
        return White(kernel.noise_level, kernel.noise_level_bounds)
    if kind is scikit.RBF:
        return RBF(kernel.length_scale, kernel.length_scale_bounds)
    if kind is scikit.Matern and kernel.nu in (0.5, 1.5, 2.5, np.inf):
        return Matern(kernel.length_scale, kernel.length_scale_bounds, kernel.nu)
    if kind is scikit.RationalQuadratic:
        return RationalQuadratic(kernel.length_scale, kernel.alpha, kernel.length_scale_bounds, kernel.alpha_bounds)
    return None


class Form(NamedTuple):
    """A covariance ``amplitude * radial + white * identity``.

    ``places`` holds, for each entry of theta, its place in the slope that native code writes, and ``scales`` the
    derivative of that parameter by the entry. ``n_lengths`` counts free length scales.
    """

    amplitude: float
    radial: Any
    white: float
    n_lengths: int
    places: Array
    scales: Array


def read_form(kernel: Kernel) -> Form | None:
    """Return the closed form of `kernel`, None where it has none."""
    parts = _list_parts(kernel, Sum)
    if sum(type(part) is not White for part in parts) != 1:
        return None
    radial: Any = None
    amplitude, white, places, scales = 1.0, 0.0, [], []
    for part in parts:
        for factor in _list_parts(part, Product):
            free = _count_free(factor)
            # Values that are not positive are refused where the kernel itself prepares rows.
            if type(factor) is White and part is factor and factor.noise_level > 0:
                white += factor.noise_level
                places += [WHITE] * free
                scales += [factor.noise_level] * free
            elif type(factor) is Constant and factor.constant_value > 0:
                amplitude *= factor.constant_value
                places += [AMPLITUDE] * free
                scales += [1.0] * free
            elif radial is None and _is_plain(factor):
                radial, n_lengths = factor, free
                places += range(LENGTHS, LENGTHS + free)
                scales += [1.0] * free
            else:
                return None
    if radial is None:
        return None
    return Form(amplitude, radial, white, n_lengths, np.array(places, dtype=np.intp), np.array(scales))


def _list_parts(kernel: Any, kind: Any) -> list[Any]:
    """Return the kernels that sums (or products, by `kind`) within one another join, from left to right."""
    if type(kernel) is not kind:
        return [kernel]
    return _list_parts(kernel.k1, kind) + _list_parts(kernel.k2, kind)


def _count_free(kernel: Any) -> int:
    """Count the free hyper-parameters of a kernel that is no composite."""
    if type(kernel) in (White, Constant):
        bounds = kernel.noise_level_bounds if type(kernel) is White else kernel.constant_value_bounds
        return int(not isinstance(bounds, str))
    if not _is_plain(kernel) or isinstance(kernel.length_scale_bounds, str):
        return 0
    return 1 if isinstance(kernel.length_scale, float) else int(np.size(kernel.length_scale))


def _is_plain(kernel: Any) -> bool:
    """Return whether native code has the profile of `kernel`, with length scales as hyper-parameters."""
    if type(kernel) is RBF:
        return kernel.gamma is None
    return type(kernel) is Matern and kernel.nu in _PLAIN_ORDERS


@dataclass
class Foreign(Kernel):
    """A kernel of scikit-learn's, called by its own methods; its rows may be anything that it takes."""

    kernel: Any

    _inner: ClassVar[tuple[str, ...]] = ("kernel",)

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        """Whether the wrapped kernel is stationary."""
        return bool(self.kernel.is_stationary())

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        return Prepared(X if isinstance(X, np.ndarray) else np.asarray(X))

    def diagonal(self, X: Array) -> Array:
        return np.array(self.kernel.diag(X), dtype=np.float64)

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        if rows.token is others.token:
            # scikit-learn recognises a row as itself only within one set of rows, so both sets are joined.
            indices, places = np.unique(
                np.concatenate([_list_indices(rows), _list_indices(others)]), return_inverse=True
            )
            together = np.empty(len(indices), dtype=np.intp)
            together[places] = np.arange(len(places))
            values = self.kernel(np.concatenate([rows.rows, others.rows])[together])
            values = values[np.ix_(places[: len(rows)], places[len(rows) :])]
        else:
            values = self.kernel(rows.rows, others.rows)
        if out is None:
            return values
        out[...] = values
        return out

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        values, slopes = self.kernel(np.concatenate([rows.rows, others.rows]), eval_gradient=True)
        n = len(rows)
        if rows.token is not others.token or not set(_list_indices(rows)) & set(_list_indices(others)):
            return values[:n, n:], slopes[:n, n:]
        # Two tiles are the same one or share no row.
        return values[:n, :n], slopes[:n, :n]

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        return [
            Hyperparameter(parameter.name, "fixed" if parameter.fixed else parameter.bounds, parameter.n_elements)
            for parameter in self.kernel.hyperparameters
        ]

    @property
    def theta(self) -> Array:
        return self.kernel.theta

    @theta.setter
    def theta(self, theta: Array) -> None:
        vars(self).update(vars(self.with_theta(theta)))

    @property
    def bounds(self) -> Array:
        return self.kernel.bounds.reshape(-1, 2)

    def with_theta(self, theta: Array) -> "Foreign":
        return replace(self, kernel=self.kernel.clone_with_theta(np.asarray(theta, dtype=np.float64)))


def _list_indices(rows: Prepared) -> Array:
    return np.arange(len(rows)) if rows.numbers is None else np.asarray(rows.numbers)


def warn_of_bounds(kernel: Any, stacklevel: int) -> None:
    """Warn of hyper-parameters that ended at a bound: the best value may lie beyond it."""
    at = 0
    theta, bounds = kernel.theta, kernel.bounds
    for parameter in kernel.hyperparameters:
        if parameter.fixed:
            continue
        for element in range(parameter.n_elements):
            low, high = bounds[at]
            # The named bound is the one given, not the exponential of its logarithm.
            all_bounds = np.atleast_2d(np.asarray(parameter.bounds, dtype=float))
            given = np.broadcast_to(all_bounds, (parameter.n_elements, 2))[element]
            for close, side, value, cure in (
                (theta[at] - low, "lower", given[0], "Decreasing"),
                (high - theta[at], "upper", given[1], "Increasing"),
            ):
                # Within a small share of the width of the interval.
                if close <= _NEAR * min(1.0, high - low):
                    warnings.warn(
                        f"The optimal value found for dimension {element} of parameter {parameter.name} is close to "
                        f"the specified {side} bound {value}. {cure} the bound and calling fit again may find a better "
                        f"value.",
                        ConvergenceWarning,
                        stacklevel=stacklevel,
                    )
            at += 1
