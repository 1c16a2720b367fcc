"""Thirty rows in grids of one, two and three dimensions, and what the dimension does to balls and distances."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.inspection import CellGridDisplay
from mercer.theory import ball_fraction, relative_contrast


def draw() -> Figure:
    random = np.random.default_rng(0)
    figure = plt.figure(figsize=(10, 2.9))
    grids = [figure.add_subplot(1, 4, 1), figure.add_subplot(1, 4, 2), figure.add_subplot(1, 4, 3, projection="3d")]
    CellGridDisplay(random.uniform(size=(30, 3))).plot(ax=grids)
    for ax in grids:
        ax.set_title(ax.get_title(), fontsize=8)
    right = figure.add_subplot(1, 4, 4)
    dimensions = np.array([1, 2, 3, 5, 10, 20, 50, 100])
    contrasts = [relative_contrast(random.uniform(size=(200, d))) for d in dimensions]
    right.loglog(dimensions, contrasts, "o-", label="contrast of distances")
    small = dimensions[dimensions <= 20]
    right.loglog(small, [ball_fraction(d) for d in small], "s-", label="ball in a cube")
    right.set(xlabel="dimensions", ylim=(1e-4, 1e4))
    right.legend(fontsize=7)
    return figure
