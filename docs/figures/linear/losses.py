"""Losses of margins beside the 0-1 loss, losses of residuals, and what one outlier does to the lines they fit."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.linear_model import GeneralizedLinearEstimator
from mercer.objectives import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    PerceptronLoss,
    Squared,
    Tukey,
    ZeroOne,
)


def draw() -> Figure:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10.5, 3.2))
    margin, ones = np.linspace(-2, 2.5, 451)[:, None], np.ones(451)
    for loss in (ZeroOne(), PerceptronLoss(), Hinge(), Logistic(), Exponential()):
        factor = 1 / np.log(2) if isinstance(loss, Logistic) else 1.0
        width = 2.5 if isinstance(loss, ZeroOne) else 1.2
        left.plot(margin, factor * loss.value(margin, ones, np), linewidth=width, label=type(loss).__name__)
    left.set(xlabel="margin", title="labels", ylim=(-0.1, 4))
    residual, zero = np.linspace(-3, 3, 601)[:, None], np.zeros(601)
    for loss in (Squared(), Absolute(), Huber(1.0), EpsilonInsensitive(0.5), Tukey(2.0)):
        middle.plot(residual, loss.value(residual, zero, np), linewidth=1.2, label=type(loss).__name__)
    middle.set(xlabel="residual", title="numbers", ylim=(-0.1, 4))
    random = np.random.default_rng(0)
    x = np.linspace(0, 1, 15)[:, None]
    y = 2 * x[:, 0] + 0.1 * random.normal(size=15)
    y[-2] = -6.0
    right.plot(x, y, "k.", markersize=4)
    for name in ("squared", "absolute", "huber"):
        model = GeneralizedLinearEstimator(name, alpha=1e-6).fit(x, y)
        right.plot(x, model.predict(x), linewidth=1.2, label=name)
    right.set(title="one outlier", ylim=(-2, 3))
    for axes in (left, middle, right):
        axes.legend(fontsize=7)
    return figure
