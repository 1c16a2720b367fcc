"""Fish on the conveyor: class densities, posteriors and boundaries, and what a threshold costs."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.datasets import load_fish
from mercer.decision import ClassDensities
from mercer.estimation import GaussianDensity, MixtureDensity
from mercer.inspection import ClassDensityDisplay, CostCurveDisplay, ThresholdCurveDisplay
from mercer.linear_model import LogisticRegression


def draw() -> Figure:
    figure = plt.figure(figsize=(10.5, 3.6))
    grid = figure.add_gridspec(2, 3)
    salmon = MixtureDensity([GaussianDensity(56.0, 12.0), GaussianDensity(78.0, 20.0)], [0.55, 0.45])
    world = ClassDensities([salmon, GaussianDensity(66.0, 25.0)], [0.5, 0.5])
    panels = [figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])]
    ClassDensityDisplay(world, np.linspace(40, 95, 400), names=["salmon", "sea bass"]).plot(ax=panels, linewidth=1.2)
    panels[1].set(xlabel="length / cm")
    fish = load_fish()
    is_salmon = np.asarray(fish.species) == "salmon"
    model = LogisticRegression().fit(fish.data[:, :1], is_salmon)
    middle, right = figure.add_subplot(grid[:, 1]), figure.add_subplot(grid[:, 2])
    ThresholdCurveDisplay.from_estimator(
        model, fish.data[:, :1], is_salmon, costs=[[0, 4], [1, 0]], ax=middle, linewidth=1.2
    )
    CostCurveDisplay.from_estimator(model, fish.data[:, :1], is_salmon, ax=right, linewidth=1.2)
    for axes in (panels[0], middle, right):
        axes.legend(fontsize=7)
    return figure
