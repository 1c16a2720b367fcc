"""The loss of a network's outputs against targets, for images and sequences."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.neural_network._layers.losses import OutputLoss
from mercer.neural_network._layers.network import Network
from mercer.neural_network._relatives.training import TrainingState

__all__ = ["Supervised"]


@dataclass(frozen=True, eq=False)
class Supervised:
    """The mean loss of a batch plus an L2 penalty on the weights; a ``Task``.

    Parameters
    ----------
    network : Network
    inputs : dict of array
        The rows of every input of the network, by name.
    targets : array of shape (n,) or (n, ...)
    weight : array of shape (n,) or (n, time), or None
        Weights of rows, or of the steps of sequences.
    loss : OutputLoss
    alpha : float
    penalised : array of shape (n_weights,)
        1 for the weights that the penalty applies to.
    """

    network: Network
    inputs: dict[str, Array]
    targets: Array
    weight: Array
    loss: OutputLoss
    alpha: float
    penalised: Array

    @property
    def n_rows(self) -> int:
        return len(self.targets)

    def _take(self, rows: Array, dtype: Any) -> tuple[dict[str, Array], Array, Array]:
        inputs = {
            name: values[rows].astype(dtype, copy=False).reshape(len(rows), *self.network.inputs[name])
            for name, values in self.inputs.items()
        }
        weight = None if self.weight is None else self.weight[rows].astype(dtype, copy=False)
        return inputs, self.targets[rows], weight

    def learn(self, state: TrainingState, rows: Array) -> tuple[float, Array, dict[str, Any]]:
        inputs, targets, weight = self._take(rows, state.theta.dtype)
        if weight is not None and not weight.any():
            return 0.0, np.zeros_like(state.theta), state.statistics
        options: dict[str, Any] = {"training": True, "seed": state.seed, "step": state.step}
        trace = self.network.forward(state.theta, inputs, state.statistics, **options)
        value, by_output = self.loss.evaluate(trace.output, targets, weight)
        slope = self.network.backward(trace, by_output)[0]
        if self.alpha:
            value += 0.5 * self.alpha * float((self.penalised * state.theta * state.theta).sum())
            slope = slope + self.alpha * self.penalised * state.theta
        return value, slope, trace.statistics

    def judge(self, state: TrainingState, rows: Array) -> float:
        inputs, targets, weight = self._take(rows, state.theta.dtype)
        if weight is not None and not weight.any():
            return 0.0
        output = self.network.forward(state.theta, inputs, state.statistics).output
        return self.loss.evaluate(output, targets, weight)[0]
