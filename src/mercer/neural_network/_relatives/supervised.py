"""The loss of a network's outputs against targets, for images and sequences, and the classes they stand for."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.neural_network._layers.layer import as_like
from mercer.neural_network._layers.losses import OutputLoss
from mercer.neural_network._layers.network import Network
from mercer.neural_network._layers.normalisation import BatchNorm, Dropout
from mercer.neural_network._relatives.network_model import mark_weights, penalise
from mercer.neural_network._relatives.plan import Batch, Moment


@dataclass(frozen=True, eq=False)
class Supervised:
    """The mean loss of a batch plus an L2 penalty on the weights; a ``Task``.

    Parameters
    ----------
    network : Network
    shape_rows : callable
        From rows (n, d) to the inputs of the network by name: images, or sequences with their masks.
    loss : OutputLoss
    alpha : float
        Strength of the penalty.
    by_step : bool
        Whether each step of a sequence has a target; padded steps, marked by the input "mask", then count nothing.
    factors : array of shape (n_classes,) or None
        What the weights of rows, or of steps, of each class are multiplied by.
    """

    network: Network
    shape_rows: Callable[[Array], dict[str, Array]]
    loss: OutputLoss
    alpha: float
    by_step: bool = False
    factors: Any = None

    @property
    def n_weights(self) -> int:
        return self.network.n_weights

    @cached_property
    def is_normalised(self) -> bool:
        return any(isinstance(node.layer, BatchNorm) for node in self.network.nodes)

    @cached_property
    def is_random(self) -> bool:
        return any(isinstance(node.layer, Dropout) for node in self.network.nodes)

    @cached_property
    def penalised(self) -> np.ndarray:
        """1 for the weights that the penalty applies to."""
        return mark_weights(self.network)

    def initialise(self, random_state: Any, dtype: Any) -> tuple[np.ndarray, dict[str, Any]]:
        return self.network.initialise(random_state, dtype)

    def place(self, values: dict[str, Any], like: Array) -> dict[str, Any]:
        return self.network.place(values, like)

    def learn(self, theta: Array, batch: Batch, moment: Moment) -> tuple[float, Array, dict[str, Any]]:
        inputs = self.shape_rows(batch.X)
        options: dict[str, Any] = {"training": True, "seed": moment.seed, "step": moment.step}
        trace = self.network.forward(theta, inputs, moment.statistics, **options)
        value, by_output = self.loss.evaluate(trace.output, batch.y, self._weigh(batch, inputs))
        gradient = self.network.backward(trace, by_output, by_inputs=False)[0]
        if self.alpha:
            extra, slope = penalise(theta, self.penalised, self.alpha)
            value, gradient = value + extra, gradient + slope
        return value, gradient, trace.statistics

    def judge(self, theta: Array, batch: Batch, statistics: dict[str, Any]) -> float:
        inputs = self.shape_rows(batch.X)
        output = self.network.forward(theta, inputs, statistics).output
        return self.loss.evaluate(output, batch.y, self._weigh(batch, inputs))[0]

    def _weigh(self, batch: Batch, inputs: dict[str, Array]) -> Array:
        """Return the weights of rows, or of the steps of sequences; None where all are one."""
        xp, weight = namespace_of(batch.X), batch.weight
        mask = inputs.get("mask") if self.by_step else None
        if mask is not None:
            weight = xp.astype(mask if weight is None else mask * weight[:, None], batch.X.dtype, copy=False)
        if self.factors is None:
            return weight
        codes = xp.astype(xp.reshape(batch.y, (-1,)), xp.int64)
        own = xp.reshape(xp.take(as_like(self.factors, batch.X), codes, axis=0), tuple(batch.y.shape))
        if weight is None:
            return own
        return own * (weight[:, None] if own.ndim > weight.ndim else weight)


@dataclass(frozen=True)
class Chances:
    """A function from outputs (..., k) to probabilities of the classes, by softmax; one class is certain."""

    n_classes: int

    def __call__(self, outputs: Array) -> Array:
        xp = namespace_of(outputs)
        if self.n_classes == 1:
            return xp.ones_like(outputs[..., :1])
        shares = xp.exp(outputs - xp.max(outputs, axis=-1, keepdims=True))
        return shares / xp.sum(shares, axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class ClassNames:
    """A function from outputs (..., k) to the class of the largest one."""

    classes: Array

    def __call__(self, outputs: Array) -> Array:
        xp = namespace_of(outputs)
        numbers = xp.argmax(outputs, axis=-1)
        if self.classes.shape[0] == 1:
            numbers = xp.zeros_like(numbers)
        if isinstance(self.classes, np.ndarray):
            return self.classes[numbers]
        return xp.reshape(xp.take(self.classes, xp.reshape(numbers, (-1,)), axis=0), tuple(numbers.shape))
