"""A quadratic model of the evidence: where it is highest within a box, and what moves teach of its curvatures."""

from typing import Any

import numpy as np

__all__ = ["guided", "highest", "secant"]

Array = Any
# Shares of the trace and of one that are added to the diagonal: a model without curvature has its top at the box.
_RIDGE, _LEAST = 1e-10, 1e-12
# Below this share of what moves taught, the curvature that the evidence tells of is that of a direction gone flat.
_FLAT = 0.03


def highest(slope: Array, B: Array, low: Array, high: Array) -> Array:
    """The move s within [low, high], which holds zero, of the highest slope s - s B s / 2.

    Along the free ones towards the top of the model until a side of the box is met, which then holds; where none is
    met, the held one is let go that the model pulls inwards (the primal active set method). A handful of
    hyper-parameters take as many rounds.
    """
    p = len(slope)
    B = B + np.eye(p) * (_RIDGE * float(np.trace(B)) + _LEAST)
    s, held = np.zeros(p), np.zeros(p)
    held[(low >= 0) & (slope < 0)], held[(high <= 0) & (slope > 0)] = -1.0, 1.0
    for _ in range(10 * p + 10):
        free, pull = held == 0, slope - B @ s
        move = np.zeros(p)
        move[free] = np.linalg.solve(B[np.ix_(free, free)], pull[free])
        room = np.where(move > 0, high - s, low - s)
        share = np.divide(room, move, out=np.full(p, np.inf), where=move != 0)
        first = int(np.argmin(share))
        s = np.clip(s + min(1.0, float(share[first])) * move, low, high)
        if share[first] < 1.0:
            held[first] = np.sign(move[first])
            s[first] = high[first] if move[first] > 0 else low[first]
            continue
        inwards = held * (slope - B @ s)
        if inwards.min() >= 0.0:
            break
        held[int(np.argmin(inwards))] = 0.0
    return s


def secant(B: Array, step: Array, change: Array) -> Array | None:
    """The BFGS update by a step and the fall of the slope along it; None where the slope has not fallen."""
    bend = float(step @ change)
    if not bend > 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return None
    if np.array_equal(B, np.eye(len(B)) * B[0, 0]):
        # A multiple of the identity is a first guess: of the size that this step shows.
        B = np.eye(len(B)) * (float(change @ change) / bend)
    Bs = B @ step
    past = float(step @ Bs)
    return B + np.outer(change, change) / bend - (np.outer(Bs, Bs) / past if past > 0.0 else 0.0)


def guided(B: Array, information: Array, same: Array) -> Array:
    """`B`, but with the curvatures that the evidence tells of where hyper-parameters no longer matter to it.

    `same` says whose slope has kept its sign: one that changes it is near its best value and is left to what moves
    taught.
    """
    flat = same & (information.diagonal() < _FLAT * B.diagonal())
    if not flat.any():
        return B
    B = np.where(flat[:, None] | flat[None, :], 0.0, B)
    B[np.ix_(flat, flat)] = information[np.ix_(flat, flat)]
    return B
