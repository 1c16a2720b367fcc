"""Convergence of sweeps with and without acceleration, and the slopes of all columns inside their bounds."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.linear_model import Lasso


def plain_sweeps(X: np.ndarray, y: np.ndarray, alpha: float, n_sweeps: int) -> list[float]:
    """The objective after each sweep of coordinate descent as the textbook has it."""
    w, residual, squares, objectives = np.zeros(X.shape[1]), y.copy(), np.sum(X**2, axis=0), []
    for _ in range(n_sweeps):
        for j, column in enumerate(X.T):
            target = column @ residual + squares[j] * w[j]
            moved = np.sign(target) * max(abs(target) - len(y) * alpha, 0.0) / squares[j] - w[j]
            w[j] += moved
            residual -= moved * column
        objectives.append(float(residual @ residual / (2 * len(y)) + alpha * np.abs(w).sum()))
    return objectives


def draw() -> Figure:
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 60))
    for j in range(1, 60):
        X[:, j] = 0.95 * X[:, j - 1] + 0.3 * X[:, j]
    y = X @ np.where(np.arange(60) % 12 == 0, 2.0, 0.0) + random.normal(size=80)
    X, y, alpha = X - X.mean(axis=0), y - y.mean(), 0.02
    model = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12).fit(X, y)
    history = model.history_
    best = history["objective"][-1] - history["gap"][-1]
    figure, (left, right) = plt.subplots(1, 2)
    left.semilogy(np.arange(1, 201), np.array(plain_sweeps(X, y, alpha, 200)) - best, label="sweeps alone")
    left.semilogy(history["sweeps"], history["objective"] - best, ".-", label="Lasso")
    left.semilogy(history["sweeps"], history["gap"], "--", color="0.6", label="its duality gap")
    left.set(xlabel="sweeps", ylabel="above the minimum", xlim=(0, 200))
    left.legend()
    slopes, used = X.T @ (y - X @ model.coef_) / len(y), model.coef_ != 0
    right.axhspan(-alpha, alpha, color="0.92")
    right.plot(np.flatnonzero(~used), slopes[~used], ".", label="zero")
    right.plot(np.flatnonzero(used), slopes[used], "o", markersize=4, label="in use")
    right.set(xlabel="column", ylabel="slope", title="coefficients in use are at their bound")
    right.legend(loc="center right")
    return figure
