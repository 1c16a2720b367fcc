"""Ridge on nearly collinear columns: coefficients and degrees of freedom along the penalty."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.datasets import load_fish
from mercer.linear_model import Ridge


def draw() -> Figure:
    fish = load_fish()
    X = (fish.data - fish.data.mean(axis=0)) / fish.data.std(axis=0)
    y = fish.weight - fish.weight.mean()
    alphas = np.logspace(-2, 5, 60)
    coefficients = np.array([Ridge(alpha=alpha).fit(X, y).coef_ for alpha in alphas])
    squares = np.linalg.svd(X, compute_uv=False) ** 2
    freedom = (squares / (squares + alphas[:, None])).sum(axis=1)
    figure, (left, right) = plt.subplots(1, 2)
    left.semilogx(alphas, coefficients)
    left.legend(fish.feature_names)
    left.set(xlabel="alpha", ylabel="grams per standard deviation", title="shrinkage")
    right.semilogx(alphas, freedom, color="black")
    right.set(xlabel="alpha", ylabel="effective degrees of freedom", ylim=(0, 4.2), title="from four to none")
    return figure
