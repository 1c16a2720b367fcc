"""Eigenvalues beside those of permuted columns, and the likelihood of held-out rows against the number of axes."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.decomposition import choose_n_axes


def draw() -> Figure:
    figure, (left, right) = plt.subplots(1, 2)
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)) @ random.normal(size=(3, 10)) + 1.0 * random.normal(size=(200, 10))
    parallel, held_out = (choose_n_axes(X, method=method, random_state=0) for method in ("parallel", "cv"))
    numbers = np.arange(1, 11)
    left.plot(numbers, parallel.eigenvalues, color="black", marker="o", label="rows")
    left.plot(numbers, parallel.permuted, color="tab:red", marker=".", label="permuted columns, 95 % quantile")
    left.set(xlabel="axis", ylabel="variance", xticks=numbers, title=f"parallel analysis: {parallel.n_axes} axes")
    left.legend()
    right.plot(numbers[:-1], held_out.score, color="black", marker="o")
    right.axvline(held_out.n_axes, color="0.6", linestyle=":")
    right.set(xlabel="number of axes", ylabel="log-likelihood of a held-out row", xticks=numbers[:-1])
    right.set_title(f"cross-validation: {held_out.n_axes} axes")
    return figure
