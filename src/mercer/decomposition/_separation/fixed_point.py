"""Fixed-point iterations: all components at once, or one after the other.

For white rows u and a unit vector w, the contrast <G(w^T u)> is stationary where w is parallel to <u g(w^T u)>. The
step w <- <u g(w^T u)> - <g'(w^T u)> w is Newton's method with the Hessian of independent rows (Hyvarinen, 1999).
"""

import math
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._solver import Certificate, Solution, Solver, Step
from mercer._types import Array
from mercer.decomposition._separation.state import (
    Evaluation,
    Rows,
    SeparationTask,
    Unmixing,
    begin,
    certify_gradient,
    decorrelate,
    evaluate,
    measure_curvature,
)


def pursue_all(task: SeparationTask, start: Unmixing | None) -> Solver:
    """Find all components at once; after each step the matrix is made orthogonal."""
    rows, state = yield from begin(task, start)
    if start is None:
        state = replace(state, W=decorrelate(state.W))
    # With fewer directions than white columns, the products with the white rows are needed too.
    p, k = state.W.shape
    extra = None if p == k else np.eye(k)
    now = yield from evaluate(rows, state.W, extra=extra)
    turn, size = np.inf, np.nan
    # Every step of a small table takes some 50 microseconds, so that this loop calls few functions of NumPy.
    while state.steps < task.max_iter:
        # <g(W u) u^T> from the products with the components, since u = W^T y for orthogonal W.
        products = now.products @ state.W if extra is None else now.products[:, p:]
        W = decorrelate(products - now.slope[:, None] * state.W)
        # One minus the cosine between the old and the new direction.
        cosines = np.einsum("ij,ij->i", W, state.W)
        turn = max(abs(abs(cosine) - 1.0) for cosine in cosines.tolist())
        now = yield from evaluate(rows, W, extra=extra)
        state, size = _measure(state, W, state.steps + 1, now)
        yield Step(float(state.signs @ now.value), state, _certify(size, task), {"turn": turn, "gradient": size})
        if turn < task.tol:
            break
    # A resumed fit that has no step left has not been measured.
    if math.isnan(size):
        state, size = _measure(state, state.W, state.steps, now)
    return Solution(state, turn < task.tol, _certify(size, task))


def _measure(state: Unmixing, W: Array, steps: int, now: Evaluation) -> tuple[Unmixing, float]:
    """Return the state of `W` with its curvatures, and the largest entry of the gradient by rotations."""
    curvature = measure_curvature(W, now)
    signs = np.where(curvature < 0, -1.0, 1.0)
    products = signs[:, None] * now.products[:, : len(signs)]
    products -= products.T.copy()
    # The differences are antisymmetric: the largest entry is the largest absolute value.
    size = float(products.max()) / 2.0
    measured = Unmixing(
        state.white, W, state.offset, curvature, signs, state.flips, state.stage, steps, state.pairs, now.value
    )
    return measured, size


def _certify(size: float, task: SeparationTask) -> Certificate:
    """Certify by the gradient; near a solution an angle of sqrt(2 tol) between steps leaves one of that size."""
    return certify_gradient(size, math.sqrt(2.0 * task.tol), orthogonal=True)


def pursue_each(task: SeparationTask, start: Unmixing | None) -> Solver:
    """Find one component after the other, each orthogonal to those before; of several first vectors the best is kept.

    Candidates for one component are iterated together, as rows of one matrix. The components that are found already
    are the first ``stage`` rows of W; ``flips`` holds the last turn of each.
    """
    rows, state = yield from begin(task, start)
    count, k = state.W.shape
    streams = task.seed.spawn(count)
    while state.stage < count:
        row = state.stage
        # Further first vectors, so that a poor local optimum does not win.
        more = np.random.default_rng(streams[row]).normal(size=(task.n_init - 1, k))
        candidates = np.concatenate([state.W[row : row + 1], more])
        w, steps, turn = yield from _pursue(task, rows, state.W[:row], candidates)
        W, turns, curvature = state.W.copy(), state.flips.copy(), state.curvature.copy()
        W[row], turns[row] = w, turn
        now = yield from evaluate(rows, W[row : row + 1])
        # The curvature <g'> - <g y> has the sign that makes the optimum a maximum or a minimum.
        curvature[row] = now.slope[0] - now.products[0, 0]
        value = np.zeros(count) if state.value is None else state.value.copy()
        value[row] = now.value[0]
        signs = np.where(curvature < 0, -1.0, 1.0)
        most = max(state.steps, steps)
        state = replace(state, W=W, stage=row + 1, steps=most, flips=turns)
        state = replace(state, curvature=curvature, signs=signs, value=value)
        certificate = _certify_deflation(task, float(turns[: row + 1].max()))
        yield Step(float(now.value[0]), state, certificate, {"steps": float(steps)})
    largest = float(state.flips.max())
    return Solution(state, largest <= task.tol, _certify_deflation(task, largest))


def _certify_deflation(task: SeparationTask, turn: float) -> Certificate:
    """Return the certificate of components that were found one after the other."""
    return Certificate.of(
        "fixed point",
        turn,
        task.tol,
        "Largest turn of a component in its last step, 1 - |cos|, among the directions orthogonal to those before it; "
        "errors of the first components pass on to the later ones.",
    )


def _pursue(
    task: SeparationTask, rows: Rows, known: Array, candidates: Array
) -> Generator[Any, Any, tuple[Array, int, float]]:
    """Iterate candidates for one component until none turns; return the best, the steps, and its last turn."""
    k = rows.white.n_components
    reference = rows.score.gaussian().mean if rows.score.has_native else 0.0
    # As in scikit-learn, the first vectors need not be orthogonal to the known ones; the first step makes them so.
    W = candidates / np.linalg.norm(candidates, axis=1)[:, None]
    turns = np.full(len(W), np.inf)
    steps, extra = 0, np.eye(k)
    while steps < task.max_iter and not (turns <= task.tol).all():
        steps += 1
        now = yield from evaluate(rows, W, extra=extra)
        # The products with the white rows themselves are the columns after those with the candidates.
        moved = _normalise(now.products[:, len(W) :] - now.slope[:, None] * W, known)
        turns = np.abs(np.abs((moved * W).sum(axis=1)) - 1.0)
        W = moved
    if len(W) > 1:
        now = yield from evaluate(rows, W)
        best = int(np.argmax(np.abs(now.value - reference)))
    else:
        best = 0
    return W[best], steps, float(turns[best])


def _normalise(W: Array, known: Array) -> Array:
    """Return the rows as unit vectors orthogonal to the known ones."""
    # Twice: the second pass removes the rounding of the first.
    for _ in range(2 if len(known) else 0):
        W = W - (W @ known.T) @ known
    length = np.sqrt((W * W).sum(axis=1))[:, None]
    return W / (length if length.all() else np.where(length > 0, length, 1.0))
