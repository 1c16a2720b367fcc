"""Pre-activations of a deep tanh network without and with batch norm, and the gradient norm of each layer."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.neural_network import Activation, BatchNorm, Dense, Network

DEPTH = 10


def measure(normalised: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the pre-activations of the last hidden layer, and the norm of each layer's gradient."""
    random = np.random.default_rng(0)
    layers = []
    for _ in range(DEPTH):
        layers += [Dense(50, initialiser="he_normal"), *([BatchNorm()] if normalised else []), Activation("tanh")]
    network = Network([*layers, Dense(1)], (20,))
    theta, statistics = network.initialise(0)
    # Weights three times too large: without normalisation the units saturate.
    theta = 3.0 * theta if not normalised else theta * np.where(np.abs(theta - 1.0) < 1e-12, 1.0, 3.0)
    X, y = random.normal(size=(256, 20)), random.normal(size=256)
    _, gradient, trace = network.evaluate(theta, X, y, statistics=statistics, training=True)
    own = network.split(gradient)
    norms = [np.linalg.norm(part["W"]) for name, part in own.items() if "Dense" in name]
    before = [name for name in network.names if "Activation" in name][-1]
    source = next(node.sources[0] for node in network.nodes if node.name == before)
    return trace.outputs[source].ravel(), np.array(norms)


def draw() -> Figure:
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 2.8))
    for normalised, label in ((False, "without batch norm"), (True, "with batch norm")):
        values, norms = measure(normalised)
        left.hist(values, bins=np.linspace(-15, 15, 61), density=True, alpha=0.6, label=label)
        right.semilogy(np.arange(1, len(norms) + 1), norms, "o-", label=label)
    left.axvspan(-2, 2, color="0.9", zorder=0)
    left.set(xlabel="pre-activation in hidden layer 10", ylabel="density", title="tanh is flat outside the grey band")
    right.set(xlabel="layer", ylabel="norm of the gradient", title="gradient norm of each layer")
    left.legend()
    right.legend()
    return figure
