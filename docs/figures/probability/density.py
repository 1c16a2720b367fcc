"""A mixture of two Gaussians: its histogram, kernel densities of three bandwidths, and the left-out likelihood."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.neighbors import HistogramDensity, KernelDensity


def draw() -> Figure:
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(-2, 0.4, size=(120, 1)), random.normal(1, 1, size=(180, 1))])
    x = np.linspace(-4.5, 5, 800)[:, None]
    figure, (left, right) = plt.subplots(1, 2)
    left.fill_between(
        x[:, 0], np.exp(HistogramDensity(bins=16).fit(X).score_samples(x)), color="0.85", label="histogram"
    )
    chosen = KernelDensity(bandwidth="cross_validation", tol=1e-3).fit(X)
    for h, style in ((0.05, ":"), (chosen.bandwidth_, "-"), (1.5, "--")):
        density = np.exp(KernelDensity(bandwidth=h).fit(X).score_samples(x))
        left.plot(x[:, 0], density, style, color="C0", linewidth=1, label=f"h = {h:.2g}")
    left.set(xlabel="x", ylabel="density", title="too rough, left out, too smooth")
    left.legend()
    order = np.argsort(chosen.history_["bandwidth"])
    right.plot(chosen.history_["bandwidth"][order], chosen.history_["score"][order], ".-", color="C0")
    right.axvline(chosen.bandwidth_, color="0.5", linewidth=1)
    right.set(xscale="log", xlabel="bandwidth", ylabel="mean log-density of rows left out", title="the search")
    right.set_xticks([0.15, 0.25, 0.5, 1.0], ["0.15", "0.25", "0.5", "1"])
    right.minorticks_off()
    return figure
