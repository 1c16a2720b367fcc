"""Conformal intervals of rows whose noise grows: of one width, and of widths that follow the noise."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.conformal import ConformalRegressor, check_coverage
from mercer.neighbors import KNeighborsRegressor


def draw() -> Figure:
    random = np.random.default_rng(0)
    X = np.sort(random.uniform(0, 4, size=(900, 1)), axis=0)
    y = np.sin(2 * X[:, 0]) + (0.1 + 0.3 * X[:, 0]) * random.normal(size=900)
    new, truth = X[::3], y[::3]
    rest = np.delete(np.arange(900), np.arange(0, 900, 3))
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.2), sharey=True)
    for ax, conformity in zip(axes, ("absolute", "normalized"), strict=True):
        model = ConformalRegressor(KNeighborsRegressor(40), conformity=conformity, random_state=0)
        ends = model.fit(X[rest], y[rest]).predict_interval(new, coverage=0.9)
        ax.fill_between(new[:, 0], *ends.T, color="tab:blue", alpha=0.25, linewidth=0)
        ax.plot(new[:, 0], model.predict(new), color="tab:blue")
        ax.plot(new[:, 0], truth, ".", color="0.4", markersize=3)
        halves = check_coverage(truth, ends, groups=np.where(new[:, 0] < 2, "left", "right")).groups
        ax.set_title(f"{conformity}: {halves['left'].coverage:.0%} left, {halves['right'].coverage:.0%} right")
    return figure
