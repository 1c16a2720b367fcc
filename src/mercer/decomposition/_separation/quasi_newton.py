"""Maximum likelihood by a quasi-Newton method whose first guess of the Hessian is that of independent sources.

The likelihood is written as a function of a small change E of the unmixing matrix, W -> (I + E) W. Its gradient at
E = 0 is G = <g(y) y^T> - I. Where sources are independent, the Hessian falls apart into one 2 x 2 block for each pair
of sources, [h_ij, 1; 1, h_ji] with h_ij = <g'(y_i)> <y_j^2>. L-BFGS preconditioned by these blocks needs few steps
even where the sources are not quite independent (Ablin, Cardoso and Gramfort, 2018). With orthogonal W the change is
W -> (I - E / 2)^(-1) (I + E / 2) W, Cayley's rotation by a skew-symmetric E, and the blocks are numbers, the sums of
the curvatures of both sources.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._solver import Solution, Solver, Step
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
    rate_at_unit_variance,
)

# Pairs of steps and gradient changes that L-BFGS keeps; more gain nothing here (Ablin and others use 7).
_MEMORY = 7
# The least eigenvalue of a block of the preconditioner: below it, a pair of nearly Gaussian sources has no curvature.
_LEAST_CURVATURE = 0.01
# Fixed-point steps before the quasi-Newton method at most, and the turn of the axes (1 - cos) that ends them.
_FIXED_POINT_STEPS = 12
_SMALL_TURN = 1e-3
# Halvings of a step before the search gives up.
_HALVINGS = 12
# Share of the predicted decrease that a step must reach.
_DECREASE = 1e-4
# How often a source may change between heavy and light tails; a Gaussian one would change for ever.
_FLIPS = 4


@dataclass(frozen=True)
class _Point:
    """A state with its objective and gradient."""

    state: Unmixing
    now: Evaluation
    objective: float
    gradient: Array
    size: float


def maximise_likelihood(task: SeparationTask, start: Unmixing | None) -> Solver:
    """Find a stationary point of the likelihood: fixed-point steps first where signs may change, then L-BFGS."""
    rows, state = yield from begin(task, start)
    if start is None:
        state = replace(state, W=decorrelate(state.W), stage=0 if task.extended else 1)
    point = _settle(task, state, (yield from evaluate(rows, state.W)))
    while point.state.stage == 0:
        point = yield from _iterate(task, rows, point)
        yield _step(task, point)
    reason = ""
    while point.size > task.tol and point.state.steps < task.max_iter:
        better = yield from _advance(task, rows, point)
        if better is None:
            reason = "line_search"
            break
        point = better
        yield _step(task, point)
    final = point.state if task.orthogonal else (yield from rate_at_unit_variance(rows, point.state))
    return Solution(
        final, point.size <= task.tol, certify_gradient(point.size, task.tol, orthogonal=task.orthogonal), reason
    )


def _iterate(task: SeparationTask, rows: Rows, point: _Point) -> Generator[Any, Any, _Point]:
    """Take one step of the fixed-point iteration, which converges fast near a solution and needs no step size."""
    state, now = point.state, point.now
    W = decorrelate((now.products - np.diag(now.slope)) @ state.W)
    turn = float((1.0 - np.abs((W * state.W).sum(axis=1))).max())
    steps = state.steps + 1
    ends = turn < _SMALL_TURN or steps >= min(_FIXED_POINT_STEPS, task.max_iter)
    state = replace(state, W=W, steps=steps, stage=1 if ends else 0)
    return _settle(task, state, (yield from evaluate(rows, W)))


def _settle(task: SeparationTask, state: Unmixing, now: Evaluation, known: _Point | None = None) -> _Point:
    """Choose the signs of the sources, and compute the objective and its gradient; no pass over the rows is needed.

    `known` has both for the signs as they are, and is used if no sign changes.
    """
    curvature = measure_curvature(state.W, now)
    signs, flips, pairs = state.signs, state.flips, state.pairs
    if task.extended:
        # A sign may change a few times only, so that the fit ends.
        free = (flips < _FLIPS) | (state.stage == 0)
        signs = np.where(free & (curvature * signs < 0), -signs, signs)
        changed = signs != state.signs
        if changed.any():
            # The pairs of earlier steps belong to another objective.
            flips, pairs, known = (flips + changed if state.stage else flips), None, None
    if known is not None:
        return replace(known, state=replace(state, curvature=curvature))
    return _measure(task, replace(state, curvature=curvature, signs=signs, flips=flips, pairs=pairs), now)


def _measure(task: SeparationTask, state: Unmixing, now: Evaluation) -> _Point:
    """Compute the objective and its gradient with the signs as they are."""
    gradient = state.signs[:, None] * now.products
    objective = float(state.signs @ now.value)
    if task.orthogonal:
        # Of orthogonal W only the antisymmetric part of the gradient can be followed.
        gradient = 0.5 * (gradient - gradient.T)
    else:
        gradient.flat[:: len(gradient) + 1] -= 1.0
        objective -= float(np.linalg.slogdet(state.W)[1])
        if task.extended:
            # The density of an extended source is exp(-y^2 / 2) times or divided by cosh(y); <y y^T> is W W^T.
            squares = state.W @ state.W.T
            gradient += squares
            objective += 0.5 * float(np.trace(squares))
    return _Point(state, now, objective, gradient, float(np.abs(gradient).max()))


def _advance(task: SeparationTask, rows: Rows, point: _Point) -> Generator[Any, Any, "_Point | None"]:
    """Take one quasi-Newton step; None where no step along the direction, nor along the gradient, goes down."""
    # First with the remembered steps, then with the blocks alone.
    for remember in (True, False):
        if not remember and point.state.pairs is None:
            break
        direction = -_precondition(task, point, remember)
        slope = float(np.vdot(direction, point.gradient))
        if slope >= 0.0:
            continue
        better = yield from _search(task, rows, point, direction, slope)
        if better is not None:
            return better
    return None


def _search(
    task: SeparationTask, rows: Rows, point: _Point, direction: Array, slope: float
) -> Generator[Any, Any, "_Point | None"]:
    """Halve the step until the objective goes down enough; where rounding hides it, the gradient must shrink."""
    state = point.state
    slack = 16 * np.finfo(np.float64).eps * max(1.0, abs(point.objective)) * len(state.W)
    share, identity = 1.0, np.eye(len(direction))
    for _ in range(_HALVINGS):
        change = share * direction
        if task.orthogonal:
            # Cayley's transform of an antisymmetric change is a rotation.
            turn = np.linalg.solve(identity - 0.5 * change, identity + 0.5 * change)
        else:
            turn = identity + change
        moved = replace(state, W=turn @ state.W, steps=state.steps + 1)
        now = yield from evaluate(rows, moved.W)
        # The signs are those of the step's start: the objective must be the same function.
        there = _measure(task, moved, now)
        goes_down = there.objective <= point.objective + _DECREASE * share * slope
        close = there.objective <= point.objective + slack and there.size < point.size
        if np.isfinite(there.objective) and (goes_down or close):
            kept = _remember(state.pairs, change, there.gradient - point.gradient)
            return _settle(task, replace(moved, pairs=kept), now, there)
        share *= 0.5
    return None


def _remember(pairs: Array, step: Array, change: Array) -> Array:
    """Append a step and its gradient change to the memory, unless the objective curves the wrong way along it."""
    # 1e-10 of the product of the lengths is a curvature that rounding of the gradient could feign.
    lengths = float(np.vdot(step, step)) * float(np.vdot(change, change))
    if float(np.vdot(step, change)) <= 1e-10 * math.sqrt(lengths):
        return pairs
    pair = np.stack([step, change])[None]
    return pair if pairs is None else np.concatenate([pairs, pair])[-_MEMORY:]


def _precondition(task: SeparationTask, point: _Point, remember: bool) -> Array:
    """Return the approximate inverse Hessian times the gradient, by the two loops of L-BFGS around the blocks."""
    pairs = [] if point.state.pairs is None or not remember else list(point.state.pairs)
    rest = point.gradient.copy()
    shares = []
    for step, change in reversed(pairs):
        share = np.vdot(step, rest) / np.vdot(step, change)
        rest -= share * change
        shares.append(share)
    rest = _divide_blocks(task, point, rest)
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        rest += (share - np.vdot(change, rest) / np.vdot(step, change)) * step
    return rest


def _divide_blocks(task: SeparationTask, point: _Point, gradient: Array) -> Array:
    """Divide by the Hessian that independent sources have, with its small and negative eigenvalues raised."""
    state, now = point.state, point.now
    if task.orthogonal:
        curvature = state.signs * state.curvature
        blocks = 0.5 * (curvature[:, None] + curvature[None, :])
        return gradient / np.maximum(blocks, _LEAST_CURVATURE)
    squares = (state.W**2).sum(axis=1)
    slope = state.signs * now.slope + (1.0 if task.extended else 0.0)
    blocks = slope[:, None] * squares[None, :]
    # The smaller eigenvalue of [a, 1; 1, b] is (a + b - sqrt((a - b)^2 + 4)) / 2.
    least = 0.5 * (blocks + blocks.T - np.sqrt((blocks - blocks.T) ** 2 + 4.0))
    blocks = blocks + np.maximum(_LEAST_CURVATURE - least, 0.0)
    own = np.maximum(np.diagonal(blocks), _LEAST_CURVATURE)
    determinant = blocks * blocks.T - 1.0
    np.fill_diagonal(determinant, 1.0)
    # The inverse of [h_ij, 1; 1, h_ji] applied to the pair (G_ij, G_ji).
    result = (blocks.T * gradient - gradient.T) / determinant
    np.fill_diagonal(result, np.diagonal(gradient) / (own + 1.0))
    return result


def _step(task: SeparationTask, point: _Point) -> Step:
    return Step(
        point.objective,
        point.state,
        certify_gradient(point.size, task.tol, orthogonal=task.orthogonal),
        {"gradient": point.size},
    )
