"""Infomax and natural-gradient learning: ascent of the likelihood by its plain and by its relative gradient.

A layer of sigmoid neurons y = sigma(W u + b) passes on most information if log|det W| + sum_i log y_i (1 - y_i) is
largest on average (Bell and Sejnowski, 1995). The plain gradient is W^(-T) + (1 - 2 y) u^T. Multiplied by W^T W from
the right, it becomes the natural gradient (I + (1 - 2 y) z^T) W with z = W u, which needs no inverse and gives the
same course of learning whatever the mixing matrix (Amari, Cichocki and Yang, 1996). In terms of the score g = 2 y - 1
both are functions of <g z^T> and <g>, which is what one pass over the rows gives.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._solver import Solution, Solver, Step, Take
from mercer._source.block import DenseBlock
from mercer._types import Array
from mercer.decomposition._separation.state import (
    Evaluation,
    SeparationTask,
    Unmixing,
    begin,
    certify_gradient,
    decorrelate,
    evaluate,
    measure_curvature,
    rate_at_unit_variance,
)
from mercer.decomposition._separation.statistics import ScoreSums

# The learning rate falls by this factor when a step would lower the likelihood, and rises by the other when not.
_SLOWER = 0.5
_FASTER = 1.1
# Below this rate a step is taken as it is: rounding alone makes the likelihood fall.
_LEAST_RATE = 1e-6
# Changes of the objective below this share are rounding.
_SLACK = 1e-13
# No entry of W may move by more in one step: a longer one would make sigmoids saturate.
_LONGEST = 1.0


def infomax_gradient(W: Array, scores: Array, rows: Array) -> Array:
    """Return the gradient W^(-T) - <g x^T> of the mean log-likelihood by W, for scores g (n, k) of rows x (n, k).

    Parameters
    ----------
    W : ndarray of shape (k, k)
        The unmixing matrix.
    scores : ndarray of shape (n, k)
        g of each component; 2 y - 1 for sigmoid neurons with outputs y.
    rows : ndarray of shape (n, k)
        The inputs x.

    Returns
    -------
    ndarray of shape (k, k)
        The direction in which W is changed.
    """
    return np.linalg.inv(W).T - scores.T @ rows / len(rows)


def natural_gradient(W: Array, scores: Array, rows: Array) -> Array:
    """Return the natural gradient (I - <g z^T>) W with z = W x: the infomax gradient times W^T W.

    Parameters
    ----------
    W : ndarray of shape (k, k)
        The unmixing matrix.
    scores : ndarray of shape (n, k)
        g of each component; 2 y - 1 for sigmoid neurons with outputs y.
    rows : ndarray of shape (n, k)
        The inputs x.

    Returns
    -------
    ndarray of shape (k, k)
        The direction in which W is changed.
    """
    return (np.eye(len(W)) - scores.T @ (rows @ W.T) / len(rows)) @ W


def ascend(task: SeparationTask, start: Unmixing | None, *, natural: bool) -> Solver:
    """Raise the likelihood by gradient steps over all rows, or over random batches of rows.

    ``pairs`` of the state holds the learning rate and the last objective.
    """
    rows, state = yield from begin(task, start)
    if start is None:
        state = replace(state, W=decorrelate(state.W), pairs=np.array([task.learning_rate, np.inf]))
    streams = task.seed.spawn(task.max_iter + 1)
    now = yield from evaluate(rows, state.W, state.offset)
    state, objective, gradient = _look(task, state, now)
    while (size := float(np.abs(gradient).max())) > task.tol and state.steps < task.max_iter:
        state = replace(state, steps=state.steps + 1)
        if task.rows_per_step is None:
            moved = _move(state, gradient, natural)
        else:
            moved = yield from _run_epoch(task, state, streams[state.steps], natural)
        now = yield from evaluate(rows, moved.W, moved.offset)
        # Judged with the signs that the step was made for: the objective must be the same function.
        _, there, _ = _look(task, moved, now, keep_signs=True)
        # The rise that rounding alone can make.
        rate, slack = float(state.pairs[0]), _SLACK * max(1.0, abs(objective))
        rises = not there <= objective + slack
        # The step rises: half the rate, and stay.
        if rises and task.rows_per_step is None and rate > _LEAST_RATE:
            state = replace(state, pairs=np.array([_SLOWER * rate, objective]))
        else:
            # Where rounding hides the gain the rate stays, so that the end does not depend on it.
            rate *= _SLOWER if rises else _FASTER if there < objective - slack else 1.0
            state, objective, gradient = _look(task, replace(moved, pairs=np.array([min(rate, 1.0), there])), now)
        yield Step(
            objective,
            state,
            certify_gradient(size, task.tol, orthogonal=False),
            {"gradient": size, "learning_rate": rate},
        )
    final = yield from rate_at_unit_variance(rows, state)
    return Solution(final, size <= task.tol, certify_gradient(size, task.tol, orthogonal=False))


def _look(
    task: SeparationTask, state: Unmixing, now: Evaluation, *, keep_signs: bool = False
) -> tuple[Unmixing, float, Array]:
    """Return the state with its curvatures, the objective, and the relative gradient: I - <g z^T>, and -<g>."""
    curvature = measure_curvature(state.W, now)
    signs = np.where(curvature < 0, -1.0, 1.0) if task.extended and not keep_signs else state.signs
    state = replace(state, curvature=curvature, signs=signs)
    # -log likelihood: sum <G(y)> - log|det W|.
    objective = float(signs @ now.value) - float(np.linalg.slogdet(state.W)[1])
    # Offsets enter the products of scores with components: they are taken off.
    inner = signs[:, None] * (now.products - np.outer(now.first, state.offset))
    first = signs * now.first
    if task.extended:
        # The density of an extended source is exp(-y^2 / 2) times or divided by cosh(y).
        squares = state.W @ state.W.T
        inner, first = inner + squares, first + state.offset
        objective += 0.5 * float(np.trace(squares) + state.offset @ state.offset)
    return state, objective, np.column_stack([np.eye(len(inner)) - inner, -first])


def _move(state: Unmixing, gradient: Array, natural: bool) -> Unmixing:
    """Take one step: W + rate (I - <g z^T>) W, or times W^(-T); the bias moves by -rate <g>."""
    change = gradient[:, :-1] @ (state.W if natural else np.linalg.inv(state.W).T)
    rate = min(float(state.pairs[0]), _LONGEST / max(float(np.abs(change).max()), 1e-300))
    return replace(state, W=state.W + rate * change, offset=state.offset + rate * gradient[:, -1])


def _run_epoch(task: SeparationTask, state: Unmixing, seed: Any, natural: bool) -> Generator[Any, Any, Unmixing]:
    """Take one step for each batch of rows, in random order."""
    order, size = np.random.default_rng(seed).permutation(task.n_rows or 0), task.rows_per_step or 1
    white = state.white
    for first in range(0, len(order), size):
        batch = yield Take(np.sort(order[first : first + size]))
        block = DenseBlock(np.ascontiguousarray(batch, dtype=np.float64), 0)
        sums = ScoreSums(state.W @ white.matrix, white.mean, state.offset, task.score, len(state.W)).on(block)
        _, _, gradient = _look(replace(task, extended=False), state, Evaluation.of(sums))
        if task.extended:
            squares = state.W @ state.W.T
            gradient = gradient - np.column_stack([squares, state.offset])
        state = _move(state, gradient, natural)
    return state
