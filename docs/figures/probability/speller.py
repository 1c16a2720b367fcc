"""Epochs of a speller along the difference of means and along Fisher's direction, and accuracy against background."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import norm

from mercer.datasets import make_class_gaussians
from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.neighbors import NearestCentroid

CHANNELS = 16
WAVE = np.append(1.5, np.zeros(CHANNELS - 1))


def make_epochs(strength: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw epochs whose background has the variance `strength` in every channel."""
    covariance = 0.2 * np.eye(CHANNELS) + strength * np.ones((CHANNELS, CHANNELS))
    epochs = make_class_gaussians(2000, means=[0 * WAVE, WAVE], covariances=covariance, random_state=seed)
    return epochs.data, epochs.target


def draw() -> Figure:
    figure, axes = plt.subplots(1, 4, figsize=(12.0, 3.0))
    X, y = make_epochs(4.0, seed=1)
    nearest, linear = NearestCentroid().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    directions = {"nearest mean": nearest.direction_, "linear discriminant": linear.coef_[0]}
    for place, (name, w) in zip(axes, directions.items(), strict=False):
        for label, words in ((0, "other"), (1, "target")):
            place.hist(X[y == label] @ w, bins=40, density=True, alpha=0.5, label=words)
        place.set(title=name, xlabel="projection")
        place.legend()
    for name, w in directions.items():
        axes[2].plot(np.arange(1, CHANNELS + 1), w / np.linalg.norm(w), ".-", label=name)
    axes[2].set(title="weights", xlabel="channel")
    axes[2].legend()
    strengths = np.array([0.0, 0.1, 0.3, 1.0, 3.0, 10.0])
    scores = []
    for strength in strengths:
        fresh, truth = make_epochs(strength, seed=2)
        models = NearestCentroid(), LinearDiscriminantAnalysis()
        # Estimated means carry some background by chance: the mean over ten sets shows the rule.
        sets = [make_epochs(strength, seed) for seed in range(3, 13)]
        scores.append([np.mean([model.fit(*rows).score(fresh, truth) for rows in sets]) for model in models])
    axes[3].plot(strengths, scores, ".-")
    # With the true means the nearest mean errs with probability Phi(-delta / 2), delta = 1.5 / root(0.2 + strength).
    axes[3].plot(strengths, norm.cdf(0.75 / np.sqrt(0.2 + strengths)), "k:", label="true means")
    axes[3].set(title="accuracy", xlabel="variance of the background", xscale="symlog", ylim=(0.5, 1.0))
    axes[3].legend()
    return figure
