"""Passes through a chain of dense layers, and steps of its weights, by a team of threads.

A batch is two tasks. In the first an item is a run of rows: it goes forward through all layers, meets the loss, and
goes back. In the second an item is some rows of a weight matrix: its gradient is the product of what went in with
what came
back, over the whole batch, and its weights take their step while they are in the cache. Items are cut by the shapes
alone and none adds to what another wrote, so that the bits do not depend on the number of threads.

Everything lies in flat arrays. `layout` has a row for each layer: inputs, outputs, and where W, b, the values that go
in, those that come out, and the derivatives by the latter begin. `pieces` (m, 3) has the layer and the rows of W of
each item of the second task; the piece with row 0 also takes the bias.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.network import products, unit_rows
    from cython.cimports.mercer._native.shared import inline, loss_numbers, team, team_items
else:
    from mercer._native.network import products, unit_rows
    from mercer._native.shared import inline, loss_numbers, team, team_items

_ROWS = cython.declare(cython.int, 0)
_WEIGHTS = cython.declare(cython.int, 1)
# A thread that waits goes to sleep this many times later than usual: the leader's work between tasks is microseconds.
_PATIENCE = cython.declare(cython.Py_ssize_t, 4)


@cython.cclass
class FloatArrays:
    """Arrays in float: rows (dense `X`, or the stored `data` of sparse ones), targets, weights with what their steps
    carry along, and what goes forward (`values`) and back (`deltas`).
    """

    X: cython.const[cython.float][:, ::1]
    data: cython.const[cython.float][::1]
    targets: cython.const[cython.float][:, ::1]
    cython.declare(
        theta=cython.float[::1], gradient=cython.float[::1], mean=cython.float[::1], square=cython.float[::1]
    )
    cython.declare(values=cython.float[::1], deltas=cython.float[::1])

    def __init__(self, rows, theta, scratch):
        self.X, self.data, self.targets = rows
        self.theta, self.gradient, self.mean, self.square = theta
        self.values, self.deltas = scratch


@cython.cclass
class DoubleArrays:
    """Arrays in double; they are those of `FloatArrays`. Cython has no generic classes."""

    X: cython.const[cython.double][:, ::1]
    data: cython.const[cython.double][::1]
    targets: cython.const[cython.double][:, ::1]
    cython.declare(
        theta=cython.double[::1], gradient=cython.double[::1], mean=cython.double[::1], square=cython.double[::1]
    )
    cython.declare(values=cython.double[::1], deltas=cython.double[::1])

    def __init__(self, rows, theta, scratch):
        self.X, self.data, self.targets = rows
        self.theta, self.gradient, self.mean, self.square = theta
        self.values, self.deltas = scratch


Arrays = cython.fused_type(FloatArrays, DoubleArrays)


@cython.cclass
class NetworkTasks:
    """The tasks that threads share, and the arrays that they work on.

    Parameters
    ----------
    wide : whether numbers are double
    layout, pieces : see the docstring of the module
    sparse : (columns, pointers) of sparse rows, or two empty arrays
    weight : (n,), weights of rows, or empty
    kinds : (4,): the hidden activation (0 identity, 1 logistic, 2 tanh, 3 relu, 4 leaky relu, 5 elu, 6 softplus), the
        loss (as in ``row_losses``; of each output by itself, but for softmax), the method (0 only the gradient, 1
        momentum, 2 Nesterov's, 3 Adam), and rows in an item of the first task
    rules : (6,): rate, momentum or beta1, beta2, epsilon, strength of the penalty on squared weights, and the shape of
        the loss
    tables : `losses`, a place for each row of a batch, and `penalties`, a place for each piece
    control : (32 + 8 threads,), see team.pxd
    """

    cython.declare(floats=FloatArrays, doubles=DoubleArrays, wide=cython.int)
    layout: cython.const[cython.Py_ssize_t][:, ::1]
    pieces: cython.const[cython.Py_ssize_t][:, ::1]
    columns: cython.const[cython.Py_ssize_t][::1]
    pointers: cython.const[cython.Py_ssize_t][::1]
    order: cython.const[cython.Py_ssize_t][::1]
    weight: cython.const[cython.double][::1]
    rules: cython.const[cython.double][::1]
    cython.declare(losses=cython.double[::1], penalties=cython.double[::1], control=cython.longlong[::1])
    cython.declare(activation=cython.int, loss=cython.int, method=cython.int, chunk=cython.Py_ssize_t)
    cython.declare(kind=cython.int, items=cython.Py_ssize_t, first=cython.Py_ssize_t, n=cython.Py_ssize_t)
    cython.declare(total=cython.double, rate=cython.double)

    def __init__(self, wide: cython.int, layout, pieces, sparse, weight, kinds, rules, tables, control):
        self.wide, self.layout, self.pieces, self.weight, self.rules = wide, layout, pieces, weight, rules
        self.columns, self.pointers = sparse
        self.activation, self.loss, self.method, self.chunk = kinds[0], kinds[1], kinds[2], kinds[3]
        self.losses, self.penalties = tables
        self.control = control

    def hold(self, rows, theta, scratch):
        """Take these arrays to work on; see FloatArrays."""
        if self.wide:
            self.doubles = DoubleArrays(rows, theta, scratch)
        else:
            self.floats = FloatArrays(rows, theta, scratch)

    def help(self, member: cython.Py_ssize_t):
        """Take items of all tasks as worker thread `member`, until the threads are stopped."""
        with cython.nogil:
            item = team_items.await_item(self.control, member, _PATIENCE)
            while item >= 0:
                self._work(item)
                item = team_items.await_item(self.control, member, _PATIENCE)

    def call(self):
        """Allow worker threads to begin."""
        team.set_stopped(self.control, 0)

    def dismiss(self):
        """Stop the worker threads, whatever they have not begun."""
        team_items.stop_workers(self.control)

    def run(
        self,
        order: cython.const[cython.Py_ssize_t][::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        batch: cython.Py_ssize_t,
        sums: cython.double[::1],
    ):
        """Take a step for each batch of the rows `order` from `begin` to `end`.

        To `sums` are added the losses times their weights, the weights, the steps taken, the sum over steps of the
        penalty at their start times the rows, and the rows of batches with a step. The third entry counts on from its
        value: Adam needs the number of all steps.
        """
        self.order = order
        with cython.nogil:
            self.first = begin
            while self.first < end:
                self.n = batch if self.first + batch < end else end - self.first
                self.total = 0.0
                for row in range(self.n):
                    # Summed in the order of the rows by one thread: the total does not depend on how the items are
                    # shared out.
                    self.total += self.weight[order[self.first + row]] if self.weight.shape[0] > 0 else 1.0
                # A batch whose weights are all zero is as if absent.
                if self.total > 0.0:
                    self._step(sums)
                self.first += self.n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _step(self, sums: cython.double[::1]) -> cython.void:
        """Run the two tasks of a batch."""
        penalty: cython.double = 0.0
        t: cython.double = sums[2] + 1.0
        self.rate = self.rules[0]
        if self.method == 3:
            # Both means start at zero: the two factors make up for it.
            self.rate *= products.root(1.0 - inline.exp(t * inline.log(self.rules[2])))
            self.rate /= 1.0 - inline.exp(t * inline.log(self.rules[1])) if self.rules[1] > 0.0 else 1.0
        self._lead(_ROWS, (self.n + self.chunk - 1) // self.chunk)
        self._lead(_WEIGHTS, self.pieces.shape[0])
        # Losses and penalties have a place for each row and piece, and are summed here in their order.
        for row in range(self.n):
            sums[0] += self.losses[row]
        for piece in range(self.pieces.shape[0]):
            penalty += self.penalties[piece]
        sums[1] += self.total
        sums[2] = t
        # alpha |W|^2 / 2, over the weight of the batch, times its rows: the caller divides by all rows.
        sums[3] += 0.5 * self.rules[4] * penalty / self.total * self.n
        sums[4] += self.n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _lead(self, kind: cython.int, items: cython.Py_ssize_t) -> cython.void:
        """Offer a task, work on it, and wait until it is done."""
        self.kind, self.items = kind, items
        team.publish(self.control, items)
        item = team_items.take_item(self.control, items)
        while item >= 0:
            self._work(item)
            item = team_items.take_item(self.control, items)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _work(self, item: cython.Py_ssize_t) -> cython.void:
        if self.wide:
            _do_item(self.doubles, self, item)
        else:
            _do_item(self.floats, self, item)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _do_item(arrays: Arrays, tasks: NetworkTasks, item: cython.Py_ssize_t) -> cython.void:
    """Do an item of either task."""
    begin: cython.Py_ssize_t = item * tasks.chunk
    if tasks.kind == _ROWS:
        _pass_rows(arrays, tasks, begin, tasks.n if begin + tasks.chunk > tasks.n else begin + tasks.chunk)
    else:
        _pass_weights(arrays, tasks, item)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pass_rows(arrays: Arrays, tasks: NetworkTasks, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
    """Go forward and back with the rows from `begin` to `end` of the batch."""
    layers: cython.Py_ssize_t = tasks.layout.shape[0]
    n: cython.Py_ssize_t = end - begin
    cython.declare(layer=cython.Py_ssize_t, wide=cython.Py_ssize_t, out=cython.Py_ssize_t, at=cython.Py_ssize_t)
    cython.declare(below=cython.Py_ssize_t)
    _gather(arrays, tasks, begin, end)
    for layer in range(layers):
        wide, out = tasks.layout[layer, 0], tasks.layout[layer, 1]
        # Places in the flat array: where the layer's outputs begin, plus the rows before this item.
        at = tasks.layout[layer, 5] + begin * out
        products.multiply(
            arrays.values, tasks.layout[layer, 4] + begin * wide, arrays.theta, tasks.layout[layer, 2],
            arrays.values, at, n, wide, out,
        )  # fmt: skip
        # The last layer has no activation: its loss takes the scores.
        unit_rows.activate(
            arrays.values, at, arrays.theta, tasks.layout[layer, 3], n, out,
            tasks.activation if layer + 1 < layers else 0,
        )  # fmt: skip
    _meet_loss(arrays, tasks, begin, end)
    # Backwards: the derivatives by the inputs of a layer are deltas W^T, times the slopes of the activation below.
    for layer in range(layers - 1, 0, -1):
        wide, out = tasks.layout[layer, 0], tasks.layout[layer, 1]
        below = tasks.layout[layer - 1, 6] + begin * wide
        products.multiply_transposed(
            arrays.deltas, tasks.layout[layer, 6] + begin * out, arrays.theta, tasks.layout[layer, 2],
            arrays.deltas, below, n, out, wide,
        )  # fmt: skip
        unit_rows.return_slopes(
            arrays.deltas, below, arrays.values, tasks.layout[layer, 4] + begin * wide, n * wide, tasks.activation
        )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gather(arrays: Arrays, tasks: NetworkTasks, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
    """Copy the rows of the batch side by side; sparse ones become dense."""
    d: cython.Py_ssize_t = tasks.layout[0, 0]
    cython.declare(row=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t, at=cython.Py_ssize_t)
    for row in range(begin, end):
        i = tasks.order[tasks.first + row]
        at = tasks.layout[0, 4] + row * d
        if tasks.pointers.shape[0] == 0:
            for j in range(d):
                arrays.values[at + j] = arrays.X[i, j]
        else:
            for j in range(d):
                arrays.values[at + j] = 0.0
            for j in range(tasks.pointers[i], tasks.pointers[i + 1]):
                # Added, not set: a sparse row may hold a column twice.
                arrays.values[at + tasks.columns[j]] += arrays.data[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _meet_loss(arrays: Arrays, tasks: NetworkTasks, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
    """Write the weighted loss of each row, and the derivative of the batch's mean loss by its outputs."""
    last: cython.Py_ssize_t = tasks.layout.shape[0] - 1
    k: cython.Py_ssize_t = tasks.layout[last, 1]
    cython.declare(row=cython.Py_ssize_t, i=cython.Py_ssize_t, at=cython.Py_ssize_t, place=cython.Py_ssize_t)
    for row in range(begin, end):
        i = tasks.order[tasks.first + row]
        at = tasks.layout[last, 5] + row * k
        place = tasks.layout[last, 6] + row * k
        # Derivatives are divided by the weight of the whole batch, so that the gradient is that of the mean loss.
        weight = tasks.weight[i] if tasks.weight.shape[0] > 0 else 1.0
        if tasks.loss == loss_numbers.SOFTMAX:
            tasks.losses[row] = weight * unit_rows.meet_softmax(
                arrays.values, at, arrays.deltas, place, k, cython.cast(cython.Py_ssize_t, arrays.targets[i, 0]),
                weight / tasks.total,
            )  # fmt: skip
        else:
            tasks.losses[row] = weight * unit_rows.meet_each(
                arrays.values, at, arrays.deltas, place, arrays.targets[i], tasks.loss, tasks.rules[5],
                weight / tasks.total,
            )  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pass_weights(arrays: Arrays, tasks: NetworkTasks, item: cython.Py_ssize_t) -> cython.void:
    """Find the gradient by some rows of a weight matrix, and take their step; the first piece also has the bias."""
    layer: cython.Py_ssize_t = tasks.pieces[item, 0]
    first: cython.Py_ssize_t = tasks.pieces[item, 1]
    rows: cython.Py_ssize_t = tasks.pieces[item, 2] - first
    wide: cython.Py_ssize_t = tasks.layout[layer, 0]
    out: cython.Py_ssize_t = tasks.layout[layer, 1]
    at: cython.Py_ssize_t = tasks.layout[layer, 2] + first * out
    bias: cython.Py_ssize_t = tasks.layout[layer, 3]
    cython.declare(row=cython.Py_ssize_t, j=cython.Py_ssize_t, place=cython.Py_ssize_t)
    # dL/dW = inputs^T deltas over all rows of the batch, here for some rows of W.
    products.transpose_multiply(
        arrays.values, tasks.layout[layer, 4] + first, wide, arrays.deltas, tasks.layout[layer, 6],
        arrays.gradient, at, rows, tasks.n, out,
    )  # fmt: skip
    # The penalty is divided by the weight of the batch like the loss.
    tasks.penalties[item] = unit_rows.penalise(
        arrays.theta, arrays.gradient, at, rows * out, tasks.rules[4] / tasks.total
    )
    unit_rows.move(
        arrays.theta, arrays.gradient, arrays.mean, arrays.square, at, rows * out, tasks.method, tasks.rate, tasks.rules
    )
    # The gradient of the bias is the sum of the deltas; one item alone computes it.
    if first == 0:
        for j in range(out):
            arrays.gradient[bias + j] = 0.0
        for row in range(tasks.n):
            place = tasks.layout[layer, 6] + row * out
            for j in range(out):
                arrays.gradient[bias + j] += arrays.deltas[place + j]
        unit_rows.move(
            arrays.theta, arrays.gradient, arrays.mean, arrays.square, bias, out, tasks.method, tasks.rate, tasks.rules
        )
