"""The base class of Mercer kernels.

A kernel is plain data: a dataclass of its hyper-parameters. Values come in tiles: `prepare` computes once what depends
on one set of rows, `between` gives one tile of values from two prepared sets. Hyper-parameters that may be learnt have
bounds; `theta` is the vector of their logarithms, as in scikit-learn's Gaussian processes.
"""

import math
import sys
import warnings
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._source.source import SumTree
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.kernels._prepared import Prepared, floating

_THEIRS = "sklearn.gaussian_process.kernels"
# Rows of a tile of gradients: 256 rows of 10000 values are 20 MB, about the size of a shared cache.
_TILE_ROWS = 256
# Rows of a tile of values: with a thousand columns it stays in the second-level cache.
_HEIGHT = 64


class ScikitProtocol:
    """The methods of scikit-learn's kernels under its names; :class:`~mercer.kernels.Kernel` has the mathematics."""

    # Whether rows must be vectors of numbers.
    requires_vector_input: bool = True

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        base = getattr(sys.modules.get(_THEIRS), "Kernel", None)
        if base is not None and not issubclass(ScikitProtocol, base):
            base.register(ScikitProtocol)
        return super().__new__(cls)

    def diag(self: Any, X: Array) -> Array:
        """Return k(x, x) of each row."""
        return self.diagonal(X)

    def is_stationary(self: Any) -> bool:
        """Return whether values depend on differences of rows alone."""
        return bool(self.stationary)

    def clone_with_theta(self: Any, theta: Array) -> Any:
        """Return this kernel with other free hyper-parameters."""
        return self.with_theta(theta)

    def _check_bounds_params(self: Any) -> None:
        """Warn of hyper-parameters that a fit has left at one of their bounds."""
        free = [one for one in self.hyperparameters if not one.fixed]
        names = [one.name for one in free for _ in range(one.n_elements)]
        for name, value, (low, high) in zip(names, self.theta, self.bounds, strict=True):
            end = low if np.isclose(value, low) else high
            if np.isclose(value, end):
                warnings.warn(
                    f"The optimal value found for parameter {name} is close to its bound {np.exp(end):.6g}. Move the "
                    f"bound and fit again.",
                    ConvergenceWarning,
                    stacklevel=3,
                )


@dataclass(frozen=True)
class Hyperparameter:
    """A positive value, or several, that a fit may change: its name, its bounds, and the number of values."""

    name: str
    bounds: Any
    n_elements: int = 1
    value_type: str = "numeric"

    @property
    def fixed(self) -> bool:
        """Whether a fit leaves it as given."""
        return isinstance(self.bounds, str)


class Kernel(ScikitProtocol):
    """A Mercer kernel: a function k(x, y) that is a scalar product of features of x and y.

    Kernels add, multiply and take whole powers with ``+``, ``*`` and ``**``, also with numbers; ``kernel.on([0, 2])``
    uses two columns only. `get_params` and `set_params` are those of an estimator, so that a grid search reaches
    ``kernel__length_scale``.
    """

    positive_definite: ClassVar[bool] = True
    stationary: ClassVar[bool] = False
    # The hyper-parameters that `theta` may hold, each with a field NAME_bounds.
    _free: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Data classes that compare by value lose their hash, and scikit-learn looks kernels up among names.
        cls.__hash__ = Kernel.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        """Hash the class alone: equal kernels are of one class, and parameters may change."""
        return hash(type(self))

    def __call__(self, X: Array, Y: Array = None, eval_gradient: bool = False) -> Any:
        """Return k(x, y) of all rows of `X` with all rows of `Y`, or of `X` itself; of two single rows one value.

        With `eval_gradient` the derivatives by theta come with the values, as :meth:`gradient` gives them.
        """
        if eval_gradient:
            return self.gradient(X, Y)
        if Y is not None and getattr(X, "ndim", 2) == 1 and getattr(Y, "ndim", 2) == 1:
            return self(X[None, :], Y[None, :])[0, 0]
        rows = self.prepare(X)
        return self.between(rows, rows if Y is None else self.prepare(Y, like=rows))

    def diagonal(self, X: Array) -> Array:
        """Return k(x, x) of each row."""
        raise NotImplementedError  # each kernel defines its own

    def prepare(self, X: Array, like: Prepared | None = None) -> Prepared:
        """Compute what depends on one set of rows; the origin of coordinates is that of the set `like`."""
        raise NotImplementedError  # each kernel defines its own

    def between(self, rows: Prepared, others: Prepared, out: Array = None) -> Array:
        """Return one tile of values, in `out` if given: C-ordered, of the rows' type. It starts no threads."""
        raise NotImplementedError  # each kernel defines its own

    def write_rows(
        self, prepared: Prepared, chosen: Array, columns: Array, slots: Array, table: Array, first: int
    ) -> None:
        """Write the values between two sets of rows of a prepared one to a table.

        Parameters
        ----------
        prepared : Prepared
        chosen, slots : ndarray of shape (q,), intp
            Which rows, and the rows of `table` that their values go to.
        columns : ndarray of shape (m,), intp
            The other rows; their values go to the columns from `first` on.
        table : ndarray, of the type of the rows
        first : int
        """
        others, place = prepared.take(columns), slice(first, first + len(columns))
        for start in range(0, len(chosen), _HEIGHT):
            some = chosen[start : start + _HEIGHT]
            # A BLAS may sum rows beyond a multiple of 16 in another order, so a tile is padded.
            padded = np.resize(some, -(-len(some) // 16) * 16)
            table[slots[start : start + _HEIGHT], place] = self.between(prepared.take(padded), others)[: len(some)]

    def profile(self, prepared: Prepared) -> Any:
        """Return the function of the squared distance by which native code makes values of these rows; None if none."""

    def of(self, xp: Any, X: Array, Y: Array) -> Array:
        """Return the values in array-API operations, for rows on any device: the definition."""
        raise UnsupportedError(
            f"{type(self).__name__}: values must be asked for rows in memory; got rows on a device. Move them to "
            f"memory, or use another kernel."
        )

    def between_gradient(self, rows: Prepared, others: Prepared) -> tuple[Array, Array]:
        """Return a tile of values, and its derivatives with respect to theta in a third dimension."""
        # Each kernel with free hyper-parameters defines its own; the others have no derivatives.
        assert not self.n_dims
        values = self.between(rows, others)
        return values, np.empty((*values.shape, 0))

    def input_gradient(self, X: Array, Y: Array) -> Array:
        """Return the derivatives of k(x, y) with respect to x.

        Of shape (len(Y), d) for one row x, and (len(X), len(Y), d) for several.
        """
        X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
        slopes = self.differentiate_rows(np.atleast_2d(X), Y)
        return slopes[0] if X.ndim == 1 else slopes

    def differentiate_rows(self, X: Array, Y: Array) -> Array:
        """Return the derivatives by x for all pairs, shape (len(X), len(Y), d); `X` and `Y` are float64 matrices."""
        raise UnsupportedError(
            f"{type(self).__name__}: derivatives by inputs must be of a kernel that has them; this one has none. Use "
            f"RBF or another smooth kernel, or differences of values."
        )

    def gradient(self, X: Array, Y: Array = None) -> tuple[Array, Array]:
        """Return the values and their derivatives with respect to theta, an array of shape (n, m, p)."""
        rows = self.prepare(X)
        return self.between_gradient(rows, rows if Y is None else self.prepare(Y, like=rows))

    def gradient_sums(self, rows: Prepared, weights: Array, K: Array = None, threads: int = 1) -> Array:
        """Return the sums over i and j of weights[i, j] dk(x_i, x_j)/dtheta_p, without an array of n x n x p.

        Parameters
        ----------
        rows : Prepared
        weights : ndarray of shape (n, n), symmetric
        K : ndarray of shape (n, n) or None
            The values, if they are known already.
        threads : int
            Changes no result: tiles are fixed and summed along a fixed tree.
        """
        total = SumTree()

        def of_tile(number: int) -> Array:
            part = slice(number * _TILE_ROWS, min((number + 1) * _TILE_ROWS, len(rows)))
            return self.tile_sums(rows.take(part), rows, weights[part], None if K is None else K[part])

        # Sums of tiles are added in the order of a fixed tree, so threads do not change a bit.
        run_numbered(of_tile, -(-len(rows) // _TILE_ROWS), threads, total.add)
        return total.total()

    def tile_sums(self, rows: Prepared, others: Prepared, weights: Array, K: Array = None) -> Array:
        """Return the weighted sums of one tile of derivatives; `K` are its values, if known already."""
        slopes = self.between_gradient(rows, others)[1]
        return np.einsum("ij,ijp->p", weights, slopes)

    def slope_products(self, rows: Prepared, others: Prepared, vectors: Array, K: Array = None) -> Array:
        """Return the products of one tile of derivatives with `vectors` (m, k): of shape (p, n, k); `K` as above."""
        slopes = self.between_gradient(rows, others)[1]
        return np.moveaxis(np.tensordot(slopes, vectors, axes=(1, 0)), 1, 0)

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """The hyper-parameters, in the order of theta, fixed ones among them."""
        values = [(name, self._value(name)) for name in self._free]
        return [
            Hyperparameter(name, getattr(self, f"{name}_bounds"), 1 if isinstance(value, float) else np.size(value))
            for name, value in values
        ]

    @property
    def n_dims(self) -> int:
        """The length of theta."""
        return sum(parameter.n_elements for parameter in self.hyperparameters if not parameter.fixed)

    @property
    def theta(self) -> Array:
        """Logarithms of the hyper-parameters that are not fixed."""
        free = [
            np.ravel(np.asarray(self._value(parameter.name), float))
            for parameter in self.hyperparameters
            if not parameter.fixed
        ]
        return np.log(free[0] if len(free) == 1 else np.concatenate(free)) if free else np.empty(0)

    @theta.setter
    def theta(self, theta: Array) -> None:
        vars(self).update(vars(self.with_theta(theta)))

    @property
    def bounds(self) -> Array:
        """Logarithms of the bounds of theta, a pair in each row."""
        free = [
            np.broadcast_to(np.atleast_2d(np.asarray(parameter.bounds, float)), (parameter.n_elements, 2))
            for parameter in self.hyperparameters
            if not parameter.fixed
        ]
        return np.log(np.concatenate(free)) if free else np.empty((0, 2))

    def with_theta(self, theta: Array) -> "Kernel":
        """Return this kernel with other free hyper-parameters."""
        # theta holds logarithms of the free hyper-parameters, one part for each, in order.
        theta, changed, at = np.exp(np.asarray(theta, dtype=np.float64)), {}, 0
        for parameter in self.hyperparameters:
            if not parameter.fixed:
                part = theta[at : at + parameter.n_elements]
                changed[parameter.name] = part if np.ndim(self._value(parameter.name)) else float(part[0])
                at += parameter.n_elements
        if at != len(theta):
            raise DataError(f"{type(self).__name__}: theta must have {at} numbers; got {len(theta)}.")
        return replace(self, **changed)  # type: ignore[type-var]

    def _value(self, name: str) -> Any:
        return getattr(self, name)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyper-parameters by name; of parts too, as ``part__name``, when `deep`."""
        params = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        if deep:
            inner = {name: part.get_params() for name, part in params.items() if hasattr(part, "get_params")}
            params |= {f"{name}__{key}": value for name, known in inner.items() for key, value in known.items()}
        return params

    def set_params(self, **params: Any) -> "Kernel":
        """Change hyper-parameters, those of parts as ``part__name``; return self."""
        known = self.get_params(deep=False)
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in known:
                names = ", ".join(known)
                raise ParameterError(f"{type(self).__name__}: a hyper-parameter must be one of {names}; got {name!r}.")
            if rest:
                getattr(self, name).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def on(self, columns: Any) -> "Kernel":
        """Return this kernel restricted to some of the columns."""
        from mercer.kernels._algebra import Columns

        return Columns(self, columns)

    def __add__(self, other: Any) -> "Kernel":
        return _algebra("Sum", self, other)

    def __radd__(self, other: Any) -> "Kernel":
        return _algebra("Sum", other, self)

    def __sub__(self, other: Any) -> "Kernel":
        return _algebra("Difference", self, other)

    def __rsub__(self, other: Any) -> "Kernel":
        return _algebra("Difference", other, self)

    def __mul__(self, other: Any) -> "Kernel":
        return _algebra("Product", self, other)

    def __rmul__(self, other: Any) -> "Kernel":
        return _algebra("Product", other, self)

    def __pow__(self, exponent: float) -> "Kernel":
        from mercer.kernels._algebra import Power

        return Power(self, exponent)

    def _check_positive(self, name: str, value: Any) -> None:
        """Raise unless the `value` of the hyper-parameter `name` is positive, in each element."""
        if type(value) is float and 0.0 < value < math.inf:
            return
        given = np.asarray(value, dtype=np.float64)
        if given.ndim > 1 or given.size == 0 or not (np.isfinite(given).all() and (given > 0).all()):
            raise ParameterError(
                f"{type(self).__name__}: {name} must be a number in (0, inf), or one a column; got {value!r}."
            )


def _algebra(name: str, left: Any, right: Any) -> Any:
    from mercer.kernels import _algebra as algebra
    from mercer.kernels._resolution import read_operand

    k1, k2 = read_operand(left), read_operand(right)
    return NotImplemented if k1 is None or k2 is None else getattr(algebra, name)(k1, k2)


def make_tile(rows: Prepared, others: Prepared, out: Array) -> Array:
    """Return the array that a tile is written to: a new one, or `out` if it has the right shape and order."""
    shape = (len(rows), len(others))
    if out is None:
        return np.empty(shape, dtype=np.result_type(rows.dtype, others.dtype))
    if out.shape != shape or not out.flags.c_contiguous:
        raise DataError(f"between: out must be C-ordered and of shape {shape}; got shape {out.shape}.")
    return out


def require_dense(X: Array, subject: str) -> Array:
    """Return the rows as a dense array of floats; raise for sparse ones. `subject` names the kernel."""
    X = floating(X)
    if not isinstance(X, np.ndarray):
        raise DataError(
            f"{subject}: this kernel needs dense rows; got sparse ones. Make them dense, or use another kernel."
        )
    return X
