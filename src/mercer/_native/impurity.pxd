# What a split is worth, and whether it is allowed. impurity.py is the uncompiled twin.
#
# A node is a vector of sums (a class's weight, an output's target) and a weight w. Minus its weighted impurity is, up to
# what both sides of a split share, sum s^2 / w (kind 0: Gini's index, squared error), sum s log s - outputs w log w
# (kind 1: entropy) or sum s log(s / w) (kind 2: Poisson deviance).

from mercer._native cimport inline as elementary


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
