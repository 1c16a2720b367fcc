"""Steps of contrastive divergence on batches of rows, by a team of threads.

A batch is a few tasks: the visible states of the chains are drawn given their hidden states, the hidden units follow
from the rows and from those states, and the weights take their step. An item of a task is a panel of visible or of
hidden units, cut by the shapes alone, and none adds to what another wrote. A draw takes its random number from a
counter, see unit_draws.py. So the bits do not depend on the number of threads.

Arrays are flat. `stack` holds the rows of a batch and below them the visible states of the chains, (n + m, d), and
`hidden` what their hidden units are, (n + m, k). `weights` is (d, k), `chains` the hidden states of the chains, (m, k).
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.machine import listed_rows, part_products, unit_sums
    from cython.cimports.mercer._native.shared import inline, team, team_items
else:
    from mercer._native.machine import listed_rows, part_products, unit_sums
    from mercer._native.shared import inline, team, team_items

_VISIBLE = cython.declare(cython.int, 0)
_START = cython.declare(cython.int, 1)
_GIBBS = cython.declare(cython.int, 2)
_HIDDEN = cython.declare(cython.int, 3)
_WEIGHTS = cython.declare(cython.int, 4)
# A thread that waits goes to sleep this many times later than usual: the leader's work between tasks is microseconds.
_PATIENCE = cython.declare(cython.Py_ssize_t, 4)


@cython.cclass
class FloatMachine:
    """Arrays of a machine in float: parameters, chains, what a batch fills, signs of rows and chains, and scratch."""

    rows: cython.const[cython.float][:, ::1]
    cython.declare(weights=cython.float[::1], visible=cython.float[::1], bias=cython.float[::1])
    cython.declare(chains=cython.float[::1], stack=cython.float[::1], hidden=cython.float[::1])
    cython.declare(signs=cython.float[::1], scores=cython.float[::1], scratch=cython.float[::1])
    tables: cython.float[::1]

    def __init__(self, parameters, states, scratch):
        self.weights, self.visible, self.bias = parameters
        self.chains, self.stack, self.hidden = states
        self.signs, self.scores, self.scratch, self.tables = scratch

    def hold(self, rows):
        """Take these rows to learn from."""
        self.rows = rows


@cython.cclass
class DoubleMachine:
    """Arrays in double; they are those of `FloatMachine`. Cython has no generic classes."""

    rows: cython.const[cython.double][:, ::1]
    cython.declare(weights=cython.double[::1], visible=cython.double[::1], bias=cython.double[::1])
    cython.declare(chains=cython.double[::1], stack=cython.double[::1], hidden=cython.double[::1])
    cython.declare(signs=cython.double[::1], scores=cython.double[::1], scratch=cython.double[::1])
    tables: cython.double[::1]

    def __init__(self, parameters, states, scratch):
        self.weights, self.visible, self.bias = parameters
        self.chains, self.stack, self.hidden = states
        self.signs, self.scores, self.scratch, self.tables = scratch

    def hold(self, rows):
        """Take these rows to learn from."""
        self.rows = rows


Machine = cython.fused_type(FloatMachine, DoubleMachine)


@cython.cclass
class ContrastTasks:
    """The tasks that threads share, and the arrays that they work on.

    Parameters
    ----------
    wide : whether numbers are double
    sizes : (6,): visible units, hidden units, units in a panel of either, chains (0 for as many as rows), Gibbs steps
    rules : (2,): the learning rate, and what a step keeps of the weights
    gains : a place for each panel of hidden units and row of a batch
    listed : (n + m) d places of units that are on: those of state i in a panel of visible units from i d + begin on
    counts : (n + m) times the panels of visible units: how many of them are on
    control : (32 + 8 threads,), see team.pxd
    """

    cython.declare(floats=FloatMachine, doubles=DoubleMachine, wide=cython.int)
    cython.declare(d=cython.Py_ssize_t, k=cython.Py_ssize_t, high=cython.Py_ssize_t, across=cython.Py_ssize_t)
    cython.declare(persistent=cython.Py_ssize_t, gibbs=cython.Py_ssize_t)
    cython.declare(rate=cython.double, keep=cython.double, gains=cython.double[::1], control=cython.longlong[::1])
    cython.declare(listed=cython.int[::1], counts=cython.int[::1], binary=cython.int)
    weight: cython.const[cython.double][::1]
    keys: cython.const[cython.uint][:, :, ::1]
    flips: cython.const[cython.longlong][::1]
    cython.declare(kind=cython.int, first=cython.Py_ssize_t, n=cython.Py_ssize_t, m=cython.Py_ssize_t)
    cython.declare(low=cython.uint, mixed=cython.uint)

    def __init__(self, wide: cython.int, machine, sizes, rules, gains, listed, counts, control):
        self.wide, self.gains, self.control = wide, gains, control
        self.listed, self.counts, self.binary = listed, counts, 0
        self.d, self.k, self.high, self.across = sizes[0], sizes[1], sizes[2], sizes[3]
        self.persistent, self.gibbs = sizes[4], sizes[5]
        self.rate, self.keep = rules
        if self.wide:
            self.doubles = machine
        else:
            self.floats = machine

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

    def hold(self, weight, keys, flips, binary: cython.int):
        """Take the weights of the rows (empty for ones), two words for each draw, the unit of each row's score, and
        whether all values of the rows are 0 or 1, as those of the chains always are.
        """
        self.weight, self.keys, self.flips, self.binary = weight, keys, flips, binary

    def run(self, begin: cython.Py_ssize_t, end: cython.Py_ssize_t, batch: cython.Py_ssize_t) -> cython.double:
        """Take a step for each batch of the rows from `begin` to `end`; return the sum of their log P(v_j | rest)."""
        fit: cython.double = 0.0
        with cython.nogil:
            self.first = begin
            while self.first < end:
                self.n = batch if self.first + batch < end else end - self.first
                # Without persistent chains each row of the batch starts a chain of its own.
                self.m = self.persistent if self.persistent > 0 else self.n
                total = 0.0
                for row in range(self.first, self.first + self.n):
                    total += self.weight[row] if self.weight.shape[0] > 0 else 1.0
                # A batch whose weights are all zero is as if absent.
                if total > 0.0:
                    fit += self._step(total, self.first // batch)
                self.first += self.n
        return fit

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _step(self, total: cython.double, number: cython.Py_ssize_t) -> cython.double:
        """Run the tasks of a batch; its draws take the words of `keys` in their order."""
        panels_down: cython.Py_ssize_t = (self.d + self.high - 1) // self.high
        panels_across: cython.Py_ssize_t = (self.k + self.across - 1) // self.across
        last: cython.Py_ssize_t = 2 * self.gibbs
        if self.wide:
            _fill(self.doubles, self, total)
        else:
            _fill(self.floats, self, total)
        if self.persistent == 0:
            self._lead(_START, panels_across, number, 0)
        # Every round of Gibbs sampling draws the visible units and then the hidden ones, each with a key of its own.
        for step in range(self.gibbs - 1):
            self._lead(_VISIBLE, panels_down, number, 1 + 2 * step)
            self._lead(_GIBBS, panels_across, number, 2 + 2 * step)
        # The last visible draw is followed by probabilities of the hidden units, not by draws: they have less variance.
        self._lead(_VISIBLE, panels_down, number, last - 1)
        self._lead(_HIDDEN, panels_across, number, last)
        if self.wide:
            fit = _score(self.doubles, self, panels_across)
        else:
            fit = _score(self.floats, self, panels_across)
        # The weights move last, since all tasks before read them.
        self._lead(_WEIGHTS, panels_down, number, last)
        return fit

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _lead(
        self, kind: cython.int, items: cython.Py_ssize_t, number: cython.Py_ssize_t, draw: cython.Py_ssize_t
    ) -> cython.void:
        """Offer a task, work on it, and wait until it is done."""
        self.kind = kind
        self.low = cython.cast(cython.uint, self.keys[number, draw, 0])
        self.mixed = cython.cast(cython.uint, self.keys[number, draw, 1])
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
def _fill(machine: Machine, tasks: ContrastTasks, total: cython.double) -> cython.void:
    """Copy the rows of a batch to the stack, and give rows and chains their signed weights, which sum to zero.

    If the rows are binary, list their units that are on.
    """
    cython.declare(row=cython.Py_ssize_t, j=cython.Py_ssize_t)
    for row in range(tasks.n):
        for j in range(tasks.d):
            machine.stack[row * tasks.d + j] = machine.rows[tasks.first + row, j]
        machine.signs[row] = tasks.weight[tasks.first + row] if tasks.weight.shape[0] > 0 else 1.0
        if tasks.binary:
            listed_rows.list_panels(machine.stack, row, tasks.d, tasks.high, 0, tasks.d, tasks.listed, tasks.counts)
    for row in range(tasks.m):
        machine.signs[tasks.n + row] = -total / tasks.m if tasks.persistent > 0 else -machine.signs[row]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _score(machine: Machine, tasks: ContrastTasks, n_panels: cython.Py_ssize_t) -> cython.double:
    """Return the sum over rows of log P(v_j | other units), with the gains of all panels of hidden units."""
    cython.declare(row=cython.Py_ssize_t, panel=cython.Py_ssize_t, flip=cython.Py_ssize_t)
    fit: cython.double = 0.0
    for row in range(tasks.n):
        flip = tasks.flips[tasks.first + row]
        gain = 0.0
        for panel in range(n_panels):
            gain += tasks.gains[panel * tasks.n + row]
        # Turning v_j over changes the bias term of the free energy by (1 - 2 v_j) b_j.
        gain += (1.0 - 2.0 * cython.cast(cython.double, machine.stack[row * tasks.d + flip])) * machine.visible[flip]
        # log P(v_j | rest) = -log(1 + exp(F(v) - F(v'))), with v' the row after the turn.
        fit -= inline.log1pexp(gain)
    return fit


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _do_item(machine: Machine, tasks: ContrastTasks, item: cython.Py_ssize_t) -> cython.void:
    """Do an item of any task."""
    # Panels of visible units are rows of the weights, panels of hidden units are columns.
    if tasks.kind == _VISIBLE or tasks.kind == _WEIGHTS:
        begin = item * tasks.high
        end = tasks.d if begin + tasks.high > tasks.d else begin + tasks.high
        if tasks.kind == _VISIBLE:
            _draw_visible(machine, tasks, begin, end)
        else:
            _move_weights(machine, tasks, begin, end)
        return
    begin = item * tasks.across
    end = tasks.k if begin + tasks.across > tasks.k else begin + tasks.across
    _find_hidden(machine, tasks, begin, end)
    if tasks.kind == _HIDDEN:
        _compare_flips(machine, tasks, item, begin, end)
        _move_biases(machine, tasks, begin, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw_visible(
    machine: Machine, tasks: ContrastTasks, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.void:
    """Draw some visible units of all chains given their hidden states."""
    cython.declare(i=cython.Py_ssize_t, j=cython.Py_ssize_t, at=cython.Py_ssize_t)
    size: cython.Py_ssize_t = end - begin
    # For few chains the BLAS is faster with the weights on the left: 88 against 147 us for 10 x 256 x 784.
    part_products.multiply_transposed(
        machine.weights, begin * tasks.k, machine.chains, 0, machine.scores, begin * tasks.m, size, tasks.k, tasks.m
    )
    for i in range(tasks.m):
        # The chains lie below the n rows of the batch in the stack.
        at = (tasks.n + i) * tasks.d + begin
        for j in range(size):
            machine.stack[at + j] = machine.scores[(begin + j) * tasks.m + i]
        # The counter i d + j of a draw names chain and unit, so that the draw does not depend on the panel.
        unit_sums.draw_row(
            machine.stack, at, machine.visible, begin, machine.stack, at, size, i * tasks.d + begin,
            tasks.low, tasks.mixed,
        )  # fmt: skip
        listed_rows.list_panels(machine.stack, tasks.n + i, tasks.d, tasks.high, begin, end, tasks.listed, tasks.counts)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_hidden(
    machine: Machine, tasks: ContrastTasks, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.void:
    """Find some hidden units of the rows, of the chains or of both, and draw the chains' states."""
    cython.declare(i=cython.Py_ssize_t, at=cython.Py_ssize_t)
    size: cython.Py_ssize_t = end - begin
    # Scores of the data are not wanted between Gibbs steps, and known from the start where chains begin at the rows.
    known: cython.Py_ssize_t = (
        tasks.n if tasks.kind == _GIBBS or (tasks.kind == _HIDDEN and tasks.persistent == 0) else 0
    )
    stop: cython.Py_ssize_t = tasks.n if tasks.kind == _START else tasks.n + tasks.m
    # Rows whose values lie between 0 and 1 are multiplied; rows and chains of zeros and ones select weights to add.
    dense: cython.Py_ssize_t = known if tasks.binary or known >= tasks.n else tasks.n
    if dense > known:
        part_products.multiply_columns(
            machine.stack, known * tasks.d, machine.weights, begin, machine.hidden, known * tasks.k + begin,
            dense - known, tasks.d, size, tasks.k,
        )  # fmt: skip
    for i in range(dense, stop):
        listed_rows.add_selected(
            machine.weights, begin, tasks.k, tasks.listed, tasks.counts, i, tasks.d, tasks.high, machine.hidden, size
        )
    for i in range(tasks.m):
        # Chains of contrastive divergence begin at the rows, whose scores stay as they are.
        at = (i if tasks.kind == _START else tasks.n + i) * tasks.k + begin
        unit_sums.draw_row(
            machine.hidden, at, machine.bias, begin, machine.chains, i * tasks.k + begin, size, i * tasks.k + begin,
            tasks.low, tasks.mixed,
        )  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare_flips(
    machine: Machine, tasks: ContrastTasks, item: cython.Py_ssize_t, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.void:
    """Write by how much softplus of some hidden units grows, summed, if one visible unit of each row is turned over."""
    cython.declare(row=cython.Py_ssize_t, flip=cython.Py_ssize_t)
    for row in range(tasks.n):
        flip = tasks.flips[tasks.first + row]
        step = 1.0 - 2.0 * cython.cast(cython.double, machine.stack[row * tasks.d + flip])
        tasks.gains[item * tasks.n + row] = unit_sums.sum_gain(
            machine.hidden, row * tasks.k + begin, machine.bias, begin, machine.weights, flip * tasks.k + begin,
            step, machine.scratch, 2 * begin, end - begin,
        )  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move_biases(
    machine: Machine, tasks: ContrastTasks, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.void:
    """Replace the scores of some hidden units by signed probabilities, and move the biases along their sums."""
    unit_sums.sign_units(
        machine.hidden, machine.bias, machine.signs, begin, end - begin, tasks.n + tasks.m, tasks.k, machine.scratch,
        tasks.rate / tasks.n,
    )  # fmt: skip
    if tasks.binary:
        listed_rows.tabulate_sums(
            machine.hidden, begin, end - begin, tasks.n + tasks.m, tasks.k, tasks.rate / tasks.n, machine.tables
        )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move_weights(
    machine: Machine, tasks: ContrastTasks, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.void:
    """Move the weights and biases of some visible units along the gradient."""
    if tasks.binary:
        # The lists of units have been used: their room holds the places in the tables, fewer of them.
        listed_rows.add_tabulated(
            machine.stack, tasks.n + tasks.m, tasks.d, begin, end, machine.tables, tasks.listed, machine.weights,
            tasks.k, tasks.keep,
        )  # fmt: skip
    else:
        part_products.add_product(
            machine.stack, begin, tasks.d, machine.hidden, machine.weights, begin * tasks.k, end - begin,
            tasks.n + tasks.m, tasks.k, tasks.rate / tasks.n, tasks.keep,
        )  # fmt: skip
    unit_sums.add_signed(
        machine.stack, machine.signs, machine.visible, begin, end - begin, tasks.n + tasks.m, tasks.d, machine.scores,
        begin * tasks.m, tasks.rate / tasks.n,
    )  # fmt: skip
