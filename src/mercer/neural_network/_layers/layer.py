"""What a layer is, and one use of it in one pass."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, TypeAlias

import numpy as np

from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import ParameterError

Shape: TypeAlias = tuple[int, ...]


def as_like(values: Any, like: Array) -> Array:
    """Return host values as an array of the library, the precision and the device of `like`."""
    if isinstance(like, np.ndarray):
        return np.asarray(values, dtype=like.dtype)
    return namespace_of(like).asarray(values, dtype=like.dtype, device=like.device)


def count(shape: Shape) -> int:
    """Return the number of values in a row of this shape."""
    return math.prod(shape)


@dataclass(eq=False)
class Call:
    """One use of a layer in one pass: what it may read, and where it leaves what its backward pass needs.

    Attributes
    ----------
    weights : dict of array
        The weights of the layer, by name; views of the network's vector.
    training : bool
        Whether this pass trains: dropout drops, and batch norm uses the statistics of the batch.
    statistics : dict of array
        What the layer keeps beside its weights. A training pass may put new arrays in the places of old ones.
    seed : tuple of int
        What random numbers are drawn from: the seed of the fit, the step, the number of the layer.
    kept : tuple
        What the forward pass leaves to the backward pass.
    gradients : dict of array
        The derivatives by the weights, written by the backward pass.
    wants_inputs : bool
        Whether the backward pass must give the derivatives by the inputs; layers with weights may else give None.
    """

    weights: dict[str, Array]
    training: bool = False
    statistics: dict[str, Array] = field(default_factory=dict)
    seed: tuple[int, ...] = (0,)
    kept: tuple[Any, ...] = ()
    gradients: dict[str, Array] = field(default_factory=dict)
    wants_inputs: bool = True

    def draw(self, shape: Shape, like: Array) -> Array:
        """Draw uniform numbers in [0, 1), on the host, so that they are the same in every place."""
        random = np.random.Generator(np.random.Philox(np.random.SeedSequence(self.seed)))
        return as_like(random.random(shape, dtype=np.float32), like)


class Layer:
    """Base of layers: frozen dataclasses of options; see the docstring of the package for the interface."""

    # The number of inputs: the least and the most.
    n_inputs: ClassVar[tuple[int, int]] = (1, 1)

    def infer_shape(self, *shapes: Shape) -> Shape:
        """Return the shape of one row of the output; raise if the inputs do not suit."""
        return shapes[0]

    def initialise(self, random: np.random.Generator, *shapes: Shape) -> dict[str, np.ndarray]:
        """Draw the first weights."""
        return {}

    def begin_statistics(self, *shapes: Shape) -> dict[str, np.ndarray]:
        """Return what is kept beside the weights, before any row was seen."""
        return {}

    def forward(self, call: Call, *inputs: Array) -> Array:
        """Return the output for a batch."""
        raise NotImplementedError  # each layer defines its own

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        """Return the derivatives by the inputs, given that by the output; write those by the weights."""
        raise NotImplementedError  # each layer defines its own

    def _refuse(self, rule: str, got: Any, cure: str) -> NoReturn:
        raise ParameterError(f"{type(self).__name__}: {rule}; got {got}. {cure}")
