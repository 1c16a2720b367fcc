"""Eight generators of data with known truth, a small panel each."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer import datasets


def draw() -> Figure:
    figure, panels = plt.subplots(2, 4, figsize=(8.0, 4.0))
    for axes in panels.flat:
        axes.set(xticks=[], yticks=[])
    curve, xor, rings, moons, cloud, mixture, sources, faces = panels.flat
    rows = datasets.make_polynomial(60, (0.0, 2.0, -9.0, 7.0), noise=0.15)
    grid = np.linspace(0, 1, 100)
    curve.plot(rows.data, rows.target, ".", color="0.6", markersize=3)
    curve.plot(grid, rows.function(grid), color="C3")
    curve.set_title("a polynomial")
    for axes, rows, title in (
        (xor, datasets.make_xor(300), "exclusive or"),
        (rings, datasets.make_rings(300), "rings"),
        (mixture, datasets.make_mixture(300, weights=[0.6, 0.3, 0.1]), "a mixture"),
    ):
        axes.scatter(*rows.data.T, c=rows.target, cmap="viridis", s=4)
        axes.set_title(title)
    X, y = datasets.make_moons((60, 240), noise=0.08, random_state=0)
    moons.scatter(*X.T, c=y, cmap="viridis", s=4)
    moons.set_title("moons, unequal")
    for rotation, color in ((None, "0.7"), (np.pi / 6, "C0")):
        cloud.plot(*datasets.make_correlated_gaussian(200, rotation=rotation).data.T, ".", color=color, markersize=2)
    cloud.set(title="scaled, then turned", aspect="equal")
    signals = datasets.make_mixed_sources(200, sources=("sine", "square"))
    for number, series in enumerate((*signals.sources.T, *signals.data.T)):
        sources.plot(series - 5 * number, color="C0" if number < 2 else "C1", linewidth=0.8)
    sources.set_title("sources, mixtures")
    pictures = datasets.make_low_rank(4, shape=(24, 24)).images
    faces.imshow(np.block([[pictures[0], pictures[1]], [pictures[2], pictures[3]]]), cmap="gray")
    faces.set_title("pictures of rank 5")
    return figure
