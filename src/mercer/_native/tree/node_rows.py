"""The rows of the nodes of a tree: divided by a split, summed, and the nodes numbered from the root down."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import node_steps
else:
    from mercer._native.tree import node_steps

__all__ = ["describe_classes", "describe_values", "divide_rows", "number_nodes"]

code = cython.fused_type(cython.uchar, cython.ushort, cython.int)


def divide_rows(
    codes: cython.const[code][:, ::1],
    missing: cython.const[cython.int][::1],
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    features: cython.const[cython.int][::1],
    cuts: cython.const[cython.int][::1],
    sides: cython.const[cython.schar][::1],
    places: cython.const[cython.longlong][::1],
    goes: cython.const[cython.uchar][:, ::1],
    spare: cython.int[::1],
    divided: cython.int[::1],
    found: cython.longlong[:, ::1],
):
    """Write the rows of each node to `divided` from its place on: those that go left, then the others, in their order.

    A row goes left if its code is at most the cut, or if it is missing and the side is 1. A negative cut -1 - c stands
    for row c of `goes`, which says of each code whether it goes left. `found`: (k, 3), written: the rows that went
    left, the greatest code among them, and the least code among the others (both of rows that are not missing).
    """
    t: cython.Py_ssize_t
    i: cython.Py_ssize_t
    f: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    value: cython.longlong
    cut: cython.longlong
    most: cython.longlong
    least: cython.longlong
    is_left: cython.bint
    with cython.nogil:
        for t in range(starts.shape[0]):
            f = features[t]
            cut = cuts[t]
            a = places[t]
            b = 0
            most = -1
            least = cython.cast(cython.longlong, 1) << 40
            for i in range(starts[t], stops[t]):
                value = codes[f, rows[i]]
                if value == missing[f]:
                    is_left = sides[t] == 1
                elif cut < 0:
                    is_left = goes[-1 - cut, value] != 0
                else:
                    is_left = value <= cut
                    if is_left:
                        most = value if value > most else most
                    else:
                        least = value if value < least else least
                if is_left:
                    divided[a] = rows[i]
                    a += 1
                else:
                    spare[b] = rows[i]
                    b += 1
            found[t, 0] = a - places[t]
            found[t, 1] = most
            found[t, 2] = least
            for i in range(b):
                divided[a + i] = spare[i]


def describe_classes(
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    slots: cython.const[cython.int][:, ::1],
    weight: cython.const[cython.double][::1],
    counts: cython.double[:, ::1],
    weights: cython.double[::1],
):
    """Write the weight of each node, and of each class in it."""
    t: cython.Py_ssize_t
    with cython.nogil:
        for t in range(starts.shape[0]):
            weights[t] = node_steps.sum_classes(rows, starts[t], stops[t], slots, weight, counts[t])


def describe_values(
    rows: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    targets: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    means: cython.double[:, ::1],
    squares: cython.double[:, ::1],
    equal: cython.uchar[::1],
    weights: cython.double[::1],
):
    """Write the weight of each node, the mean of each target, its variance, and whether all targets are equal."""
    t: cython.Py_ssize_t
    with cython.nogil:
        for t in range(starts.shape[0]):
            equal[t] = node_steps.sum_values(
                rows, starts[t], stops[t], targets, weight, means[t], squares[t], weights[t:]
            )


def number_nodes(
    left: cython.const[cython.longlong][::1],
    right: cython.const[cython.longlong][::1],
    sizes: cython.longlong[::1],
    numbers: cython.longlong[::1],
):
    """Write each node's number when nodes are counted depth first, left before right; children come after parents."""
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t = left.shape[0]
    with cython.nogil:
        for i in range(n):
            sizes[n - 1 - i] = 1
            if left[n - 1 - i] >= 0:
                sizes[n - 1 - i] += sizes[left[n - 1 - i]] + sizes[right[n - 1 - i]]
        numbers[0] = 0
        for i in range(n):
            if left[i] >= 0:
                numbers[left[i]] = numbers[i] + 1
                numbers[right[i]] = numbers[i] + 1 + sizes[left[i]]
