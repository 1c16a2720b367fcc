# Forces between the points of a map, 16 at a time; map_cells.h says how. map_cells.py is the uncompiled twin.

cdef extern from *:
    """
    #include <string.h>

    #define LANES 16
    #if defined(__GNUC__)
        #if defined(__AVX512F__)
            #define WIDE 16
        #elif defined(__AVX2__)
            #define WIDE 8
        #else
            #define WIDE 4
        #endif
        typedef float mercer_points __attribute__((vector_size(4 * WIDE)));
    #else
        #define WIDE 1
        typedef float mercer_points;
    #endif
    #define DIM 1
    #define CELL(name) mercer_1_##name
    #include "map_cells.h"
    #define DIM 2
    #define CELL(name) mercer_2_##name
    #include "map_cells.h"
    #define DIM 3
    #define CELL(name) mercer_3_##name
    #include "map_cells.h"
    """
    Py_ssize_t mercer_1_walk(const float *own, const float *box, const float *panels, const int *firsts,
                             const int *counts, const float *reach, const float *moments, Py_ssize_t nodes,
                             Py_ssize_t points, float *out) noexcept nogil
    Py_ssize_t mercer_2_walk(const float *own, const float *box, const float *panels, const int *firsts,
                             const int *counts, const float *reach, const float *moments, Py_ssize_t nodes,
                             Py_ssize_t points, float *out) noexcept nogil
    Py_ssize_t mercer_3_walk(const float *own, const float *box, const float *panels, const int *firsts,
                             const int *counts, const float *reach, const float *moments, Py_ssize_t nodes,
                             Py_ssize_t points, float *out) noexcept nogil
    void mercer_1_attract(const float *places, Py_ssize_t row, const int *ends, const float *weights,
                          Py_ssize_t first, Py_ssize_t last, float *out) noexcept nogil
    void mercer_2_attract(const float *places, Py_ssize_t row, const int *ends, const float *weights,
                          Py_ssize_t first, Py_ssize_t last, float *out) noexcept nogil
    void mercer_3_attract(const float *places, Py_ssize_t row, const int *ends, const float *weights,
                          Py_ssize_t first, Py_ssize_t last, float *out) noexcept nogil


cdef inline Py_ssize_t width() noexcept nogil:
    """Return the number of points in a leaf."""
    return 16


cdef inline Py_ssize_t walk(
    const float[:, ::1] own,
    const float[:, ::1] box,
    const float[:, :, ::1] panels,
    const int[::1] firsts,
    const int[::1] counts,
    const float[::1] reach,
    const float[:, ::1] moments,
    Py_ssize_t points,
    float[:, ::1] out,
) noexcept nogil:
    """Add the forces and potentials of all points of a tree to those of one leaf; return the number of terms."""
    cdef Py_ssize_t nodes = counts.shape[0]
    if own.shape[0] == 1:
        return mercer_1_walk(&own[0, 0], &box[0, 0], &panels[0, 0, 0], &firsts[0], &counts[0], &reach[0],
                             &moments[0, 0], nodes, points, &out[0, 0])
    if own.shape[0] == 2:
        return mercer_2_walk(&own[0, 0], &box[0, 0], &panels[0, 0, 0], &firsts[0], &counts[0], &reach[0],
                             &moments[0, 0], nodes, points, &out[0, 0])
    return mercer_3_walk(&own[0, 0], &box[0, 0], &panels[0, 0, 0], &firsts[0], &counts[0], &reach[0],
                         &moments[0, 0], nodes, points, &out[0, 0])


cdef inline void attract(
    const float[:, ::1] places,
    Py_ssize_t row,
    const int[::1] ends,
    const float[::1] weights,
    Py_ssize_t first,
    Py_ssize_t last,
    float[::1] out,
) noexcept nogil:
    """Write the attraction of a row by the ends of its edges `first` to `last`."""
    if first == last:
        out[:] = 0.0
    elif places.shape[1] == 1:
        mercer_1_attract(&places[0, 0], row, &ends[0], &weights[0], first, last, &out[0])
    elif places.shape[1] == 2:
        mercer_2_attract(&places[0, 0], row, &ends[0], &weights[0], first, last, &out[0])
    else:
        mercer_3_attract(&places[0, 0], row, &ends[0], &weights[0], first, last, &out[0])
