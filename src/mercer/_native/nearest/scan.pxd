# A group of queries against a panel of rows; scan.h says how. scan.py is the uncompiled twin.

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #include "scan.h"
    """
    void mercer_scan_panel(const float *panel, const float *queries, Py_ssize_t d, const float *limits,
                           uint64_t *hits) noexcept nogil
    int lowest_bit(uint64_t bits) noexcept nogil


cdef inline void scan_panel(const float[:, :, ::1] panels, Py_ssize_t panel, const float[:, :, ::1] packed,
                            Py_ssize_t group, const float[::1] limits, unsigned long long[::1] hits) noexcept nogil:
    """Set bit j of hits[q] where row j of a panel scores below the limit of query q of a group."""
    mercer_scan_panel(&panels[panel, 0, 0], &packed[group, 0, 0], packed.shape[1], &limits[6 * group],
                      <uint64_t*> &hits[0])
