"""Soft k-means as it cools: centres that split, the cost, the number of different centres, and a mean field."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.cluster import SoftKMeans
from mercer.inspection import AnnealedCentresDisplay, MeanFieldDisplay


def draw() -> Figure:
    random = np.random.default_rng(0)
    x = np.concatenate([place + 0.25 * random.normal(size=60) for place in (-3.0, -1.8, 1.5, 3.0)])[:, None]
    figure, axes = plt.subplots(1, 4, figsize=(12.0, 3.0))
    model = SoftKMeans(4, n_levels=60, max_iter=3000, tol=1e-12, random_state=0)
    AnnealedCentresDisplay.from_estimator(model, x, ax=axes[:3])
    wide, narrow = 2.0 * random.normal(size=40), 8.0 + 0.3 * random.normal(size=40)
    MeanFieldDisplay.from_rows(np.append(wide, narrow), np.repeat(["wide", "narrow"], 40), ax=axes[3])
    axes[3].set(title="mean field", ylim=(-2, 40), ylabel="")
    return figure
