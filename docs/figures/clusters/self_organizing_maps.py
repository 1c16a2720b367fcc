"""A map that unfolds over a ring of rows, at two widths, and its U-matrix on the fish."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.cluster import SelfOrganizingMap
from mercer.datasets import load_fish
from mercer.inspection import LatticeDisplay, MapDisplay


def draw() -> Figure:
    random = np.random.default_rng(0)
    angle, radius = random.uniform(0, 2 * np.pi, 2000), random.uniform(1.0, 2.0, 2000)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    figure, axes = plt.subplots(1, 3)
    for ax, sigma in zip(axes, (2.5, 0.8), strict=False):
        model = SelfOrganizingMap(10, 10, sigma=2.5, sigma_end=sigma, tol=0.01).fit(X)
        LatticeDisplay.from_estimator(model, X, ax=ax)
        ax.set(title=f"sigma {sigma:g}", aspect="equal")
    fish = load_fish().data
    fish = (fish - fish.mean(axis=0)) / fish.std(axis=0)
    model = SelfOrganizingMap(10, 10, topology="hexagonal", tol=0.01).fit(fish)
    MapDisplay.from_estimator(model, ax=axes[2], s=60.0)
    axes[2].set(title="U-matrix of the fish")
    return figure
