"""Convolutions, pooling and other layers that see or change the shape of rows before the last axis.

Rows are (length, channels) or (height, width, channels). A window moves over all but the last axis. The values that it
sees are taken by slices, one for each place in the window, so that every library that can slice can compute them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from mercer._plain import plain
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.neural_network._layers.initialisers import draw_weights
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


def _read_sizes(value: int | tuple[int, ...], n_axes: int) -> tuple[int, ...]:
    """Return a size for each axis, of one number or of one for each."""
    return (int(value),) * n_axes if isinstance(value, int | np.integer) else tuple(int(size) for size in value)


class _Window(Layer):
    """A window of some size that moves by some stride over all axes of a row but the last."""

    def _sizes(self, n_axes: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the window's sizes, its strides, and the zeros added on each side, for each axis."""
        raise NotImplementedError  # each kind of layer defines its own

    def _count_places(self, shape: Shape) -> tuple[int, ...]:
        """Return the number of places of the window along each axis; raise if it does not fit."""
        n_axes = len(shape) - 1
        window, stride, padding = self._sizes(n_axes)
        if min(*window, *stride, 1) < 1 or not len(window) == len(stride) == len(padding) == n_axes:
            got = f"a window {window} with stride {stride} for rows {shape}"
            self._refuse("window and stride must be positive, one for each axis", got, "Give one number each.")
        places = tuple(
            # floor((size + 2 padding - window) / stride) + 1 places.
            (size + 2 * zeros - wide) // step + 1
            for size, wide, step, zeros in zip(shape[:-1], window, stride, padding, strict=True)
        )
        if min(places) < 1:
            got = f"a window {window} over rows {shape}"
            self._refuse("the window must not be larger than the row", got, "Make it smaller, or pad the rows.")
        return places

    def _slice_places(self, shape: Shape) -> Iterator[tuple[slice, ...]]:
        """Yield for each place in the window the slices of a padded batch that it sees."""
        window, stride, _ = self._sizes(len(shape) - 1)
        places = self._count_places(shape)
        for offset in product(*map(range, window)):
            ranges = zip(offset, stride, places, strict=True)
            yield (
                slice(None),
                # A strided slice takes the value at this offset for all places of the window at once.
                *(slice(first, first + step * (n - 1) + 1, step) for first, step, n in ranges),
                slice(None),
            )

    def _pad(self, a: Array) -> Array:
        _, _, padding = self._sizes(a.ndim - 2)
        if not any(padding):
            return a
        xp = namespace_of(a)
        # Axis 0 counts rows and the last axis channels; only the axes between them are padded, on both sides.
        sizes = [size + 2 * zeros for size, zeros in zip(a.shape[1:-1], padding, strict=True)]
        wide = xp.zeros((a.shape[0], *sizes, a.shape[-1]), dtype=a.dtype, device=a.device)
        wide[self._inside(padding, tuple(a.shape[1:-1]))] = a
        return wide

    def _unpad(self, wide: Array, shape: Shape) -> Array:
        _, _, padding = self._sizes(len(shape) - 1)
        return wide[self._inside(padding, shape[:-1])] if any(padding) else wide

    @staticmethod
    def _inside(padding: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[slice, ...]:
        spans = (slice(zeros, zeros + size) for zeros, size in zip(padding, sizes, strict=True))
        return (slice(None), *spans, slice(None))


@dataclass(frozen=True)
class _Convolution(_Window):
    """The sum over a window of values times weights, for each filter: a Dense layer that shares its weights."""

    filters: int
    window: int | tuple[int, ...] = 3
    stride: int | tuple[int, ...] = 1
    padding: int | tuple[int, ...] = 0
    initialiser: str = "auto"
    activation: str = "relu"
    n_axes: ClassVar[int] = 0

    def _sizes(self, n_axes: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        return _read_sizes(self.window, n_axes), _read_sizes(self.stride, n_axes), _read_sizes(self.padding, n_axes)

    def infer_shape(self, *shapes: Shape) -> Shape:
        (shape,) = shapes
        if len(shape) != self.n_axes + 1:
            wanted = "(length, channels)" if self.n_axes == 1 else "(height, width, channels)"
            self._refuse(f"rows must have the shape {wanted}", shape, "Put a Reshape layer before it.")
        if self.filters < 1:
            self._refuse("filters must be at least 1", self.filters, "Give the number of output channels.")
        return (*self._count_places(shape), self.filters)

    def initialise(self, random: np.random.Generator, *shapes: Shape) -> dict[str, np.ndarray]:
        n_window = count(_read_sizes(self.window, self.n_axes))
        fan_in = n_window * shapes[0][-1]
        shape, fan_out = (fan_in, self.filters), n_window * self.filters
        W = draw_weights(random, self.initialiser, fan_in, fan_out, shape, self.activation)
        return {"W": W, "b": np.zeros(self.filters)}

    def forward(self, call: Call, *inputs: Array) -> Array:
        (a,) = inputs
        xp, shape = namespace_of(a), tuple(a.shape[1:])
        wide = self._pad(a)
        seen = xp.concat([wide[part] for part in self._slice_places(shape)], axis=-1)
        W = call.weights["W"]
        # One product over the places of all images: a product of arrays of four axes would make one for each line.
        flat = xp.reshape(seen, (-1, W.shape[0]))
        call.kept = (flat, shape, tuple(wide.shape))
        return xp.reshape(flat @ W + call.weights["b"], (*seen.shape[:-1], self.filters))

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        flat, shape, wide_shape = call.kept
        xp, W = namespace_of(gradient), call.weights["W"]
        delta = xp.reshape(gradient, (-1, self.filters))
        call.gradients["W"] = flat.T @ delta
        call.gradients["b"] = xp.sum(delta, axis=0)
        if not call.wants_inputs:
            return (None,)
        by_wide = xp.zeros(wide_shape, dtype=gradient.dtype, device=gradient.device)
        channels, places = shape[-1], tuple(gradient.shape[:-1])
        # A product for each place in the window is contiguous, and added faster than a part of one large product.
        for number, part in enumerate(self._slice_places(shape)):
            own = delta @ W[number * channels : (number + 1) * channels, :].T
            by_wide[part] += xp.reshape(own, (*places, channels))
        return (self._unpad(by_wide, shape),)


@plain
@dataclass(frozen=True)
class Conv1d(_Convolution):
    """A convolution along one axis: rows (length, channels) become (places, filters).

    Parameters
    ----------
    filters : int
        The number of output channels.
    window, stride : int, default=3 and 1
        The width of the window, and how far it moves.
    padding : int, default=0
        Zeros added on both sides.
    initialiser, activation : str, default='auto' and 'relu'
        The scale of the first weights, and the activation that follows.
    """

    n_axes: ClassVar[int] = 1


@plain
@dataclass(frozen=True)
class Conv2d(_Convolution):
    """A convolution over an image: rows (height, width, channels) become (places, places, filters).

    Parameters
    ----------
    filters : int
        The number of output channels.
    window, stride : int or pair of int, default=3 and 1
        The size of the window, and how far it moves.
    padding : int or pair of int, default=0
        Zeros added on all sides.
    initialiser, activation : str, default='auto' and 'relu'
        The scale of the first weights, and the activation that follows.
    """

    n_axes: ClassVar[int] = 2


@dataclass(frozen=True)
class _Pool(_Window):
    window: int | tuple[int, ...] = 2
    stride: int | tuple[int, ...] | None = None

    def _sizes(self, n_axes: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        window = _read_sizes(self.window, n_axes)
        return window, window if self.stride is None else _read_sizes(self.stride, n_axes), (0,) * n_axes

    def infer_shape(self, *shapes: Shape) -> Shape:
        (shape,) = shapes
        if len(shape) < 2:
            self._refuse("rows must have an axis before the channels", shape, "Put a Reshape layer before it.")
        return (*self._count_places(shape), shape[-1])


@plain
@dataclass(frozen=True)
class MaxPool(_Pool):
    """The largest value in each window, for each channel; its derivative goes to the first of equal values.

    Parameters
    ----------
    window : int or tuple of int, default=2
    stride : int, tuple of int or None, default=None
        How far the window moves; None is its own size.
    """

    def forward(self, call: Call, *inputs: Array) -> Array:
        (a,) = inputs
        xp, shape = namespace_of(a), tuple(a.shape[1:])
        parts = [a[part] for part in self._slice_places(shape)]
        largest = parts[0]
        # The maximum over window offsets: each part is the whole input shifted by one offset, so no windows are copied.
        for part in parts[1:]:
            largest = xp.maximum(largest, part)
        call.kept = (a, largest)
        return largest

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        a, largest = call.kept
        xp = namespace_of(gradient)
        by_input = xp.zeros_like(a)
        # What is left of the derivative goes to the first place that has the largest value.
        left, zeros = gradient, xp.zeros_like(gradient)
        for part in self._slice_places(tuple(a.shape[1:])):
            here = a[part] == largest
            by_input[part] += xp.where(here, left, zeros)
            left = xp.where(here, zeros, left)
        return (by_input,)


@plain
@dataclass(frozen=True)
class AveragePool(_Pool):
    """The mean of the values in each window, for each channel.

    Parameters
    ----------
    window : int or tuple of int, default=2
    stride : int, tuple of int or None, default=None
        How far the window moves; None is its own size.
    """

    def forward(self, call: Call, *inputs: Array) -> Array:
        (a,) = inputs
        parts = [a[part] for part in self._slice_places(tuple(a.shape[1:]))]
        call.kept = (a, len(parts))
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total / len(parts)

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        a, size = call.kept
        by_input = namespace_of(gradient).zeros_like(a)
        for part in self._slice_places(tuple(a.shape[1:])):
            by_input[part] += gradient / size
        return (by_input,)
