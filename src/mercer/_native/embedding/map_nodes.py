"""The nodes of a tree of cells over the points of a map: order of the points, boxes and moments.

The tree is balanced: its leaves hold 16 points that follow one another in `order`, and the nodes are numbered so that a
subtree of k leaves has 2 k - 1 nodes that follow one another; the children of a node are the next node, and the node
after the subtree of that one. The moments of a node are the number of its points, their mean, their scatter (upper
triangle, by rows) and its trace; its `reach` is the squared distance above which it may be met as a whole.
"""

import cython

from mercer._native.embedding import map_cells


def split(
    keys: cython.float[::1],
    order: cython.int[::1],
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    cut: cython.Py_ssize_t,
) -> cython.void:
    """Reorder points `low` to `high`: keys before `cut` are then at most those from it on (Hoare's quickselect)."""
    high -= 1
    while low < high:
        pivot = keys[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                key, point = keys[i], order[i]
                keys[i], order[i] = keys[j], order[j]
                keys[j], order[j] = key, point
                i += 1
                j -= 1
        # Points j + 1 to i - 1 equal the pivot.
        if cut <= j:
            high = j
        elif cut >= i:
            low = i
        else:
            return


def sort_points(
    places: cython.const[cython.float][:, ::1],
    firsts: cython.const[cython.int][::1],
    counts: cython.const[cython.int][::1],
    keys: cython.float[::1],
    order: cython.int[::1],
) -> cython.void:
    """Order the points so that leaves are compact: halve each node across its longest side."""
    axis: cython.Py_ssize_t
    low: cython.Py_ssize_t
    value: cython.float
    least: cython.float
    greatest: cython.float
    longest: cython.float
    # A node comes before its children, so that each halves what its parent has left to it.
    for node in range(counts.shape[0]):
        if counts[node] == 1:
            continue
        low = map_cells.width() * firsts[node]
        high = min(low + map_cells.width() * counts[node], order.shape[0])
        longest = -1.0
        best = 0
        for axis in range(places.shape[1]):
            least = greatest = places[order[low], axis]
            for point in range(low + 1, high):
                value = places[order[point], axis]
                least = value if value < least else least
                greatest = value if value > greatest else greatest
            if greatest - least > longest:
                longest = greatest - least
                best = axis
        for point in range(low, high):
            keys[point] = places[order[point], best]
        split(keys, order, low, high, low + map_cells.width() * ((counts[node] + 1) // 2))


def fill_leaf(
    places: cython.const[cython.float][:, ::1],
    order: cython.const[cython.int][::1],
    leaf: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
    panels: cython.float[:, :, ::1],
    boxes: cython.float[:, :, ::1],
    moments: cython.float[:, ::1],
    reach: cython.float[::1],
    widening: cython.double,
) -> cython.void:
    """Write the panel, the box and the moments of a leaf."""
    lane: cython.Py_ssize_t
    axis: cython.Py_ssize_t
    other: cython.Py_ssize_t
    first: cython.Py_ssize_t = map_cells.width() * leaf
    size: cython.Py_ssize_t = min(map_cells.width(), order.shape[0] - first)
    k: cython.Py_ssize_t = 1 + places.shape[1]
    value: cython.float
    total: cython.double
    trace: cython.double = 0.0
    for axis in range(places.shape[1]):
        total = 0.0
        for lane in range(size):
            value = places[order[first + lane], axis]
            panels[leaf, axis, lane] = value
            total += cython.cast(cython.double, value)
            if lane == 0 or value < boxes[node, 0, axis]:
                boxes[node, 0, axis] = value
            if lane == 0 or value > boxes[node, 1, axis]:
                boxes[node, 1, axis] = value
        # Lanes without a point repeat the first one; nobody reads their forces.
        for lane in range(size, map_cells.width()):
            panels[leaf, axis, lane] = panels[leaf, axis, 0]
        moments[node, 1 + axis] = total / size
    moments[node, 0] = size
    for axis in range(places.shape[1]):
        for other in range(axis, places.shape[1]):
            total = 0.0
            for lane in range(size):
                total += (
                    cython.cast(cython.double, panels[leaf, axis, lane] - moments[node, 1 + axis])
                    * (panels[leaf, other, lane] - moments[node, 1 + other])
                )  # fmt: skip
            moments[node, k] = total
            k += 1
            trace += total if other == axis else 0.0
    moments[node, k] = trace
    set_reach(node, boxes, reach, widening)


def set_reach(
    node: cython.Py_ssize_t,
    boxes: cython.const[cython.float][:, :, ::1],
    reach: cython.float[::1],
    widening: cython.double,
) -> cython.void:
    """Write the squared distance above which a node may be met as a whole; none is above a negative widening."""
    side: cython.double = 0.0
    for axis in range(boxes.shape[2]):
        side = max(side, cython.cast(cython.double, boxes[node, 1, axis] - boxes[node, 0, axis]))
    # The largest float32 stands for an angle of zero.
    reach[node] = side * side * widening if widening > 0.0 else 3.0e38


def join_nodes(
    counts: cython.const[cython.int][::1],
    boxes: cython.float[:, :, ::1],
    moments: cython.float[:, ::1],
    reach: cython.float[::1],
    widening: cython.double,
) -> cython.void:
    """Make boxes and moments of nodes from those of their children; children stand after their parent."""
    node: cython.Py_ssize_t
    axis: cython.Py_ssize_t
    other: cython.Py_ssize_t
    left: cython.Py_ssize_t
    right: cython.Py_ssize_t
    k: cython.Py_ssize_t
    d: cython.Py_ssize_t = boxes.shape[2]
    part: cython.double
    product: cython.double
    trace: cython.double
    total: cython.double
    for node in range(counts.shape[0] - 1, -1, -1):
        if counts[node] == 1:
            continue
        left = node + 1
        right = node + 2 * ((counts[node] + 1) // 2)
        total = cython.cast(cython.double, moments[left, 0]) + moments[right, 0]
        part = moments[right, 0] / total
        for axis in range(d):
            boxes[node, 0, axis] = min(boxes[left, 0, axis], boxes[right, 0, axis])
            boxes[node, 1, axis] = max(boxes[left, 1, axis], boxes[right, 1, axis])
            moments[node, 1 + axis] = moments[left, 1 + axis] + part * (
                moments[right, 1 + axis] - moments[left, 1 + axis]
            )
        moments[node, 0] = total
        # The scatter of a union: both scatters, and m m' / (m + m') times the square of the step between the means.
        part = part * moments[left, 0]
        k = 1 + d
        trace = 0.0
        for axis in range(d):
            for other in range(axis, d):
                product = cython.cast(cython.double, moments[left, 1 + axis] - moments[right, 1 + axis]) * (
                    moments[left, 1 + other] - moments[right, 1 + other]
                )
                product = part * product + moments[left, k] + moments[right, k]
                moments[node, k] = product
                trace += product if other == axis else 0.0
                k += 1
        moments[node, k] = trace
        set_reach(node, boxes, reach, widening)
