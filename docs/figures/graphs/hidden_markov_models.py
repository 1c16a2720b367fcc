"""A coin that is changed in secret: what is seen, what is decoded, what is learnt."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.hmm import CategoricalHMM, GaussianHMM
from mercer.inspection import StateSequenceDisplay, TransitionGraphDisplay


def draw() -> Figure:
    """Throws of a fair and a loaded coin: the hidden coin, the probabilities, and the log-likelihood of training."""
    truth = CategoricalHMM(2)
    truth.startprob_, truth.transmat_ = np.array([0.5, 0.5]), np.array([[0.985, 0.015], [0.03, 0.97]])
    truth.emissionprob_ = np.array([[0.5, 0.5], [0.1, 0.9]])
    X, states = truth.sample(300, random_state=5)
    grid = {"width_ratios": [2.2, 1.0], "height_ratios": [1.0, 1.3]}
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 4.6), gridspec_kw=grid)
    StateSequenceDisplay.from_estimator(truth, X, ax=axes[:, 0], marker="|", markersize=5, linestyle="none")
    axes[0, 0].plot(np.arange(300), 1.15 + 0.1 * states, color="black", linewidth=1.2, label="true coin")
    axes[0, 0].set(
        title="throws, best path (stripes) and the true coin (line)",
        yticks=[0, 1],
        yticklabels=["tails", "heads"],
        ylabel="",
    )
    axes[1, 0].set(title="probability of each coin given all throws", xlim=axes[0, 0].get_xlim())
    long, _ = truth.sample(3000, random_state=0)
    for seed in range(4):
        model = CategoricalHMM(2, random_state=seed, n_iter=500, tol=1e-4).fit(long)
        axes[0, 1].plot(model.history_["objective"], linewidth=1.0)
    axes[0, 1].set(title="Baum-Welch, four starts", xlabel="iteration", ylabel="log-likelihood")
    best = CategoricalHMM(2, random_state=0, n_init=4, n_iter=500, tol=1e-4).fit(long)
    fair = int(np.argmin(best.emissionprob_[:, 1]))
    TransitionGraphDisplay(best.transmat_[[fair, 1 - fair]][:, [fair, 1 - fair]], ["fair", "loaded"]).plot(
        ax=axes[1, 1]
    )
    axes[1, 1].set(title="learnt transitions")
    return figure


def draw_trellis() -> Figure:
    """The trellis of four steps: messages from the left, best predecessors, and the best path."""
    model = GaussianHMM(3)
    model.startprob_ = np.array([0.6, 0.3, 0.1])
    model.transmat_ = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    model.means_, model.covars_ = np.array([[0.0], [2.0], [4.0]]), np.ones((3, 1))
    X = np.array([[0.3], [1.4], [2.6], [3.7], [3.9]])
    filtered, path = model.filter(X), model.predict(X)
    figure, axis = plt.subplots(figsize=(6.0, 2.6))
    for step in range(len(X) - 1):
        for state in range(3):
            for other in range(3):
                width = 3.0 * filtered[step, state] * model.transmat_[state, other]
                axis.plot([step, step + 1], [state, other], color="0.7", linewidth=0.3 + width, zorder=1)
    axis.plot(np.arange(len(X)), path, color="tab:red", linewidth=2.0, zorder=2)
    for step, state in np.ndindex(filtered.shape):
        axis.scatter(step, state, s=60 + 500 * filtered[step, state], color=f"C{state}", zorder=3)
    labels = [f"x = {x:.1f}" for x in X[:, 0]]
    axis.set(xticks=range(len(X)), xticklabels=labels, yticks=range(3), yticklabels=["state 0", "state 1", "state 2"])
    axis.set(ylim=(-0.5, 2.5), title="circles: filtered probabilities; red: the best path")
    return figure
