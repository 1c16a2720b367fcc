"""Boosting a noisy curve: the fit after some rounds, and the loss of training and validation rows."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.ensemble import HistGradientBoostingRegressor


def draw() -> Figure:
    random = np.random.default_rng(0)
    X = random.uniform(0, 3, size=(400, 1))
    y = np.sin(3 * X[:, 0]) * np.exp(-X[:, 0] / 2) + 0.25 * random.normal(size=400)
    x = np.linspace(0, 3, 600)[:, None]
    figure, (left, right) = plt.subplots(1, 2)
    left.plot(X[:, 0], y, ".", color="0.8", markersize=3)
    stages = list(HistGradientBoostingRegressor(max_iter=50, max_leaf_nodes=6).fit(X, y).staged_predict(x))
    for rounds, style in ((1, ":"), (5, "--"), (50, "-")):
        left.plot(x[:, 0], stages[rounds - 1], style, color="C0", linewidth=1, label=f"{rounds} rounds")
    left.set(xlabel="x", ylabel="y", title="a sum of trees")
    left.legend()
    for rate, colour in ((0.1, "C0"), (0.5, "C1")):
        model = HistGradientBoostingRegressor(learning_rate=rate, max_iter=60, n_iter_no_change=8)
        model.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
        rounds = np.arange(len(model.train_score_))
        right.plot(rounds, -model.train_score_, ":", color=colour, linewidth=1)
        right.plot(rounds, -model.validation_score_, "-", color=colour, linewidth=1, label=f"rate {rate}")
        right.plot(rounds[-1], -model.validation_score_[-1], "x", color=colour)
    right.set(xlabel="round", ylabel="mean loss", title="training (dotted) and validation")
    right.legend()
    return figure
