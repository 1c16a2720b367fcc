"""Logistic regression: the certified gap and the true distance from the optimum, step by step."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

from mercer.linear_model import LogisticRegression


def draw() -> Figure:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    best = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(X, y).history_["objective"].min()
    figure, axes = plt.subplots(figsize=(5.0, 3.2))
    for solver, colour in (("lbfgs", "tab:blue"), ("newton-cholesky", "black")):
        history = LogisticRegression(solver=solver, tol=1e-8, max_iter=300).fit(X, y).history_
        above = np.maximum(history["objective"] - best, 1e-16)
        axes.semilogy(history["step"] + 1, history["gap"], color=colour, label=f"{solver}: duality gap")
        axes.semilogy(history["step"] + 1, above, color=colour, linestyle=":", label=f"{solver}: true distance")
    axes.set(xlabel="step", ylabel="mean loss above the optimum", ylim=(1e-13, 10), title="the gap bounds the distance")
    axes.legend(fontsize=7)
    return figure
