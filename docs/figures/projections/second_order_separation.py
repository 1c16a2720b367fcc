"""Two autoregressive sources, their mixtures, and what one lag gives back."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from mercer.datasets import make_mixed_sources
from mercer.decomposition import SecondOrderSeparation
from mercer.inspection import SourcesDisplay


def draw() -> Figure:
    figure, axes = plt.subplots(2, 2, figsize=(8.0, 3.4), sharex=True)
    rows = make_mixed_sources(5000, sources=[(0.95,), (-0.6,)], mixing=[[1.0, 0.8], [0.6, 1.0]], random_state=0)
    model = SecondOrderSeparation(lags=1).fit(rows.data)
    shown = slice(0, 150)
    for number in range(2):
        axes[number, 0].plot(rows.data[shown, number], color="black", linewidth=0.8)
        axes[number, 0].set_ylabel(f"mixture {number}")
    axes[1, 0].set_xlabel("time")
    SourcesDisplay(model.transform(rows.data)[shown], rows.sources[shown]).plot(ax=axes[:, 1])
    return figure
