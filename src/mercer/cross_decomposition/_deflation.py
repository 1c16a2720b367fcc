"""Partial least squares by deflation, on moments: pairs of directions of greatest covariance, one after another.

With the moments S_xx and C = X^T Y of the tables that are left, the next pair (w, c) is the pair of leading singular
vectors of C. The score t = X w has the square w^T S_xx w, the loading p = S_xx w / t^T t, and what is left of X is
X - t p^T. Scores of different components are orthogonal, so that t = X r with r = w - sum_j (p_j . w) r_j, and p
follows from the first S_xx, which is never changed: only C is. No step reads a row.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._types import Array
from mercer.cross_decomposition._moments import Side, TwoTables

# Values of a cross moment above which a component is computed where Ctrl-C can interrupt it.
_LARGE = 2**14
STATEMENT = (
    "Largest |C c - s w| / s over the components, where C is the cross moment that earlier components leave and (w, c) "
    "its singular vectors with singular value s."
)


@plain
@dataclass(frozen=True)
class PairedAxes:
    """Directions in two tables: a model, or the state of a solver that has found some of its components.

    ``x_rotations`` take centred and scaled rows to scores. ``inner`` regresses the columns of Y on the scores of X.
    ``count`` components are known, the others zero. ``cross`` is the cross moment that is left, ``correlations`` those
    of the scores, ``spectrum`` all correlations where they are known, ``residuals`` one number per component.
    """

    weight: float
    x_mean: Array
    y_mean: Array
    x_scale: Array
    y_scale: Array
    x_weights: Array
    y_weights: Array
    x_loadings: Array
    y_loadings: Array
    x_rotations: Array
    y_rotations: Array
    inner: Array
    correlations: Array
    residuals: Array
    n_iter: list[int]
    cross: Array
    count: int = 0
    gain: float = 0.0
    spectrum: Array = None
    converged: bool = True
    shrinkage: list[float] | None = None


@dataclass(frozen=True)
class DeflationTask:
    """What a deflation is asked for: how many components, which tables are deflated, and how pairs are found."""

    n_components: int
    canonical: bool
    algorithm: str
    max_iter: int
    tol: float
    warn_constant: Callable[[int], None]


def first_axes(tables: TwoTables, k: int) -> PairedAxes:
    """Return the state of k components, none of them found yet: columns of zeros."""
    x, y, none = np.zeros((tables.x.width, k)), np.zeros((tables.y.width, k)), np.zeros(k)
    return PairedAxes(
        tables.weight,
        tables.x_mean,
        tables.y_mean,
        tables.x_scale,
        tables.y_scale,
        *(x, y, x, y, x, y, y),
        correlations=none,
        residuals=none,
        n_iter=[],
        cross=tables.cross,
    )


def deflate(task: DeflationTask, tables: TwoTables, start: PairedAxes | None) -> Solver:
    """Find the components one by one; a step is a component."""
    state = first_axes(tables, task.n_components) if start is None else start
    # Entries of what is left below this are rounding of the first cross moment.
    noise = max(10, *tables.cross.shape) * np.finfo(np.float64).eps * _norm(tables.cross)
    y_trace = tables.y.trace()
    for component in range(state.count, task.n_components):
        if _norm(state.cross) <= noise:
            task.warn_constant(component)
            state = replace(state, count=task.n_components)
        elif tables.cross.size > _LARGE:
            state = yield Dense(partial(_add_component, task, tables, state, y_trace))
        else:
            state = _add_component(task, tables, state, y_trace)
        yield Step(state.gain, state, _certify(task, state))
        if state.count == task.n_components:
            break
    return Solution(state, state.converged, _certify(task, state), "" if state.converged else "max_iter")


def _add_component(task: DeflationTask, tables: TwoTables, state: PairedAxes, y_trace: float) -> PairedAxes:
    """Find the next pair of directions and take its part out of the cross moment."""
    C, k = state.cross, state.count
    w, c, n_iter, converged = _find_pair(task, tables, state)
    # The largest weight of a direction is positive.
    if w[np.abs(w).argmax()] < 0:
        w, c = -w, -c
    # t = X r for rotations r, and p = S_xx r / t^T t.
    r, t_square, p = _project(tables.x, w, state.x_rotations, state.x_loadings)
    row, column = w @ C, C @ c
    shared = float(w @ column)
    if task.canonical:
        s, u_square, q = _project(tables.y, c, state.y_rotations, state.y_loadings)
        # Both tables are deflated: C - p (w^T C) - (C c - s p) q^T.
        cross = C - np.outer(p, row) - np.outer(column - shared * p, q)
        gain = abs(shared) / tables.weight
    else:
        q = row / t_square
        # Regression deflates X alone: the targets are explained by the scores of X.
        s, cross = c, C - np.outer(p, row)
        gain = t_square * float(q @ q) / y_trace if y_trace > 0 else 0.0
        u_square = float(c @ tables.y.times(c))
    length, column_square = float(c @ c), float(column @ column)
    # |C c - s w|^2 = |C c|^2 - s^2 for a unit vector w and s = w . C c.
    residual = _norm(column - shared * w) / shared if shared > 0 and length > 0 and column_square > 0 else 0.0
    size = t_square * u_square
    columns: dict[str, Any] = {
        "x_weights": w,
        "y_weights": c,
        "x_loadings": p,
        "y_loadings": q,
        "x_rotations": r,
        "y_rotations": s,
        "inner": tables.cross.T @ r / t_square,
        "correlations": min(1.0, abs(shared) / math.sqrt(size)) if size > 0 else 0.0,
        "residuals": residual,
    }
    known: dict[str, Any] = {name: _put(getattr(state, name), k, value) for name, value in columns.items()}
    return replace(
        state,
        **known,
        n_iter=[*state.n_iter, n_iter],
        count=k + 1,
        cross=cross,
        gain=state.gain + gain,
        converged=state.converged and converged,
    )


def _put(table: Array, column: int, values: Any) -> Array:
    """Return a copy of a table with one column replaced."""
    table = table.copy()
    table[..., column] = values
    return table


def _norm(values: Array) -> float:
    flat = values.ravel()
    return math.sqrt(flat @ flat)


def _find_pair(task: DeflationTask, tables: TwoTables, state: PairedAxes) -> tuple[Array, Array, int, bool]:
    """Return the leading singular vectors of the cross moment: exact ones, or by alternating products."""
    C = state.cross
    if task.algorithm == "svd":
        left, _, right = np.linalg.svd(C, full_matrices=False)
        return left[:, 0].copy(), right[0].copy(), 1, True
    # The first column of Y that is left starts the iteration, as in scikit-learn.
    squares = np.einsum("ij,ij->j", C, C)
    c = np.zeros(C.shape[1])
    # The first column that is not rounding of zero.
    c[np.argmax(squares > 1e-28 * squares.max())] = 1.0
    before, n_iter = np.full(C.shape[0], 100.0), 0
    converged = C.shape[1] == 1
    while n_iter < task.max_iter:
        n_iter += 1
        w = C @ c
        # Power iteration on C C^T.
        w /= math.sqrt(w @ w)
        c = w @ C
        c /= math.sqrt(c @ c)
        gap = w - before
        if converged or gap @ gap < task.tol:
            converged = True
            break
        before = w
    if not task.canonical:
        _, t_square, _ = _project(tables.x, w, state.x_rotations, state.x_loadings)
        c = C.T @ w / t_square
    return w, c, n_iter, converged


def _project(side: Side, weights: Array, rotations: Array, loadings: Array) -> tuple[Array, float, Array]:
    """Return the rotation r of weights, the square of the score, and the loading."""
    r = weights - rotations @ (weights @ loadings)
    product = side.times(r)
    square = float(r @ product)
    if square <= 0:
        return r, 1.0, np.zeros_like(r)
    return r, square, product / square


def _certify(task: DeflationTask, state: PairedAxes) -> Certificate:
    # Two successive vectors that differ by less than root tol are within a few times that of a singular vector.
    tolerance = 1e-8 if task.algorithm == "svd" else max(1e-8, 10 * math.sqrt(task.tol))
    return Certificate.of("residual", float(state.residuals.max(initial=0.0)), tolerance, STATEMENT)


def rotate(weights: Array, loadings: Array) -> Array:
    """Return the matrix that takes rows to scores, W (P^T W)^-1; components of zeros stay zero."""
    return weights @ np.linalg.pinv(loadings.T @ weights, rcond=loadings.shape[1] * np.finfo(np.float64).eps)
