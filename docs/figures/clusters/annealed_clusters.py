"""Soft k-means as it cools: centres that split, the cost, and the number of different centres."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.cluster import SoftKMeans


def draw() -> Figure:
    random = np.random.default_rng(0)
    x = np.concatenate([place + 0.25 * random.normal(size=60) for place in (-3.0, -1.8, 1.5, 3.0)])[:, None]
    full = SoftKMeans(4, n_levels=60, max_iter=3000, tol=1e-12, random_state=0).fit(x)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10.0, 3.0))
    for beta in full.betas_[::2]:
        part = SoftKMeans(4, beta=float(beta), n_levels=30, random_state=0).fit(x)
        left.plot(np.full(4, beta), np.sort(part.cluster_centers_[:, 0]), "k.", markersize=3)
    left.axvline(full.critical_beta_, color="tab:red", linestyle=":")
    left.set(xscale="log", xlabel="β", title="centres")
    middle.semilogx(full.betas_, full.costs_)
    middle.set(xlabel="β", title="mean cost")
    right.semilogx(full.betas_, full.n_distinct_, drawstyle="steps-post")
    right.axvline(full.critical_beta_, color="tab:red", linestyle=":")
    right.set(xlabel="β", title="different centres")
    return figure
