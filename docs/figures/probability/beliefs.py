"""The geometric example, James and Stein's risk, Occam's razor by evidence, and predictions that losses choose."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.estimation import (
    BetaGeometric,
    GammaDensity,
    GaussianMean,
    james_stein_risk,
    optimal_prediction,
)
from mercer.inspection import ParameterPosteriorDisplay


def draw() -> Figure:
    figure, axes = plt.subplots(1, 4, figsize=(13.0, 3.2))
    theta = np.linspace(0.001, 0.999, 500)
    ParameterPosteriorDisplay.from_belief(BetaGeometric(), [0, 2, 0, 1], theta, ax=axes[0], linewidth=1.2)
    axes[0].set(title="failures 0, 2, 0, 1")
    norm = np.linspace(0, 10, 300)
    axes[1].plot(norm, np.full(300, 10.0), label="mean")
    axes[1].plot(norm, james_stein_risk(norm, 10), label="James and Stein")
    axes[1].set(xlabel="distance of the truth", ylabel="total squared error", ylim=(0, 11), title="ten means")
    x = np.linspace(-12, 12, 600)
    for spread in (0.01, 1.0, 100.0):
        axes[2].plot(x, np.exp(GaussianMean(0.0, spread).log_evidence(x[None])), label=f"spread {spread:g}")
    axes[2].set(xlabel="the observation", ylabel="evidence", title="what models expect")
    y = np.linspace(0, 10, 500)
    density = np.exp(GammaDensity(3.0, 1.0).logpdf(y))
    axes[3].plot(y, density, color="black")
    for loss, style in (("squared", "-"), ("absolute", "--"), ("zero_one", ":")):
        axes[3].axvline(float(optimal_prediction(y, density, loss=loss)), linestyle=style, color="grey", label=loss)
    axes[3].set(xlabel="y", title="best predictions")
    for one in axes:
        one.legend(fontsize=7)
    return figure
