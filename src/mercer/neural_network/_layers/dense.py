"""Fully connected layers, and embeddings of categories."""

from dataclasses import dataclass

import numpy as np

from mercer._plain import plain
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.neural_network._layers.initialisers import draw_weights
from mercer.neural_network._layers.layer import Call, Layer, Shape


@plain
@dataclass(frozen=True)
class Dense(Layer):
    """A fully connected layer, z = a W + b.

    The last axis of a row is multiplied, so that (time, d) becomes (time, units).

    Parameters
    ----------
    units : int
        The number of outputs.
    bias : bool, default=True
    initialiser : str, default='auto'
        See `draw_weights`.
    activation : str, default='identity'
        The activation that follows; only the scale of the first weights depends on it.
    """

    units: int
    bias: bool = True
    initialiser: str = "auto"
    activation: str = "identity"

    def infer_shape(self, *shapes: Shape) -> Shape:
        (shape,) = shapes
        if self.units < 1:
            self._refuse("units must be at least 1", self.units, "Give the number of outputs.")
        if not shape:
            self._refuse("a row must have at least one axis", shape, "Reshape it to (1,).")
        return (*shape[:-1], self.units)

    def initialise(self, random: np.random.Generator, *shapes: Shape) -> dict[str, np.ndarray]:
        fan_in = shapes[0][-1]
        shape = (fan_in, self.units)
        W = draw_weights(random, self.initialiser, fan_in, self.units, shape, self.activation)
        return {"W": W, "b": np.zeros(self.units)} if self.bias else {"W": W}

    def forward(self, call: Call, *inputs: Array) -> Array:
        (a,) = inputs
        xp, W = namespace_of(a), call.weights["W"]
        # All axes but the last count as rows, so that one product serves them all.
        flat = a if a.ndim == 2 else xp.reshape(a, (-1, W.shape[0]))
        call.kept = (flat,)
        z = flat @ W + call.weights["b"] if self.bias else flat @ W
        return z if a.ndim == 2 else xp.reshape(z, (*a.shape[:-1], self.units))

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        (flat,) = call.kept
        xp, W = namespace_of(gradient), call.weights["W"]
        delta = gradient if gradient.ndim == 2 else xp.reshape(gradient, (-1, self.units))
        # dL/dW = inputs^T deltas; leading axes such as time are flattened.
        call.gradients["W"] = flat.T @ delta
        if self.bias:
            call.gradients["b"] = xp.sum(delta, axis=0)
        if not call.wants_inputs:
            return (None,)
        # dL/dx = delta W^T.
        by_input = delta @ W.T
        return (by_input if gradient.ndim == 2 else xp.reshape(by_input, (*gradient.shape[:-1], W.shape[0])),)


@plain
@dataclass(frozen=True)
class Embedding(Layer):
    """A vector for each category: codes 0, 1, ... become rows of a table of weights.

    Parameters
    ----------
    n_categories : int
        The number of codes; a code outside [0, n_categories) raises an error.
    width : int
        The length of the vectors.
    """

    n_categories: int
    width: int

    def infer_shape(self, *shapes: Shape) -> Shape:
        if self.n_categories < 1 or self.width < 1:
            got = f"{self.n_categories} and {self.width}"
            self._refuse("n_categories and width must be at least 1", got, "Count the categories.")
        return (*shapes[0], self.width)

    def initialise(self, random: np.random.Generator, *shapes: Shape) -> dict[str, np.ndarray]:
        # Vectors of length about one: their values have the variance 1 / width.
        return {"W": random.standard_normal((self.n_categories, self.width)) / np.sqrt(self.width)}

    def forward(self, call: Call, *inputs: Array) -> Array:
        (codes,) = inputs
        xp = namespace_of(codes)
        codes = xp.astype(codes, xp.int64)
        if bool(xp.any((codes < 0) | (codes >= self.n_categories))):
            got = f"codes from {int(xp.min(codes))} to {int(xp.max(codes))}"
            self._refuse(f"codes must be in [0, {self.n_categories})", got, "Raise n_categories.")
        # The gradient of a category's row is the sum over all places with its code, so the flat codes are kept.
        flat = xp.reshape(codes, (-1,))
        call.kept = (flat,)
        return xp.reshape(xp.take(call.weights["W"], flat, axis=0), (*codes.shape, self.width))

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        (flat,) = call.kept
        xp = namespace_of(gradient)
        call.gradients["W"] = _sum_by_code(flat, xp.reshape(gradient, (-1, self.width)), self.n_categories)
        # Codes are no numbers that one could move: the derivative by them is zero.
        return (xp.sum(xp.zeros_like(gradient), axis=-1),)


@plain
@dataclass(frozen=True)
class TableEmbedding(Layer):
    """Replaces the columns of a table that hold codes of categories by vectors; the other columns pass, and come last.

    Parameters
    ----------
    columns : tuple of int
        The columns with codes.
    sizes : tuple of int
        The number of categories of each.
    widths : tuple of int
        The length of each one's vectors.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    widths: tuple[int, ...]

    def infer_shape(self, *shapes: Shape) -> Shape:
        (shape,) = shapes
        if len(shape) != 1:
            self._refuse("rows must have one axis", shape, "Flatten them first.")
        if not len(self.columns) == len(self.sizes) == len(self.widths):
            got = f"{len(self.columns)}, {len(self.sizes)} and {len(self.widths)}"
            self._refuse("columns, sizes and widths must be equally long", got, "Give one of each per column.")
        if any(column < 0 or column >= shape[0] for column in self.columns):
            self._refuse(f"columns must be below {shape[0]}", self.columns, "Count columns from zero.")
        # Each column of codes gives its place to as many columns as its vector has entries.
        return (shape[0] - len(self.columns) + sum(self.widths),)

    def initialise(self, random: np.random.Generator, *shapes: Shape) -> dict[str, np.ndarray]:
        return {
            f"W{column}": random.standard_normal((size, width)) / np.sqrt(width)
            for column, size, width in zip(self.columns, self.sizes, self.widths, strict=True)
        }

    def forward(self, call: Call, *inputs: Array) -> Array:
        (rows,) = inputs
        xp = namespace_of(rows)
        codes = [xp.astype(rows[:, column], xp.int64) for column in self.columns]
        parts = [xp.take(call.weights[f"W{c}"], code, axis=0) for c, code in zip(self.columns, codes, strict=True)]
        others = [j for j in range(rows.shape[1]) if j not in self.columns]
        call.kept = (codes, others, rows)
        return xp.concat([*parts, *(rows[:, j : j + 1] for j in others)], axis=1)

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        codes, others, rows = call.kept
        xp, first = namespace_of(gradient), 0
        # Embedded columns come first in the output, one run of `width` for each.
        for column, code, size, width in zip(self.columns, codes, self.sizes, self.widths, strict=True):
            call.gradients[f"W{column}"] = _sum_by_code(code, gradient[:, first : first + width], size)
            first += width
        by_rows = xp.zeros_like(rows)
        for place, j in enumerate(others):
            by_rows[:, j] = gradient[:, first + place]
        return (by_rows,)


def _sum_by_code(codes: Array, values: Array, size: int) -> Array:
    """Return the sum of the rows of `values` for each code."""
    xp = namespace_of(values)
    if xp is np:
        sums = np.zeros((size, values.shape[1]), dtype=values.dtype)
        np.add.at(sums, codes, values)
        return sums
    # The array API has no sums by index: a product with a table of zeros and ones sums in a fixed order too.
    numbers = xp.arange(size, dtype=codes.dtype, device=codes.device)
    return xp.astype(numbers[:, None] == codes[None, :], values.dtype) @ values
