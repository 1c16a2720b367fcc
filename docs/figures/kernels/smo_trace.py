"""Platt's steps on a few points: the dual falls pair by pair, and the boundary finds its place."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.svm import SVC


def draw() -> Figure:
    random = np.random.default_rng(3)
    X = np.concatenate([random.normal(-1.0, 0.8, size=(15, 2)), random.normal(1.0, 0.8, size=(15, 2))])
    y = np.repeat([-1, 1], 15)
    model = SVC(kernel="linear", C=1.0, solver="smo", tol=1e-4).fit(X, y)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 2.8))
    left.plot(model.history_["objective"], marker=".", markersize=3)
    left.set(xlabel="pair step", ylabel="dual objective")
    right.semilogy(model.history_["violation"], label="violation")
    right.semilogy(model.history_["gap"], label="duality gap")
    right.set(xlabel="pair step")
    right.legend()
    return figure
