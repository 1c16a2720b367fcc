"""A chain of layers with its input added to its output."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.neural_network._layers.layer import Call, Layer, Shape
from mercer.neural_network._layers.network import Network


@cache
def _make_inner(layers: tuple[Layer, ...], shape: Shape) -> Network:
    return Network(list(layers), shape)


@plain
@dataclass(frozen=True)
class Residual(Layer):
    """A chain of layers whose input is added to its output: a -> a + f(a) (He et al., 2016).

    The chain must keep the shape. Layers that keep running statistics, such as BatchNorm, go into a graph with
    :class:`Add` instead.

    Parameters
    ----------
    layers : tuple of Layer
    """

    layers: tuple[Layer, ...]

    def infer_shape(self, *shapes: Shape) -> Shape:
        (shape,) = shapes
        inner = _make_inner(tuple(self.layers), shape)
        # x + f(x) needs f to keep the shape.
        if inner.output_shape != shape:
            self._refuse(f"the chain must keep the shape {shape}", inner.output_shape, "Add a Dense layer.")
        # initialise returns the weights and the running statistics; here only the latter matter.
        if inner.initialise(0)[1]:
            raise ParameterError(
                "Residual: its layers must keep no running statistics; use Add in a graph with BatchNorm."
            )
        return shape

    def initialise(self, random: np.random.Generator, *shapes: Shape) -> dict[str, np.ndarray]:
        inner = _make_inner(tuple(self.layers), shapes[0])
        return {"theta": inner.initialise(int(random.integers(2**31)))[0]}

    def forward(self, call: Call, *inputs: Array) -> Array:
        (a,) = inputs
        inner = _make_inner(tuple(self.layers), tuple(a.shape[1:]))
        trace: Any = inner.forward(call.weights["theta"], a, training=call.training, seed=call.seed)
        call.kept = (inner, trace)
        return a + trace.output

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        inner, trace = call.kept
        call.gradients["theta"], by_inputs = inner.backward(trace, gradient)
        return (gradient + by_inputs["input"],)
