# Rows into a histogram of pairs of words; words.h says how. words.py is the uncompiled twin. leaves.py has the records.

from mercer._native.boosting cimport leaves

cdef extern from *:
    """
    #include <string.h>
    #include "words.h"
    """
    void mercer_add_rows(const unsigned char *bins, Py_ssize_t d, const long long *words, const unsigned short *order,
                         Py_ssize_t count, const int *offsets, long long *histogram) noexcept nogil
    void mercer_add_some(const unsigned char *bins, Py_ssize_t d, const long long *words, const unsigned short *order,
                         Py_ssize_t count, const int *offsets, const int *chosen, Py_ssize_t n_chosen,
                         long long *histogram) noexcept nogil
    void mercer_draw_rows(unsigned long long seed, Py_ssize_t start, Py_ssize_t rows, double share,
                          long long *drawn) noexcept nogil
    Py_ssize_t mercer_quantise(const double *gradients, const long long *counts, const long long *drawn,
                               Py_ssize_t rows, double scale, double rest_scale, int shift, long long *words,
                               unsigned short *order, long long *totals) noexcept nogil
    Py_ssize_t mercer_part_rows(const unsigned char *column, const unsigned char *goes_left, unsigned short *order,
                                Py_ssize_t count, unsigned short *spare) noexcept nogil
    void *memset(void *place, int value, size_t size) noexcept nogil


cdef inline void add_rows(const unsigned char[:, ::1] bins, Py_ssize_t start, const leaves.Words[::1] words,
                          const unsigned short[::1] order, Py_ssize_t first, Py_ssize_t last, const int[::1] offsets,
                          const int[:, ::1] chosen, Py_ssize_t side, Py_ssize_t n_chosen, leaves.Words[:, ::1] parts,
                          Py_ssize_t member) noexcept nogil:
    """Add to the bins of their chosen columns the words of the rows that `order` counts from row `start` on."""
    if first < last and n_chosen < bins.shape[1]:
        mercer_add_some(&bins[start, 0], bins.shape[1], <const long long *> &words[start], &order[first], last - first,
                        &offsets[0], &chosen[side, 0], n_chosen, <long long *> &parts[member, 0])
    elif first < last:
        mercer_add_rows(&bins[start, 0], bins.shape[1], <const long long *> &words[start], &order[first], last - first,
                        &offsets[0], <long long *> &parts[member, 0])


cdef inline void draw_rows(unsigned long long seed, Py_ssize_t start, Py_ssize_t stop, double share,
                           long long[::1] drawn) noexcept nogil:
    """Draw each of the rows from `start` to `stop` once with chance `share`."""
    mercer_draw_rows(seed, start, stop - start, share, &drawn[start])


cdef inline Py_ssize_t quantise(const double[:, :, ::1] gradients, Py_ssize_t output, const long long[::1] counts,
                                const long long[::1] drawn, Py_ssize_t start, Py_ssize_t stop,
                                const leaves.Rules[::1] rules, leaves.Words[::1] words, unsigned short[::1] order,
                                leaves.Words[:, ::1] totals, Py_ssize_t member) noexcept nogil:
    """Write the words of the rows from `start` to `stop`, and the places of those drawn; return their number.

    `counts` says how many rows each stands for, `drawn` how many of them were drawn; empty, they mean one and all.
    """
    return mercer_quantise(&gradients[output, start, 0], &counts[start] if counts.shape[0] > 0 else NULL,
                           &drawn[start] if drawn.shape[0] > 0 else NULL, stop - start, rules[0].gradient_scale,
                           rules[0].curvature_scale, <int> rules[0].count_bits, <long long *> &words[start],
                           &order[start], <long long *> &totals[member, 0])


cdef inline Py_ssize_t part_rows(const unsigned char[:, ::1] columns, Py_ssize_t column, Py_ssize_t start,
                                 const unsigned char[:, ::1] tables, Py_ssize_t node, unsigned short[::1] order,
                                 Py_ssize_t first, Py_ssize_t last, unsigned short[:, ::1] spare,
                                 Py_ssize_t member) noexcept nogil:
    """Put the rows of a block that go left before the others, both in their order; return how many go left.

    The rows are those from `first` to `last` in the order of the block that begins with row `start`; tables[node] says which
    bins go left.
    """
    if first == last:
        return 0
    return mercer_part_rows(&columns[column, start], &tables[node, 0], &order[start + first], last - first,
                            &spare[member, 0])


cdef inline void clear(const int[::1] offsets, const int[:, ::1] chosen, Py_ssize_t side, Py_ssize_t n_chosen,
                       leaves.Words[:, ::1] parts, Py_ssize_t member) noexcept nogil:
    """Set the chosen columns of a thread's histogram to zero."""
    cdef Py_ssize_t c, j
    for c in range(n_chosen):
        j = chosen[side, c]
        memset(&parts[member, offsets[j]], 0, (offsets[j + 1] - offsets[j]) * sizeof(leaves.Words))


cdef inline void gather(const leaves.Words[:, ::1] parts, const unsigned char[:, ::1] used, Py_ssize_t first,
                        Py_ssize_t last, leaves.Words[:, ::1] histograms, Py_ssize_t slot) noexcept nogil:
    """Write the sum of the histograms of those threads that added rows, from bin `first` to `last`."""
    cdef Py_ssize_t member, k
    cdef bint found = False
    cdef long long *total = <long long *> &histograms[slot, first]
    cdef const long long *part
    for member in range(parts.shape[0]):
        if not used[member, 0]:
            continue
        part = <const long long *> &parts[member, first]
        if found:
            for k in range(2 * (last - first)):
                total[k] += part[k]
        else:
            for k in range(2 * (last - first)):
                total[k] = part[k]
        found = True
    if not found:
        memset(total, 0, (last - first) * sizeof(leaves.Words))


cdef inline void subtract(leaves.Words[:, ::1] histograms, Py_ssize_t whole, Py_ssize_t built, Py_ssize_t first,
                          Py_ssize_t last) noexcept nogil:
    """Subtract one child's histogram from its parent's, from bin `first` to `last`, which leaves the other child's."""
    cdef Py_ssize_t k
    cdef long long *total = <long long *> &histograms[whole, first]
    cdef const long long *part = <const long long *> &histograms[built, first]
    for k in range(2 * (last - first)):
        total[k] -= part[k]
