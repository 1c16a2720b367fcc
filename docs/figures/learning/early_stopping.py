"""Losses of training and of validation rows from epoch to epoch, with the epoch at which to stop."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.inspection import EpochCurveDisplay
from mercer.optim import MaxIter, NoImprovement, minimize


def draw() -> Figure:
    random = np.random.default_rng(0)
    X, X_val = random.normal(size=(25, 20)), random.normal(size=(200, 20))
    truth = np.append(np.ones(3), np.zeros(17))
    y, y_val = X @ truth + random.normal(size=25), X_val @ truth + random.normal(size=200)
    watch = NoImprovement(lambda w: 0.5 * np.mean((X_val @ w - y_val) ** 2), patience=40)
    result = minimize(
        lambda w: 0.5 * np.mean((X @ w - y) ** 2),
        np.zeros(20),
        grad=lambda w: X.T @ (X @ w - y) / 25,
        method="gradient_descent",
        learning_rate=0.05,
        stop=watch | MaxIter(2000),
    )
    figure, axes = plt.subplots(figsize=(5.0, 3.0))
    EpochCurveDisplay.from_estimator(result, watch, ax=axes)
    return figure
