"""Hopfield networks beyond their capacity, energies of recalls, and what a restricted Boltzmann machine learns."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from mercer.neural_network import BernoulliRBM, Hopfield, hopfield_capacity


def draw() -> Figure:
    figure, axes = plt.subplots(1, 4, figsize=(11.0, 2.8), width_ratios=(1.2, 1.2, 1.2, 1.0))
    _draw_capacity(axes[0])
    _draw_energies(axes[1])
    _draw_learning(axes[2], axes[3])
    return figure


def _draw_capacity(ax: plt.Axes) -> None:
    random = np.random.default_rng(0)
    loads = np.linspace(0.02, 0.3, 15)
    n_units = 400
    patterns = np.where(random.random((int(0.3 * n_units), n_units)) < 0.5, -1.0, 1.0)
    noise = np.where(random.random(patterns.shape) < 0.1, -1.0, 1.0)
    for rule, style in (("hebb", "-"), ("pseudo_inverse", "--")):
        overlaps = []
        for load in loads:
            stored = patterns[: max(1, int(load * n_units))]
            recalled = Hopfield(rule, max_iter=30).fit(stored).predict(stored * noise[: len(stored)])
            overlaps.append((recalled * stored).mean())
        ax.plot(loads, overlaps, color="C0", linestyle=style, label=rule.replace("_", "-"))
    ax.axvline(hopfield_capacity(n_units) / n_units, color="lightgrey", zorder=0)
    ax.set(xlabel="patterns per unit", ylabel="overlap after recall", title=f"{n_units} units, 10% of bits wrong")
    ax.set_ylim(0, 1.05)
    ax.legend()


def _draw_energies(ax: plt.Axes) -> None:
    random = np.random.default_rng(1)
    patterns = np.where(random.random((10, 200)) < 0.5, -1.0, 1.0)
    memory = Hopfield().fit(patterns)
    for share, color in ((0.1, "C0"), (0.3, "C1"), (0.5, "C2")):
        damaged = np.where(random.random(patterns.shape) < share, -patterns, patterns)
        energies = memory.recall(damaged).energies / 200
        lines = ax.plot(np.arange(len(energies)), energies, color=color, linewidth=0.8)
        lines[0].set_label(f"{share:.0%} of bits wrong")
    ax.axhline(memory.energy(patterns).mean() / 200, color="lightgrey", zorder=0)
    ax.set(xlabel="sweep", ylabel="energy per unit", title="10 patterns in 200 units")
    ax.legend()


def _draw_learning(ax: plt.Axes, picture: plt.Axes) -> None:
    X = (load_digits().data / 16).astype(np.float32)
    for persistent, label in ((True, "persistent chains"), (False, "CD-1")):
        model = BernoulliRBM(64, learning_rate=0.05, n_iter=30, persistent=persistent, random_state=0).fit(X)
        ax.plot(np.arange(1, 31), model.history_["objective"], label=label)
    ax.set(xlabel="pass over the rows", ylabel="log pseudo-likelihood", title="digits, 64 hidden units")
    ax.legend()
    tiles = model.components_[:36].reshape(6, 6, 8, 8).transpose(0, 2, 1, 3)
    framed = np.full((6, 9, 6, 9), np.nan)
    framed[:, :8, :, :8] = tiles
    bound = np.nanmax(np.abs(framed))
    picture.imshow(framed.reshape(54, 54)[:-1, :-1], cmap="RdBu_r", vmin=-bound, vmax=bound)
    picture.set(xticks=[], yticks=[], title="weights of 36 hidden units")
    picture.spines[:].set_visible(False)
