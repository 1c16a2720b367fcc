"""Rules for the first medoids."""

from typing import Any

import numpy as np

from mercer._types import Array
from mercer.cluster._medoids.board import Board
from mercer.errors import DataError


def first_medoids(board: Board, init: Any, k: int, seed: Any, metric: Any) -> Array:
    """Choose the k rows to start from, by the rule `init` or as given."""
    if isinstance(init, str):
        generator = np.random.default_rng(seed)
        return {"build": _build, "random": _draw, "k-medoids++": _draw_apart}[init](board, k, generator)
    given = np.asarray(init)
    if given.ndim == 1 and given.dtype.kind in "iu":
        return _check_indices(board, given, k)
    return _nearest_rows(board, given, k, metric)


def _build(board: Board, k: int, generator: Any) -> Array:
    """Choose the row of least sum of distances, then k - 1 times the row that lowers the total most (BUILD of PAM)."""
    rows = board.candidates
    chosen = [int(rows[np.argmin(board.sums(rows))])]
    near = _line(board, chosen[0])
    while len(chosen) < k:
        change = board.gains(rows, near)
        # A row that is a medoid already cannot be chosen again.
        change[np.isin(rows, chosen)] = np.inf
        chosen.append(int(rows[np.argmin(change)]))
        near = np.minimum(near, _line(board, chosen[-1]))
    return np.array(chosen)


def _draw(board: Board, k: int, generator: np.random.Generator) -> Array:
    """Draw k different rows in proportion to their weights."""
    return generator.choice(board.candidates, k, replace=False, p=board.shares())


def _draw_apart(board: Board, k: int, generator: np.random.Generator) -> Array:
    """Draw k rows, each in proportion to weight times distance to the nearest row before it (k-medoids++)."""
    weight = board.weight if len(board.weight) else np.ones(board.n)
    chosen: list[int] = []
    near = np.ones(board.n)
    while len(chosen) < k:
        mass = np.cumsum(weight * near)
        # If every row is on a medoid, any other row will do.
        if mass[-1] > 0:
            row = int(np.searchsorted(mass, generator.random() * mass[-1], side="right"))
        else:
            row = int(np.setdiff1d(board.candidates, chosen)[0])
        # Rounding may lead past the last row of positive weight.
        row = min(row, int(board.candidates[-1]))
        line = _line(board, row)
        near = line if not chosen else np.minimum(near, line)
        near[row] = 0.0
        chosen.append(row)
    return np.array(chosen)


def _line(board: Board, row: int) -> Array:
    return np.array(board.distances.lines(np.array([row]))[0], dtype=np.float64)


def _check_indices(board: Board, given: Array, k: int) -> Array:
    if given.shape != (k,) or len(np.unique(given)) != k or not np.isin(given, board.candidates).all():
        raise DataError(
            f"{board.subject}: init must name {k} different rows of positive weight below {board.n}; got "
            f"{len(given)} numbers from {given.min(initial=0)} to {given.max(initial=0)}. Give row numbers, or rows."
        )
    return given.astype(np.intp)


def _nearest_rows(board: Board, given: Array, k: int, metric: Any) -> Array:
    """Return the nearest row to each given position, none twice."""
    if metric == "precomputed" or given.ndim != 2 or given.shape != (k, board.distances.rows.shape[1]):
        raise DataError(
            f"{board.subject}: init must be {k} row numbers, or {k} rows where distances are not precomputed; got an "
            f"array of shape {given.shape} and type {given.dtype}."
        )
    chosen: list[int] = []
    for position in given.astype(np.float64):
        gaps = ((board.distances.rows[board.candidates] - position) ** 2).sum(axis=1)
        # Two positions may share their nearest row; the second then gets the next one.
        gaps[np.isin(board.candidates, chosen)] = np.inf
        chosen.append(int(board.candidates[np.argmin(gaps)]))
    return np.array(chosen)
