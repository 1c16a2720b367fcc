"""Activation functions with their derivatives (NN-02)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._plain import plain
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.neural_network._layers.layer import Call, Layer

# The slope of leaky ReLU below zero.
LEAK = 0.01
# sqrt(2 / pi), of the tanh approximation of GELU (Hendrycks and Gimpel, 2016).
_GELU_SCALE = 0.7978845608028654
# The factor of z^3 in the same approximation.
_GELU_CUBIC = 0.044715


class _Function(NamedTuple):
    """A function of z, and its derivative as a function of z and of the value a."""

    value: Callable[[Any, Any], Any]
    slope: Callable[[Any, Any, Any], Any]


def expit(z: Array, xp: Any) -> Array:
    """Return 1 / (1 + exp(-z)) without overflow."""
    small = xp.exp(-xp.abs(z))
    return xp.where(z < 0, small, xp.ones_like(small)) / (1.0 + small)


def _step(z: Any, xp: Any) -> Any:
    return xp.astype(z >= 0, z.dtype)


def _gelu_inner(z: Any, xp: Any) -> Any:
    return xp.tanh(_GELU_SCALE * (z + _GELU_CUBIC * z**3))


def _gelu_slope(z: Any, a: Any, xp: Any) -> Any:
    t = _gelu_inner(z, xp)
    return 0.5 * (1.0 + t) + 0.5 * z * (1.0 - t * t) * _GELU_SCALE * (1.0 + 3.0 * _GELU_CUBIC * z * z)


def _elu(z: Any, xp: Any) -> Any:
    return xp.where(z > 0, z, xp.expm1(xp.minimum(z, xp.zeros_like(z))))


ACTIVATIONS: dict[str, _Function] = {
    "identity": _Function(lambda z, xp: z, lambda z, a, xp: xp.ones_like(z)),
    "step": _Function(_step, lambda z, a, xp: xp.zeros_like(z)),
    "logistic": _Function(expit, lambda z, a, xp: a * (1.0 - a)),
    "tanh": _Function(lambda z, xp: xp.tanh(z), lambda z, a, xp: 1.0 - a * a),
    # max(z, 0) by a product would turn an infinite z into NaN; at zero the derivative is taken as 0.
    "relu": _Function(lambda z, xp: xp.maximum(z, xp.zeros_like(z)), lambda z, a, xp: xp.astype(z > 0, z.dtype)),
    "leaky_relu": _Function(
        lambda z, xp: xp.where(z > 0, z, LEAK * z),
        lambda z, a, xp: xp.where(z > 0, xp.ones_like(z), LEAK * xp.ones_like(z)),
    ),
    "elu": _Function(_elu, lambda z, a, xp: xp.where(z > 0, xp.ones_like(z), a + 1.0)),
    "gelu": _Function(lambda z, xp: 0.5 * z * (1.0 + _gelu_inner(z, xp)), _gelu_slope),
    "softplus": _Function(
        lambda z, xp: xp.maximum(z, xp.zeros_like(z)) + xp.log1p(xp.exp(-xp.abs(z))), lambda z, a, xp: expit(z, xp)
    ),
}


@plain
@dataclass(frozen=True)
class Activation(Layer):
    """Apply a function to every value.

    Parameters
    ----------
    function : one of 'identity', 'step', 'logistic', 'tanh', 'relu', 'leaky_relu', 'elu', 'gelu', 'softplus'
        "step" is 1 for z >= 0 and 0 otherwise. Its derivative is zero everywhere, so a backward pass through it raises
        an error: no gradient method can train the layers below it. "gelu" is the approximation by tanh.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import Activation
    >>> Activation("logistic").differentiate(np.zeros(1))
    array([0.25])
    """

    function: str = "relu"
    names: ClassVar[tuple[str, ...]] = tuple(ACTIVATIONS)

    def __post_init__(self) -> None:
        if self.function not in ACTIVATIONS:
            raise ParameterError(
                f"Activation: function must be one of {', '.join(map(repr, ACTIVATIONS))}; got {self.function!r}."
            )

    def compute(self, z: Any) -> Array:
        """Return the value of the function at each entry of `z`."""
        z = np.asarray(z, dtype=np.float64) if isinstance(z, list | tuple | int | float) else z
        return ACTIVATIONS[self.function].value(z, namespace_of(z))

    def differentiate(self, z: Any) -> Array:
        """Return the derivative at each entry of `z`; that of "step" is zero wherever it exists."""
        z = np.asarray(z, dtype=np.float64) if isinstance(z, list | tuple | int | float) else z
        xp, function = namespace_of(z), ACTIVATIONS[self.function]
        return function.slope(z, function.value(z, xp), xp)

    def forward(self, call: Call, *inputs: Array) -> Array:
        (z,) = inputs
        a = ACTIVATIONS[self.function].value(z, namespace_of(z))
        call.kept = (z, a)
        return a

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        if self.function == "step":
            raise ParameterError(
                "Activation: 'step' has derivative zero everywhere, so gradients cannot train the layers below it; "
                "use 'logistic' or 'tanh', its smooth relatives."
            )
        z, a = call.kept
        if self.function == "identity":
            return (gradient,)
        # The chain rule: dL/dz = dL/da f'(z). Some slopes are cheaper from a than from z, so both are kept.
        return (gradient * ACTIVATIONS[self.function].slope(z, a, namespace_of(z)),)
