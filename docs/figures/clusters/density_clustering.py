"""Density clustering: the curve of k-distances, DBSCAN at its knee, and HDBSCAN where one radius does not do."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from mercer.cluster import DBSCAN, HDBSCAN
from mercer.inspection import KDistanceDisplay


def draw() -> Figure:
    random = np.random.default_rng(0)
    moons = make_moons(300, noise=0.06, random_state=0)[0]
    wide = random.normal([0.5, 3.5], 0.6, size=(120, 2))
    X = np.vstack([moons, wide, random.uniform([-2, -1.5], [3, 5.5], size=(40, 2))])
    figure, (left, middle, right) = plt.subplots(1, 3)
    eps = KDistanceDisplay.from_rows(X[:300], min_samples=5, ax=left).eps_
    _draw_labels(middle, X, DBSCAN(2 * eps).fit(X).labels_, "DBSCAN: one radius for all")
    _draw_labels(right, X, HDBSCAN(15, copy=True).fit(X).labels_, "HDBSCAN: each its own")
    return figure


def _draw_labels(axes: plt.Axes, X: np.ndarray, labels: np.ndarray, title: str) -> None:
    noise = labels < 0
    axes.scatter(*X[noise].T, s=4, color="0.75")
    axes.scatter(*X[~noise].T, s=5, c=labels[~noise] % 10, cmap="tab10", vmin=0, vmax=9)
    axes.set(title=title, xticks=[], yticks=[])
