# Sums over the rows of a node that describe it. node_sums.py is the uncompiled twin.


cdef inline double sum_classes(
    const int[::1] rows,
    Py_ssize_t start,
    Py_ssize_t stop,
    const int[:, ::1] slots,
    const double[::1] weight,
    double[::1] counts,
) noexcept nogil:
    """Write the weight of each class to `counts`, and return the weight of all rows."""
    cdef Py_ssize_t i, o
    cdef double w, total = 0.0
    for o in range(counts.shape[0]):
        counts[o] = 0.0
    for i in range(start, stop):
        w = weight[rows[i]]
        total += w
        for o in range(slots.shape[1]):
            counts[slots[rows[i], o]] += w
    return total


cdef inline bint are_pure(const double[::1] counts, const long long[::1] firsts, double total) noexcept nogil:
    """Return whether each output has one class only: the heaviest has all the weight.

    The classes of output o are ``counts[firsts[o]:firsts[o + 1]]``.
    """
    cdef Py_ssize_t o, s
    cdef double most
    for o in range(firsts.shape[0] - 1):
        most = 0.0
        for s in range(firsts[o], firsts[o + 1]):
            most = counts[s] if counts[s] > most else most
        if most != total:
            return False
    return True


cdef inline bint sum_values(
    const int[::1] rows,
    Py_ssize_t start,
    Py_ssize_t stop,
    const double[:, ::1] targets,
    const double[::1] weight,
    double[::1] means,
    double[::1] squares,
    double[::1] total,
) noexcept nogil:
    """Write the mean of each target, its variance, and the weight of all rows; return whether all targets are equal.

    With m the rounded mean of a first pass and r the weighted mean of y_i - m, the mean is m + r and the variance
    sum w_i (y_i - m)^2 / w - r^2: targets far from zero cost no digits.
    """
    cdef Py_ssize_t i, o
    cdef double mean, rest, square, least, most, y, w
    cdef bint equal = True
    total[0] = 0.0
    for i in range(start, stop):
        total[0] += weight[rows[i]]
    for o in range(targets.shape[1]):
        mean = 0.0
        least = targets[rows[start], o]
        most = least
        for i in range(start, stop):
            y = targets[rows[i], o]
            mean += weight[rows[i]] * y
            least = y if y < least else least
            most = y if y > most else most
        mean /= total[0]
        rest = 0.0
        square = 0.0
        for i in range(start, stop):
            w = weight[rows[i]]
            y = targets[rows[i], o] - mean
            rest += w * y
            square += w * y * y
        rest /= total[0]
        means[o] = least if least == most else mean + rest
        squares[o] = 0.0 if least == most else square / total[0] - rest * rest
        equal = equal and least == most
    return equal
