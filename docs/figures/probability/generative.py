"""Estimators as marksmen, a regression that dreams, and a density that goes through a sigmoid."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit, logit

from mercer.estimation import GaussianDensity, GenerativeRegression, TransformedDensity, simulate_risk
from mercer.inspection import GenerativeRegressionDisplay, TransformedDensityDisplay


def draw() -> Figure:
    figure = plt.figure(figsize=(10.5, 6.0))
    grid = figure.add_gridspec(2, 6)
    left, middle = figure.add_subplot(grid[0, :3]), figure.add_subplot(grid[0, 3:])
    lower = [figure.add_subplot(grid[1, 2 * k : 2 * k + 2]) for k in range(3)]
    truth = np.array([2.0, 1.0])
    for factor, color in ((1.0, "tab:blue"), (0.6, "tab:orange")):
        risk = simulate_risk(
            lambda x, factor=factor: factor * x.mean(axis=0),
            GaussianDensity(truth, 4.0),
            truth,
            n_samples=5,
            n_repeats=150,
            random_state=0,
        )
        label = f"{factor:g} of the mean: {risk.mean_squared_error:.2f}"
        left.plot(*risk.estimates.T, ".", markersize=3, color=color, label=label)
    for radius in (0.5, 1.0, 1.5):
        left.add_patch(plt.Circle(truth, radius, fill=False, color="grey", linewidth=0.6))
    left.set(title="bias and variance", aspect="equal")
    model = GenerativeRegression(lambda x: np.sin(6 * x[:, 0]), GaussianDensity(0.0, 0.04))
    GenerativeRegressionDisplay.from_model(model, np.linspace(0, 1, 60), n_samples=2, ax=middle)
    middle.set(title="function, noise, fantasies")
    squeezed = {f"w = {w:g}": _squeeze(w) for w in (0.5, 1.5, 4.0)}
    TransformedDensityDisplay.from_densities(squeezed, np.linspace(-4, 4, 2001), ax=lower)
    lower[1].set(title="a Gaussian through a sigmoid")
    for one in (left, middle, lower[2]):
        one.legend(fontsize=7)
    return figure


def _squeeze(w: float) -> TransformedDensity:
    """Return the density of the sigmoid of w x, for x normal."""
    return TransformedDensity(
        GaussianDensity(0.0, 1.0),
        lambda x: expit(w * x),
        lambda y: logit(y) / w,
        lambda x: w * expit(w * x) * expit(-w * x),
    )
