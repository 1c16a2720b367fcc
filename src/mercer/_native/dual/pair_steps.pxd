# A step of descent on two coefficients; pair_descent.py says of what. pair_steps.py is the uncompiled twin.

from libc.math cimport INFINITY, fabs

cdef extern from *:
    """
    /* The least curvature of a direction: where a kernel matrix is singular or indefinite, steps end at a bound. */
    #define MERCER_FLAT 1e-12
    /* What is left of a coefficient by the rounding of a step, as a share of the step. */
    #define MERCER_HAIR 1e-13
    """
    const double FLAT "MERCER_FLAT"
    const double HAIR "MERCER_HAIR"


cdef inline void mark(Py_ssize_t k, const double[::1] b, const double[::1] lower, const double[::1] upper, double kink,
                      double[::1] rise, double[::1] fall) noexcept nogil:
    """Write what is added to the slope of coefficient `k` when it rises and when it falls."""
    rise[k] = INFINITY if b[k] >= upper[k] else (kink if b[k] >= 0.0 else -kink)
    fall[k] = -INFINITY if b[k] <= lower[k] else (kink if b[k] > 0.0 else -kink)


cdef inline double move(Py_ssize_t i, Py_ssize_t j, double gap, double curvature, const double[::1] lower,
                        const double[::1] upper, double kink, double[::1] b) noexcept nogil:
    """Raise coefficient `i` and lower `j` by the size that is returned."""
    cdef double size = gap / (FLAT if curvature < FLAT else curvature), room
    # Each coefficient stops at its bound or, where there is a kink, at zero.
    room = upper[i] - b[i] if b[i] >= 0.0 or kink == 0.0 else -b[i]
    if size > room:
        size = room
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
    # Rounding must not leave a coefficient a hair from the bound, or the kink, that it has reached.
    if upper[i] - b[i] <= HAIR * size:
        b[i] = upper[i]
    elif kink > 0.0 and fabs(b[i]) <= HAIR * size:
        b[i] = 0.0
    if b[j] - lower[j] <= HAIR * size:
        b[j] = lower[j]
    elif kink > 0.0 and fabs(b[j]) <= HAIR * size:
        b[j] = 0.0
    return size
