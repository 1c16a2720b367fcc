# Values of radial kernels between rows, from dot products in registers; row_dots.h says how. radial.py is the uncompiled
# twin. The profiles by number are those of kernel_values.py, and their arithmetic is that of inline.pxd, but for the
# Gaussian in float, which has its own in gaussian.h.

from libc.math cimport sqrt, sqrtf

from mercer._native.shared cimport inline

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #if defined(__AVX512F__)
        #define DOT_BYTES 64
        #define DOT_ROWS 8
    #elif defined(__AVX2__)
        #define DOT_BYTES 32
        #define DOT_ROWS 4
    #else
        #define DOT_BYTES 16
        #define DOT_ROWS 4
    #endif

    /* Only these functions may fuse: the elementary ones have the same bits at every CPU level. */
    #if defined(__clang__)
        #define DOT_FUSED __attribute__((noinline))
        #define DOT_PRAGMA _Pragma("clang fp contract(fast)")
    #elif defined(__GNUC__)
        #define DOT_FUSED __attribute__((noinline, optimize("O3", "fp-contract=fast")))
        #define DOT_PRAGMA
    #else
        #define DOT_FUSED
        #define DOT_PRAGMA
    #endif
    #if defined(__GNUC__)
        #define EACH_DOT _Pragma("GCC unroll 8") for
    #else
        #define EACH_DOT for
    #endif

    #define REAL double
    #define NAME(name) mercer_double_##name
    #include "row_dots.h"
    #undef REAL
    #undef NAME

    #define REAL float
    #define NAME(name) mercer_float_##name
    #include "row_dots.h"
    #undef REAL
    #undef NAME
    #include "gaussian.h"
    """
    void mercer_double_row_dots(const double *left, Py_ssize_t d, const double *panels, Py_ssize_t count, double *out,
                                Py_ssize_t stride) noexcept nogil
    void mercer_float_row_dots(const float *left, Py_ssize_t d, const float *panels, Py_ssize_t count, float *out,
                               Py_ssize_t stride) noexcept nogil
    void mercer_float_gaussian(float square, const float *others, const float *dots, float rate, float factor,
                               Py_ssize_t count, float *out) noexcept nogil

ctypedef fused real:
    float
    double

# Where values are made: the rows `chosen` from `first` to `last`, the columns from `begin` to `end`; the panel that holds
# the column `begin`, the column of the table that it is written to, and the first of eight rows of scratch.
cdef struct Extent:
    Py_ssize_t first
    Py_ssize_t last
    Py_ssize_t begin
    Py_ssize_t end
    Py_ssize_t panel
    Py_ssize_t offset
    Py_ssize_t scratch


cdef inline void gather(const real[:, ::1] X, const Py_ssize_t[::1] indices, Py_ssize_t first, Py_ssize_t count,
                        real[:, ::1] out, Py_ssize_t place) noexcept nogil:
    """Copy the `count` rows `indices[first:]` to `out`, from row `place` on; repeat the last up to a multiple of eight."""
    cdef Py_ssize_t i, j, row
    for i in range((count + 7) // 8 * 8):
        row = indices[first + (i if i < count else count - 1)]
        for j in range(X.shape[1]):
            out[place + i, j] = X[row, j]


cdef inline void pack(const real[:, ::1] X, const Py_ssize_t[::1] indices, Py_ssize_t first, Py_ssize_t count,
                      real[:, :, ::1] panels, Py_ssize_t begin) noexcept nogil:
    """Lay out the `count` rows `indices[first:]` in panels, from the panel `begin` on."""
    cdef Py_ssize_t i, j, row, width = panels.shape[2]
    for i in range((count + width - 1) // width * width):
        row = indices[first + (i if i < count else count - 1)]
        for j in range(X.shape[1]):
            panels[begin + i // width, j, i % width] = X[row, j]


cdef inline void pack_columns(const real[:, ::1] X, const real[::1] squares, const Py_ssize_t[::1] indices,
                              Py_ssize_t first, Py_ssize_t last, real[:, :, ::1] panels, real[::1] others) noexcept nogil:
    """Lay out the rows `indices[first:last]` at the same places of panels, and their squared lengths in `others`."""
    cdef Py_ssize_t k
    pack(X, indices, first, last - first, panels, first // panels.shape[2])
    for k in range(first, last):
        others[k] = squares[indices[k]]


cdef inline void multiply(const real[:, ::1] left, Py_ssize_t first, const real[:, :, ::1] panels, Py_ssize_t begin,
                          Py_ssize_t end, real[:, ::1] out) noexcept nogil:
    """Write the dot products of eight rows, from row `first` on, with the panels `begin` to `end` to the same rows of `out`."""
    if real is float:
        mercer_float_row_dots(&left[first, 0], left.shape[1], &panels[begin, 0, 0], end - begin, &out[first, 0],
                              out.shape[1])
    else:
        mercer_double_row_dots(&left[first, 0], left.shape[1], &panels[begin, 0, 0], end - begin, &out[first, 0],
                               out.shape[1])


cdef inline real root(real x) noexcept nogil:
    if real is float:
        return sqrtf(x)
    else:
        return sqrt(x)


cdef inline real distance(real square, real other, real dot) noexcept nogil:
    """Return the squared distance, clipped at zero, since rounding may leave it below."""
    # A literal would widen floats to double, at twice the time.
    cdef real s = (square + other) - (dot + dot), zero = 0
    return s if s > zero else zero


cdef inline void profile(int kind, double shape, double scale, double factor, real square, const real[::1] others,
                         const real[::1] dots, real[::1] out) noexcept nogil:
    """Write `factor` times the kernel values of one row with others to `out`, from squared lengths and dot products."""
    cdef Py_ssize_t j, count = out.shape[0]
    cdef real r, a = shape, c = scale, f = factor, one = 1, three = 3
    if kind == 0:
        for j in range(count):
            out[j] = f * distance(square, others[j], dots[j])
    elif kind == 1:
        # As powers of two, exp(s) = 2^(s / log 2). `dots` has room up to the end of a panel, so whole vectors are read.
        if real is float:
            mercer_float_gaussian(square, &others[0], &dots[0], -1.4426950408889634 * scale, f, count, &out[0])
        else:
            for j in range(count):
                out[j] = f * inline.exp(-c * distance(square, others[j], dots[j]))
    elif kind == 2:
        for j in range(count):
            out[j] = f * inline.exp(-c * root(distance(square, others[j], dots[j])))
    elif kind == 3:
        for j in range(count):
            r = c * root(distance(square, others[j], dots[j]))
            out[j] = f * ((one + r) * inline.exp(-r))
    elif kind == 4:
        for j in range(count):
            r = c * root(distance(square, others[j], dots[j]))
            out[j] = f * ((one + r + r * r / three) * inline.exp(-r))
    elif kind == 5:
        for j in range(count):
            out[j] = f * inline.exp(-a * inline.log1p(c * distance(square, others[j], dots[j])))


cdef inline void fill(const double[::1] form, const real[:, ::1] X, const real[::1] squares,
                      const Py_ssize_t[::1] chosen, const Py_ssize_t[::1] slots, const Py_ssize_t[::1] columns,
                      const real[:, :, ::1] panels, const real[::1] others, Extent extent, real[:, ::1] left,
                      real[:, ::1] tile, real[:, ::1] table) noexcept nogil:
    """Write the kernel values of some rows with some columns, both of them rows of `X`, to a table.

    `form` (4,) is kind, shape, scale and factor of the kernel. `chosen` and `slots` give the rows, and the rows of the
    table that they go to; `columns` the others, which lie in panels; `squares` and `others` are squared lengths of the
    rows of `X` and of the columns. `extent` says which of them. `left` (8, d) and `tile` (8, m) are scratch.
    """
    cdef Py_ssize_t i, j, r, row, place, count, lowest = X.shape[0], highest = -1, m = extent.end - extent.begin
    cdef Py_ssize_t stop = extent.panel + (m + panels.shape[2] - 1) // panels.shape[2]
    for j in range(extent.begin, extent.end):
        lowest = min(lowest, columns[j])
        highest = max(highest, columns[j])
    for i in range(extent.first, extent.last, 8):
        count = min(<Py_ssize_t> 8, extent.last - i)
        gather(X, chosen, i, count, left, extent.scratch)
        multiply(left, extent.scratch, panels, extent.panel, stop, tile)
        for r in range(count):
            row = chosen[i + r]
            place = slots[i + r]
            profile(<int> form[0], form[1], form[2], form[3], squares[row], others[extent.begin:extent.end],
                    tile[extent.scratch + r], table[place, extent.offset:extent.offset + m])
            # The distance of a row to itself is zero, whatever rounding has made of it.
            if lowest <= row <= highest:
                for j in range(m):
                    if columns[extent.begin + j] == row:
                        table[place, extent.offset + j] = <real> form[3]
