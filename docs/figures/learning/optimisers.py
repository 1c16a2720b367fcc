"""Optimisers on three surfaces, from one start each."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from mercer.inspection import TrajectoryDisplay
from mercer.optim import HIMMELBLAU, ROSENBROCK, VALLEY, Adam, GradientDescent, MaxIter, Momentum, compare_methods

# Rates of gradient descent, momentum and Adam that come down on each surface.
RATES = {"valley": (0.018, 0.018, 0.1), "Rosenbrock": (0.0015, 0.0003, 0.1), "Himmelblau": (0.01, 0.003, 0.3)}


def draw() -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.2))
    for surface, ax in zip((VALLEY, ROSENBROCK, HIMMELBLAU), axes, strict=True):
        descent, momentum, adam = RATES[surface.name]
        methods = {
            "gradient descent": GradientDescent(descent),
            "momentum": Momentum(momentum),
            "Adam": Adam(adam),
            "L-BFGS": "lbfgs",
        }
        results = compare_methods(surface, methods, stop=MaxIter(150))
        TrajectoryDisplay.from_results(surface, results, ax=ax)
        ax.set(title=surface.name)
        if surface is not VALLEY:
            ax.get_legend().remove()
    return figure
