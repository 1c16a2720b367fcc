"""EM on two clusters step by step, and where k-means and a mixture part ways."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.cluster import KMeans
from mercer.inspection import EMPanelsDisplay, MixtureDisplay
from mercer.mixture import GaussianMixture


def draw() -> Figure:
    """Panels of EM from a poor start, and the log-likelihood."""
    generator = np.random.default_rng(1)
    X = np.concatenate(
        [generator.normal(size=(150, 2)) @ [[1.0, 0.6], [0.0, 0.5]], generator.normal(size=(100, 2)) * 0.6 + [1.5, 2.5]]
    )
    start = GaussianMixture(2, means_init=[[-2.0, 2.0], [2.0, 2.0]], precisions_init=[np.eye(2)] * 2)
    figure, axes = plt.subplots(1, 5, figsize=(11.0, 2.6))
    EMPanelsDisplay.from_estimator(start, X, iterations=(0, 1, 5, 20), ax=axes)
    return figure


def draw_comparison() -> Figure:
    """A long cluster beside a small round one: the nearest mean cuts the long one in two."""
    generator = np.random.default_rng(3)
    long, small = generator.normal(size=(300, 2)) * [6.0, 0.4], generator.normal(size=(60, 2)) * 0.4 + [0.0, 3.0]
    X = np.concatenate([long, small])
    clusters = KMeans(2, n_init=5, random_state=0).fit(X)
    model = GaussianMixture(2, n_init=5, random_state=0).fit(X)
    figure, (left, right) = plt.subplots(1, 2)
    left.scatter(*X.T, s=5, c=clusters.labels_, cmap="tab10", vmax=9, alpha=0.7, linewidths=0)
    left.scatter(*clusters.cluster_centers_.T, marker="x", s=60, color="black")
    left.set(title="k-means")
    MixtureDisplay.from_estimator(model, X, ax=right)
    right.set(title="Gaussian mixture")
    return figure
