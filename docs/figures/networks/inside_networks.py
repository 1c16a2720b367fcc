"""What layers show of themselves, a loss surface, a pilot run over learning rates, and a drawing with dropped units."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.inspection import (
    LayeredNetworkDisplay,
    LayerHealthDisplay,
    LearningRatePilotDisplay,
    LossSurfaceDisplay,
)
from mercer.neural_network import Activation, Dense, Network
from mercer.optim import minimize, pilot_learning_rates


def draw() -> Figure:
    figure, axes = plt.subplots(1, 5, figsize=(13.0, 2.8), width_ratios=(1.0, 1.0, 1.0, 1.1, 1.1))
    random = np.random.default_rng(0)
    X = random.uniform(-2, 2, (200, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1]
    layers = [Dense(16), Activation("logistic"), Dense(16), Activation("relu"), Dense(16), Activation("tanh"), Dense(1)]
    network = Network(layers, (2,))
    theta, _ = network.initialise(0)

    def measure(weights: np.ndarray) -> tuple[float, np.ndarray]:
        return network.evaluate(weights, X, y)[:2]

    fitted = minimize(measure, theta, grad=True).x
    LayerHealthDisplay.from_network(network, fitted, X, y, ax=axes[:2])
    LossSurfaceDisplay.from_network(network, fitted, X, y, ax=axes[2])
    axes[2].set_title("loss around the minimum")
    pilot = pilot_learning_rates(
        lambda w: measure(w)[0], theta, grad=lambda w: measure(w)[1], learning_rates=np.logspace(-3, 1, 17), n_steps=30
    )
    LearningRatePilotDisplay(pilot).plot(ax=axes[3])
    LayeredNetworkDisplay([3, 5, 4, 2], dropped=[[], [1, 4], [2], []]).plot(ax=axes[4])
    axes[4].set_title("dropped units")
    return figure
