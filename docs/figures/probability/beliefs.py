"""The geometric example, James and Stein's risk, Occam's razor by evidence, and predictions that losses choose."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.estimation import (
    BetaGeometric,
    GammaDensity,
    GaussianMean,
)
from mercer.inspection import EvidenceDisplay, JamesSteinDisplay, OptimalPredictionDisplay, ParameterPosteriorDisplay


def draw() -> Figure:
    figure, axes = plt.subplots(1, 4, figsize=(13.0, 3.2))
    theta = np.linspace(0.001, 0.999, 500)
    ParameterPosteriorDisplay.from_belief(BetaGeometric(), [0, 2, 0, 1], theta, ax=axes[0], linewidth=1.2)
    axes[0].set(title="failures 0, 2, 0, 1")
    JamesSteinDisplay.from_dimension(10, ax=axes[1])
    axes[1].set(title="ten means")
    models = {f"spread {spread:g}": GaussianMean(0.0, spread) for spread in (0.01, 1.0, 100.0)}
    EvidenceDisplay.from_models(models, np.linspace(-12, 12, 600), ax=axes[2])
    axes[2].set(title="what models expect")
    OptimalPredictionDisplay.from_density(GammaDensity(3.0, 1.0), np.linspace(0, 14, 1401), ax=axes[3])
    axes[3].set(title="best predictions")
    for one in axes:
        one.legend(fontsize=7)
    return figure
