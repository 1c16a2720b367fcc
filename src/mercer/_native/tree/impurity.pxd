# What a split is worth, and whether it is allowed. impurity.py is the uncompiled twin.
#
# A node is a vector of sums (a class's weight, an output's target) and a weight w. Minus its weighted impurity is, up to
# what both sides of a split share, sum s^2 / w (kind 0: Gini's index, squared error), sum s log s - outputs w log w
# (kind 1: entropy) or sum s log(s / w) (kind 2: Poisson deviance).

from mercer._native.shared cimport inline as elementary


cdef inline double x_log_x(double x) noexcept nogil:
    return x * elementary.log(x) if x > 0.0 else 0.0


cdef inline double worth(
    const double[::1] left, const double[::1] total, double left_weight, double right_weight, double outputs, int kind
) noexcept nogil:
    """The worth of a split by the sums of its left side; minus infinity where Poisson's mean would not be positive."""
    cdef Py_ssize_t s
    cdef double right, one = 0.0, two = 0.0
    if kind == 0:
        for s in range(total.shape[0]):
            right = total[s] - left[s]
            one += left[s] * left[s]
            two += right * right
        return one / left_weight + two / right_weight
    if kind == 1:
        for s in range(total.shape[0]):
            one += x_log_x(left[s])
            two += x_log_x(total[s] - left[s])
        return (one - outputs * x_log_x(left_weight)) + (two - outputs * x_log_x(right_weight))
    for s in range(total.shape[0]):
        right = total[s] - left[s]
        if left[s] <= 0.0 or right <= 0.0:
            return -1e308 * 10.0
        one += left[s] * elementary.log(left[s] / left_weight)
        two += right * elementary.log(right / right_weight)
    return one + two


cdef inline double undivided(const double[::1] total, double weight, double outputs, int kind) noexcept nogil:
    """The worth of a node left whole."""
    cdef Py_ssize_t s
    cdef double sum = 0.0
    for s in range(total.shape[0]):
        if kind == 0:
            sum += total[s] * total[s]
        elif kind == 1:
            sum += x_log_x(total[s])
        elif total[s] > 0.0:
            sum += total[s] * elementary.log(total[s] / weight)
    if kind == 0:
        return sum / weight
    return sum - outputs * x_log_x(weight) if kind == 1 else sum


cdef inline bint allowed(double low, double high, int sign, const double[::1] bounds) noexcept nogil:
    """Whether the values of the two sides keep the order that `sign` asks for, and the bounds set higher up."""
    if low < bounds[0] or low > bounds[1] or high < bounds[0] or high > bounds[1]:
        return False
    return (high - low) * sign >= 0.0


cdef inline void judge(
    const double[::1] left,
    const double[::1] total,
    double left_weight,
    double rows,
    double count,
    const double[::1] place,
    const double[::1] settings,
    const double[::1] bounds,
    double[::1] best,
) noexcept nogil:
    """Keep a split if it is allowed and better than the best so far.

    `place`: the weight of the node, the feature, the cut, where missing rows go, the order asked for (2: none), and the
    worth where it is known (otherwise NaN). `settings`: rows a side needs, weight it needs, outputs, kind, ..., at 7
    the slot whose mean is bounded. `best`: worth, feature, cut, side.
    """
    cdef double right_weight = place[0] - left_weight, value = place[5]
    cdef Py_ssize_t slot = <Py_ssize_t> settings[7]
    if rows < settings[0] or count - rows < settings[0] or left_weight < settings[1] or right_weight < settings[1]:
        return
    if place[4] != 2.0 and not allowed(
        left[slot] / left_weight, (total[slot] - left[slot]) / right_weight, <int> place[4], bounds
    ):
        return
    if value != value:
        value = worth(left, total, left_weight, right_weight, settings[2], <int> settings[3])
    if value > best[0]:
        best[0] = value
        best[1] = place[1]
        best[2] = place[2]
        best[3] = place[3]
