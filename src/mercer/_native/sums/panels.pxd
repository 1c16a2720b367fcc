# Products of columns over a packed tile of rows; panels.h says how. panels.py is the uncompiled twin.

cdef extern from *:
    """
    #include <string.h>
    #include "panels.h"
    """
    Py_ssize_t mercer_panel_width() noexcept nogil
    void mercer_panel_products(const double *packed, Py_ssize_t panels, Py_ssize_t rows, double *out) noexcept nogil


cdef inline Py_ssize_t width() noexcept nogil:
    """Columns of a panel."""
    return mercer_panel_width()


cdef inline void products(const double[::1] packed, Py_ssize_t rows, double[:, ::1] out) noexcept nogil:
    """Add the products of all columns of the packed tile to the panels of `out` at and right of the diagonal."""
    mercer_panel_products(&packed[0], out.shape[0] // mercer_panel_width(), rows, &out[0, 0])
