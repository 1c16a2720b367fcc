"""Two moons under three strengths of weight decay."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from mercer.neural_network import MLPClassifier


def draw() -> Figure:
    X, y = make_moons(120, noise=0.3, random_state=1)
    figure, axes = plt.subplots(1, 3, figsize=(8.0, 2.6), sharey=True)
    grid = np.stack(np.meshgrid(np.linspace(-2, 3, 120), np.linspace(-1.6, 2.1, 120)), axis=-1)
    for ax, alpha in zip(axes, (1e-4, 0.3, 10.0), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MLPClassifier((40, 40), "tanh", solver="lbfgs", alpha=alpha, max_iter=300, random_state=0).fit(X, y)
        share = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(120, 120)
        ax.contourf(grid[..., 0], grid[..., 1], share, levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.7)
        ax.scatter(*X.T, c=np.where(y == 1, "navy", "darkred"), s=8)
        ax.set(title=f"alpha = {alpha:g}, accuracy {model.score(X, y):.2f}", xlabel="$x_1$")
    axes[0].set_ylabel("$x_2$")
    return figure
