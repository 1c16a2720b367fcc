"""Naive Bayes: how pseudo-counts draw a probability of few rows to one half, and of many not."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.naive_bayes import BernoulliNB


def draw() -> Figure:
    alphas = np.logspace(-2, 2, 60)
    figure, axes = plt.subplots(figsize=(5.0, 3.2))
    for n_rows, colour in ((5, "tab:blue"), (50, "tab:orange"), (500, "black")):
        X = np.zeros((n_rows, 1))
        X[: n_rows // 5] = 1.0
        learnt = [BernoulliNB(alpha=alpha).fit(X, np.zeros(n_rows)).feature_log_prob_[0, 0] for alpha in alphas]
        axes.semilogx(alphas, np.exp(learnt), color=colour, label=f"{n_rows} rows, one in five has a 1")
    axes.set(
        xlabel="alpha", ylabel="probability of a 1", ylim=(0, 0.6), title="pseudo-counts draw few rows to one half"
    )
    axes.legend(fontsize=7)
    return figure
