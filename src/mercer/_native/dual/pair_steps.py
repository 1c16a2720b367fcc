"""The uncompiled twin of ``pair_steps.pxd``: the same operations, hence the same bits."""

__all__ = ["FLAT", "HAIR", "mark", "move"]

INFINITY = float("inf")
# The least curvature of a direction: where a kernel matrix is singular or indefinite, steps end at a bound.
FLAT = 1e-12
# What is left of a coefficient by the rounding of a step, as a share of the step.
HAIR = 1e-13


def mark(k, b, lower, upper, kink, rise, fall):
    """Write what is added to the slope of coefficient `k` when it rises and when it falls."""
    rise[k] = INFINITY if b[k] >= upper[k] else (kink if b[k] >= 0.0 else -kink)
    fall[k] = -INFINITY if b[k] <= lower[k] else (kink if b[k] > 0.0 else -kink)


def move(i, j, gap, curvature, lower, upper, kink, b):
    """Raise coefficient `i` and lower `j` by the size that is returned."""
    size = gap / (FLAT if curvature < FLAT else curvature)
    # Each coefficient stops at its bound or, where there is a kink, at zero.
    size = min(size, upper[i] - b[i] if b[i] >= 0.0 or kink == 0.0 else -b[i])
    room = b[j] - lower[j] if b[j] <= 0.0 or kink == 0.0 else b[j]
    if size >= room:
        b[i], b[j] = b[i] + room, lower[j] if b[j] <= 0.0 or kink == 0.0 else 0.0
        size = room
    else:
        b[i], b[j] = b[i] + size, b[j] - size
    if size <= 0.0:
        return size
    # Rounding must not leave a coefficient a hair from the bound, or the kink, that it has reached.
    if upper[i] - b[i] <= HAIR * size:
        b[i] = upper[i]
    elif kink > 0.0 and abs(b[i]) <= HAIR * size:
        b[i] = 0.0
    if b[j] - lower[j] <= HAIR * size:
        b[j] = lower[j]
    elif kink > 0.0 and abs(b[j]) <= HAIR * size:
        b[j] = 0.0
    return size
