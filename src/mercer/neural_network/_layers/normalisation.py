"""Dropout, and layers that normalise: over the rows of a batch, or within each row."""

from dataclasses import dataclass

import numpy as np

from mercer._plain import plain
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import DataError
from mercer.neural_network._layers.layer import Call, Layer, Shape


@plain
@dataclass(frozen=True)
class Dropout(Layer):
    """Set each value to zero with probability `rate` while training, anew in every step (Srivastava et al., 2014).

    Parameters
    ----------
    rate : float in [0, 1)
        The probability that a value is dropped.
    inverted : bool, default=True
        Whether the values that stay are divided by 1 - rate in training, so that prediction changes nothing. Otherwise
        training leaves them, and prediction multiplies all values by 1 - rate. Both give a linear layer the same mean.
    """

    rate: float
    inverted: bool = True

    def infer_shape(self, *shapes: Shape) -> Shape:
        if not 0.0 <= self.rate < 1.0:
            self._refuse("rate must be in [0, 1)", self.rate, "Give the probability that a value is dropped.")
        return shapes[0]

    def forward(self, call: Call, *inputs: Array) -> Array:
        (a,) = inputs
        keep = 1.0 - self.rate
        if not call.training or self.rate == 0.0:
            # Inverted dropout scales while it trains; plain dropout scales when it predicts.
            factor = 1.0 if self.inverted or self.rate == 0.0 else keep
            call.kept = (factor,)
            return a if factor == 1.0 else factor * a
        stays = namespace_of(a).astype(call.draw(tuple(a.shape), a) < keep, a.dtype)
        call.kept = (stays / keep if self.inverted else stays,)
        return a * call.kept[0]

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        return (gradient * call.kept[0],)


@plain
@dataclass(frozen=True)
class BatchNorm(Layer):
    """Give each channel mean zero and variance one over the batch, then a scale and a shift that are learnt.

    Training uses the mean and the variance of the batch and updates running ones; prediction uses the running ones, so
    that a row's output does not depend on the other rows. The channel is the last axis (Ioffe and Szegedy, 2015).

    Parameters
    ----------
    momentum : float in [0, 1), default=0.9
        The share of the running statistics that a step keeps. The first step sets them to those of its batch.
    epsilon : float, default=1e-5
        Added to the variance before the root is taken.
    """

    momentum: float = 0.9
    epsilon: float = 1e-5

    def infer_shape(self, *shapes: Shape) -> Shape:
        if not 0.0 <= self.momentum < 1.0 or not self.epsilon > 0.0:
            got = f"{self.momentum} and {self.epsilon}"
            self._refuse("momentum must be in [0, 1) and epsilon positive", got, "Use 0.9 and 1e-5.")
        return shapes[0]

    def initialise(self, random: np.random.Generator, *shapes: Shape) -> dict[str, np.ndarray]:
        width = shapes[0][-1]
        return {"scale": np.ones(width), "shift": np.zeros(width)}

    def begin_statistics(self, *shapes: Shape) -> dict[str, np.ndarray]:
        width = shapes[0][-1]
        return {"mean": np.zeros(width), "variance": np.ones(width), "steps": np.zeros(1)}

    def forward(self, call: Call, *inputs: Array) -> Array:
        (z,) = inputs
        xp = namespace_of(z)
        # Over all axes but the last: rows, and places of convolutions.
        axes = tuple(range(z.ndim - 1))
        if call.training:
            n = z.shape[0]
            if n * int(np.prod(z.shape[1:-1])) < 2:
                raise DataError(
                    "BatchNorm: a training batch must have at least 2 rows, since the variance of one is zero; "
                    "got 1 sample. Raise batch_size, or drop the last batch."
                )
            mean, variance = xp.mean(z, axis=axes), xp.var(z, axis=axes)
            self._update(call, mean, variance)
        else:
            mean, variance = call.statistics["mean"], call.statistics["variance"]
        root = xp.sqrt(variance + self.epsilon)
        normal = (z - mean) / root
        # The backward pass needs the normalised values and the deviations.
        call.kept = (normal, root, axes)
        return normal * call.weights["scale"] + call.weights["shift"]

    def _update(self, call: Call, mean: Array, variance: Array) -> None:
        """Move the running statistics towards those of the batch."""
        kept = call.statistics
        # A running mean that starts at zero would be too small for 1 / (1 - momentum) steps: start at the first batch.
        old = self.momentum * namespace_of(mean).astype(kept["steps"] > 0, mean.dtype)
        kept["mean"] = old * kept["mean"] + (1.0 - old) * mean
        kept["variance"] = old * kept["variance"] + (1.0 - old) * variance
        kept["steps"] = kept["steps"] + 1.0

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        normal, root, axes = call.kept
        xp = namespace_of(gradient)
        call.gradients["shift"] = xp.sum(gradient, axis=axes)
        call.gradients["scale"] = xp.sum(gradient * normal, axis=axes)
        inner = gradient * call.weights["scale"]
        if not call.training:
            return (inner / root,)
        # The mean and the variance depend on every row of the batch: the parts of the gradient along a constant and
        # along the normalised values themselves vanish.
        along = xp.mean(inner * normal, axis=axes)
        return ((inner - xp.mean(inner, axis=axes) - normal * along) / root,)


@plain
@dataclass(frozen=True)
class LayerNorm(Layer):
    """Give each row mean zero and variance one over its last axis, then a scale and a shift that are learnt.

    Rows do not depend on each other, so training and prediction are the same (Ba, Kiros and Hinton, 2016).

    Parameters
    ----------
    epsilon : float, default=1e-5
        Added to the variance before the root is taken.
    """

    epsilon: float = 1e-5

    def initialise(self, random: np.random.Generator, *shapes: Shape) -> dict[str, np.ndarray]:
        width = shapes[0][-1]
        return {"scale": np.ones(width), "shift": np.zeros(width)}

    def forward(self, call: Call, *inputs: Array) -> Array:
        (z,) = inputs
        xp = namespace_of(z)
        mean, variance = xp.mean(z, axis=-1, keepdims=True), xp.var(z, axis=-1, keepdims=True)
        root = xp.sqrt(variance + self.epsilon)
        normal = (z - mean) / root
        call.kept = (normal, root)
        return normal * call.weights["scale"] + call.weights["shift"]

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        normal, root = call.kept
        xp, axes = namespace_of(gradient), tuple(range(gradient.ndim - 1))
        call.gradients["shift"] = xp.sum(gradient, axis=axes)
        call.gradients["scale"] = xp.sum(gradient * normal, axis=axes)
        inner = gradient * call.weights["scale"]
        along = xp.mean(inner * normal, axis=-1, keepdims=True)
        return ((inner - xp.mean(inner, axis=-1, keepdims=True) - normal * along) / root,)
