"""Decisions of 1 and 15 neighbours, and the leave-one-out error of every number of neighbours."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.neighbors import KNeighborsClassifier, select_n_neighbors


def draw() -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.2))
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 300)
    rows = random.normal(size=(300, 2)) + np.where(labels[:, None] == 1, [1.4, 0.8], [0.0, 0.0])
    grid = np.stack(np.meshgrid(np.linspace(-3, 4.5, 120), np.linspace(-3, 4, 120)), axis=-1)
    for panel, k in zip(axes[:2], (1, 15), strict=True):
        model = KNeighborsClassifier(k).fit(rows, labels)
        shares = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(120, 120)
        panel.contourf(grid[..., 0], grid[..., 1], shares, levels=[-0.1, 0.5, 1.1], colors=["C0", "C1"], alpha=0.2)
        for label in (0, 1):
            panel.plot(*rows[labels == label].T, ".", color=f"C{label}", markersize=3)
        panel.set(title=f"k = {k}", xticks=[], yticks=[])
    choice = select_n_neighbors(rows, labels, max_neighbors=120)
    numbers = np.arange(1, len(choice.scores) + 1)
    errors = 1.0 - choice.scores
    axes[2].plot(numbers, errors, linewidth=1.2, label="leave-one-out")
    axes[2].fill_between(numbers, errors - choice.standard_errors, errors + choice.standard_errors, alpha=0.2)
    # Two spherical Gaussians of unit variance and equal priors: the Bayes error is Phi(-distance / 2).
    bayes = 0.2101
    axes[2].axhline(bayes, color="0.4", linewidth=0.8, linestyle="--", label="Bayes error")
    axes[2].axhline(2 * bayes * (1 - bayes), color="0.4", linewidth=0.8, linestyle=":", label="bound for k = 1")
    axes[2].set(xlabel="k", ylabel="error", xscale="log")
    axes[2].legend(fontsize=7)
    return figure
