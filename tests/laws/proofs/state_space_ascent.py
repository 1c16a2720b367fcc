"""The ascent of EM for a linear-Gaussian model, computed from the joint distribution of all states and rows."""

from typing import Any

import numpy as np


def state_space_ascent(model: Any, X: np.ndarray, y: Any) -> float:
    """The gain of the expected complete-data log posterior in one more M step, per row.

    For one sequence without missing entries or controls, and a state of one dimension.
    """
    a, c = float(model.transition_[0, 0]), np.asarray(model.observation_, dtype=np.float64)[:, 0]
    q, R = float(model.transition_noise_[0, 0]), np.asarray(model.observation_noise_, dtype=np.float64)
    m, p0 = float(model.start_mean_[0]), float(model.start_covariance_[0, 0])
    n, reg = len(X), model.reg_covar
    # The precision of all states given all rows is tridiagonal: one dense inverse gives every moment.
    precision = np.zeros((n, n))
    steps = np.arange(n - 1)
    precision[0, 0] += 1 / p0
    precision[steps + 1, steps + 1] += 1 / q
    precision[steps, steps] += a * a / q
    precision[steps, steps + 1] -= a / q
    precision[steps + 1, steps] -= a / q
    weight = np.linalg.solve(R, c)
    precision += np.eye(n) * (c @ weight)
    right = X @ weight
    right[0] += m / p0
    V = np.linalg.inv(precision)
    x = V @ right
    s00, s11 = np.sum(x[:-1] ** 2) + np.trace(V[:-1, :-1]), np.sum(x[1:] ** 2) + np.trace(V[1:, 1:])
    s10 = np.sum(x[1:] * x[:-1]) + np.trace(V[1:, :-1])
    xx, yx, yy = np.sum(x**2) + np.trace(V), X.T @ x, X.T @ X

    def objective(a: float, c: np.ndarray, q: float, R: np.ndarray, m: float) -> float:
        moves = s11 - 2 * a * s10 + a * a * s00
        looks = yy - np.outer(c, yx) - np.outer(yx, c) + np.outer(c, c) * xx
        start = x[0] ** 2 + V[0, 0] - 2 * m * x[0] + m * m
        value = -0.5 * ((n - 1) * (np.log(q) + reg / q) + moves / q) - 0.5 * (np.log(p0) + start / p0)
        inverse = np.linalg.inv(R)
        spread = n * (np.linalg.slogdet(R)[1] + reg * np.trace(inverse)) + np.sum(inverse * looks)
        return value - 0.5 * spread

    better_a, better_c = s10 / s00, yx / xx
    better_q = (s11 - 2 * better_a * s10 + better_a**2 * s00) / (n - 1) + reg
    looks = yy - np.outer(better_c, yx) - np.outer(yx, better_c) + np.outer(better_c, better_c) * xx
    better = objective(better_a, better_c, better_q, looks / n + reg * np.eye(len(c)), x[0])
    return float(better - objective(a, c, q, R, m)) / n
