"""One wrong value in the targets: the lines of least squares and of Huber's loss, with and without it."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.linear_model import HuberRegressor, LinearRegression


def draw() -> Figure:
    random = np.random.default_rng(0)
    X = np.sort(random.uniform(0, 4, size=(60, 1)), axis=0)
    y = X[:, 0] + 0.3 * random.normal(size=60)
    wrong = y.copy()
    wrong[50] = 40.0
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.2), sharey=True)
    for ax, model in zip(axes, (LinearRegression(), HuberRegressor()), strict=True):
        ax.plot(X[:, 0], y, ".", color="0.5", markersize=4)
        ax.plot(X[:, 0], model.fit(X, y).predict(X), color="tab:blue", label="the rows")
        ax.plot(X[:, 0], model.fit(X, wrong).predict(X), color="tab:red", label="with one value of 40")
        ax.set(title=type(model).__name__, ylim=(-1, 6))
        ax.legend()
    return figure
