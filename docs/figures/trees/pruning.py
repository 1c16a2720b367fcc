"""A tree's rectangles before and after pruning, the cross-validated error by penalty, and the steps of a regression."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from mercer.inspection import LeafRegionsDisplay
from mercer.tree import DecisionTreeClassifier, prune_cost_complexity


def draw() -> Figure:
    X, y = make_moons(200, noise=0.3, random_state=0)
    whole = DecisionTreeClassifier(random_state=0).fit(X, y)
    found = prune_cost_complexity(DecisionTreeClassifier(random_state=0), X, y, cv=10, one_standard_error=True)
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.0))
    for ax, model in zip(axes, (whole, found.estimator), strict=False):
        LeafRegionsDisplay.from_estimator(model, X, y, ax=ax)
        ax.set(title=f"{model.get_n_leaves()} leaves", xticks=[], yticks=[])
    axes[2].errorbar(found.n_leaves, found.errors, found.standard_errors, marker="o", markersize=3, capsize=2)
    axes[2].axvline(found.n_leaves[int(np.flatnonzero(found.alphas == found.alpha)[0])], color="0.5", linewidth=1)
    axes[2].set(xscale="log", xlabel="leaves", ylabel="error of folds left out", title="one standard error")
    return figure
