# The end of a round of boosting, for the rows of a block: scores moved by a tree, and the loss, gradients and curvatures at
# them. slopes.py is the uncompiled twin.
#
# Losses are 1 for (z - y)^2 / 2, 2 for log(1 + exp(z)) - y z with y of 0 and 1, and 3 for log(sum_j exp(z_j)) - z_y, whose
# curvature is the diagonal p (1 - p). A block leaves its sums in a row of `sums`: the loss, then for each score those of the
# gradients' sizes and of the curvatures, all weighted.

from mercer._native.shared cimport inline as elementary
from mercer._native.boosting cimport words as pairs


cdef inline void add_values(
    const unsigned short[::1] order, const int[:, :, ::1] spans, const long long[:, ::1] numbers, Py_ssize_t nodes,
    const double[::1] values, Py_ssize_t block, Py_ssize_t start, double[:, ::1] scores,
    Py_ssize_t column
) noexcept nogil:
    """Add to the scores of a block's rows the values of the leaves that they are in."""
    cdef Py_ssize_t node, k, step = scores.shape[1]
    cdef const unsigned short *places = &order[start]
    cdef double *score = &scores[start, column]
    cdef double value
    for node in range(nodes):
        if numbers[node, 0] == 0:
            value = values[node]
            for k in range(spans[block, node, 0], spans[block, node, 1]):
                score[step * places[k]] += value


cdef inline void add_walked(
    const unsigned char[:, ::1] columns, const long long[::1] drawn, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t kept,
    const long long[:, ::1] numbers, Py_ssize_t feature, Py_ssize_t nodes, const unsigned char[:, ::1] tables,
    const double[::1] values, double[:, ::1] scores, Py_ssize_t column, unsigned short[::1] order,
    unsigned short[:, ::1] spare, int[:, :, ::1] walks, Py_ssize_t member
) noexcept nogil:
    """The same for the rows that were not drawn, hence are in no leaf: they are parted node by node.

    So they do not wait for one another, as they would walking. `feature` is where nodes have the column asked; the order of
    the block has room after the rows `kept`, and `walks` for where the rows of each node begin and end in it.
    """
    cdef Py_ssize_t row, node, k, child, middle, others = 0
    for row in range(start, stop):
        # Without a branch, which could not be foreseen.
        spare[member, others] = <unsigned short> (row - start)
        others += drawn[row] == 0
    for k in range(others):
        order[start + kept + k] = spare[member, k]
    walks[member, 0, 0] = <int> kept
    walks[member, 1, 0] = <int> (kept + others)
    for node in range(nodes):
        child = numbers[node, 0]
        if child > 0:
            middle = walks[member, 0, node] + pairs.part_rows(
                columns, numbers[node, feature], start, tables, node, order, walks[member, 0, node],
                walks[member, 1, node], spare, member
            )
            walks[member, 0, child] = walks[member, 0, node]
            walks[member, 1, child] = walks[member, 0, child + 1] = <int> middle
            walks[member, 1, child + 1] = walks[member, 1, node]
        else:
            for k in range(walks[member, 0, node], walks[member, 1, node]):
                scores[start + order[start + k], column] += values[node]


cdef inline void squared(
    const double *z, const double *y, const double *weight, Py_ssize_t rows, double *gradients, double *sums
) noexcept nogil:
    cdef Py_ssize_t i
    cdef double gap, w, loss = 0.0, size = 0.0, curvature = 0.0
    for i in range(rows):
        w = weight[i] if weight != NULL else 1.0
        gap = z[i] - y[i]
        gradients[2 * i] = w * gap
        gradients[2 * i + 1] = w
        loss += 0.5 * w * gap * gap
        size += w * (gap if gap > 0.0 else -gap)
        curvature += w
    sums[0] = loss
    sums[1] = size
    sums[2] = curvature


cdef inline void logistic(
    const double *z, const double *y, const double *weight, Py_ssize_t rows, double *gradients, double *sums
) noexcept nogil:
    cdef Py_ssize_t first, i, count
    cdef double w, x, slope, bend, loss = 0.0, size = 0.0, curvature = 0.0
    cdef double small[64]
    cdef double share[64]
    cdef double lost[64]
    # Few rows at a time, in arrays that nothing else points to: loops over elementary functions then vectorise.
    for first in range(0, rows, 64):
        count = min(rows - first, 64)
        for i in range(count):
            x = z[first + i]
            small[i] = elementary.exp(x if x < 0.0 else -x)
        # As expit and log1pexp have it, from one exponential.
        for i in range(count):
            share[i] = (small[i] if z[first + i] < 0.0 else 1.0) / (1.0 + small[i])
        for i in range(count):
            x = z[first + i] if y[first + i] < 0.5 else -z[first + i]
            lost[i] = (x if x > 0.0 else 0.0) + elementary.log1p(small[i])
        for i in range(count):
            w = weight[first + i] if weight != NULL else 1.0
            slope = w * (share[i] - y[first + i])
            bend = w * share[i] * (1.0 - share[i])
            gradients[2 * (first + i)] = slope
            gradients[2 * (first + i) + 1] = bend
            loss += w * lost[i]
            size += slope if slope > 0.0 else -slope
            curvature += bend
    sums[0] = loss
    sums[1] = size
    sums[2] = curvature


cdef inline void softmax(
    const double *z, const double *y, const double *weight, Py_ssize_t k, Py_ssize_t rows, double *gradients,
    Py_ssize_t step, double *sums
) noexcept nogil:
    """The gradients of the next score come `step` numbers later."""
    cdef Py_ssize_t first, i, j, count, label
    cdef double p, w
    cdef double most[64]
    cdef double part[64]
    cdef double total[64]
    cdef double *slope
    for j in range(2 * k + 1):
        sums[j] = 0.0
    for first in range(0, rows, 64):
        count = min(rows - first, 64)
        for i in range(count):
            most[i] = z[(first + i) * k]
            for j in range(1, k):
                most[i] = max(most[i], z[(first + i) * k + j])
            total[i] = 0.0
        for j in range(k):
            slope = gradients + j * step + 2 * first
            for i in range(count):
                part[i] = z[(first + i) * k + j] - most[i]
            for i in range(count):
                part[i] = elementary.exp(part[i])
                total[i] += part[i]
            for i in range(count):
                slope[2 * i] = part[i]
        for i in range(count):
            part[i] = elementary.log(total[i])
        for i in range(count):
            w = weight[first + i] if weight != NULL else 1.0
            label = <Py_ssize_t> y[first + i]
            sums[0] += w * (part[i] + most[i] - z[(first + i) * k + label])
        for j in range(k):
            slope = gradients + j * step + 2 * first
            for i in range(count):
                w = weight[first + i] if weight != NULL else 1.0
                p = slope[2 * i] / total[i]
                slope[2 * i + 1] = w * p * (1.0 - p)
                sums[2 + 2 * j] += slope[2 * i + 1]
                p = w * (p - 1.0 if j == <Py_ssize_t> y[first + i] else p)
                slope[2 * i] = p
                sums[1 + 2 * j] += p if p > 0.0 else -p


cdef inline void look(
    int loss, const double[:, ::1] scores, const double[::1] y, const double[::1] weight, Py_ssize_t start,
    Py_ssize_t stop, double[:, :, ::1] gradients, double[:, ::1] sums, Py_ssize_t block
) noexcept nogil:
    """Write the gradients of a block's rows (scores, rows, 2), and its sums."""
    cdef const double *shares = &weight[start] if weight.shape[0] > 0 else NULL
    if loss == 1:
        squared(&scores[start, 0], &y[start], shares, stop - start, &gradients[0, start, 0], &sums[block, 0])
    elif loss == 2:
        logistic(&scores[start, 0], &y[start], shares, stop - start, &gradients[0, start, 0], &sums[block, 0])
    elif loss == 3:
        softmax(&scores[start, 0], &y[start], shares, scores.shape[1], stop - start, &gradients[0, start, 0],
                2 * gradients.shape[1], &sums[block, 0])
