"""A quadratic model of the evidence: its maximum within a box, and updates of its curvatures."""

import numpy as np

from mercer._types import Array

__all__ = ["correct_flat_directions", "maximise_model", "update_by_secant"]

# Share of the trace that is added to the diagonal: a model without curvature then has its maximum at the box.
_RIDGE = 1e-10
# The least that is added.
_LEAST = 1e-12
# A direction is flat where the curvature that the evidence gives is below this share of the learnt one.
_FLAT = 0.03


def maximise_model(slope: Array, B: Array, low: Array, high: Array) -> Array:
    """Return the move s in [low, high] that maximises slope' s - s' B s / 2; the box contains zero.

    This is the primal active set method. Free components move towards the maximum until one meets a side of the box,
    which then holds it. If none does, the held component that the model pulls inwards most is released. It takes about
    as many rounds as there are hyper-parameters.
    """
    p = len(slope)
    # A ridge makes the model strictly concave.
    B = B.copy()
    B.flat[:: p + 1] += _RIDGE * float(B.trace()) + _LEAST
    move = np.linalg.solve(B, slope)
    if ((low <= move) & (move <= high)).all():
        # The maximum of the model lies in the box, as it does near a maximum of the evidence.
        return move
    s, held = np.zeros(p), np.zeros(p)
    # Components at a side that the slope pushes outwards are held from the start.
    held[(low >= 0) & (slope < 0)], held[(high <= 0) & (slope > 0)] = -1.0, 1.0
    for _ in range(10 * p + 10):
        free, pull = held == 0, slope - B @ s
        move = np.zeros(p)
        move[free] = np.linalg.solve(B[np.ix_(free, free)], pull[free])
        room = np.where(move > 0, high - s, low - s)
        # The share of the move after which each component meets its side.
        share = np.divide(room, move, out=np.full(p, np.inf), where=move != 0)
        first = int(np.argmin(share))
        s = np.clip(s + min(1.0, float(share[first])) * move, low, high)
        if share[first] < 1.0:
            held[first] = np.sign(move[first])
            s[first] = high[first] if move[first] > 0 else low[first]
            continue
        # A held component that the model pulls inwards is released.
        inwards = held * (slope - B @ s)
        if inwards.min() >= 0.0:
            break
        held[int(np.argmin(inwards))] = 0.0
    return s


def update_by_secant(B: Array, step: Array, change: Array) -> Array | None:
    """Return the BFGS update of `B` by a `step` and the fall of the slope along it; None where it has not fallen."""
    bend = float(step @ change)
    if not bend > 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return None
    if np.array_equal(B, np.eye(len(B)) * B[0, 0]):
        # A multiple of the identity is a first guess; this step shows its size.
        B = np.eye(len(B)) * (float(change @ change) / bend)
    Bs = B @ step
    past = float(step @ Bs)
    return B + np.outer(change, change) / bend - (np.outer(Bs, Bs) / past if past > 0.0 else 0.0)


def correct_flat_directions(B: Array, information: Array, same: Array) -> Array:
    """Return `B` with the curvatures that the evidence gives (`information`) along directions that became flat.

    `same` says which slopes have kept their sign. A component whose slope changed sign is near its best value, and its
    learnt curvature is kept.
    """
    flat = same & (information.diagonal() < _FLAT * B.diagonal())
    if not flat.any():
        return B
    B = np.where(flat[:, None] | flat[None, :], 0.0, B)
    B[np.ix_(flat, flat)] = information[np.ix_(flat, flat)]
    return B
