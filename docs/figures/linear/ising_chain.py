"""Couplings of an Ising chain by least squares, ridge and lasso, and their scores along the penalty."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mercer.datasets import make_ising_chain, pair_products
from mercer.inspection import CouplingDisplay
from mercer.linear_model import Lasso, LinearRegression, Ridge


def draw() -> Figure:
    figure, axes = plt.subplots(1, 4, figsize=(11.0, 2.9), width_ratios=(1, 1, 1, 1.6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the rank is 46 of 100 is the point
        draw_couplings(axes[:3])
    draw_scores(axes[3], n_states=25)
    return figure


def draw_couplings(axes: np.ndarray) -> None:
    spins, energy = make_ising_chain(400, 10)
    models = {
        "least squares": LinearRegression(fit_intercept=False),
        "ridge": Ridge(50.0, fit_intercept=False),
        "lasso": Lasso(0.01, fit_intercept=False, tol=1e-8, max_iter=10_000),
    }
    for place, (name, model) in zip(axes, models.items(), strict=True):
        display = CouplingDisplay.compute(model.fit(pair_products(spins), energy))
        display.plot(ax=place, vmin=-1, vmax=1, colorbar=place is axes[2])
        place.set(title=name, xticks=(), yticks=(), xlabel="", ylabel="")


def draw_scores(place: Axes, n_states: int) -> None:
    few, seen = make_ising_chain(n_states, 10, random_state=1)
    fresh, truth = make_ising_chain(500, 10, random_state=2)
    X, Z, strengths = pair_products(few), pair_products(fresh), np.logspace(-2, 3, 26)
    paths = {
        "ridge": [Ridge(one, fit_intercept=False) for one in strengths],
        # The lasso divides its errors by twice the number of rows.
        "lasso": [Lasso(one / (2 * n_states), fit_intercept=False, tol=1e-8, max_iter=50_000) for one in strengths],
    }
    for (name, models), colour in zip(paths.items(), ("tab:blue", "tab:red"), strict=True):
        fits = [model.fit(X, seen) for model in models]
        place.semilogx(strengths, [fit.score(X, seen) for fit in fits], color=colour, linestyle=":")
        place.semilogx(strengths, [fit.score(Z, truth) for fit in fits], color=colour, label=name)
    place.set(xlabel="λ", ylim=(-0.1, 1.05), title=f"R² from {n_states} states: seen (dotted), fresh")
    place.legend()
