"""What happens in each layer of a network for a batch: gradients, saturated and dead units, pre-activations."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError
from mercer.neural_network._layers.activations import Activation
from mercer.neural_network._layers.network import Network

# A unit is saturated for a row where the slope of its activation is at most this share of the largest slope.
_FLAT = 0.05


@dataclass(frozen=True, eq=False)
class LayerReport:
    """What a batch shows of one layer.

    Attributes
    ----------
    name : str
        The name of the layer in the network.
    gradient_norm : float
        Euclidean norm of the gradient by the weights of the layer; 0 for layers without weights.
    weight_norm : float
        Euclidean norm of its weights.
    pre_activations : ndarray of shape (n, units) or None
        What enters the layer, where it is an activation.
    saturated : float
        Share of pre-activations where the slope of the activation is at most a twentieth of its largest value; NaN for
        other layers.
    dead : float
        Share of units whose slope is zero for every row: no gradient reaches what feeds them. NaN for other layers.
    """

    name: str
    gradient_norm: float
    weight_norm: float
    pre_activations: Array | None
    saturated: float
    dead: float


def examine_layers(
    network: Network, theta: Any, X: Any, y: Any, *, loss: Any = "squared_error", statistics: Any = None
) -> list[LayerReport]:
    """Report what a batch shows of each layer of a network.

    Parameters
    ----------
    network : Network
    theta : array of shape (n_weights,)
        The weights.
    X : array of shape (n, ...), or dict of arrays
        Rows.
    y : array of shape (n, ...)
        Targets of the loss; class numbers for 'log_loss'.
    loss : str or Loss, default="squared_error"
        As :meth:`Network.evaluate` takes it.
    statistics : dict or None, default=None
        What batch norm keeps.

    Returns
    -------
    list of LayerReport
        In the order in which the layers run.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import Activation, Dense, Network, examine_layers
    >>> network = Network([Dense(3), Activation("relu"), Dense(1)], (2,))
    >>> theta, _ = network.initialise(0)
    >>> theta[6:9] = [-100.0, 9.0, 9.0]  # a bias that keeps the first unit off
    >>> round(examine_layers(network, theta, np.eye(2), np.ones(2))[1].dead, 2)
    0.33
    """
    theta = np.asarray(theta, dtype=np.float64)
    rows = X if isinstance(X, dict) else np.asarray(X, dtype=np.float64)
    n_rows = len(next(iter(rows.values()))) if isinstance(rows, dict) else len(rows)
    if n_rows == 0:
        raise DataError("examine_layers: X must hold at least one row; got none.")
    _, gradient, trace = network.evaluate(theta, rows, np.asarray(y), loss=loss, statistics=statistics)
    slopes, weights = network.split(gradient), network.split(theta)
    reports = []
    for node in network.nodes:
        values, saturated, dead = None, np.nan, np.nan
        if isinstance(node.layer, Activation):
            # What goes into the activation: the pre-activations of the layer before.
            values = trace.outputs[node.sources[0]].reshape(n_rows, -1)
            saturated, dead = _measure_slopes(node.layer, values)
        reports.append(
            LayerReport(node.name, _norm(slopes[node.name]), _norm(weights[node.name]), values, saturated, dead)
        )
    return reports


def _norm(parts: dict[str, Array]) -> float:
    return float(np.sqrt(sum(float((part * part).sum()) for part in parts.values())))


def _measure_slopes(layer: Activation, values: Array) -> tuple[float, float]:
    """Return the share of flat places, and the share of units that are flat for every row."""
    slopes = np.abs(layer.differentiate(values))
    # The slopes of a wide range, for the largest one that the activation has.
    largest = float(np.abs(layer.differentiate(np.linspace(-4.0, 4.0, 801))).max()) or 1.0
    return float((slopes <= _FLAT * largest).mean()), float((slopes == 0).all(axis=0).mean())
