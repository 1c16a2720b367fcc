"""Gradient descent of a map by a team of threads: attraction along edges, repulsion by a tree of cells.

``map_nodes.py`` describes the tree. Boxes and moments are made anew in each iteration, the order of the points only now
and then: an old order makes boxes larger, hence walks longer, but no force wrong.

An item of a task is a fixed run of leaves or of rows, writes places of its own and a line of `sums`; the leader adds up
the lines in their order. So the map does not depend on the number of threads.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.embedding import map_cells, map_nodes
    from cython.cimports.mercer._native.shared import inline, team, team_items
else:
    from mercer._native.embedding import map_cells, map_nodes
    from mercer._native.shared import inline, team, team_items

# Kinds of task.
_FORCES = cython.declare(cython.int, 0)
_MOVE = cython.declare(cython.int, 1)
_COST = cython.declare(cython.int, 2)
# Leaves of an item: 128 points, some 10 microseconds.
_LEAVES = cython.declare(cython.Py_ssize_t, 8)
# Rows of an item: some 25 000 edges, some 20 microseconds.
_ROWS = cython.declare(cython.Py_ssize_t, 128)
# Columns of `sums`.
_POTENTIAL = cython.declare(cython.Py_ssize_t, 0)
_TERMS = cython.declare(cython.Py_ssize_t, 1)
_SQUARES = cython.declare(cython.Py_ssize_t, 2)
_LOGARITHMS = cython.declare(cython.Py_ssize_t, 3)
# A waiting thread goes to sleep this many times later than usual: tasks follow one another in well under a millisecond.
_PATIENCE = cython.declare(cython.Py_ssize_t, 4)
# The gains of scikit-learn and of the paper: added where step and slope agree, a factor where not, and the least.
_RISE = cython.declare(cython.double, 0.2)
_FALL = cython.declare(cython.double, 0.8)
_LEAST = cython.declare(cython.double, 0.01)


@cython.cclass
class MapTree:
    """A tree of cells over points in 1, 2 or 3 dimensions.

    Parameters
    ----------
    order : (n,), int32: the points of leaf 0, of leaf 1...
    firsts, counts : (nodes,), int32: first leaf and number of leaves of each node
    leaf_nodes : (leaves,), int32: the node of each leaf
    arrays : panels (leaves, d, 16), boxes (nodes, 2, d), reach (nodes,), moments (nodes, 2 + d + d (d + 1) / 2), keys
        (n,), all float32
    angle : cells are met as a whole whose longest side is below `angle` times the distance; none if 0
    """

    cython.declare(order=cython.int[::1])
    firsts: cython.const[cython.int][::1]
    counts: cython.const[cython.int][::1]
    leaf_nodes: cython.const[cython.int][::1]
    cython.declare(panels=cython.float[:, :, ::1], boxes=cython.float[:, :, ::1], reach=cython.float[::1])
    cython.declare(moments=cython.float[:, ::1], keys=cython.float[::1], widening=cython.double)

    def __init__(self, order, firsts, counts, leaf_nodes, arrays, angle: cython.double):
        self.order, self.firsts, self.counts, self.leaf_nodes = order, firsts, counts, leaf_nodes
        self.panels, self.boxes, self.reach, self.moments, self.keys = arrays
        self.widening = 1.0 / (angle * angle) if angle > 0.0 else 0.0

    def sort(self, places: cython.const[cython.float][:, ::1]):
        """Order the points so that leaves are compact: halve each node across its longest side."""
        with cython.nogil:
            map_nodes.sort_points(places, self.firsts, self.counts, self.keys, self.order)

    def place(self, places: cython.const[cython.float][:, ::1]):
        """Write panels, boxes and moments for these places of the points."""
        with cython.nogil:
            for leaf in range(self.panels.shape[0]):
                _fill_leaf(self, places, leaf)
            _join_nodes(self)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort_points(tree: MapTree, places: cython.const[cython.float][:, ::1]) -> cython.void:
    map_nodes.sort_points(places, tree.firsts, tree.counts, tree.keys, tree.order)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_leaf(tree: MapTree, places: cython.const[cython.float][:, ::1], leaf: cython.Py_ssize_t) -> cython.void:
    map_nodes.fill_leaf(
        places, tree.order, leaf, tree.leaf_nodes[leaf], tree.panels, tree.boxes, tree.moments, tree.reach,
        tree.widening,
    )  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _join_nodes(tree: MapTree) -> cython.void:
    map_nodes.join_nodes(tree.counts, tree.boxes, tree.moments, tree.reach, tree.widening)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _meet(
    tree: MapTree, other: MapTree, leaf: cython.Py_ssize_t, push: cython.float[:, ::1], out: cython.float[:, ::1]
) -> cython.Py_ssize_t:
    """Write the forces of the points of `other` on those of a leaf; return the number of terms."""
    first: cython.Py_ssize_t = map_cells.width() * leaf
    size: cython.Py_ssize_t = min(map_cells.width(), tree.order.shape[0] - first)
    out[:, :] = 0.0
    met = map_cells.walk(
        tree.panels[leaf], tree.boxes[tree.leaf_nodes[leaf]], other.panels, other.firsts, other.counts, other.reach,
        other.moments, other.order.shape[0], out,
    )  # fmt: skip
    for lane in range(size):
        for axis in range(push.shape[1]):
            push[tree.order[first + lane], axis] = out[axis, lane]
    return met


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_potential(
    tree: MapTree, leaf: cython.Py_ssize_t, out: cython.float[:, ::1], potential: cython.double[::1]
) -> cython.void:
    first: cython.Py_ssize_t = map_cells.width() * leaf
    for lane in range(min(map_cells.width(), tree.order.shape[0] - first)):
        potential[tree.order[first + lane]] = out[out.shape[0] - 1, lane]


def repel(
    tree: MapTree,
    other: MapTree,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    push: cython.float[:, ::1],
    potential: cython.double[::1],
    out: cython.float[:, ::1],
):
    """Write the forces and potentials of the points of `other` on those of leaves `first` to `last` of `tree`.

    `push` (n, d) and `potential` (n,) belong to the points of `tree`; `out` (d + 1, 16) is scratch.
    """
    with cython.nogil:
        for leaf in range(first, last):
            _meet(tree, other, leaf, push, out)
            _write_potential(tree, leaf, out, potential)


@cython.cclass
class MapTasks:
    """The tasks of an iteration, and the arrays that the threads share.

    Parameters
    ----------
    tree : MapTree
    control : (32 + 8 threads,), int64, see team.pxd
    edges : starts (n + 1,) int64, ends int32, weights float32: the rows of the symmetric matrix of affinities
    state : place, speed, gain: (n, d), float64, changed
    scratch : places, pull, push (n, d), out (threads, d + 1, 16), logarithms (threads, longest row), all float32
    sums : (items, 4), float64
    """

    tree: MapTree
    control: cython.longlong[::1]
    starts: cython.const[cython.longlong][::1]
    ends: cython.const[cython.int][::1]
    weights: cython.const[cython.float][::1]
    cython.declare(place=cython.double[:, ::1], speed=cython.double[:, ::1], gain=cython.double[:, ::1])
    cython.declare(places=cython.float[:, ::1], pull=cython.float[:, ::1], push=cython.float[:, ::1])
    cython.declare(out=cython.float[:, :, ::1], logarithms=cython.float[:, ::1], sums=cython.double[:, ::1])
    cython.declare(kind=cython.int, items=cython.Py_ssize_t, leaf_items=cython.Py_ssize_t)
    rules: cython.const[cython.double][::1]
    cython.declare(share=cython.double)

    def __init__(self, tree: MapTree, control, edges, state, scratch, sums):
        self.tree, self.control, self.sums = tree, control, sums
        self.starts, self.ends, self.weights = edges
        self.place, self.speed, self.gain = state
        self.places, self.pull, self.push, self.out, self.logarithms = scratch
        self.leaf_items = (tree.panels.shape[0] + _LEAVES - 1) // _LEAVES

    def help(self, member: cython.Py_ssize_t):
        """Take items of all tasks as worker thread `member`, until the threads are stopped."""
        with cython.nogil:
            item = team_items.await_item(self.control, member, _PATIENCE)
            while item >= 0:
                _work(self, item, member)
                item = team_items.await_item(self.control, member, _PATIENCE)

    def call(self):
        """Allow worker threads to begin."""
        team.set_stopped(self.control, 0)

    def dismiss(self):
        """Stop the worker threads, whatever they have not begun."""
        team_items.stop_workers(self.control)

    def sort(self):
        """Order the points anew and lay them out."""
        with cython.nogil:
            for i in range(self.place.shape[0]):
                for axis in range(self.place.shape[1]):
                    self.places[i, axis] = self.place[i, axis]
            _sort_points(self.tree, self.places)
            for i in range(self.tree.panels.shape[0]):
                _fill_leaf(self.tree, self.places, i)
            _join_nodes(self.tree)

    def descend(self, rules: cython.const[cython.double][::1], iterations: cython.Py_ssize_t, most: cython.double,
                report: cython.double[::1]) -> cython.Py_ssize_t:  # fmt: skip
        """Take up to `iterations` steps, fewer if walks become longer than `most` terms; return their number.

        `rules` (4,): exaggeration, momentum, rate and the longest step of a point. `report` (3,) gets the sum of
        potentials over all pairs, the terms of the walks, and the squared length of the gradient, all before the last
        step.
        """
        done: cython.Py_ssize_t = 0
        self.rules = rules
        with cython.nogil:
            while done < iterations:
                _run(self, _FORCES, self.leaf_items + (self.place.shape[0] + _ROWS - 1) // _ROWS)
                # Each point meets itself, at a potential of one.
                report[0] = _add_up(self, _POTENTIAL, self.leaf_items) - self.place.shape[0]
                report[1] = _add_up(self, _TERMS, self.leaf_items)
                self.share = 1.0 / report[0]
                _run(self, _MOVE, self.leaf_items)
                report[2] = _add_up(self, _SQUARES, self.leaf_items)
                _join_nodes(self.tree)
                done += 1
                if report[1] > most:
                    break
        return done

    def measure(self) -> cython.double:
        """Return the sum over edges of the weight times log(1 + squared distance), at the present places."""
        items: cython.Py_ssize_t = (self.place.shape[0] + _ROWS - 1) // _ROWS
        with cython.nogil:
            _run(self, _COST, items)
            total = _add_up(self, _LOGARITHMS, items)
        return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_up(tasks: MapTasks, column: cython.Py_ssize_t, items: cython.Py_ssize_t) -> cython.double:
    total: cython.double = 0.0
    for item in range(items):
        total += tasks.sums[item, column]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _run(tasks: MapTasks, kind: cython.int, items: cython.Py_ssize_t) -> cython.void:
    """Offer a task, take items as the leader, and wait until all are done."""
    tasks.kind, tasks.items = kind, items
    team.publish(tasks.control, items)
    item = team_items.take_item(tasks.control, items)
    while item >= 0:
        _work(tasks, item, 0)
        item = team_items.take_item(tasks.control, items)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _work(tasks: MapTasks, item: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
    """Do one item of the task: a run of leaves, or of rows."""
    terms: cython.Py_ssize_t = 0
    total: cython.double = 0.0
    d: cython.Py_ssize_t = tasks.place.shape[1]
    if tasks.kind == _COST:
        for i in range(item * _ROWS, min(item * _ROWS + _ROWS, tasks.place.shape[0])):
            total += _add_logarithms(tasks, i, tasks.logarithms[member])
        tasks.sums[item, _LOGARITHMS] = total
    elif tasks.kind == _MOVE:
        for i in range(item * _LEAVES, min(item * _LEAVES + _LEAVES, tasks.tree.panels.shape[0])):
            total += _move_leaf(tasks, i)
            _fill_leaf(tasks.tree, tasks.places, i)
        tasks.sums[item, _SQUARES] = total
    elif item < tasks.leaf_items:
        for i in range(item * _LEAVES, min(item * _LEAVES + _LEAVES, tasks.tree.panels.shape[0])):
            terms += _meet(tasks.tree, tasks.tree, i, tasks.push, tasks.out[member])
            for lane in range(min(map_cells.width(), tasks.tree.order.shape[0] - map_cells.width() * i)):
                total += cython.cast(cython.double, tasks.out[member, d, lane])
        tasks.sums[item, _POTENTIAL] = total
        tasks.sums[item, _TERMS] = cython.cast(cython.double, terms)
    else:
        item -= tasks.leaf_items
        for i in range(item * _ROWS, min(item * _ROWS + _ROWS, tasks.place.shape[0])):
            map_cells.attract(
                tasks.places, i, tasks.ends, tasks.weights, tasks.starts[i], tasks.starts[i + 1], tasks.pull[i]
            )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move_leaf(tasks: MapTasks, leaf: cython.Py_ssize_t) -> cython.double:
    """Move the points of a leaf by momentum and gains; return the squared length of their gradient."""
    row: cython.Py_ssize_t
    slope: cython.double
    gain: cython.double
    length: cython.double
    total: cython.double = 0.0
    factor: cython.double
    first: cython.Py_ssize_t = map_cells.width() * leaf
    for i in range(first, min(first + map_cells.width(), tasks.tree.order.shape[0])):
        row = tasks.tree.order[i]
        length = 0.0
        for axis in range(tasks.place.shape[1]):
            slope = 4.0 * (tasks.rules[0] * tasks.pull[row, axis] - tasks.share * tasks.push[row, axis])
            total += slope * slope
            gain = tasks.gain[row, axis]
            gain = gain + _RISE if slope * tasks.speed[row, axis] < 0.0 else gain * _FALL
            gain = gain if gain > _LEAST else _LEAST
            tasks.gain[row, axis] = gain
            tasks.speed[row, axis] = tasks.rules[1] * tasks.speed[row, axis] - tasks.rules[2] * gain * slope
            length += tasks.speed[row, axis] * tasks.speed[row, axis]
        # Steps longer than the limit are shortened: a large rate would else throw single points far away.
        factor = tasks.rules[3] / length**0.5 if length > tasks.rules[3] * tasks.rules[3] else 1.0
        for axis in range(tasks.place.shape[1]):
            tasks.speed[row, axis] *= factor
            tasks.place[row, axis] += tasks.speed[row, axis]
            tasks.places[row, axis] = tasks.place[row, axis]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_logarithms(tasks: MapTasks, row: cython.Py_ssize_t, values: cython.float[::1]) -> cython.double:
    """Return the sum over the edges of a row of the weight times log(1 + squared distance)."""
    first: cython.Py_ssize_t = tasks.starts[row]
    count: cython.Py_ssize_t = tasks.starts[row + 1] - first
    step: cython.float
    square: cython.float
    for edge in range(count):
        square = 1.0
        for axis in range(tasks.places.shape[1]):
            step = tasks.places[row, axis] - tasks.places[tasks.ends[first + edge], axis]
            square += step * step
        values[edge] = square
    for edge in range(count):
        values[edge] = inline.log(values[edge])
    return inline.dot(tasks.weights[first : first + count], values[:count])
