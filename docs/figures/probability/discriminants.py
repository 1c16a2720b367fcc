"""Discriminants: the boundaries of the nearest mean, the linear and the quadratic discriminant on the same rows."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mercer.neighbors import NearestCentroid


def draw() -> Figure:
    random = np.random.default_rng(0)
    covariances = [[[3.0, 1.8], [1.8, 1.5]], [[0.6, 0.3], [0.3, 0.5]]]
    X = np.concatenate([random.multivariate_normal(m, C, 150) for m, C in zip(([0, 0], [2.5, 0]), covariances)])
    y = np.repeat([0, 1], 150)
    across, up = np.meshgrid(np.linspace(-5, 6, 300), np.linspace(-4, 4, 300))
    grid = np.c_[across.ravel(), up.ravel()]
    figure, panels = plt.subplots(1, 3, sharex=True, sharey=True)
    models = (NearestCentroid(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis())
    titles = ("nearest mean", "one covariance", "a covariance each")
    for axes, model, title in zip(panels, models, titles):
        region = model.fit(X, y).predict(grid).reshape(across.shape)
        axes.contourf(across, up, region, levels=[-0.5, 0.5, 1.5], colors=["tab:blue", "tab:orange"], alpha=0.2)
        axes.contour(across, up, region, levels=[0.5], colors="black", linewidths=1.0)
        for label, colour in ((0, "tab:blue"), (1, "tab:orange")):
            axes.plot(*X[y == label].T, ".", color=colour, markersize=3)
        axes.set_title(f"{title}: {model.score(X, y):.2f}")
    return figure
