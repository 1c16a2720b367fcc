"""Couplings of an Ising chain by least squares, ridge and lasso, and their scores along the penalty."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import Lasso

from mercer.datasets import make_ising_chain, pair_products
from mercer.linear_model import LinearRegression, Ridge


def draw() -> Figure:
    warnings.simplefilter("ignore")
    spins, energy = make_ising_chain(400, 10)
    models = {
        "least squares": LinearRegression(fit_intercept=False),
        "ridge": Ridge(50.0, fit_intercept=False),
        "lasso": Lasso(0.01, fit_intercept=False, max_iter=10_000),
    }
    figure, axes = plt.subplots(1, 4, figsize=(11.0, 2.9), width_ratios=(1, 1, 1, 1.6))
    for place, (name, model) in zip(axes[:3], models.items(), strict=True):
        J = model.fit(pair_products(spins), energy).coef_.reshape(10, 10)
        image = place.imshow(J, cmap="seismic", vmin=-1, vmax=1)
        place.set(title=name, xticks=(), yticks=())
    figure.colorbar(image, ax=axes[2], shrink=0.8)
    few, seen = make_ising_chain(40, 10, random_state=1)
    fresh, truth = make_ising_chain(500, 10, random_state=2)
    X, Z, alphas = pair_products(few), pair_products(fresh), np.logspace(-5, 3, 30)
    for name, make, colour in (("ridge", Ridge, "tab:blue"), ("lasso", Lasso, "tab:red")):
        fits = [make(a if make is Ridge else a / 80, fit_intercept=False, max_iter=20_000).fit(X, seen) for a in alphas]
        axes[3].semilogx(alphas, [one.score(X, seen) for one in fits], color=colour, linestyle=":")
        axes[3].semilogx(alphas, [one.score(Z, truth) for one in fits], color=colour, label=name)
    axes[3].set(xlabel="λ", ylim=(-0.1, 1.05), title="R² from 40 states: seen (dotted), fresh")
    axes[3].legend()
    return figure
