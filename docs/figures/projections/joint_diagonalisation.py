"""Lagged covariances before and after joint diagonalisation, and the error of separation by the number of lags."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.datasets import make_mixed_sources
from mercer.decomposition import SecondOrderSeparation, amari_distance, diagonalize_jointly
from mercer.inspection import JointDiagonalDisplay

SOURCES = [(0.9,), (0.6,), (-0.4,), (0.85, -0.5)]
LAGS = (1, 2, 3, 5, 8, 12, 20)


def measure(diagonaliser: str, noise: float) -> list[float]:
    """The mean Amari distance over ten mixtures for each number of lags."""
    distances = np.zeros((10, len(LAGS)))
    for seed in range(10):
        rows = make_mixed_sources(1000, sources=SOURCES, noise=noise, random_state=seed)
        for number, lags in enumerate(LAGS):
            model = SecondOrderSeparation(lags=lags, diagonaliser=diagonaliser).fit(rows.data)
            distances[seed, number] = amari_distance(model.components_, rows.mixing)
    return distances.mean(axis=0).tolist()


def draw() -> Figure:
    figure = plt.figure(figsize=(9.0, 3.2))
    left, right = figure.subfigures(1, 2, width_ratios=[1.4, 1])
    X = make_mixed_sources(3000, sources=SOURCES, random_state=0).data
    centred = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(centred, rowvar=False))
    U = centred @ vectors / np.sqrt(values)
    lags = (1, 2, 3, 4)
    matrices = np.array([U[lag:].T @ U[:-lag] / (len(U) - lag) for lag in lags])
    matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
    panels = left.subplots(2, len(lags))
    transform = diagonalize_jointly(matrices).transform
    JointDiagonalDisplay(matrices, transform, names=[f"lag {lag}" for lag in lags]).plot(ax=panels)
    ax = right.subplots()
    with warnings.catch_warnings():
        # Few lags leave some pairs alike, which is what the picture shows.
        warnings.simplefilter("ignore")
        for diagonaliser, style in (("jacobi", "k-"), ("ffdiag", "r-"), ("qdiag", "b:")):
            ax.plot(LAGS, measure(diagonaliser, 0.3), style, marker="o", markersize=3, label=diagonaliser)
    ax.set(xlabel="lags 1 to ...", ylabel="Amari distance", xscale="log", title="noise of 0.3, 1000 rows")
    ax.set_xticks(LAGS, [str(lag) for lag in LAGS])
    ax.set_ylim(0, None)
    ax.legend()
    return figure
