"""A dendrogram of the fish, and two rings as three linkages see them."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.cluster import AgglomerativeClustering, linkage
from mercer.datasets import load_fish
from mercer.inspection import DendrogramDisplay


def draw() -> Figure:
    X = load_fish().data
    Z = linkage((X - X.mean(axis=0)) / X.std(axis=0), "ward")
    figure, axes = plt.subplots(1, 4, width_ratios=(2.2, 1, 1, 1))
    cut = np.argmax(np.diff(Z[:, 2]))
    DendrogramDisplay(Z, height=Z[cut : cut + 2, 2].mean(), n_merges=40).plot(ax=axes[0])
    axes[0].set(title="Ward's tree of the fish, the last 40 merges")
    draws = np.random.default_rng(0)
    angle = draws.uniform(0, 2 * np.pi, 300)
    rings = np.column_stack([np.cos(angle), np.sin(angle)]) * np.repeat([1.0, 2.5], 150)[:, None]
    rings += draws.normal(scale=0.1, size=rings.shape)
    for ax, method in zip(axes[1:], ("single", "average", "ward"), strict=True):
        labels = AgglomerativeClustering(2, linkage=method).fit(rings).labels_
        ax.scatter(*rings.T, c=labels, s=4, cmap="coolwarm")
        ax.set(title=method, xticks=[], yticks=[], aspect="equal")
    return figure
