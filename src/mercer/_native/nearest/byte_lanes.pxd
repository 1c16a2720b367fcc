# Rounded queries against a panel of rounded rows; byte_lanes.h says how. byte_lanes.py is the uncompiled twin.

from libc.stdint cimport int8_t, int32_t, uint8_t, uint64_t

cdef extern from *:
    """
    #include "byte_lanes.h"
    """
    int mercer_bytes_are_fast() noexcept nogil
    bint mercer_scan_bytes(const uint8_t *panel, const int32_t *starts, const int8_t *queries, Py_ssize_t steps,
                           const int32_t *limits, uint64_t *hits, int fast) noexcept nogil
    void mercer_prefetch(const char *place, Py_ssize_t size) noexcept nogil


ctypedef fused real:
    float
    double


cdef inline bint are_fast() noexcept nogil:
    """Return whether products of bytes are faster than those of float32 numbers here."""
    return mercer_bytes_are_fast()


cdef inline bint scan_bytes(const unsigned char[:, :, :, ::1] panels, const int[:, ::1] starts, Py_ssize_t panel,
                            const signed char[:, :, :, ::1] packed, Py_ssize_t group, const int[::1] limits,
                            unsigned long long[::1] hits, bint fast) noexcept nogil:
    """Set bit j of hits[q] where row j of a panel reaches the limit of query q of a group; return whether any does."""
    return mercer_scan_bytes(<const uint8_t*> &panels[panel, 0, 0, 0], <const int32_t*> &starts[panel, 0],
                             <const int8_t*> &packed[group, 0, 0, 0], packed.shape[1],
                             <const int32_t*> &limits[6 * group], <uint64_t*> &hits[0], fast)


cdef inline void prefetch_row(const real[:, ::1] X, Py_ssize_t row) noexcept nogil:
    """Ask for a row that is measured soon."""
    mercer_prefetch(<const char*> &X[row, 0], X.shape[1] * sizeof(real))
