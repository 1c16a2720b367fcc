# Candidates of a working set, counted in bins by what moving them costs. candidates.py is the uncompiled twin.
#
# There are four lists: the coefficients to raise and those to lower, of a first group, before `split`, and of a second.
# `edges` (4, 2) holds the cost where the bins of each begin, and how many bins there are in a unit.

from libc.math cimport INFINITY


cdef inline Py_ssize_t place(Py_ssize_t kind, Py_ssize_t k, const double[::1] slope, const double[::1] rise,
                             const double[::1] fall, const double[:, ::1] edges, Py_ssize_t last) noexcept nogil:
    """The bin of a coefficient in a list, at most `last`; -1 if it cannot move that way."""
    cdef double value = slope[k] + rise[k] if kind % 2 == 0 else -(slope[k] + fall[k])
    if value == INFINITY:
        return -1
    value = (value - edges[kind, 0]) * edges[kind, 1]
    return <Py_ssize_t> value if value < last else last


cdef inline void count(Py_ssize_t first, Py_ssize_t last, Py_ssize_t split, const double[::1] slope,
                       const double[::1] rise, const double[::1] fall, const double[:, ::1] edges,
                       int[:, ::1] counts) noexcept nogil:
    """Add the coefficients from `first` to `last` to the counts (4, bins)."""
    cdef Py_ssize_t k, kind, found
    for k in range(first, last):
        for kind in range(2 if k >= split else 0, 4 if k >= split else 2):
            found = place(kind, k, slope, rise, fall, edges, counts.shape[1] - 1)
            if found >= 0:
                counts[kind, found] += 1


cdef inline void collect(Py_ssize_t first, Py_ssize_t last, Py_ssize_t split, const double[::1] slope,
                         const double[::1] rise, const double[::1] fall, const double[:, ::1] edges, Py_ssize_t bins,
                         const Py_ssize_t[::1] cuts, Py_ssize_t[:, ::1] found, Py_ssize_t[::1] lengths) noexcept nogil:
    """Write those up to the bin `cuts` (4,) of each list to `found` (4, m), from `first` on, and their numbers."""
    cdef Py_ssize_t k, kind, at
    for kind in range(4):
        lengths[kind] = 0
    for k in range(first, last):
        for kind in range(2 if k >= split else 0, 4 if k >= split else 2):
            at = place(kind, k, slope, rise, fall, edges, bins - 1)
            if 0 <= at <= cuts[kind]:
                found[kind, first + lengths[kind]] = k
                lengths[kind] += 1
