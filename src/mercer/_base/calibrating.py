"""Maps from scores to probabilities that are most likely for rows with known classes: a sigmoid, and a temperature."""

import math

import numpy as np

from mercer._types import Array

# The largest derivative that is left of the mean log loss, by parameters of scores whose largest magnitude is one.
TOLERANCE = 1e-8
# Newton's steps from the shares of the classes; five to ten are usual.
_MOST_STEPS = 100
# Logarithms of the least and largest inverse temperature, of scores whose largest magnitude is one or more.
_BOUNDS = (-10.0, 10.0)
# What is added to the curvature along the slope, as a share of that along the shift.
_LIFT = 1e-12
# Log-odds whose exponential float64 still holds.
_FAR = 700.0


def fit_sigmoid(scores: Array, positive: Array, weight: Array | None) -> tuple[float, float, float]:
    """Return a and b of 1 / (1 + exp(a f + b)) with the least mean log loss, and its largest derivative left.

    Newton's steps in two parameters: :mod:`mercer._solver.newton` takes 0.58 ms for 30 rows where scikit-learn takes
    0.39, and this 0.1. The targets are Platt's: a class with n rows has (n + 1) / (n + 2) instead of one, so that a
    and b stay finite.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        f of each row.
    positive : ndarray of bool of shape (n,)
        Whether a row is of the class.
    weight : ndarray of shape (n,) or None
        Weights.
    """
    column = np.asarray(scores, dtype=np.float64)
    # Columns of one scale, so that one tolerance suits all; a constant factor changes a alone.
    scale = float(np.abs(column).max(initial=0.0)) or 1.0
    total = float(len(column)) if weight is None else float(weight.sum())
    own = float(np.count_nonzero(positive)) if weight is None else float(weight[positive].sum())
    other = total - own
    targets = np.where(positive, (own + 1.0) / (own + 2.0), 1.0 / (other + 2.0))
    share = np.full(len(column), 1.0 / total) if weight is None else weight / total
    f = column / scale
    squares = f * f
    slope, shift = 0.0, math.log((own + 1.0) / (other + 1.0))
    left = math.inf
    for _ in range(_MOST_STEPS):
        # Beyond these bounds a probability is 0 or 1 in any precision.
        p = 1.0 / (1.0 + np.exp(-np.clip(slope * f + shift, -_FAR, _FAR)))
        residual = share * (p - targets)
        by_shift, by_slope = float(residual.sum()), float(residual @ f)
        left = max(abs(by_shift), abs(by_slope))
        if left <= 1e-3 * TOLERANCE:
            break
        bend = share * p * (1.0 - p)
        whole, mixed = float(bend.sum()), float(bend @ f)
        # Scores that are all alike leave no curvature along one direction, nor a gradient.
        both = float(bend @ squares) + _LIFT * whole
        determinant = whole * both - mixed * mixed
        change = (
            (mixed * by_shift - whole * by_slope) / determinant,
            (mixed * by_slope - both * by_shift) / determinant,
        )
        # The third derivative of the loss is at most its second times the change of the log-odds, hence no step of
        # this length rises (Sun and Tran-Dinh, 2019).
        far = abs(change[0]) + abs(change[1])
        step = math.log1p(far) / far if far > 0 else 1.0
        slope, shift = slope + step * change[0], shift + step * change[1]
    return -slope / scale, -shift, left


def fit_temperature(logits: Array, codes: Array, weight: Array | None) -> tuple[float, float]:
    """Return the inverse temperature beta of softmax(beta z) with the least mean log loss, and the derivative left.

    The loss is convex in beta: Newton's steps, kept inside a bracket. The derivative is by the logarithm of beta; it is
    zero where beta is at the end of its range.

    Parameters
    ----------
    logits : ndarray of shape (n, n_classes)
        z of each row.
    codes : ndarray of int of shape (n,)
        The class of each row.
    weight : ndarray of shape (n,) or None
        Weights.
    """
    # The highest score of a row is zero: exponentials stay finite.
    gaps = np.array(np.asarray(logits).T, dtype=np.float64, order="C")
    gaps -= gaps.max(axis=0)
    n = gaps.shape[1]
    own = gaps[codes, np.arange(n)]
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    scale = float(np.abs(gaps).max(initial=0.0))
    if scale == 0.0:
        return 1.0, 0.0
    least, most = math.exp(_BOUNDS[0]) / max(1.0, scale), math.exp(_BOUNDS[1]) / min(1.0, scale)
    low, high = least, most

    def measure(beta: float) -> tuple[float, float]:
        """Return the first and the second derivative of the mean loss by beta."""
        odds = np.exp(beta * gaps)
        total = odds.sum(axis=0)
        odds *= gaps
        mean = odds.sum(axis=0) / total
        odds *= gaps
        squares = odds.sum(axis=0) / total
        return float(share @ (mean - own)), float(share @ (squares - mean**2))

    beta = min(max(1.0, low), high)
    for _ in range(_MOST_STEPS):
        slope, bend = measure(beta)
        if abs(slope) * beta <= 1e-4 * TOLERANCE:
            return beta, abs(slope) * beta
        low, high = (beta, high) if slope < 0 else (low, beta)
        if high - low <= 4e-16 * high:
            break
        step = beta - slope / bend if bend > 0 else math.inf
        # Where the tangent leads out of the bracket, halve it in its logarithm.
        beta = step if low < step < high else math.sqrt(low * high)
    return beta, 0.0 if beta <= 1.01 * least or beta >= 0.99 * most else abs(slope) * beta
