# Blocks of the square of a working set, made from rows. square_blocks.py is the uncompiled twin.

from mercer._native cimport dual_sweep, radial

ctypedef fused real:
    float
    double


cdef inline void fill(const double[::1] form, const real[:, ::1] X, const real[::1] squares,
                      const Py_ssize_t[::1] chosen, Py_ssize_t top, Py_ssize_t left, Py_ssize_t block,
                      const real[::1] lengths, const Py_ssize_t[::1] numbers, real[:, :, ::1] panels, real[:, ::1] rows,
                      real[:, ::1] tile, real[:, ::1] K) noexcept nogil:
    """Make the block of `K` at a row and a column, and its mirror image; `panels`, `rows` and `tile` are scratch."""
    cdef Py_ssize_t bottom = min(top + block, chosen.shape[0]), right = min(left + block, chosen.shape[0])
    radial.pack(X, chosen, left, right - left, panels, 0)
    radial.fill(form, X, squares, chosen, top, bottom, chosen, left, right, panels, 0, lengths, numbers, left, rows,
                tile, K)
    if top != left:
        dual_sweep.mirror(K, top, bottom, left, right)
