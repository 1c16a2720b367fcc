"""Mistakes of the perceptron against (R / gamma)^2, and objectives of plain and of averaged steps."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.linear_model import GeneralizedLinearEstimator, Perceptron, SGDClassifier


def draw() -> Figure:
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.0))
    _draw_mistakes(left)
    _draw_descent(right)
    return figure


def _draw_mistakes(axes: plt.Axes) -> None:
    random = np.random.default_rng(0)
    bounds, mistakes = [], []
    for margin in np.geomspace(0.02, 0.8, 12):
        for _ in range(3):
            u = random.normal(size=5)
            u /= np.linalg.norm(u)
            X = random.normal(size=(400, 5))
            side = np.where(X @ u > 0, 1, -1)
            X += np.outer(side * np.maximum(margin - np.abs(X @ u), 0.0), u)
            model = Perceptron(fit_intercept=False, tol=None).fit(X, side)
            bounds.append((np.linalg.norm(X, axis=1).max() / margin) ** 2)
            mistakes.append(model.history_["updates"].sum())
    ends = [min(bounds), max(bounds)]
    axes.loglog(bounds, mistakes, ".", label="mistakes until separated")
    axes.loglog(ends, ends, "k-", linewidth=1, label="bound")
    axes.set(xlabel=r"$(R / \gamma)^2$", title="perceptron")
    axes.legend(fontsize=7)


def _draw_descent(axes: plt.Axes) -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(2000, 10))
    t = np.where(X @ random.normal(size=10) + 2 * random.normal(size=2000) > 0, 1, -1)
    best = GeneralizedLinearEstimator("hinge", alpha=0.01, tol=1e-8).fit(X, t).history_["objective"][-1]
    for name, settings in {
        "constant": {"learning_rate": "constant", "eta0": 0.02},
        "constant, averaged": {"learning_rate": "constant", "eta0": 0.02, "average": True},
        "1 / (alpha t)": {},
        "1 / (alpha t), averaged": {"average": True},
    }.items():
        model, excess = SGDClassifier(alpha=0.01, random_state=0, **settings), []
        for _ in range(40):
            model.partial_fit(X, t, classes=[-1, 1])
            loss = np.maximum(0, 1 - t * model.decision_function(X)).mean()
            excess.append(loss + 0.005 * np.sum(model.coef_**2) - best)
        axes.loglog(np.arange(1, 41), excess, linewidth=1.2, label=name)
    axes.set(xlabel="epochs", title="objective above its minimum")
    axes.legend(fontsize=7)
