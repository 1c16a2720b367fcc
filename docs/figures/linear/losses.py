"""Losses of margins beside the 0-1 loss, losses of residuals, and what one outlier does to the lines they fit."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.inspection import LossDisplay
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
    of_labels = [ZeroOne(), PerceptronLoss(), Hinge(), Logistic(), Exponential()]
    LossDisplay.from_losses(of_labels, np.linspace(-2, 2.5, 451), bits=True, ax=left, linewidth=1.2)
    left.set(title="labels", ylim=(-0.1, 4))
    of_numbers = [Squared(), Absolute(), Huber(1.0), EpsilonInsensitive(0.5), Tukey(2.0)]
    LossDisplay.from_losses(of_numbers, ax=middle, linewidth=1.2)
    middle.set(title="numbers", ylim=(-0.1, 4))
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
