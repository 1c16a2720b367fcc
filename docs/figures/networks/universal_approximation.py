"""Steps, sigmoids and cosines that add up to a function, and how the error falls with the number of units."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.neural_network import approximate_by_cosines, approximate_by_units


def function(x: np.ndarray) -> np.ndarray:
    return np.sin(6 * x) * np.exp(-x) + 0.5 * x


def hill(points: np.ndarray) -> np.ndarray:
    return np.exp(-12 * ((points - 0.4) ** 2).sum(axis=1)) - 0.6 * np.exp(-20 * ((points - 0.75) ** 2).sum(axis=1))


def draw() -> Figure:
    figure, axes = plt.subplots(1, 4, figsize=(11.0, 2.8), width_ratios=(1.3, 1.0, 1.0, 1.3))
    x = np.linspace(0, 2, 1001)
    axes[0].plot(x, function(x), color="black", label="function")
    axes[0].plot(x, approximate_by_units(function, 12, high=2.0)(x), color="C0", label="12 steps")
    smooth = approximate_by_units(function, 12, high=2.0, steepness=4.0)
    axes[0].plot(x, smooth(x), color="C1", label="12 sigmoids")
    axes[0].legend()
    side = np.linspace(0, 1, 60)
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for ax, count in zip(axes[1:3], (3, 7), strict=True):
        values = approximate_by_cosines(hill, count)(points).reshape(60, 60)
        ax.contourf(side, side, values, levels=np.linspace(-0.7, 1.0, 18), cmap="RdBu_r", extend="both")
        ax.contour(side, side, hill(points).reshape(60, 60), levels=6, colors="black", linewidths=0.5)
        ax.set(title=f"{2 * count**2} cosines", xticks=[], yticks=[], aspect="equal")
    units = np.array([2, 4, 8, 16, 32, 64, 128])
    for steepness, label in ((None, "steps"), (4.0, "sigmoids")):
        errors = [
            np.abs(approximate_by_units(function, n, high=2.0, steepness=steepness)(x) - function(x)).max()
            for n in units
        ]
        axes[3].loglog(units, errors, "o-", markersize=3, label=label)
    frequencies = range(1, 10)
    errors = [np.abs(approximate_by_cosines(hill, n)(points) - hill(points)).max() for n in frequencies]
    axes[3].loglog([2 * n**2 for n in frequencies], errors, "o-", markersize=3, label="cosines, two variables")
    axes[3].set(xlabel="units", ylabel="largest error")
    axes[3].legend()
    return figure
