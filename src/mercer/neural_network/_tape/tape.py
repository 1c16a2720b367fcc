"""A value that remembers how it was computed, and the pass that turns this record into derivatives.

Each operation makes a new :class:`Variable` that knows its parents and, for each, a function from the derivative by the
result to the derivative by the parent. :func:`differentiate_by` walks the record from the result back to its inputs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import DataError, ParameterError

_Pull = Callable[[Array], Array]


class Variable:
    """An array whose use in expressions is recorded.

    Operators ``+ - * / ** @``, indexing, and the methods below record what they do. Numbers and arrays
    that meet a variable are constants. NumPy, torch and CuPy arrays work alike.

    Parameters
    ----------
    value : array-like
        The value.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import Variable, differentiate_by
    >>> w, X, y = Variable(np.array([1.0, -1.0])), np.eye(2), np.array([0.0, 1.0])
    >>> loss = ((X @ w - y) ** 2).sum()
    >>> differentiate_by(loss, w)
    array([ 2., -4.])
    """

    # NumPy leaves `array @ variable` and `array + variable` to the methods below.
    __array_ufunc__ = None

    def __init__(self, value: Any, parents: Sequence[tuple["Variable", _Pull]] = ()) -> None:
        self.value = np.asarray(value, dtype=np.float64) if isinstance(value, list | tuple | int | float) else value
        self.parents = list(parents)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return tuple(self.value.shape)

    def __repr__(self) -> str:
        return f"Variable({self.value!r})"

    def __add__(self, other: Any) -> "Variable":
        other = _lift(other, self)
        return _join(self.value + other.value, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other: Any) -> "Variable":
        other = _lift(other, self)
        return _join(self.value * other.value, (self, lambda g: g * other.value), (other, lambda g: g * self.value))

    def __truediv__(self, other: Any) -> "Variable":
        other = _lift(other, self)
        value = self.value / other.value
        return _join(value, (self, lambda g: g / other.value), (other, lambda g: -g * value / other.value))

    def __pow__(self, exponent: float) -> "Variable":
        if not isinstance(exponent, int | float):
            raise ParameterError(
                f"Variable: an exponent must be a number; got {type(exponent).__name__}. Use exp and log."
            )
        return _join(self.value**exponent, (self, lambda g: g * exponent * self.value ** (exponent - 1)))

    def __matmul__(self, other: Any) -> "Variable":
        other = _lift(other, self)
        a, b = self.value, other.value
        if a.ndim > 2 or b.ndim > 2 or a.ndim == 0 or b.ndim == 0:
            raise DataError(f"Variable: @ multiplies vectors and matrices; got shapes {self.shape} and {other.shape}.")
        return _join(a @ b, (self, lambda g: _pull_left(g, a, b)), (other, lambda g: _pull_right(g, a, b)))

    def __neg__(self) -> "Variable":
        return self * -1.0

    def __sub__(self, other: Any) -> "Variable":
        return self + (-_lift(other, self))

    def __radd__(self, other: Any) -> "Variable":
        return self + other

    def __rmul__(self, other: Any) -> "Variable":
        return self * other

    def __rsub__(self, other: Any) -> "Variable":
        return _lift(other, self) - self

    def __rtruediv__(self, other: Any) -> "Variable":
        return _lift(other, self) / self

    def __rmatmul__(self, other: Any) -> "Variable":
        return _lift(other, self) @ self

    def __getitem__(self, key: Any) -> "Variable":
        xp = namespace_of(self.value)

        def pull(g: Array) -> Array:
            spread = xp.zeros_like(self.value)
            if xp is np:
                # A row that was taken twice receives both derivatives.
                np.add.at(spread, key, g)
            else:
                spread[key] = g
            return spread

        return _join(self.value[key], (self, pull))

    @property
    def T(self) -> "Variable":  # noqa: N802 (the name that arrays give it)
        """The transpose of a matrix."""
        return _join(self.value.T, (self, lambda g: g.T))

    def reshape(self, *shape: int) -> "Variable":
        """Return the same values in another shape."""
        xp = namespace_of(self.value)
        return _join(xp.reshape(self.value, shape), (self, lambda g: xp.reshape(g, self.shape)))

    def sum(self, axis: int | None = None) -> "Variable":
        """Add up all values, or those along an axis."""
        xp = namespace_of(self.value)

        def pull(g: Array) -> Array:
            g = g if axis is None else xp.expand_dims(g, axis=axis)
            return xp.zeros_like(self.value) + g

        return _join(xp.sum(self.value, axis=axis), (self, pull))

    def mean(self, axis: int | None = None) -> "Variable":
        """Average all values, or those along an axis."""
        n = int(np.prod(self.shape)) if axis is None else self.shape[axis]
        return self.sum(axis) / n

    def max(self, axis: int | None = None) -> "Variable":
        """Return the largest value, of all or along an axis; equal ones share the derivative."""
        xp = namespace_of(self.value)
        largest = xp.max(self.value, axis=axis)
        spread = largest if axis is None else xp.expand_dims(largest, axis=axis)
        share = xp.astype(self.value == spread, self.value.dtype)
        share = share / xp.sum(share, axis=axis, keepdims=axis is not None)
        return _join(largest, (self, lambda g: share * (g if axis is None else xp.expand_dims(g, axis=axis))))

    def exp(self) -> "Variable":
        """Return the exponential of each value."""
        value = namespace_of(self.value).exp(self.value)
        return _join(value, (self, lambda g: g * value))

    def log(self) -> "Variable":
        """Return the natural logarithm of each value."""
        return _join(namespace_of(self.value).log(self.value), (self, lambda g: g / self.value))

    def tanh(self) -> "Variable":
        """Return the hyperbolic tangent of each value."""
        value = namespace_of(self.value).tanh(self.value)
        return _join(value, (self, lambda g: g * (1.0 - value * value)))

    def abs(self) -> "Variable":
        """Return the absolute value of each value; the derivative at zero is zero."""
        xp = namespace_of(self.value)
        return _join(xp.abs(self.value), (self, lambda g: g * xp.sign(self.value)))

    def apply(self, function: Any) -> "Variable":
        """Apply an :class:`~mercer.neural_network.Activation`, or any object with ``compute`` and ``differentiate``."""
        return _join(function.compute(self.value), (self, lambda g: g * function.differentiate(self.value)))


def differentiate_by(result: Variable, *variables: Variable) -> Any:
    """Return the derivatives of a single number by some variables.

    Parameters
    ----------
    result : Variable
        A value of one entry, computed from the variables.
    *variables : Variable
        What to differentiate by. One that the result does not depend on has the derivative zero.

    Returns
    -------
    array, or tuple of arrays
        In the shape of each variable; one array for one variable.
    """
    if int(np.prod(result.shape)) != 1:
        raise DataError(
            f"differentiate_by: the result must be a single number; got shape {result.shape}. Sum it first."
        )
    order = _sort(result)
    xp = namespace_of(result.value)
    pending: dict[int, Array] = {id(result): xp.ones_like(result.value)}
    for node in reversed(order):
        gradient = pending.get(id(node))
        for parent, pull in node.parents if gradient is not None else ():
            part = _shrink(pull(gradient), parent.value)
            # A variable that was used several times receives the sum of all derivatives.
            pending[id(parent)] = pending[id(parent)] + part if id(parent) in pending else part
    zeros = [namespace_of(variable.value).zeros_like(variable.value) for variable in variables]
    found = tuple(pending.get(id(variable), zero) for variable, zero in zip(variables, zeros, strict=True))
    return found[0] if len(found) == 1 else found


def _sort(result: Variable) -> list[Variable]:
    """Return all that `result` was computed from, each after its parents; raise if the record has a cycle."""
    order: list[Variable] = []
    # 1 while the ancestors of a node are being visited, 2 when all are in the order.
    stage: dict[int, int] = {}
    stack = [result]
    while stack:
        node = stack[-1]
        if stage.get(id(node), 0) == 0:
            stage[id(node)] = 1
            for parent, _ in node.parents:
                if stage.get(id(parent), 0) == 1:
                    raise DataError("differentiate_by: a value must not depend on itself; the record has a cycle.")
                if stage.get(id(parent), 0) == 0:
                    stack.append(parent)
            continue
        stack.pop()
        if stage[id(node)] == 1:
            stage[id(node)] = 2
            order.append(node)
    return order


def _join(value: Array, *parents: tuple[Variable, _Pull]) -> Variable:
    return Variable(value if hasattr(value, "shape") else np.asarray(value), parents)


def _lift(other: Any, like: Variable) -> Variable:
    """Return `other` as a variable; a number takes the library and the precision of `like`."""
    if isinstance(other, Variable):
        return other
    if hasattr(other, "shape"):
        return Variable(other)
    xp = namespace_of(like.value)
    return Variable(xp.asarray(other, dtype=like.value.dtype))


def _shrink(gradient: Array, value: Array) -> Array:
    """Sum a derivative over the axes along which its value was repeated by broadcasting."""
    xp = namespace_of(gradient)
    extra = gradient.ndim - value.ndim
    if extra > 0:
        gradient = xp.sum(gradient, axis=tuple(range(extra)))
    axes = tuple(i for i, size in enumerate(value.shape) if size == 1 and gradient.shape[i] != 1)
    return xp.sum(gradient, axis=axes, keepdims=True) if axes else gradient


def _pull_left(g: Array, a: Array, b: Array) -> Array:
    if b.ndim == 1:
        return g * b if a.ndim == 1 else g[:, None] * b[None, :]
    return b @ g if a.ndim == 1 else g @ b.T


def _pull_right(g: Array, a: Array, b: Array) -> Array:
    if a.ndim == 1:
        return g * a if b.ndim == 1 else a[:, None] * g[None, :]
    return a.T @ g
