"""Functions of a prior, the same process after four rows, and the evidence over width and noise."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.gaussian_process import GaussianProcessRegressor
from mercer.inspection import ProcessDisplay
from mercer.kernels import RBF, White


def draw() -> Figure:
    grid = np.linspace(-1, 7, 160)
    X, y = np.array([[0.5], [2.0], [2.6], [5.0]]), np.array([0.4, 1.0, 0.6, -0.9])
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 2.8))
    ProcessDisplay.from_estimator(GaussianProcessRegressor(RBF(1.0)), grid, ax=left)
    model = GaussianProcessRegressor(RBF(1.0), alpha=1e-4, optimizer=None).fit(X, y)
    ProcessDisplay.from_estimator(model, grid, ax=middle)
    left.set(title="before", ylim=(-3, 3))
    middle.set(title="after four rows", ylim=(-3, 3))
    random = np.random.default_rng(0)
    X = random.uniform(0, 6, size=(25, 1))
    y = np.sin(X[:, 0]) + 0.3 * random.normal(size=25)
    widths, noises = np.logspace(-1, 1.3, 24), np.logspace(-2.5, 0.5, 24)
    model = GaussianProcessRegressor(RBF() + White(), optimizer=None).fit(X, y)
    values = [[model.log_marginal_likelihood(np.log([width, noise])) for width in widths] for noise in noises]
    right.contourf(widths, noises, np.maximum(values, np.max(values) - 15), levels=20)
    right.set(xscale="log", yscale="log", xlabel="width", ylabel="noise", title="evidence of 25 rows")
    return figure
