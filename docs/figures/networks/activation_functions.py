"""Activation functions and their derivatives, and the step beside the logistic function."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.neural_network import Activation


def draw() -> Figure:
    figure, axes = plt.subplots(2, 5, figsize=(9.0, 3.6), sharex=True)
    z = np.linspace(-4.0, 4.0, 401)
    for ax, name in zip(axes.ravel(), Activation.names, strict=False):
        ax.plot(z, Activation(name).compute(z), label="value")
        ax.plot(z, Activation(name).differentiate(z), "--", label="derivative")
        ax.set(title=name, ylim=(-1.4, 3.0))
    axes[0, 0].legend(loc="lower right")
    last = axes[1, 4]
    last.plot(z, Activation("step").compute(z), label="step")
    for slope in (1.0, 4.0):
        last.plot(z, Activation("logistic").compute(slope * z), label=f"logistic of {slope:g} z")
    last.set(title="step and logistic", ylim=(-0.2, 2.6))
    last.legend(loc="upper left")
    for ax in axes[1]:
        ax.set_xlabel("z")
    return figure
