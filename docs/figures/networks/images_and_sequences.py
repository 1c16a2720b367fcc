"""Maps of a convolution, a delayed copy learnt by three recurrences, and gradients through time."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.neural_network import ConvClassifier, Network, RecurrentClassifier, SimpleRecurrent


def draw() -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.0), width_ratios=(1.0, 1.2, 1.2))
    _draw_filters(axes[0])
    _draw_memory(axes[1])
    _draw_gradients(axes[2])
    return figure


def _draw_filters(ax: plt.Axes) -> None:
    random = np.random.default_rng(0)
    images = 0.1 * random.normal(size=(300, 12, 12))
    standing = random.random(300) < 0.5
    for image, stands, place in zip(images, standing, random.integers(1, 11, 300), strict=True):
        image[(slice(None), place) if stands else (place, slice(None))] += 1.0
    model = ConvClassifier(
        filters=(4,), hidden_layer_sizes=(), learning_rate_init=0.02, max_iter=10, random_state=0
    ).fit(images, standing)
    maps = model.network_.forward(model.weights_, images[:3, :, :, None], model._statistics).outputs["1 Activation"]
    rows = [images[:3], *(maps[:, :, :, number] for number in range(2))]
    rows = [row / np.abs(row).max() for row in rows]
    ax.imshow(np.concatenate([np.concatenate(list(row), axis=1) for row in rows]), cmap="gray_r", vmin=0)
    for place in (12, 24):
        ax.axhline(place - 0.5, color="C0")
        ax.axvline(place - 0.5, color="C0")
    ax.set(title="images, and maps of two filters", xticks=[], yticks=[])


def _draw_memory(ax: plt.Axes) -> None:
    bits = np.random.default_rng(0).integers(0, 2, (200, 12))
    y = np.zeros_like(bits)
    y[:, 3:] = bits[:, :-3]
    for cell in ("simple", "gru", "lstm"):
        model = RecurrentClassifier(12, cell=cell, learning_rate_init=0.02, max_iter=40, tol=0.0, random_state=0).fit(
            2.0 * bits[:, :, None] - 1.0, y
        )
        ax.plot(np.arange(1, 41), model.history_["objective"], label=cell)
    ax.axhline(np.log(2) * 9 / 12, color="0.8", zorder=0)
    ax.set(xlabel="pass over the sequences", ylabel="log loss", title="copy of the bit three steps before")
    ax.legend()


def _draw_gradients(ax: plt.Axes) -> None:
    network = Network([SimpleRecurrent(16)], (30, 1))
    theta, _ = network.initialise(0)
    X = 0.1 * np.random.default_rng(0).normal(size=(20, 30, 1))
    for factor in (0.7, 1.0, 1.3):
        weights = theta.copy()
        network.split(weights)["0 SimpleRecurrent"]["U"][:] *= factor
        trace = network.forward(weights, X)
        _, by_input = network.backward(trace, np.ones((20, 16)))
        norms = np.sqrt((by_input["input"] ** 2).sum(axis=(0, 2)))
        ax.semilogy(np.arange(29, -1, -1), norms, label=f"|U| = {factor}")
    ax.set(xlabel="steps back", ylabel="norm of the gradient", title="gradients through time, orthogonal U")
    ax.legend()
