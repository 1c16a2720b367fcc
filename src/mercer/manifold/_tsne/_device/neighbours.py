"""Nearest rows on a device, by products of tiles, and Gaussians of a given perplexity around them."""

import math
from typing import Any

from mercer._solver.neighbours.candidate_search import can_list
from mercer._solver.neighbours.device_search import DeviceSearch
from mercer._source.placement import Placement
from mercer._types import Array

# Scores that are held at a time: 2**28 float32 are 1 GiB.
_SCORES = 2**28
# Rows of one column tile: a selection among 65 536 scores takes less than sorting all of them.
_TILE = 2**16
# Entries of the affinities that the search for widths holds at a time: 2**26 float32 are 256 MiB.
_ENTRIES = 2**26
# Halvings of the bracket of a width: 2**-60 of the first bracket is below any rounding.
_HALVINGS = 60


def find_nearest(X: Array, k: int, placement: Placement) -> tuple[Array, Array]:
    """Return the squared distances of each row to its `k` nearest other rows, rising, and their numbers.

    Rows are chosen by |y|^2 - 2 x.y, one matrix product for each pair of tiles; the distances of the chosen ones are
    then computed from differences, which lose no digits. NVIDIA GPUs have programs for it.
    """
    xp, n = placement.xp, X.shape[0]
    if can_list(X, k):
        squares, columns = DeviceSearch(X, "TSNE").find_there(X, k, leave_out_self=True)
        return xp.astype(squares, X.dtype), columns
    X = X - xp.mean(X, axis=0)
    norms = xp.sum(X * X, axis=1)
    height = max(1, _SCORES // min(n, _TILE))
    squares, columns = [], []
    for start in range(0, n, height):
        rows = X[start : min(start + height, n), :]
        numbers = _choose(X, norms, rows, start, k, xp)
        gaps = _measure_gaps(X, rows, numbers, xp)
        order = xp.argsort(gaps, axis=1, stable=True)
        squares.append(xp.take_along_axis(gaps, order, axis=1))
        columns.append(xp.take_along_axis(numbers, order, axis=1))
    return xp.concat(squares), xp.concat(columns)


def _choose(X: Array, norms: Array, rows: Array, start: int, k: int, xp: Any) -> Array:
    """Return the numbers of the `k` nearest rows of each of `rows`, which are rows `start` and on of X."""
    own = xp.arange(start, start + rows.shape[0], device=X.device)[:, None]
    best: Any = None
    for first in range(0, X.shape[0], _TILE):
        last = min(first + _TILE, X.shape[0])
        scores = norms[None, first:last] - 2.0 * xp.matmul(rows, X[first:last, :].T)
        numbers = xp.arange(first, last, device=X.device)[None, :]
        if first < start + rows.shape[0] and start < last:
            scores = xp.where(numbers == own, xp.asarray(math.inf, dtype=scores.dtype, device=X.device), scores)
        scores, places = _select(scores, min(k, last - first), xp)
        numbers = places + first
        if best is not None:
            scores, numbers = xp.concat([best[0], scores], axis=1), xp.concat([best[1], numbers], axis=1)
            scores, places = _select(scores, min(k, scores.shape[1]), xp)
            numbers = xp.take_along_axis(numbers, places, axis=1)
        best = scores, numbers
    return best[1]


def _select(scores: Array, k: int, xp: Any) -> tuple[Array, Array]:
    """Return the `k` smallest scores of each row, and their columns."""
    if hasattr(xp, "topk"):
        return xp.topk(scores, k, dim=1, largest=False)
    places = xp.argsort(scores, axis=1)[:, :k]
    return xp.take_along_axis(scores, places, axis=1), places


def _measure_gaps(X: Array, rows: Array, numbers: Array, xp: Any) -> Array:
    """Return the squared distances between rows and the rows of X with these numbers."""
    gaps = []
    height = max(1, _ENTRIES // (numbers.shape[1] * X.shape[1]))
    for start in range(0, rows.shape[0], height):
        part = numbers[start : start + height, :]
        others = xp.reshape(xp.take(X, xp.reshape(part, (-1,)), axis=0), (part.shape[0], part.shape[1], X.shape[1]))
        step = others - rows[start : start + height, None, :]
        gaps.append(xp.sum(step * step, axis=2))
    return xp.concat(gaps)


def weigh_nearest(squares: Array, perplexities: list[float], placement: Placement) -> tuple[Array, Array, float]:
    """Return weights with the wanted perplexity in each row, the widths, and the largest relative error.

    Of several perplexities the weights are the mean. All rows halve their brackets together.
    """
    xp, weights, widths, error = placement.xp, [], [], 0.0
    height = max(1, _ENTRIES // squares.shape[1])
    for start in range(0, squares.shape[0], height):
        part = squares[start : start + height, :]
        gaps = part - part[:, :1]
        found = [_halve(gaps, math.log(scale), xp) for scale in perplexities]
        weights.append(sum((entry[0] for entry in found[1:]), found[0][0]) / len(perplexities))
        widths.append(xp.stack([xp.sqrt(0.5 / entry[1]) for entry in found], axis=1))
        error = max(error, *(float(xp.max(xp.abs(xp.expm1(entry[2])))) for entry in found))
    return xp.concat(weights), xp.concat(widths), error


def _halve(gaps: Array, entropy: float, xp: Any) -> tuple[Array, Array, Array]:
    """Return weights exp(-beta gaps) of this entropy in each row, beta, and the error of the entropy."""
    scale = xp.mean(gaps, axis=1, keepdims=True)
    beta = 1.0 / xp.where(scale > 0, scale, xp.ones_like(scale))
    low, high = xp.zeros_like(beta), xp.full_like(beta, math.inf)
    weights = total = surplus = beta
    for _ in range(_HALVINGS):
        weights = xp.exp(-beta * gaps)
        total = xp.sum(weights, axis=1, keepdims=True)
        surplus = xp.log(total) + beta * xp.sum(weights * gaps, axis=1, keepdims=True) / total - entropy
        # Entropy falls with beta: too much of it asks for a larger one.
        more = surplus > 0
        low, high = xp.where(more, beta, low), xp.where(more, high, beta)
        middle = xp.where(xp.isinf(high), 2.0 * beta, 0.5 * (low + high))
        # Rows with as many equal neighbours as the perplexity have no such beta; it must stay a number.
        beta = xp.where(xp.isfinite(middle) & (middle > 0), middle, beta)
    return weights / total, beta[:, 0], surplus[:, 0]
