"""One step of descent on two coefficients; ``pair_descent`` states the problem.

The state of a program is one array of shape (7, q). Its rows are named here: they are those of a working set while a
descent solves it, so that a step reads them from neighbouring memory.
"""

import cython

INFINITY = float("inf")
# Rows of the state: coefficients b, slopes K b + q, what is added to a slope where its coefficient rises and where it
# falls (+-kink, or infinite at a bound), lower and upper bounds, and the diagonal of K with the ridge of each row.
COEFFICIENT = 0
SLOPE = 1
RISE = 2
FALL = 3
LOWER = 4
UPPER = 5
DIAGONAL = 6
# Places in the rules of a descent: the weight of sum |b|, where the second group begins, the violation at which a
# descent ends, its most steps, and the steps that the calling thread takes alone before others join it.
KINK = 0
SPLIT = 1
TOLERANCE = 2
MOST_STEPS = 3
STEPS_ALONE = 4
# The least curvature of a direction: where a kernel matrix is singular or indefinite, a step ends at a bound.
FLAT = 1e-12
# What rounding may leave of a coefficient after a step that should end at a bound, as a share of the step.
HAIR = 1e-13


def mark(
    k: cython.Py_ssize_t,
    b: cython.const[cython.double][::1],
    lower: cython.const[cython.double][::1],
    upper: cython.const[cython.double][::1],
    kink: cython.double,
    rise: cython.double[::1],
    fall: cython.double[::1],
) -> cython.void:
    """Write `rise[k]` and `fall[k]`, the terms added to the slope if the coefficient rises or falls."""
    rise[k] = INFINITY if b[k] >= upper[k] else (kink if b[k] >= 0.0 else -kink)
    fall[k] = -INFINITY if b[k] <= lower[k] else (kink if b[k] > 0.0 else -kink)


def move(
    i: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    gap: cython.double,
    curvature: cython.double,
    lower: cython.const[cython.double][::1],
    upper: cython.const[cython.double][::1],
    kink: cython.double,
    b: cython.double[::1],
) -> cython.double:
    """Raise coefficient `i` and lower `j` by gap / curvature, or as far as their boxes allow; return the size."""
    # The minimum of a parabola with slope -gap; a flat one is treated as barely curved, so that the step stays finite.
    size: cython.double = gap / (FLAT if curvature < FLAT else curvature)
    # Each coefficient stops at its bound or, where there is a kink, at zero.
    room = upper[i] - b[i] if b[i] >= 0.0 or kink == 0.0 else -b[i]
    if size > room:
        size = room
    # Whichever of the two boxes ends first decides the size of the step.
    room = b[j] - lower[j] if b[j] <= 0.0 or kink == 0.0 else b[j]
    if size >= room:
        b[i] = b[i] + room
        b[j] = lower[j] if b[j] <= 0.0 or kink == 0.0 else 0.0
        size = room
    else:
        b[j] = b[j] - size
        b[i] = b[i] + size
    if size <= 0.0:
        return size
    # Rounding must not leave a coefficient close to, but not at, the bound or the kink that it has reached.
    if upper[i] - b[i] <= HAIR * size:
        b[i] = upper[i]
    elif kink > 0.0 and abs(b[i]) <= HAIR * size:
        b[i] = 0.0
    if b[j] - lower[j] <= HAIR * size:
        b[j] = lower[j]
    elif kink > 0.0 and abs(b[j]) <= HAIR * size:
        b[j] = 0.0
    return size
