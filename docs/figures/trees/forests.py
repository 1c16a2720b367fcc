"""One tree and a forest in the plane, and the errors of forests by their number of trees."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from mercer.ensemble import ExtraTreesClassifier, RandomForestClassifier
from mercer.tree import DecisionTreeClassifier

SIZES = np.arange(1, 101)


def errors_by_size(model: object, X: np.ndarray, y: np.ndarray) -> list[float]:
    """The error of the mean of the first trees."""
    shares = np.cumsum([member.predict_proba(X) for member in model.estimators_], axis=0)
    return [float(np.mean(shares[size - 1].argmax(axis=1) != y)) for size in SIZES]


def shade(ax: object, model: object, X: np.ndarray, y: np.ndarray, title: str) -> None:
    """Points over the share of the second class."""
    low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
    grid = np.meshgrid(np.linspace(low[0], high[0], 160), np.linspace(low[1], high[1], 160))
    share = model.predict_proba(np.column_stack([axis.ravel() for axis in grid]))[:, 1].reshape(160, 160)
    ax.contourf(*grid, share, levels=np.linspace(0, 1, 11), cmap="coolwarm", alpha=0.6)
    ax.scatter(*X.T, c=y, s=4, cmap="coolwarm")
    ax.set(title=title, xticks=[], yticks=[])


def draw() -> Figure:
    X, y = make_moons(2300, noise=0.3, random_state=0)
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.0))
    shade(axes[0], DecisionTreeClassifier(random_state=0).fit(X[:300], y[:300]), X[:300], y[:300], "one tree")
    shade(axes[1], RandomForestClassifier(random_state=0).fit(X[:300], y[:300]), X[:300], y[:300], "100 trees")
    forest = RandomForestClassifier(100, oob_score=True, random_state=0).fit(X[:300], y[:300])
    extra = ExtraTreesClassifier(100, random_state=0).fit(X[:300], y[:300])
    axes[2].plot(SIZES, errors_by_size(forest, X[300:], y[300:]), color="C0", label="RandomForest, new rows")
    axes[2].plot(SIZES, errors_by_size(extra, X[300:], y[300:]), color="C1", label="ExtraTrees, new rows")
    axes[2].plot(SIZES, forest.history_["oob_error"], ":", color="C0", label="RandomForest, rows left out")
    axes[2].set(xscale="log", xlabel="trees", ylabel="error", title="the error settles")
    axes[2].legend(fontsize=7)
    return figure
