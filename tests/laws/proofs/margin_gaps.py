"""Duality gaps of support vector machines, recomputed from public attributes and the data alone."""

from typing import Any

import numpy as np
from scipy.optimize import minimize


def kernel_of(model: Any, X: np.ndarray) -> np.ndarray:
    """The kernel matrix of the machines below: rbf with gamma="scale", or linear."""
    if model.kernel == "linear":
        return X @ X.T
    return np.exp(-((X[:, None, :] - X[None]) ** 2).sum(axis=2) / (X.shape[1] * X.var()))


def box_gap(K: np.ndarray, b: np.ndarray, linear: np.ndarray, box: Any, kink: float, groups: list[np.ndarray]) -> float:
    """Primal minus dual of a machine, the offset of each group of rows being the best there is, found by search."""
    slope = K @ b + linear
    total = b @ slope + kink * np.abs(b).sum()
    for rows in groups:
        g, (low, high) = slope[rows], (box[0][rows], box[1][rows])

        def bound(c: float, g: np.ndarray = g, low: np.ndarray = low, high: np.ndarray = high) -> float:
            best = np.minimum(low * (g - c) + kink * np.abs(low), high * (g - c) + kink * np.abs(high))
            return float(np.minimum(best, np.where((low <= 0) & (high >= 0), 0.0, np.inf)).sum())

        total -= max(bound(c) + c * b[rows].sum() for c in [*g - kink, *g + kink])
    return float(total)


def pair_gaps(model: Any, X: np.ndarray, y: Any) -> float:
    """The sum over pairs of classes of primal minus dual."""
    K, ends, total, pair = kernel_of(model, X), np.cumsum([0, *model.n_support_]), 0.0, 0
    for i, first in enumerate(model.classes_):
        for j in range(i + 1, len(model.classes_)):
            rows = np.flatnonzero((y == first) | (y == model.classes_[j]))
            sign, b = np.where(y[rows] == first, 1.0, -1.0), np.zeros(len(X))
            b[model.support_[ends[i] : ends[i + 1]]] = model.dual_coef_[j - 1, ends[i] : ends[i + 1]]
            b[model.support_[ends[j] : ends[j + 1]]] = model.dual_coef_[i, ends[j] : ends[j + 1]]
            b, linear, box = b[rows], -sign, model.__dict__.get("C", 1.0)
            groups = [np.arange(len(rows))]
            if "nu" in model.__dict__:
                # The coefficients were divided by the margin: their sum says by how much.
                b, linear = b * model.nu * len(rows) / np.abs(b).sum(), 0.0 * sign
                groups = [np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)]
            limits = (np.minimum(sign * box, 0.0), np.maximum(sign * box, 0.0))
            total += box_gap(K[np.ix_(rows, rows)], b, linear, limits, 0.0, groups)
            pair += 1
    return total


def rest_gaps(model: Any, X: np.ndarray, y: Any) -> float:
    """The sum over classes, each against the rest, of primal minus dual."""
    K, total = kernel_of(model, X), 0.0
    for label, coefficients in zip(model.classes_, model.dual_coef_, strict=True):
        sign, b = np.where(y == label, model.C, -model.C), np.zeros(len(X))
        b[model.support_] = coefficients
        limits = (np.minimum(sign, 0.0), np.maximum(sign, 0.0))
        total += box_gap(K, b, -np.sign(sign), limits, 0.0, [np.arange(len(X))])
    return total


def joint_gap(model: Any, X: np.ndarray, y: Any) -> float:
    """Primal minus dual of the machine of Crammer and Singer; its dual is sum A[i, own] - |w|^2 / 2."""
    A, own = np.zeros((len(X), len(model.classes_))), y[:, None] == model.classes_
    A[model.support_] = model.dual_coef_.T
    scores = kernel_of(model, X) @ A
    squared = np.sum(A * scores)
    slack = np.max(scores + 1.0 - own, axis=1) - scores[own]
    return float(0.5 * squared + model.C * slack.sum() - (A[own].sum() - 0.5 * squared))


def class_gaps(model: Any, X: np.ndarray, y: Any) -> float:
    """Primal minus dual of whatever machines a classifier is made of."""
    return {"ovo": pair_gaps, "ovr": rest_gaps, "joint": joint_gap}[model.multi_class](model, X, y)


def tube_gap(model: Any, X: np.ndarray, y: Any) -> float:
    """Primal minus dual of support vector regression."""
    b, box = np.zeros(len(X)), np.full(len(X), model.C)
    b[model.support_] = model.dual_coef_[0]
    return box_gap(kernel_of(model, X), b, -y, (-box, box), model.epsilon, [np.arange(len(X))])


def free_tube_gap(model: Any, X: np.ndarray, y: Any) -> float:
    """The same where the tube is found: each side of it has coefficients of its own."""
    n, b = len(X), np.zeros(2 * len(X))
    b[model.support_] = np.maximum(model.dual_coef_[0], 0.0)
    b[n + model.support_] = np.minimum(model.dual_coef_[0], 0.0)
    limits = (np.repeat([0.0, -model.C], n), np.repeat([model.C, 0.0], n))
    K = np.tile(kernel_of(model, X), (2, 2))
    return box_gap(K, b, -np.tile(y, 2), limits, 0.0, [np.arange(n), np.arange(n, 2 * n)])


def one_class_gap(model: Any, X: np.ndarray, y: Any) -> float:
    """Primal minus dual of the one-class machine, or of the enclosing sphere (halved)."""
    K, b, sphere = kernel_of(model, X), np.zeros(len(X)), "radius_" in model.__dict__
    b[model.support_] = model.dual_coef_[0]
    linear = -0.5 * np.diag(K) if sphere else np.zeros(len(X))
    box = np.full(len(X), model.C if sphere else 1.0)
    return box_gap(K, b, linear, (0.0 * box, box), 0.0, [np.arange(len(X))])


def linear_machine_gap(model: Any, X: np.ndarray, y: Any) -> float:
    """The mean objective less the lowest value that a long descent from the model finds: no more than the true gap."""
    coef, labels = np.atleast_2d(model.coef_), getattr(model, "classes_", None)

    def objective(p: np.ndarray) -> float:
        w, b = p[: coef.size].reshape(coef.shape), p[coef.size :]
        scores = X @ w.T + b
        if labels is None:
            losses = np.maximum(np.abs(y - scores[:, 0]) - model.epsilon, 0.0)
        else:
            signs = np.where(y[:, None] == (labels if len(w) > 1 else labels[1:]), 1.0, -1.0)
            losses = np.maximum(1.0 - signs * scores, 0.0).sum(axis=1)
            losses = (np.maximum(1.0 - signs * scores, 0.0) ** 2).sum(axis=1) if "squared" in model.loss else losses
        penalty = 0.5 * (np.sum(w**2) + np.sum((b / model.intercept_scaling) ** 2))
        return float(losses.mean() + penalty / (model.C * len(X)))

    start = np.append(np.ravel(coef), np.ravel(model.intercept_))
    return objective(start) - minimize(objective, start, method="Powell", options={"maxiter": 20}).fun
