"""Tails of similarities, and digits on maps of two perplexities and two seeds."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from mercer.inspection import SimilarityTailsDisplay
from mercer.manifold import TSNE


def draw() -> Figure:
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    settings = (
        ("perplexity 30", {"perplexity": 30}),
        ("perplexity 3", {"perplexity": 3}),
        ("perplexity 30, random start", {"perplexity": 30, "init": "random", "random_state": 1}),
    )
    figure, axes = plt.subplots(1, 4, figsize=(11.0, 3.0), width_ratios=[1.2, 1, 1, 1])
    SimilarityTailsDisplay.from_dofs((1.0, 5.0), log=True, ax=axes[0])
    axes[0].set(title="similarity")
    for ax, (title, options) in zip(axes[1:], settings, strict=True):
        model = TSNE(max_iter=600, **options).fit(X)
        ax.scatter(*model.embedding_.T, c=y, cmap="tab10", s=4)
        ax.set(title=title, aspect="equal", xticks=[], yticks=[])
        for digit in range(10):
            middle = np.median(model.embedding_[y == digit], axis=0)
            ax.annotate(str(digit), middle, ha="center", va="center", weight="bold")
    return figure
