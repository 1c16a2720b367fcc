"""A slope that turns, and one that stays, followed by a constant and by a decaying learning rate."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.linear_model import SGDRegressor

RATES = {
    "constant rate": {"learning_rate": "constant"},
    "decaying rate": {"learning_rate": "invscaling", "power_t": 0.5},
}


def draw() -> Figure:
    random = np.random.default_rng(0)
    n, batch = 4000, 10
    X, noise = random.normal(size=(n, 2)), 0.3 * random.normal(size=n)
    turn = 2 * np.pi * np.arange(n) / n
    figure, panels = plt.subplots(1, 2)
    for axes, angle, title in zip(panels, (turn, np.zeros(n)), ("the truth turns", "the truth stays"), strict=True):
        slopes = 2 * np.column_stack([np.cos(angle), np.sin(angle)])
        y = np.sum(X * slopes, axis=1) + noise
        axes.plot(slopes[:, 0], color="0.6", linewidth=3, label="truth")
        for name, rate in RATES.items():
            model, found = SGDRegressor(alpha=0.0, eta0=0.05, random_state=0, **rate), []
            for start in range(0, n, batch):
                model.partial_fit(X[start : start + batch], y[start : start + batch])
                found.append(model.coef_[0])
            axes.plot(np.arange(batch, n + 1, batch), found, linewidth=1, label=name)
        axes.set(xlabel="rows seen", title=title)
    panels[0].set_ylabel("first coefficient")
    panels[0].legend()
    return figure
