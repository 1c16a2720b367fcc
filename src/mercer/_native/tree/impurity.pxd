# What a split is worth, and whether it is allowed. impurity.py is the uncompiled twin.
#
# A node has a vector of sums s (the weight of a class, or the weighted targets of an output) and a weight w. Its worth
# is minus its weighted impurity, plus a term that is additive over rows (such as sum w_i y_i^2) and therefore the same
# for a node and for its two sides together. So worth(left) + worth(right) - worth(node) is the gain of a split:
#
#   Gini: -w (1 - sum (s / w)^2) = sum s^2 / w - w
#   squared error: -sum w_i (y_i - s / w)^2 = s^2 / w - sum w_i y_i^2
#   entropy: sum s log(s / w) = sum s log s - w log w, for each output
#   Poisson: -sum w_i y_i log(y_i / (s / w)) = s log(s / w) - sum w_i y_i log y_i

from mercer._native.shared cimport inline as elementary
from mercer._native.tree.node_search cimport NO_ORDER, Limits, Node

# Kinds of impurity and their worth:
# SQUARES (Gini's index, squared error): sum s^2 / w
# ENTROPY: sum s log s - outputs w log w
# POISSON (deviance): sum s log(s / w)
cdef enum:
    SQUARES
    ENTROPY
    POISSON


cdef inline double x_log_x(double x) noexcept nogil:
    return x * elementary.log(x) if x > 0.0 else 0.0


cdef inline double compute_worth(
    const double[::1] left, const double[::1] total, double left_weight, double right_weight, double outputs, int kind
) noexcept nogil:
    """Return the worth of both sides of a split with the sums `left`; -inf if a Poisson mean were not positive."""
    cdef Py_ssize_t s
    cdef double right, left_part = 0.0, right_part = 0.0
    if kind == SQUARES:
        for s in range(total.shape[0]):
            right = total[s] - left[s]
            left_part += left[s] * left[s]
            right_part += right * right
        return left_part / left_weight + right_part / right_weight
    if kind == ENTROPY:
        for s in range(total.shape[0]):
            left_part += x_log_x(left[s])
            right_part += x_log_x(total[s] - left[s])
        return (left_part - outputs * x_log_x(left_weight)) + (right_part - outputs * x_log_x(right_weight))
    for s in range(total.shape[0]):
        right = total[s] - left[s]
        if left[s] <= 0.0 or right <= 0.0:
            # Overflows to minus infinity.
            return -1e308 * 10.0
        left_part += left[s] * elementary.log(left[s] / left_weight)
        right_part += right * elementary.log(right / right_weight)
    return left_part + right_part


cdef inline double compute_whole_worth(
    const double[::1] total, double weight, double outputs, int kind
) noexcept nogil:
    """Return the worth of a node with the sums `total` that is not split."""
    cdef Py_ssize_t s
    cdef double sum = 0.0
    for s in range(total.shape[0]):
        if kind == SQUARES:
            sum += total[s] * total[s]
        elif kind == ENTROPY:
            sum += x_log_x(total[s])
        elif total[s] > 0.0:
            sum += total[s] * elementary.log(total[s] / weight)
    if kind == SQUARES:
        return sum / weight
    return sum - outputs * x_log_x(weight) if kind == ENTROPY else sum


cdef inline bint is_allowed(Node node, double low, double high) noexcept nogil:
    """Return whether the values of the two sides keep the order `node.sign` and the bounds set higher in the tree."""
    if low < node.low or low > node.high or high < node.low or high > node.high:
        return False
    # Sign 1: right mean >= left mean; -1: right mean <= left mean; 0: any order.
    return (high - low) * node.sign >= 0.0


cdef inline bint may_split(Node node, Limits limits, double left_weight, double rows) noexcept nogil:
    """Return whether a split with `rows` rows of `left_weight` on the left is allowed."""
    cdef double right_weight = node.weight - left_weight
    cdef Py_ssize_t slot = limits.bounded_slot
    if rows < limits.min_rows or node.count - rows < limits.min_rows:
        return False
    if left_weight < limits.min_weight or right_weight < limits.min_weight:
        return False
    return node.sign == NO_ORDER or is_allowed(
        node, node.left[slot] / left_weight, (node.total[slot] - node.left[slot]) / right_weight
    )


cdef inline void keep_better(Node node, double worth) noexcept nogil:
    """Keep the candidate split of `node` if its worth is greater than that of the best so far.

    Of equal splits the first one tried is kept: sums are exact, so equal splits have equal worth bit by bit.
    """
    if worth > node.best_worth:
        node.best_worth = worth
        node.best_feature = node.feature
        node.best_cut = node.cut
        node.best_side = node.side


cdef inline void judge(Node node, Limits limits, double left_weight, double rows) noexcept nogil:
    """Keep the candidate split of `node`, with the sums ``node.left``, if it is allowed and the best so far."""
    if may_split(node, limits, left_weight, rows):
        keep_better(
            node,
            compute_worth(
                node.left, node.total, left_weight, node.weight - left_weight, limits.n_outputs, limits.impurity
            ),
        )
