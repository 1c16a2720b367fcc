"""How clusters split as the inverse temperature rises, and what the mean cost does meanwhile."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs

from mercer.cluster import PairwiseClustering


def draw() -> Figure:
    X, _ = make_blobs(200, 1, centers=[[0.0], [1.0], [2.2], [7.0], [8.5]], cluster_std=0.15, random_state=0)
    figure, (left, right) = plt.subplots(1, 2)
    for beta in np.geomspace(0.1, 200.0, 60):
        model = PairwiseClustering(5, beta_end=beta, factor=1.1, tol=1e-4, random_state=0).fit(X)
        centres = model.memberships_.T @ X / model.memberships_.sum(axis=0)[:, None]
        left.plot(np.full(5, beta), centres, ".", color="black", markersize=3)
    left.set(xscale="log", xlabel="beta", ylabel="means of the clusters", title="one cluster splits into five")
    last = np.append(np.diff(model.history_["beta"]) > 0, True)
    beta = model.history_["beta"][last]
    right.plot(beta, model.history_["energy"][last], color="black")
    right.set(xscale="log", xlabel="beta", ylabel="mean cost")
    counts = right.twinx()
    counts.plot(beta, model.history_["n_distinct"][last], color="tab:red", drawstyle="steps-post")
    counts.set(ylabel="clusters that differ")
    return figure
