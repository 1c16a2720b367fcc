"""k-means on the fish: the partition it ends with, and the inertia of several starts step by step."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.cluster import KMeans
from mercer.datasets import load_fish


def draw() -> Figure:
    fish = load_fish()
    X = fish.data[:, [0, 3]]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KMeans(4, n_init=10, random_state=0).fit(X)
    figure, (left, right) = plt.subplots(1, 2)
    _draw_partition(left, model, X)
    for seed in range(6):
        run = KMeans(4, init="random", n_init=1, tol=0.0, random_state=seed).fit(X)
        right.plot(run.history_["step"], run.history_["objective"], marker=".", linewidth=1)
    right.set(xlabel="step", ylabel="inertia", title="six starts, never uphill")
    return figure


def _draw_partition(axes: plt.Axes, model: KMeans, X: np.ndarray) -> None:
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across, up = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
    cells = model.predict(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    axes.pcolormesh(across, up, cells, cmap="Pastel1", shading="nearest", rasterized=True)
    axes.scatter(*X.T, s=4, color="0.3")
    axes.scatter(*model.cluster_centers_.T, marker="x", s=60, color="black")
    axes.set(xlabel="length (standardised)", ylabel="lightness (standardised)", title="nearest centre")
