# A boosted tree under way: its nodes, the queue of leaves that may be split, and the piece of work that is being done.
# leaves.py is the uncompiled twin.
#
# A node has a row in each of two tables: `numbers` with the columns of the first list, `reals` with those of the second.
# The words of a node are the sums of those of its rows (see boosting_growth). From the feature on a row of `numbers` says
# how the node is to be split, or was: a node with the left child 0 is a leaf.
#
# `limits` has the l2 penalty, the fewest rows and the least curvature of a leaf, the fewest rows of a category, the depth
# that a tree may have, its leaves, and the price of a category.

cdef enum:
    LEFT
    DEPTH
    SLOT
    COUNT
    GRADIENT_WORD
    REST_WORD
    FEATURE
    BIN
    MISSING_LEFT
    LEFT_GRADIENT
    LEFT_REST

cdef enum:
    VALUE
    CURVATURE
    GAIN
    GRADIENT
    LOWER
    UPPER


# A piece of work, as the leader describes it to the team: what it is, its items and the pairs of words that each costs;
# then the node parted or added, the first child, the child that is added (-1 for none), the row of columns chosen; the slots
# of the histogram built and of the one that it is taken off (-1 for none), which children are searched; the score of the
# tree, the loss looked at, and the nodes that there are.
cdef enum:
    KIND
    ITEMS
    COST
    NODE
    CHILD
    BUILD
    SIDE
    BUILT
    WHOLE
    SEARCH_LEFT
    SEARCH_RIGHT
    OUTPUT
    LOSS
    NODES

cdef enum:
    ROOT_ROWS
    SPLIT_ROWS
    CHILD_ROWS
    COLUMNS
    SCORES


cdef inline double clipped(double gradient, double curvature, double l2, double lower, double upper) noexcept nogil:
    """The value of a leaf."""
    cdef double value = -gradient / (curvature + l2 + 1e-300)
    value = lower if lower > value else value
    return upper if upper < value else value


cdef inline void plant(
    long long[:, ::1] numbers, double[:, ::1] reals, Py_ssize_t node, long long gradient, long long rest, long long depth,
    double lower, double upper, const double[::1] limits, const double[::1] units, int shift
) noexcept nogil:
    """Make a leaf of rows with these words, whose value is between bounds."""
    numbers[node, LEFT] = 0
    numbers[node, DEPTH] = depth
    numbers[node, COUNT] = rest & ((<long long> 1 << shift) - 1)
    numbers[node, GRADIENT_WORD] = gradient
    numbers[node, REST_WORD] = rest
    reals[node, GRADIENT] = <double> gradient * units[0]
    reals[node, CURVATURE] = <double> (rest >> shift) * units[1]
    reals[node, VALUE] = clipped(reals[node, GRADIENT], reals[node, CURVATURE], limits[0], lower, upper)
    reals[node, GAIN] = 0.0
    reals[node, LOWER] = lower
    reals[node, UPPER] = upper


cdef inline void fork(
    long long[:, ::1] numbers, double[:, ::1] reals, Py_ssize_t node, Py_ssize_t left, int direction,
    const double[::1] limits, const double[::1] units, int shift
) noexcept nogil:
    """Make two leaves below a node, whose values keep to their sides of the middle if the column has a direction."""
    cdef long long gradient = numbers[node, LEFT_GRADIENT], rest = numbers[node, LEFT_REST]
    cdef long long other = numbers[node, GRADIENT_WORD] - gradient, other_rest = numbers[node, REST_WORD] - rest
    cdef double low = reals[node, LOWER], high = reals[node, UPPER]
    cdef double middle = clipped(
        <double> gradient * units[0], <double> (rest >> shift) * units[1], limits[0], low, high
    )
    middle = 0.0 + middle + clipped(
        <double> other * units[0], <double> (other_rest >> shift) * units[1], limits[0], low, high
    )
    middle = middle / 2.0
    plant(numbers, reals, left, gradient, rest, numbers[node, DEPTH] + 1, middle if direction < 0 else low,
          middle if direction > 0 else high, limits, units, shift)
    plant(numbers, reals, left + 1, other, other_rest, numbers[node, DEPTH] + 1, middle if direction > 0 else low,
          middle if direction < 0 else high, limits, units, shift)
    numbers[node, LEFT] = left


cdef inline int may_split(
    const long long[:, ::1] numbers, const double[:, ::1] reals, Py_ssize_t node, const double[::1] limits
) noexcept nogil:
    """Whether a leaf has enough rows and curvature for two."""
    cdef double count = <double> numbers[node, COUNT]
    return (
        <double> numbers[node, DEPTH] < limits[4]
        and count >= 2.0 * limits[1]
        and count >= 2.0
        and reals[node, CURVATURE] >= 2.0 * limits[2]
    )


cdef inline double saving(const double[:, ::1] reals, Py_ssize_t node, const double[::1] limits) noexcept nogil:
    """What a leaf saves, twice."""
    cdef double value = reals[node, VALUE]
    return -value * (2.0 * reals[node, GRADIENT] + (reals[node, CURVATURE] + limits[0]) * value)


cdef inline void describe(
    const long long[:, ::1] numbers, const double[:, ::1] reals, Py_ssize_t node, const double[::1] limits,
    double[:, ::1] asked, Py_ssize_t side
) noexcept nogil:
    """Write what gains.pxd asks of a node."""
    cdef double saved = saving(reals, node, limits)
    asked[side, 0] = reals[node, GRADIENT]
    asked[side, 1] = reals[node, CURVATURE]
    asked[side, 2] = <double> numbers[node, COUNT]
    asked[side, 3] = reals[node, LOWER]
    asked[side, 4] = reals[node, UPPER]
    # Rounding of the sums is no gain.
    asked[side, 5] = saved + 1e-12 * (saved if saved > 0.0 else -saved)


cdef inline int precedes(const double[:, ::1] reals, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
    """Whether a node is split before another: where it gains more, or as much and is older."""
    return reals[one, GAIN] > reals[other, GAIN] or (reals[one, GAIN] == reals[other, GAIN] and one < other)


cdef inline void push(int[::1] queue, Py_ssize_t count, const double[:, ::1] reals, Py_ssize_t node) noexcept nogil:
    """Add a node to a queue of some: a heap, the next one first."""
    cdef Py_ssize_t parent
    while count > 0:
        parent = (count - 1) // 2
        if not precedes(reals, node, queue[parent]):
            break
        queue[count] = queue[parent]
        count = parent
    queue[count] = <int> node


cdef inline Py_ssize_t pop(int[::1] queue, Py_ssize_t count, const double[:, ::1] reals) noexcept nogil:
    """Take the next node from a queue of some, which has one less afterwards."""
    cdef Py_ssize_t first = queue[0], last = queue[count - 1], place = 0, child = 1
    count -= 1
    while child < count:
        if child + 1 < count and precedes(reals, queue[child + 1], queue[child]):
            child += 1
        if not precedes(reals, queue[child], last):
            break
        queue[place] = queue[child]
        place = child
        child = 2 * place + 1
    queue[place] = <int> last
    return first
