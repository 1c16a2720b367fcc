# Rows into a histogram of pairs of words; words.h says how. words.py is the uncompiled twin.

cdef extern from *:
    """
    #include "words.h"
    """
    void mercer_add_rows_bytes(const unsigned char *bins, Py_ssize_t d, const long long *words,
                               const unsigned short *order, Py_ssize_t count, const int *offsets,
                               long long *histogram) noexcept nogil
    void mercer_add_rows_shorts(const unsigned short *bins, Py_ssize_t d, const long long *words,
                                const unsigned short *order, Py_ssize_t count, const int *offsets,
                                long long *histogram) noexcept nogil

ctypedef fused code:
    unsigned char
    unsigned short


cdef inline void add_rows(const code[:, ::1] bins, Py_ssize_t start, const long long[:, ::1] words,
                          const unsigned short[::1] order, Py_ssize_t first, Py_ssize_t last, const int[::1] offsets,
                          long long[::1] histogram) noexcept nogil:
    """Add to the bin of each of their columns the words of the rows that `order` counts from row `start` on."""
    if first >= last:
        return
    if sizeof(code) == 1:
        mercer_add_rows_bytes(<const unsigned char *> &bins[start, 0], bins.shape[1], &words[start, 0], &order[first],
                              last - first, &offsets[0], &histogram[0])
    else:
        mercer_add_rows_shorts(<const unsigned short *> &bins[start, 0], bins.shape[1], &words[start, 0],
                               &order[first], last - first, &offsets[0], &histogram[0])
