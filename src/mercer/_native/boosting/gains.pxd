# The best cut of a column, from its histogram of whole numbers. gains.py is the uncompiled twin.
#
# A node with gradient G and curvature H whose rows get the value v lowers the loss by -(G v + (H + l2) v^2 / 2), which is
# G^2 / (H + l2) / 2 at v = -G / (H + l2). The gain of a split is twice what its children save beyond the node itself.
#
# `node` has gradient, curvature and rows of the node, the bounds of its children's values, and what a split must save;
# `limits` the l2 penalty, the fewest rows and the least curvature of a child, the fewest rows of a category that is placed
# by itself, which is also added to its curvature, and, as the seventh, the price of a category. `scales` and `shift` say
# what a unit of gradient and of curvature is worth, and the bits that count rows.
#
# Functions for other modules take whole tables and the numbers of rows in them: to make a view of a row, all threads would
# count up and down one number. `sums` has four rows of as many places as the widest column has bins.


cdef inline double value_of(double gradient, double curvature, double l2, double lower, double upper) noexcept nogil:
    cdef double value = -gradient / (curvature + l2 + 1e-300)
    return min(max(value, lower), upper)


cdef inline double saved(double gradient, double curvature, double l2, double value) noexcept nogil:
    return -value * (2.0 * gradient + (curvature + l2) * value)


cdef inline void sum_bins(
    const long long *histogram, Py_ssize_t count, const int *order, long long gradient, long long rest,
    const double *scales, int shift, double *sums, Py_ssize_t width
) noexcept nogil:
    """Write running sums of gradient, curvature and rows over bins, in `order` unless that is NULL."""
    cdef Py_ssize_t b, place
    cdef long long mask = (<long long> 1 << shift) - 1
    for b in range(count):
        place = 2 * (order[b] if order != NULL else b)
        gradient += histogram[place]
        rest += histogram[place + 1]
        sums[b] = <double> gradient * scales[0]
        sums[width + b] = <double> (rest >> shift) * scales[1]
        sums[2 * width + b] = <double> (rest & mask)


cdef inline void judge_cuts(
    double *sums, Py_ssize_t width, Py_ssize_t count, const double *node, const double *limits, int monotone, int bounded
) noexcept nogil:
    """Write what both children save, -1 where a cut is not allowed; bounded is 1 where values are clipped or compared."""
    cdef Py_ssize_t b
    cdef double g, h, c, left, right, l2 = limits[0], fewest = limits[1], least = limits[2]
    cdef double gradient = node[0], curvature = node[1], rows = node[2]
    cdef double *found = sums + 3 * width
    if bounded == 0:
        for b in range(count):
            g = sums[b]
            h = sums[width + b]
            c = sums[2 * width + b]
            left = g * g / (h + l2)
            right = (gradient - g) * (gradient - g) / (curvature - h + l2)
            c = min(c, rows - c)
            h = min(h, curvature - h)
            found[b] = left + right if (c >= fewest) & (h >= least) else -1.0
        return
    for b in range(count):
        g = sums[b]
        h = sums[width + b]
        c = min(sums[2 * width + b], rows - sums[2 * width + b])
        found[b] = -1.0
        if c < fewest or min(h, curvature - h) < least:
            continue
        left = value_of(g, h, l2, node[3], node[4])
        right = value_of(gradient - g, curvature - h, l2, node[3], node[4])
        if (monotone > 0 and left > right) or (monotone < 0 and left < right):
            continue
        found[b] = saved(g, h, l2, left) + saved(gradient - g, curvature - h, l2, right)


cdef inline Py_ssize_t sort_categories(
    const long long *histogram, Py_ssize_t count, const double *scales, int shift, double smoothing, double *keys,
    int *order
) noexcept nogil:
    """Sort the categories that hold enough rows by gradient over smoothed curvature; how many they are."""
    cdef Py_ssize_t b, k, found = 0
    cdef double key
    cdef long long mask = (<long long> 1 << shift) - 1
    for b in range(count):
        if <double> (histogram[2 * b + 1] & mask) < smoothing:
            continue
        key = <double> histogram[2 * b] * scales[0]
        key /= <double> (histogram[2 * b + 1] >> shift) * scales[1] + smoothing
        k = found
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            order[k] = order[k - 1]
            k -= 1
        keys[k] = key
        order[k] = <int> b
        found += 1
    return found


cdef inline double price_of(Py_ssize_t count, const double *limits) noexcept nogil:
    """What a split of so many categories must save beyond the node: the best of their orders gains by chance, too."""
    # Few categories have no advantage of a column of numbers, whose cut is the best of many as well. On held-out rows
    # counting from four, six or eight on made no difference, and from none less of a gain.
    return limits[6] * (count - 4) if count > 4 else 0.0


cdef inline Py_ssize_t best_cut(const double *found, Py_ssize_t count, double *most) noexcept nogil:
    """The first cut that saves more than the most so far, which is replaced; -1 if there is none."""
    cdef Py_ssize_t b, chosen = -1
    cdef double best = most[0]
    for b in range(count):
        if found[b] > best:
            best = found[b]
            chosen = b
    most[0] = best
    return chosen


cdef inline Py_ssize_t search_column(
    const long long[:, ::1] histograms, Py_ssize_t slot, Py_ssize_t first, Py_ssize_t count, int categorical, int monotone,
    const double[:, ::1] nodes, Py_ssize_t side, const double[::1] limits, int bounded, const double[::1] units, int shift,
    double[:, :, ::1] room, int[:, ::1] places, Py_ssize_t member, double[:, ::1] best, Py_ssize_t column
) noexcept nogil:
    """The cut of a column that saves most: 4 times its bin, or the categories taken, plus its way; -1 if none saves enough.

    Ways: the bins up to one go left (0), with the missing ones (1), categories from below (2) or from above (3). The
    column has `count` bins and then that of missing values. What the cut saves, less the price of its categories, is
    written to best[side, column]; among equal ones the first wins.
    """
    cdef Py_ssize_t b, found, chosen = -1, width = room.shape[2]
    cdef const long long *histogram = &histograms[slot, 2 * first]
    cdef const double *node = &nodes[side, 0]
    cdef const double *rules = &limits[0]
    cdef const double *scales = &units[0]
    cdef double *sums = &room[member, 0, 0]
    cdef int *order = &places[member, 0]
    cdef long long gradient, rest, mask = (<long long> 1 << shift) - 1
    cdef double most = node[5]
    best[side, column] = most
    if categorical:
        count = sort_categories(histogram, count + 1, scales, shift, rules[3], sums + 3 * width, order)
        if count < 2:
            return -1
        most += price_of(count, rules)
        sum_bins(histogram, count - 1, order, 0, 0, scales, shift, sums, width)
        judge_cuts(sums, width, count - 1, node, rules, 0, bounded)
        found = best_cut(sums + 3 * width, (count + 1) // 2, &most)
        chosen = 4 * found + 2 if found >= 0 else chosen
        for b in range(count // 2):
            order[b], order[count - 1 - b] = order[count - 1 - b], order[b]
        sum_bins(histogram, count - 1, order, 0, 0, scales, shift, sums, width)
        judge_cuts(sums, width, count - 1, node, rules, 0, bounded)
        found = best_cut(sums + 3 * width, count // 2, &most)
        best[side, column] = most - price_of(count, rules)
        return 4 * found + 3 if found >= 0 else chosen
    gradient = histogram[2 * count]
    rest = histogram[2 * count + 1]
    # Where nothing is missing, the last bin has nothing to its right.
    found = count if (rest & mask) > 0 else count - 1
    sum_bins(histogram, found, NULL, 0, 0, scales, shift, sums, width)
    judge_cuts(sums, width, found, node, rules, monotone, bounded)
    found = best_cut(sums + 3 * width, found, &most)
    chosen = 4 * found if found >= 0 else chosen
    if (rest & mask) > 0:
        sum_bins(histogram, count - 1, NULL, gradient, rest, scales, shift, sums, width)
        judge_cuts(sums, width, count - 1, node, rules, monotone, bounded)
        found = best_cut(sums + 3 * width, count - 1, &most)
        chosen = 4 * found + 1 if found >= 0 else chosen
    best[side, column] = most
    return chosen


cdef inline void describe_cut(
    const long long[:, ::1] histograms, Py_ssize_t slot, Py_ssize_t first, Py_ssize_t count, Py_ssize_t cut, double rows,
    const double[::1] limits, const double[::1] units, int shift, double[:, :, ::1] room, int[:, ::1] places,
    unsigned char[:, ::1] tables, long long[:, ::1] numbers, Py_ssize_t node, Py_ssize_t place
) noexcept nogil:
    """Write to tables[node] which bins of a column go left.

    And to numbers[node], from `place` on: the bin, whether missing values go left, and the words of the left child. Missing
    values of which the node has none go with the more of its `rows`.
    """
    cdef Py_ssize_t b, kept, way = cut % 4, chosen = cut // 4
    cdef long long gradient = 0, rest = 0, mask = (<long long> 1 << shift) - 1
    cdef const long long *histogram = &histograms[slot, 2 * first]
    cdef unsigned char *goes_left = &tables[node, 0]
    cdef int *order = &places[0, 0]
    for b in range(tables.shape[1]):
        goes_left[b] = 1 if way < 2 and b <= chosen and b < count else 0
    if way >= 2:
        kept = sort_categories(histogram, count + 1, &units[0], shift, limits[3], &room[0, 3, 0], order)
        for b in range(chosen + 1):
            goes_left[order[b] if way == 2 else order[kept - 1 - b]] = 1
    elif way == 1:
        goes_left[count] = 1
    for b in range(count + 1):
        if goes_left[b]:
            gradient += histogram[2 * b]
            rest += histogram[2 * b + 1]
    if (histogram[2 * count + 1] & mask) == 0:
        goes_left[count] = 1 if 2.0 * <double> (rest & mask) > rows else 0
    numbers[node, place] = chosen
    numbers[node, place + 1] = goes_left[count]
    numbers[node, place + 2] = gradient
    numbers[node, place + 3] = rest
