"""A function in the place of a source: what solvers of any function ask for, and who answers.

The driver answers a request with ``request.answer(source)``. Here the source is a user's function with its derivatives;
it checks what comes back, counts the calls, and fills in derivatives that were not given.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.optim._derivatives import differentiate, differentiate_twice


@dataclass(frozen=True, eq=False)
class FunctionPoint:
    """A place, the value there, and the gradient."""

    parameters: Array
    objective: float
    gradient: Array


@dataclass(frozen=True, eq=False)
class Value:
    """Ask for the value at `x`."""

    x: Array

    def answer(self, source: "FunctionSource") -> float:
        return source.value(self.x)


@dataclass(frozen=True, eq=False)
class Evaluate:
    """Ask for value and gradient at `x`."""

    x: Array

    def answer(self, source: "FunctionSource") -> FunctionPoint:
        return source.evaluate(self.x)


@dataclass(frozen=True, eq=False)
class Hessian:
    """Ask for the matrix of second derivatives; the answer is None where only its products are to be had."""

    x: Array

    def answer(self, source: "FunctionSource") -> np.ndarray | None:
        return source.hessian(self.x)


@dataclass(frozen=True, eq=False)
class HessianProduct:
    """Ask for the Hessian at `x` times `vector`."""

    x: Array
    vector: Array

    def answer(self, source: "FunctionSource") -> Array:
        return source.hessian_product(self.x, self.vector)


@dataclass(frozen=True, eq=False)
class Prox:
    """Ask for argmin_u penalty(u) + |u - x|^2 / (2 step)."""

    x: Array
    step: float

    def answer(self, source: "FunctionSource") -> Array:
        return source.check_vector("penalty.prox", source.penalty.prox(self.x, self.step), self.x)


@dataclass(frozen=True, eq=False)
class PenaltyValue:
    """Ask for the penalty at `x`."""

    x: Array

    def answer(self, source: "FunctionSource") -> float:
        return source.read_number("penalty.value", source.penalty.value(self.x))


class FunctionProblem:
    """What the line search of linear models asks of a problem, for any function."""

    def evaluate(self, parameters: Array) -> Generator[Any, Any, FunctionPoint]:
        """Ask for value and gradient."""
        return (yield Evaluate(parameters))


class FunctionSource:
    """A function and its derivatives.

    ``gradient_used`` and ``hessian_used`` say where derivatives come from: ``"given"``, ``"torch"`` (automatic
    differentiation) or ``"central differences"``.
    """

    def __init__(
        self,
        subject: str,
        fun: Callable[..., Any],
        grad: Callable[..., Any] | bool | None = None,
        hess: Callable[..., Any] | None = None,
        hess_product: Callable[..., Any] | None = None,
        penalty: Any = None,
    ) -> None:
        self.subject, self.fun, self.grad, self.hess = subject, fun, grad, hess
        self.products, self.penalty = hess_product, penalty
        self.n_evaluations = self.n_gradients = self.n_hessians = 0
        # The first value asked for is that at the start, from which nothing can be done if it is not finite.
        self.finite_at_first = True
        self.gradient_used = "given" if grad else "none"
        self.hessian_used = "given" if hess or hess_product else "none"

    def value(self, x: Array) -> float:
        """Return the value at `x`; infinite where it is not a number."""
        self.n_evaluations += 1
        result = self.fun(_copy(x))
        return self.read_number("fun", result[0] if self.grad is True else result)

    def evaluate(self, x: Array) -> FunctionPoint:
        """Compute the value and the gradient at `x`."""
        self.n_gradients += 1
        if self.grad is True:
            self.n_evaluations += 1
            value, gradient = self.fun(_copy(x))
            return FunctionPoint(x, self.read_number("fun", value), self.check_vector("fun", gradient, x))
        if self.grad is not None and self.grad is not False:
            value = self.value(x)
            return FunctionPoint(x, value, self.check_vector("grad", self.grad(_copy(x)), x))
        return self._differentiate(x)

    def _differentiate(self, x: Array) -> FunctionPoint:
        """Compute the value and, by differences or autograd, a gradient that the user did not give."""
        if isinstance(x, np.ndarray):
            self.gradient_used = "central differences"
            return FunctionPoint(x, self.value(x), differentiate(self.value, x))
        if type(x).__module__.split(".")[0] != "torch":
            raise ParameterError(f"{self.subject}: grad must be given for arrays of {type(x).__module__}; got None.")
        import torch

        self.gradient_used = "torch"
        self.n_evaluations += 1
        # A leaf of its own: the user's graph neither grows with the steps nor is written to.
        leaf = x.detach().clone().requires_grad_(True)
        value = self.fun(leaf)
        (gradient,) = torch.autograd.grad(value, leaf)
        return FunctionPoint(x, self.read_number("fun", _detach(value)), self.check_vector("fun", gradient, x))

    def hessian(self, x: np.ndarray) -> np.ndarray | None:
        """Return the Hessian at `x`: as given, or by differences of the gradient; None where products were given."""
        if self.hess is None and self.products is not None:
            return None
        self.n_hessians += 1
        if self.hess is None:
            self.hessian_used = "central differences"
            return differentiate_twice(lambda place: self.evaluate(place).gradient, x)
        matrix = np.asarray(self.hess(_copy(x)), dtype=np.float64)
        if matrix.shape != (x.size, x.size):
            raise DataError(
                f"{self.subject}: hess must return a matrix of shape {(x.size, x.size)}; got {matrix.shape}."
            )
        # Factorisations read one triangle only: make both equal, so that it does not matter which.
        return 0.5 * (matrix + matrix.T)

    def hessian_product(self, x: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the Hessian at `x` times `vector`."""
        self.n_hessians += 1
        if self.products is None:
            raise ParameterError(f"{self.subject}: hess_product must be a callable; got None.")
        return self.check_vector("hess_product", self.products(_copy(x), _copy(vector)), x)

    def read_number(self, name: str, value: Any) -> float:
        """Return the one value that a user's function returned, as a float."""
        number = self._real(name, value)
        if self.finite_at_first and not math.isfinite(number):
            raise DataError(f"{self.subject}: {name} must be finite at x0; got {number}. Start elsewhere.")
        self.finite_at_first = False
        return number

    def _real(self, name: str, value: Any) -> float:
        if getattr(value, "ndim", 0) != 0 or isinstance(value, complex | list | tuple | str) or value is None:
            shape = getattr(value, "shape", type(value).__name__)
            raise DataError(f"{self.subject}: {name} must return one real number; got {shape}.")
        number = float(value)
        # Plus infinity marks points outside the domain: line searches step back. Minus infinity has no way back.
        if number == -math.inf:
            raise DataError(f"{self.subject}: {name} fell to minus infinity; it has no minimum.")
        return number

    def check_vector(self, name: str, value: Any, x: Array) -> Array:
        """Return a copy of what a user's function returned, which may be a buffer of the user's, like `x`."""
        copied = namespace_of(x).asarray(_detach(value), dtype=x.dtype, copy=True)
        if tuple(copied.shape) != tuple(x.shape):
            raise DataError(
                f"{self.subject}: {name} must return an array of the shape of x, {tuple(x.shape)}; "
                f"got {tuple(copied.shape)}."
            )
        return copied


def check_start(subject: str, x0: Any) -> Array:
    """Return a copy of the start, with floating-point entries; arrays of other libraries stay where they are."""
    if not hasattr(x0, "__array_namespace__") and type(x0).__module__.split(".")[0] not in ("torch", "cupy"):
        x0 = np.asarray(x0)
    x0 = _detach(x0)
    xp = namespace_of(x0)
    # Integers cannot take steps.
    if isinstance(x0, np.ndarray) and x0.dtype.kind in "iub":
        x0 = x0.astype(np.float64)
    if x0.ndim == 0:
        raise DataError(f"{subject}: x0 must have at least one dimension; got a single number. Give [x0].")
    if not xp.isdtype(x0.dtype, "real floating"):
        raise DataError(f"{subject}: x0 must hold real floating-point numbers; got {x0.dtype}.")
    if not bool(xp.all(xp.isfinite(x0))):
        raise DataError(f"{subject}: x0 must be finite; got NaN or infinity.")
    return _copy(x0)


def _detach(array: Any) -> Any:
    """Return an array outside the graph that torch may have recorded for it."""
    return array.detach() if hasattr(array, "detach") else array


def _copy(x: Array) -> Array:
    """Copy `x` for the user's function, which may write into it; solvers rely on their own staying as it is."""
    return x.copy() if isinstance(x, np.ndarray) else namespace_of(x).asarray(x, copy=True)
