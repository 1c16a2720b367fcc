"""Estimators as marksmen, a regression that dreams, and a density that goes through a sigmoid."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit, logit

from mercer.estimation import GaussianDensity, GenerativeRegression, TransformedDensity, simulate_risk


def draw() -> Figure:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10.5, 3.2))
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
    x = np.linspace(0, 1, 60)[:, None]
    model = GenerativeRegression(lambda x: np.sin(6 * x[:, 0]), GaussianDensity(0.0, 0.04))
    centre, deviation = model.predict(x), np.sqrt(model.noise.variance)
    middle.fill_between(x[:, 0], centre - 2 * deviation, centre + 2 * deviation, alpha=0.3)
    middle.plot(x, centre, label="function")
    middle.plot(x, model.sample(x, 2, random_state=0).T, "k.", markersize=2)
    middle.set(title="function, noise, fantasies")
    y = np.linspace(0.001, 0.999, 500)
    for slope in (0.5, 1.5, 4.0):
        squeezed = TransformedDensity(GaussianDensity(0.0, slope**2), expit, logit, lambda x: expit(x) * expit(-x))
        right.plot(y, np.exp(squeezed.logpdf(y)), label=f"w = {slope:g}")
    right.set(title="a Gaussian through a sigmoid", xlabel="sigmoid of w x", ylim=(0, 5))
    for one in (left, middle, right):
        one.legend(fontsize=7)
    return figure
