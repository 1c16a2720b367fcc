"""Dissimilarities between all pairs of rows: given ones are checked, others are computed."""

from typing import Any

import numpy as np

from mercer._solver.neighbours.metric import measure_pairs
from mercer._solver.request import run_aside, run_large
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.errors import DataError


def check_dissimilarities(subject: str, matrix: Array) -> Array:
    """Return dissimilarities in float64, symmetric; raise if they cannot be such."""
    # Comparing a matrix with its transpose reads and writes each value some ten times.
    return run_large(lambda: _check(subject, matrix), 10 * matrix.size)


def _check(subject: str, matrix: Array) -> Array:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(
            f"{subject}: array must be 2-dimensional and square: dissimilarities have one row and column per thing; "
            f"got shape {matrix.shape}. Give distances between all pairs."
        )
    D = np.asarray(matrix, dtype=np.float64)
    largest = float(np.abs(D).max(initial=0.0))
    if not np.allclose(D, D.T, rtol=0.0, atol=1e-10 * max(largest, 1e-300)):
        gap = float(np.abs(D - D.T).max())
        raise DataError(
            f"{subject}: Array must be symmetric: dissimilarities of i with j and of j with i differ by up to "
            f"{gap:.3g}. Give 0.5 * (D + D.T) if that is meant."
        )
    if D.size and D.min() < 0:
        raise DataError(
            f"{subject}: dissimilarities must not be negative; got {D.min():.3g}. Give distances, such as "
            f"1 - similarity, not similarities."
        )
    return D


def compute_dissimilarities(subject: str, rows: Array, metric: Any, parameters: Any, others: Array = None) -> Array:
    """Return the distances between all pairs of rows, or between rows and others."""
    n, m = rows.shape[0], (rows if others is None else others).shape[0]
    require_memory(subject, 24.0 * n * m, f"the {n} x {m} dissimilarities", "give fewer rows")
    options = parameters or {}

    def compute() -> Array:
        if metric == "euclidean" and not options and rows.dtype == np.float64:
            D = _measure_euclidean(rows, rows if others is None else np.asarray(others, dtype=np.float64))
        else:
            D = measure_pairs(rows, others, metric, options)
        if others is None:
            # Rounding may differ between the two triangles.
            D = 0.5 * (D + D.T)
            np.fill_diagonal(D, 0.0)
        return np.asarray(D, dtype=np.float64)

    # A million distances take some 10 ms; more of them would keep Ctrl-C waiting.
    return compute() if n * m < 10**6 else run_aside(compute)


def _measure_euclidean(rows: Array, others: Array) -> Array:
    """Return Euclidean distances with the bits of scikit-learn, whose checks take longer than 50 rows do."""
    squares = rows @ others.T
    squares *= -2
    squares += np.einsum("ij,ij->i", rows, rows)[:, None]
    squares += np.einsum("ij,ij->i", others, others)
    return np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)
