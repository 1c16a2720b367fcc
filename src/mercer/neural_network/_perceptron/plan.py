"""What a fit of a perceptron minimises and how: the chain of layers, the loss, the penalty, the steps."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.neural_network._layers.activations import Activation
from mercer.neural_network._layers.dense import Dense, TableEmbedding
from mercer.neural_network._layers.layer import Layer
from mercer.neural_network._layers.losses import OutputLoss
from mercer.neural_network._layers.network import Network
from mercer.neural_network._layers.normalisation import BatchNorm, Dropout

# Activations that native code knows, by their numbers there.
_ACTIVATIONS = {"identity": 0, "logistic": 1, "tanh": 2, "relu": 3, "leaky_relu": 4, "elu": 5, "softplus": 6}


@dataclass(frozen=True, eq=False)
class Plan:
    """The objective and the steps of a fit.

    Parameters
    ----------
    n_features, hidden, n_outputs : int, tuple of int and int
        The widths of the layers.
    activation : str
    loss : OutputLoss
    alpha, power : float
        The penalty alpha |w|^power / power on the weights, not on the biases, divided by the weight of a batch.
    dropout, batch_norm : float and bool
        Between the hidden layers.
    initialiser : str
    embedding : TableEmbedding or None
        What columns of codes become, before the first layer.
    method : str or Method
        "adam" or "sgd", or a method of mercer.optim that takes batches.
    rules : tuple of float
        Of "adam" and "sgd": momentum or beta_1, beta_2, epsilon.
    nesterov : bool
    batch_size : int
    shuffle : bool
    clip_norm, clip_value : float or None
        The greatest norm of a gradient.
    warm_up : int
        Steps in which the learning rate rises to its value.
    average_from : int or None
        The epoch from which the weights at the end of each are averaged.
    mask : array or None
        Zero for weights that were pruned and stay zero.
    """

    n_features: int
    hidden: tuple[int, ...]
    n_outputs: int
    activation: str
    loss: OutputLoss
    alpha: float = 0.0
    power: float = 2.0
    dropout: float = 0.0
    batch_norm: bool = False
    initialiser: str = "sklearn"
    embedding: TableEmbedding | None = None
    method: Any = "adam"
    rules: tuple[float, float, float] = (0.9, 0.999, 1e-8)
    nesterov: bool = True
    batch_size: int = 200
    shuffle: bool = True
    clip_norm: float | None = None
    clip_value: float | None = None
    warm_up: int = 0
    average_from: int | None = None
    mask: Array = field(default=None)

    @cached_property
    def network(self) -> Network:
        """The layers."""
        layers: list[Layer] = [] if self.embedding is None else [self.embedding]
        for width in self.hidden:
            # Batch norm takes away any bias before it. Its gradient would be rounding alone, which Adam enlarges to
            # whole steps, and the running means would follow them too late.
            bias = not self.batch_norm
            layers.append(Dense(width, bias=bias, initialiser=self.initialiser, activation=self.activation))
            if self.batch_norm:
                layers.append(BatchNorm())
            layers.append(Activation(self.activation))
            if self.dropout > 0.0:
                layers.append(Dropout(self.dropout))
        layers.append(Dense(self.n_outputs, initialiser=self.initialiser, activation="identity"))
        return Network(layers, (self.n_features,))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The widths of all dense layers, from what goes into the first to the outputs."""
        inputs = self.n_features if self.embedding is None else self.embedding.infer_shape((self.n_features,))[0]
        return (inputs, *self.hidden, self.n_outputs)

    @cached_property
    def native_kinds(self) -> tuple[int, int] | None:
        """The activation and the loss as native code numbers them; None where it does not know the network."""
        plain = self.embedding is None and not self.batch_norm and self.dropout == 0.0
        loss = self.loss.loss
        single = loss.n_scores in (1, self.n_outputs)
        if not plain or not loss.has_native or not single or self.activation not in _ACTIVATIONS:
            return None
        return _ACTIVATIONS[self.activation], loss.native

    @cached_property
    def native_method(self) -> int:
        """The method as native code numbers it; 0 where only the gradient is native."""
        if self.method not in ("adam", "sgd"):
            return 0
        special = self.clip_norm is not None or self.clip_value is not None or self.warm_up > 0 or self.mask is not None
        if special or (self.alpha > 0 and self.power != 2.0):
            return 0
        return 3 if self.method == "adam" else (2 if self.nesterov and self.rules[0] > 0 else 1)

    @cached_property
    def is_weight(self) -> np.ndarray:
        """Whether each entry of theta is a weight, which the penalty sees, or a bias, a scale or a shift."""
        marks = np.zeros(self.network.n_weights, dtype=bool)
        for node in self.network.nodes:
            if "W" in node.weights:
                marks[node.weights["W"][0]] = True
        return marks

    @property
    def n_carried(self) -> int:
        """The number of arrays of the shape of theta that the method carries along."""
        if isinstance(self.method, str):
            return 2 if self.method == "adam" else 1
        return -1

    @cached_property
    def _marks(self) -> dict[Any, Array]:
        """Ones for weights and zeros for the others, by library, precision and device."""
        return {}

    def _mark_weights(self, theta: Array, xp: Any) -> Array:
        place = (xp, theta.dtype, theta.device)
        if place not in self._marks:
            self._marks[place] = xp.asarray(self.is_weight, dtype=theta.dtype, device=theta.device)
        return self._marks[place]

    def penalty(self, theta: Array, xp: Any) -> tuple[Array, Array]:
        """Return alpha |w|^power / power over the weights, as an array of no axes, and its derivative."""
        w = theta * self._mark_weights(theta, xp)
        size = xp.abs(w)
        if self.power == 2.0:
            return 0.5 * self.alpha * xp.sum(w * w), self.alpha * w
        if self.power == 1.0:
            return self.alpha * xp.sum(size), self.alpha * xp.sign(w)
        # For powers below one the derivative is infinite at zero: it is bounded there.
        slope = xp.sign(w) * xp.maximum(size, 1e-8 + 0.0 * size) ** (self.power - 1.0)
        return self.alpha / self.power * xp.sum(size**self.power), self.alpha * slope

    def count_work(self) -> float:
        """Return the floating-point operations of a row's passes."""
        return 6.0 * sum(a * b for a, b in zip(self.widths[:-1], self.widths[1:], strict=True))

    def fold(self, theta: np.ndarray, statistics: dict[str, Any]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the matrices and biases of an equal chain of dense layers: a trained batch norm is affine."""
        coefs, intercepts = [], []
        for node, own in zip(self.network.nodes, self.network.split(theta).values(), strict=True):
            if isinstance(node.layer, Dense):
                coefs.append(own["W"].copy())
                intercepts.append(own["b"].copy() if "b" in own else np.zeros(own["W"].shape[1], own["W"].dtype))
            elif isinstance(node.layer, BatchNorm):
                kept = statistics[node.name]
                # y = scale (x - mean) / sqrt(var + eps) + shift is affine in x.
                factor = own["scale"] / np.sqrt(kept["variance"] + node.layer.epsilon)
                coefs[-1] = coefs[-1] * factor
                intercepts[-1] = (intercepts[-1] - kept["mean"]) * factor + own["shift"]
        return coefs, intercepts
