"""States of the Ising lattice at three temperatures, and the accuracy of phases along the penalty."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.datasets import make_ising_lattice
from mercer.inspection import SpinDisplay
from mercer.linear_model import LogisticRegression


def draw() -> Figure:
    figure, axes = plt.subplots(1, 4, figsize=(11.0, 2.9), width_ratios=(1, 1, 1, 1.6))
    temperatures = (1.5, 2.27, 4.0)
    states = [make_ising_lattice(1, 40, temperature=T, n_sweeps=400)[0][0] for T in temperatures]
    SpinDisplay(states, titles=[f"T = {T:g} J" for T in temperatures]).plot(ax=axes[:3])
    spins, _, ordered = make_ising_lattice(600, 10, n_sweeps=150)
    grid = spins.reshape(-1, 10, 10)
    products = [(grid * np.roll(grid, 1, axis=axis)).reshape(600, -1) for axis in (1, 2)]
    features = {
        "raw spins": spins,
        "products of neighbours": np.column_stack(products),
        "|m|": np.abs(spins.mean(axis=1, keepdims=True)),
    }
    train, strengths = np.arange(600) % 2 == 0, np.logspace(-5, 3, 17)
    for name, X in features.items():
        models = [LogisticRegression(C=C, max_iter=1000).fit(X[train], ordered[train]) for C in strengths]
        axes[3].semilogx(strengths, [model.score(X[~train], ordered[~train]) for model in models], label=name)
    axes[3].set(xlabel="C", ylim=(0.4, 1.02), title="accuracy on other states")
    axes[3].legend()
    return figure
