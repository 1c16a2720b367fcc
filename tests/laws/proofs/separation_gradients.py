"""Certificates of separated sources, recomputed from public attributes and the rows by the plainest formulas."""

from typing import Any

import numpy as np


def scored(model: Any, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The score g of each value, and its derivative."""
    name = getattr(model, "score_function", None) or getattr(model, "fun", None) or model.index
    if name in ("cube", "kurtosis"):
        return Y**3, 3 * Y**2
    if name == "exp":
        bell = np.exp(-(Y**2) / 2)
        return Y * bell, (1 - Y**2) * bell
    alpha = 0.5 if name == "logistic" else 1.0
    return np.tanh(alpha * Y), alpha * (1 - np.tanh(alpha * Y) ** 2)


def ica_gradient(model: Any, X: np.ndarray, y: Any) -> float:
    """The largest entry of <g(y) y^T> - I, or of its skew part for orthogonal matrices."""
    Y = (X - model.mean_) @ model.components_.T * model.scale_
    g, _ = scored(model, Y + model.bias_ * model.scale_)
    products = model.tails_[:, None] * (g.T @ Y) / len(X)
    if model.constraint == "orthogonal":
        return float(np.abs(products - products.T).max()) / 2
    gradient = products + Y.T @ Y / len(X) - np.eye(len(products))
    return float(np.abs(gradient).max())


def fast_ica_gradient(model: Any, X: np.ndarray, y: Any) -> float:
    """The largest entry of the skew part of <g(y) y^T>, rows signed by the curvature."""
    Y = (X - model.mean_) @ model.components_.T
    g, slope = scored(model, Y)
    products = g.T @ Y / len(X)
    signs = np.sign(slope.mean(axis=0) - np.diagonal(products))
    products = signs[:, None] * products
    return float(np.abs(products - products.T).max()) / 2


def fast_ica_fixed_point(model: Any, X: np.ndarray, y: Any) -> float:
    """The largest turn, 1 - |cos|, of a component in one more step among the directions orthogonal to those before."""
    centred = X - model.mean_
    white = centred @ model.whitening_.T * np.sqrt(len(X))
    W = model.unmixing_ / np.linalg.norm(model.unmixing_, axis=1)[:, None]
    return _turn(model, white, W)


def turn_left(model: Any, X: np.ndarray, y: Any) -> float:
    """The same for directions in the order in which they were found, which the index gives."""
    centred = X - model.mean_
    values, vectors = np.linalg.eigh(centred.T @ centred / len(X))
    white = centred @ vectors / np.sqrt(values)
    W = (model.components_ @ vectors) * np.sqrt(values)
    orders = [list(range(len(W))), list(range(len(W)))[::-1]]
    return min(_turn(model, white, W[order]) for order in orders)


def _turn(model: Any, white: np.ndarray, W: np.ndarray) -> float:
    largest = 0.0
    for row, w in enumerate(W):
        g, slope = scored(model, white @ w)
        step = white.T @ g / len(white) - slope.mean() * w
        step -= W[:row].T @ (W[:row] @ step)
        largest = max(largest, 1 - abs(step @ w) / np.linalg.norm(step))
    return largest


def rotation_left(model: Any, X: np.ndarray, y: Any) -> float:
    """The largest sine of a rotation of two sources that would make their lagged covariances more diagonal."""
    S = (X - model.mean_) @ model.components_.T
    C = np.array([S[lag:].T @ S[:-lag] / (len(S) - lag) for lag in model.lags_])
    C = (C + C.transpose(0, 2, 1)) / 2
    if model.diagonaliser == "ffdiag":
        return fall_left(np.concatenate([(S.T @ S / len(S))[None], C]))
    largest = 0.0
    for p in range(S.shape[1]):
        for q in range(p):
            h = np.array([C[:, p, p] - C[:, q, q], 2 * C[:, p, q]])
            x, z = np.linalg.eigh(h @ h.T)[1][:, 1]
            largest = max(largest, abs(np.sin(np.arctan2(z, x) / 2 if x > 0 else np.arctan2(-z, -x) / 2)))
    return largest


def balanced(C: np.ndarray) -> np.ndarray:
    """The matrices with rows and columns scaled so that the diagonals of each axis have unit sum of squares."""
    scale = (np.diagonal(C, axis1=1, axis2=2) ** 2).sum(axis=0) ** -0.25
    return scale[:, None] * C * scale


def fall_left(C: np.ndarray) -> float:
    """By how much the share of squares off the diagonals falls along the W that makes C + W D + D W^T diagonal."""
    C, k = balanced(C), C.shape[1]
    D, W = np.diagonal(C, axis1=1, axis2=2), np.zeros((k, k))
    for i in range(k):
        for j in range(i):
            pair = np.linalg.lstsq(np.column_stack([D[:, j], D[:, i]]), -C[:, i, j], rcond=None)[0]
            W[i, j], W[j, i] = pair

    def share(turn: np.ndarray) -> float:
        moved = balanced(turn @ C @ turn.T)
        return 1.0 - (np.diagonal(moved, axis1=1, axis2=2) ** 2).sum() / (moved**2).sum()

    return max(0.0, share(np.eye(k)) - min(share(np.eye(k) + 0.5**halving * W) for halving in range(20)))
