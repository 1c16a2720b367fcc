# A row into a histogram of pairs of words; words.h says how. words.py is the uncompiled twin.

cdef extern from *:
    """
    #include "words.h"
    """
    void mercer_add_row_bytes(const unsigned char *bins, Py_ssize_t d, const long long *words, const int *offsets,
                              long long *histogram) noexcept nogil
    void mercer_add_row_shorts(const unsigned short *bins, Py_ssize_t d, const long long *words, const int *offsets,
                               long long *histogram) noexcept nogil

ctypedef fused code:
    unsigned char
    unsigned short


cdef inline void add_row(const code[:, ::1] bins, Py_ssize_t row, const long long[:, ::1] words, const int[::1] offsets,
                         long long[::1] histogram) noexcept nogil:
    """Add the words of a row to the bin of each of its columns."""
    if sizeof(code) == 1:
        mercer_add_row_bytes(<const unsigned char *> &bins[row, 0], bins.shape[1], &words[row, 0], &offsets[0],
                             &histogram[0])
    else:
        mercer_add_row_shorts(<const unsigned short *> &bins[row, 0], bins.shape[1], &words[row, 0], &offsets[0],
                              &histogram[0])
