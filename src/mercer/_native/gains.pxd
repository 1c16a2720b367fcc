# The best cut of a column, from its histogram of whole numbers. gains.py is the uncompiled twin.
#
# A node with gradient G and curvature H whose rows get the value v lowers the loss by -(G v + (H + l2) v^2 / 2), which is
# G^2 / (H + l2) / 2 at v = -G / (H + l2). The gain of a split is twice what its children save beyond the node itself.
#
# `node` has gradient, curvature and rows of the node, the bounds of its children's values, and what a split must save;
# `limits` the l2 penalty, the fewest rows and the least curvature of a child, the fewest rows of a category that is placed
# by itself, which is also added to its curvature, and the price of a category. `scales` and `shift` say what a unit of gradient and of curvature
# is worth, and the bits that count rows.


cdef inline double value_of(double gradient, double curvature, double l2, double lower, double upper) noexcept nogil:
    cdef double value = -gradient / (curvature + l2 + 1e-300)
    return min(max(value, lower), upper)


cdef inline double saved(double gradient, double curvature, double l2, double value) noexcept nogil:
    return -value * (2.0 * gradient + (curvature + l2) * value)


cdef inline void sum_bins(
    const long long[::1] histogram, Py_ssize_t first, Py_ssize_t count, const int[::1] order, long long gradient,
    long long rest, const double[::1] scales, int shift, double[:, ::1] sums
) noexcept nogil:
    """Write running sums of gradient, curvature and rows over bins, in `order` if that is not empty."""
    cdef Py_ssize_t b, place
    cdef long long mask = (<long long> 1 << shift) - 1
    for b in range(count):
        place = 2 * (first + (order[b] if order.shape[0] > 0 else b))
        gradient += histogram[place]
        rest += histogram[place + 1]
        sums[0, b] = <double> gradient * scales[0]
        sums[1, b] = <double> (rest >> shift) * scales[1]
        sums[2, b] = <double> (rest & mask)


cdef inline void judge_cuts(
    double[:, ::1] sums, Py_ssize_t count, const double[::1] node, const double[::1] limits, int monotone, int bounded
) noexcept nogil:
    """Write what both children save, -1 where a cut is not allowed; bounded is 1 where values are clipped or compared."""
    cdef Py_ssize_t b
    cdef double g, h, c, left, right, l2 = limits[0]
    if bounded == 0:
        for b in range(count):
            g = sums[0, b]
            h = sums[1, b]
            c = sums[2, b]
            left = g * g / (h + l2)
            right = (node[0] - g) * (node[0] - g) / (node[1] - h + l2)
            c = min(c, node[2] - c)
            h = min(h, node[1] - h)
            sums[3, b] = left + right if (c >= limits[1]) & (h >= limits[2]) else -1.0
        return
    for b in range(count):
        g = sums[0, b]
        h = sums[1, b]
        c = min(sums[2, b], node[2] - sums[2, b])
        sums[3, b] = -1.0
        if c < limits[1] or min(h, node[1] - h) < limits[2]:
            continue
        left = value_of(g, h, l2, node[3], node[4])
        right = value_of(node[0] - g, node[1] - h, l2, node[3], node[4])
        if (monotone > 0 and left > right) or (monotone < 0 and left < right):
            continue
        sums[3, b] = saved(g, h, l2, left) + saved(node[0] - g, node[1] - h, l2, right)


cdef inline Py_ssize_t sort_categories(
    const long long[::1] histogram, Py_ssize_t first, Py_ssize_t count, const double[::1] scales, int shift,
    double smoothing, double[::1] keys, int[::1] order
) noexcept nogil:
    """Sort the categories that hold enough rows by gradient over smoothed curvature; how many they are."""
    cdef Py_ssize_t b, k, found = 0
    cdef double key
    cdef long long mask = (<long long> 1 << shift) - 1
    for b in range(count):
        if <double> (histogram[2 * (first + b) + 1] & mask) < smoothing:
            continue
        key = <double> histogram[2 * (first + b)] * scales[0]
        key /= <double> (histogram[2 * (first + b) + 1] >> shift) * scales[1] + smoothing
        k = found
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            order[k] = order[k - 1]
            k -= 1
        keys[k] = key
        order[k] = <int> b
        found += 1
    return found


cdef inline double price_of(Py_ssize_t count, const double[::1] limits) noexcept nogil:
    """What a split of so many categories must save beyond the node: the best of their orders gains by chance, too."""
    # Few categories have no advantage of a column of numbers, whose cut is the best of many as well. On held-out rows
    # counting from four, six or eight on made no difference, and from none less of a gain.
    return limits[4] * (count - 4) if count > 4 else 0.0


cdef inline Py_ssize_t best_cut(
    const double[:, ::1] sums, Py_ssize_t count, double[::1] best, Py_ssize_t column
) noexcept nogil:
    """The first cut that saves more than the best so far, which is replaced; -1 if there is none."""
    cdef Py_ssize_t b, found = -1
    cdef double most = best[column]
    for b in range(count):
        if sums[3, b] > most:
            most = sums[3, b]
            found = b
    best[column] = most
    return found


cdef inline Py_ssize_t search_column(
    const long long[::1] histogram, Py_ssize_t first, Py_ssize_t count, int categorical, int monotone,
    const double[::1] node, const double[::1] limits, int bounded, const double[::1] scales, int shift,
    double[:, ::1] sums, int[::1] order, double[::1] best, Py_ssize_t column
) noexcept nogil:
    """The cut of a column that saves most: 4 times its bin, or the categories taken, plus its way; -1 if none saves enough.

    Ways: the bins up to one go left (0), with the missing ones (1), categories from below (2) or from above (3). The
    column has `count` bins and then that of missing values. What the cut saves, less the price of its categories, is
    written to best[column]; among equal ones the first wins.
    """
    cdef Py_ssize_t b, found, chosen = -1
    cdef long long gradient, rest, mask = (<long long> 1 << shift) - 1
    best[column] = node[5]
    if categorical:
        count = sort_categories(histogram, first, count + 1, scales, shift, limits[3], sums[3], order)
        if count < 2:
            return -1
        best[column] += price_of(count, limits)
        sum_bins(histogram, first, count - 1, order[:count], 0, 0, scales, shift, sums)
        judge_cuts(sums, count - 1, node, limits, 0, bounded)
        found = best_cut(sums, (count + 1) // 2, best, column)
        chosen = 4 * found + 2 if found >= 0 else chosen
        for b in range(count // 2):
            order[b], order[count - 1 - b] = order[count - 1 - b], order[b]
        sum_bins(histogram, first, count - 1, order[:count], 0, 0, scales, shift, sums)
        judge_cuts(sums, count - 1, node, limits, 0, bounded)
        found = best_cut(sums, count // 2, best, column)
        best[column] -= price_of(count, limits)
        return 4 * found + 3 if found >= 0 else chosen
    gradient = histogram[2 * (first + count)]
    rest = histogram[2 * (first + count) + 1]
    # Where nothing is missing, the last bin has nothing to its right.
    found = count if (rest & mask) > 0 else count - 1
    sum_bins(histogram, first, found, order[:0], 0, 0, scales, shift, sums)
    judge_cuts(sums, found, node, limits, monotone, bounded)
    found = best_cut(sums, found, best, column)
    chosen = 4 * found if found >= 0 else chosen
    if (rest & mask) > 0:
        sum_bins(histogram, first, count - 1, order[:0], gradient, rest, scales, shift, sums)
        judge_cuts(sums, count - 1, node, limits, monotone, bounded)
        found = best_cut(sums, count - 1, best, column)
        chosen = 4 * found + 1 if found >= 0 else chosen
    return chosen


cdef inline void describe_cut(
    const long long[::1] histogram, Py_ssize_t first, Py_ssize_t count, Py_ssize_t cut, const double[::1] node,
    const double[::1] limits, const double[::1] scales, int shift, double[::1] keys, int[::1] order,
    unsigned char[::1] goes_left, long long[::1] places
) noexcept nogil:
    """Write which bins go left; and the bin, whether missing values go left, and the words of the left child.

    Missing values of which the node has none go with the more rows.
    """
    cdef Py_ssize_t b, kept, way = cut % 4, chosen = cut // 4
    cdef long long gradient = 0, rest = 0, mask = (<long long> 1 << shift) - 1
    for b in range(count + 1):
        goes_left[b] = 1 if way < 2 and b <= chosen and b < count else 0
    if way >= 2:
        kept = sort_categories(histogram, first, count + 1, scales, shift, limits[3], keys, order)
        for b in range(chosen + 1):
            goes_left[order[b] if way == 2 else order[kept - 1 - b]] = 1
    elif way == 1:
        goes_left[count] = 1
    for b in range(count + 1):
        if goes_left[b]:
            gradient += histogram[2 * (first + b)]
            rest += histogram[2 * (first + b) + 1]
    if (histogram[2 * (first + count) + 1] & mask) == 0:
        goes_left[count] = 1 if 2.0 * <double> (rest & mask) > node[2] else 0
    places[1] = chosen
    places[2] = goes_left[count]
    places[3] = gradient
    places[4] = rest
