"""The L2 penalty on the weights of a network, without biases and the parameters of normalisations."""

import numpy as np

from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.neural_network._layers.layer import as_like
from mercer.neural_network._layers.network import Network


def mark_weights(network: Network) -> np.ndarray:
    """Return 1 for the weights that a penalty applies to, and 0 for biases and the parameters of normalisations."""
    marks = np.zeros(network.n_weights)
    for node in network.nodes:
        for key, (place, _) in node.weights.items():
            if key[0] in "WU":
                marks[place] = 1.0
    return marks


def penalise(theta: Array, marks: np.ndarray, alpha: float) -> tuple[float, Array]:
    """Return alpha / 2 times the sum of squares of the marked weights, and its gradient."""
    slope = alpha * as_like(marks, theta) * theta
    return 0.5 * float(namespace_of(theta).sum(slope * theta)), slope
