"""Fits of orders 1, 3 and 10 to few and to many points, and their error against the number of points."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline

from mercer.linear_model import LinearRegression
from mercer.preprocessing import PolynomialBasis

ORDERS = (1, 3, 10)


def truth(x: np.ndarray) -> np.ndarray:
    return 2 * x - 10 * x**5 + 15 * x**10


def fitted(order: int, n_points: int, random: np.random.Generator) -> tuple:
    x = random.uniform(0.0, 0.95, size=(n_points, 1))
    y = truth(x[:, 0]) + random.normal(size=n_points)
    return make_pipeline(PolynomialBasis(order, basis="legendre"), LinearRegression(tol=1e-12)).fit(x, y), x, y


def draw() -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.2))
    grid = np.linspace(0.0, 1.05, 200)
    for place, n_points in zip(axes[:2], (15, 5000), strict=True):
        for order in ORDERS:
            model, x, y = fitted(order, n_points, np.random.default_rng(3))
            place.plot(grid, model.predict(grid[:, None]), label=f"order {order}")
        place.plot(x[:300], y[:300], ".", markersize=2, color="0.7", zorder=0)
        place.plot(grid, truth(grid), color="black", linestyle=":")
        place.set(ylim=(-4, 6), xlabel="x", title=f"{n_points} points")
    axes[0].legend()
    numbers, inside = np.unique(np.logspace(1.1, 3.7, 12).astype(int)), np.linspace(0.02, 0.93, 100)
    for order in ORDERS:
        errors = []
        for n_points in numbers:
            random = np.random.default_rng(0)
            models = [fitted(order, int(n_points), random)[0] for _ in range(11)]
            errors.append(np.median([np.mean((m.predict(inside[:, None]) - truth(inside)) ** 2) for m in models]))
        axes[2].loglog(numbers, errors)
    axes[2].set(xlabel="points", ylabel="squared error on fresh points", title="who wins, by sample size")
    return figure
