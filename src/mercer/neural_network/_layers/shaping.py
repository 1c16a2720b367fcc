"""Layers without weights that change the shape of rows, or join several inputs."""

from dataclasses import dataclass
from typing import ClassVar

from mercer._plain import plain
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.neural_network._layers.layer import Call, Layer, Shape, count


@plain
@dataclass(frozen=True)
class Reshape(Layer):
    """Give rows another shape with as many values.

    Parameters
    ----------
    shape : tuple of int
        The shape of one row of the output.
    """

    shape: tuple[int, ...]

    def infer_shape(self, *shapes: Shape) -> Shape:
        if count(self.shape) != count(shapes[0]):
            self._refuse(
                f"the output must have the {count(shapes[0])} values of the input {shapes[0]}",
                f"{self.shape}, which has {count(self.shape)}",
                "Change shape.",
            )
        return tuple(self.shape)

    def forward(self, call: Call, *inputs: Array) -> Array:
        (a,) = inputs
        call.kept = (tuple(a.shape),)
        return namespace_of(a).reshape(a, (a.shape[0], *self.shape))

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        return (namespace_of(gradient).reshape(gradient, call.kept[0]),)


@plain
@dataclass(frozen=True)
class Flatten(Layer):
    """Lay all axes of a row out in one."""

    def infer_shape(self, *shapes: Shape) -> Shape:
        return (count(shapes[0]),)

    def forward(self, call: Call, *inputs: Array) -> Array:
        (a,) = inputs
        call.kept = (tuple(a.shape),)
        return namespace_of(a).reshape(a, (a.shape[0], count(tuple(a.shape[1:]))))

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        return (namespace_of(gradient).reshape(gradient, call.kept[0]),)


@plain
@dataclass(frozen=True)
class Add(Layer):
    """Add inputs of one shape: a residual connection adds a layer's input to its output (He et al., 2016)."""

    n_inputs: ClassVar[tuple[int, int]] = (2, 1000)

    def infer_shape(self, *shapes: Shape) -> Shape:
        if len(set(shapes)) != 1:
            self._refuse("all inputs must have one shape", shapes, "Put a Dense layer before the narrower one.")
        return shapes[0]

    def forward(self, call: Call, *inputs: Array) -> Array:
        call.kept = (len(inputs),)
        total = inputs[0]
        for other in inputs[1:]:
            total = total + other
        return total

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        return (gradient,) * call.kept[0]


@plain
@dataclass(frozen=True)
class Concatenate(Layer):
    """Lay the last axes of several inputs side by side."""

    n_inputs: ClassVar[tuple[int, int]] = (2, 1000)

    def infer_shape(self, *shapes: Shape) -> Shape:
        if len({shape[:-1] for shape in shapes}) != 1:
            self._refuse("all axes but the last must be the same", shapes, "Reshape the inputs.")
        return (*shapes[0][:-1], sum(shape[-1] for shape in shapes))

    def forward(self, call: Call, *inputs: Array) -> Array:
        call.kept = tuple(int(a.shape[-1]) for a in inputs)
        return namespace_of(inputs[0]).concat(list(inputs), axis=-1)

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        parts, first = [], 0
        for width in call.kept:
            parts.append(gradient[..., first : first + width])
            first += width
        return tuple(parts)
