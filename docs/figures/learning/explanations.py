"""Explanations of a forest: the waterfall of one row, a bee swarm of all rows, and the dependence of one column."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.ensemble import RandomForestRegressor
from mercer.explain import shapley


def draw() -> Figure:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    y = X[:, 0] * X[:, 1] + 2.0 * np.maximum(X[:, 2], 0.0)
    found = shapley(RandomForestRegressor(50, max_depth=8, random_state=0).fit(X, y), X)
    figure, axes = plt.subplots(1, 3, figsize=(12.0, 3.2))
    found.plot_waterfall(0, ax=axes[0])
    found.plot_beeswarm(ax=axes[1])
    found.plot_dependence(0, ax=axes[2])
    return figure
