"""Fits of orders 1, 3 and 10 to few and to many points, and their error against the number of points."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.pipeline import Pipeline, make_pipeline

from mercer.inspection import FittedCurvesDisplay
from mercer.linear_model import LinearRegression
from mercer.preprocessing import PolynomialBasis

ORDERS = (1, 3, 10)


def truth(x: np.ndarray) -> np.ndarray:
    return 2 * x - 10 * x**5 + 15 * x**10


def fitted(order: int, n_points: int, random: np.random.Generator) -> tuple:
    x = random.uniform(0.0, 0.95, size=(n_points, 1))
    y = truth(x[:, 0]) + random.normal(size=n_points)
    return _polynomial(order).fit(x, y), x, y


def _polynomial(order: int) -> Pipeline:
    return make_pipeline(PolynomialBasis(order, basis="legendre"), LinearRegression(tol=1e-12))


def draw() -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.2))
    for place, n_points in zip(axes[:2], (15, 5000), strict=True):
        _, x, y = fitted(1, n_points, np.random.default_rng(3))
        models = {f"order {order}": _polynomial(order) for order in ORDERS}
        display = FittedCurvesDisplay.compute(models, x, y, truth=lambda x: truth(x[:, 0]), margin=0.1)
        # Of many rows some are enough to see, and the errors on training rows are another panel's subject.
        display.rows, display.targets, display.errors = display.rows[:300], display.targets[:300], None
        display.plot(ax=place)
        place.set(ylim=(-4, 6), title=f"{n_points} points")
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
