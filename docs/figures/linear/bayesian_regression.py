"""Predictions with their deviation, and the evidence as a function of both precisions."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.linear_model import BayesianRidge
from mercer.preprocessing import PolynomialBasis


def draw() -> Figure:
    random = np.random.default_rng(0)
    x = np.concatenate([random.uniform(-3, -1, 12), random.uniform(0.5, 2, 12)])[:, None]
    y = np.sin(1.5 * x[:, 0]) + 0.2 * random.normal(size=24)
    basis = PolynomialBasis(5, basis="legendre").fit(np.array([[-4.0], [3.5]]))
    model = BayesianRidge().fit(basis.transform(x), y)
    grid = np.linspace(-4, 3.5, 200)[:, None]
    mean, deviation = model.predict(basis.transform(grid), return_std=True)
    figure, (left, right) = plt.subplots(1, 2)
    left.fill_between(grid[:, 0], mean - 2 * deviation, mean + 2 * deviation, color="0.85")
    left.plot(grid, mean, color="black")
    left.plot(x, y, "o", markersize=3, color="tab:red")
    left.set(xlabel="x", ylim=(-3, 3), title="mean and two deviations")
    alphas, lambdas = model.alpha_ * np.logspace(-1, 1, 60), model.lambda_ * np.logspace(-2, 2, 60)
    evidence = np.array([[model.log_evidence(a, b) for a in alphas] for b in lambdas])
    right.contour(alphas, lambdas, np.maximum(evidence, evidence.max() - 20), levels=15, cmap="viridis")
    right.plot(model.alpha_, model.lambda_, "o", color="tab:red")
    right.set(xscale="log", yscale="log", xlabel="alpha", ylabel="lambda", title="log evidence")
    return figure
