"""Messages along a junction tree: from the leaves to the roots, and back.

The table of a clique is never stored. Its cells are visited row by row: the last axes of the clique, up to some hundred
cells, make a row, and the other axes number the rows. An operand (a conditional table, a likelihood, a message) is read
through maps to offsets (see ``table_rows``). Axes of observed variables have length one, so evidence makes the tables
smaller. No message is divided by another (Shafer and Shenoy's scheme), so zeros do no harm. A message that is one
everywhere is neither computed nor multiplied.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.graph import clique_axes, clique_chunks, findings, table_rows
else:
    from mercer._native.graph import clique_axes, clique_chunks, findings, table_rows

INFINITY = cython.declare(cython.double, float("inf"))


@cython.cclass
class Tree:
    """A rooted junction tree, children before parents; ``plan.py`` in `mercer.bayesnet` says what the arrays hold."""

    cython.declare(card=cython.Py_ssize_t[::1], first=cython.Py_ssize_t[::1], variables=cython.Py_ssize_t[::1])
    cython.declare(places=cython.Py_ssize_t[::1], parent=cython.Py_ssize_t[::1], n_shared=cython.Py_ssize_t[::1])
    cython.declare(first_child=cython.Py_ssize_t[::1], child=cython.Py_ssize_t[::1], barren=cython.Py_ssize_t[::1])
    cython.declare(offset=cython.Py_ssize_t[::1], first_table=cython.Py_ssize_t[::1], table=cython.Py_ssize_t[::1])
    cython.declare(first_member=cython.Py_ssize_t[::1], member=cython.Py_ssize_t[::1], stride=cython.Py_ssize_t[::1])
    cython.declare(start=cython.Py_ssize_t[::1], first_home=cython.Py_ssize_t[::1], home=cython.Py_ssize_t[::1])
    cython.declare(home_place=cython.Py_ssize_t[::1], first_state=cython.Py_ssize_t[::1])

    def __init__(self, card, axes, links, families, homes):
        self.card = card
        self.first, self.variables, self.places = axes
        self.parent, self.n_shared, self.first_child, self.child, self.barren, self.offset = links
        self.first_table, self.table, self.first_member, self.member, self.stride, self.start = families
        self.first_home, self.home, self.home_place, self.first_state = homes


@cython.cclass
class Case:
    """One case of evidence, and the messages that it leads to.

    Parameters
    ----------
    evidence : code (n,), soft (n,)
        The observed state of each variable, or -1; whether its likelihood in `work` counts.
    sizes : length (n,), size (K,), touched (K,), unit (K,), counts (K,)
        Numbers of states left; sizes of the messages; whether a variable whose table lies in or below the clique is
        observed; whether the message upwards is one everywhere; whether its scale counts for the evidence.
    messages : work, scale (K,), best
        Tables, likelihoods, marginals, messages up and messages down, in this order; the number by which each message
        up was divided; the best cell for each entry of the messages up.
    room : maps, slots (s, 7), strides, copies (chunks, s, 7), rows (chunks, r, cells)
        Scratch: maps and descriptions of the current clique's operands, also for each chunk; rows of its table.
    sections : where likelihoods, marginals, messages up, messages down and sums of chunks begin in `work`
    """

    cython.declare(code=cython.Py_ssize_t[::1], soft=cython.Py_ssize_t[::1], length=cython.Py_ssize_t[::1])
    cython.declare(size=cython.Py_ssize_t[::1], touched=cython.Py_ssize_t[::1], unit=cython.Py_ssize_t[::1])
    cython.declare(work=cython.double[::1], scale=cython.double[::1], best=cython.longlong[::1])
    cython.declare(maps=cython.int[::1], slots=cython.Py_ssize_t[:, ::1], strides=cython.Py_ssize_t[::1])
    cython.declare(copies=cython.Py_ssize_t[:, :, ::1], rows=cython.double[:, :, ::1], counts=cython.Py_ssize_t[::1])
    cython.declare(likelihoods=cython.Py_ssize_t, marginals=cython.Py_ssize_t)
    cython.declare(ups=cython.Py_ssize_t, downs=cython.Py_ssize_t, sums=cython.Py_ssize_t)
    # Of the current clique: its first axis within a row; the axis along which it is cut, the states there, the chunks;
    # its rows, the cells of a row, scratch in use; operands in all, of the clique itself, of its children.
    cython.declare(split=cython.Py_ssize_t, cut=cython.Py_ssize_t, states=cython.Py_ssize_t, chunks=cython.Py_ssize_t)
    cython.declare(outer=cython.Py_ssize_t, inner=cython.Py_ssize_t, filled=cython.Py_ssize_t)
    cython.declare(n_slots=cython.Py_ssize_t, n_own=cython.Py_ssize_t, n_ups=cython.Py_ssize_t)

    def __init__(self, evidence, sizes, messages, room, sections):
        self.code, self.soft = evidence
        self.length, self.size, self.touched, self.unit, self.counts = sizes
        self.work, self.scale, self.best = messages
        self.maps, self.slots, self.strides, self.copies, self.rows = room
        self.likelihoods, self.marginals, self.ups, self.downs, self.sums = sections


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def lay_out(tree: Tree, case: Case) -> cython.void:
    """Set the lengths and sizes that follow from the evidence, and which messages are one everywhere."""
    findings.set_lengths(tree.card, case.code, case.length)
    findings.set_sizes(tree.first, tree.n_shared, tree.variables, case.length, case.size)
    findings.mark_touched(
        tree.first_table, tree.table, tree.first_child, tree.child, case.code, case.soft, case.touched
    )
    findings.mark_units(tree.parent, tree.barren, case.touched, case.unit, case.counts)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_clique(tree: Tree, case: Case, c: cython.Py_ssize_t) -> cython.void:
    """Choose which axes of clique c make a row, and forget the operands of the clique before."""
    low: cython.Py_ssize_t = tree.first[c]
    high: cython.Py_ssize_t = tree.first[c + 1]
    case.split = clique_axes.choose_split(tree.variables, case.length, low, high)
    case.inner = clique_axes.count_cells(tree.variables, case.length, low + case.split, high)
    case.outer = clique_axes.count_cells(tree.variables, case.length, low, low + case.split)
    case.cut = clique_chunks.choose_cut(tree.variables, case.length, low, case.split)
    case.states = case.length[tree.variables[low + case.cut]] if case.split > 0 else 1
    case.chunks = clique_chunks.count_chunks(case.outer, case.inner, case.states)
    case.filled = 0
    case.n_slots = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_slot(tree: Tree, case: Case, c: cython.Py_ssize_t, base: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Describe an operand whose strides along the axes of clique c are in `strides`; return its number."""
    n_axes: cython.Py_ssize_t = tree.first[c + 1] - tree.first[c]
    case.filled = clique_axes.describe_operand(
        case.slots, case.n_slots, base, tree.variables, case.length, case.strides, tree.first[c], n_axes, case.split,
        case.cut, case.maps, case.filled,
    )  # fmt: skip
    case.n_slots += 1
    return case.n_slots - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_own_slots(tree: Tree, case: Case, c: cython.Py_ssize_t) -> cython.void:
    """Describe the conditional tables and the likelihoods that belong to clique c."""
    for i in range(tree.first_table[c], tree.first_table[c + 1]):
        v = tree.table[i]
        base = tree.start[v]
        table_rows.clear(case.strides, tree.first[c + 1] - tree.first[c])
        for j in range(tree.first_member[v], tree.first_member[v + 1]):
            case.strides[tree.member[j]] = tree.stride[j]
            seen = case.code[tree.variables[tree.first[c] + tree.member[j]]]
            base += seen * tree.stride[j] if seen >= 0 else 0
        add_slot(tree, case, c, base)
        if case.soft[v]:
            # The variable itself is the last member of its family.
            last = tree.member[tree.first_member[v + 1] - 1]
            table_rows.clear(case.strides, tree.first[c + 1] - tree.first[c])
            case.strides[last] = 1
            add_slot(tree, case, c, case.likelihoods + tree.first_state[v] + max(case.code[v], 0))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_message_slot(
    tree: Tree, case: Case, c: cython.Py_ssize_t, other: cython.Py_ssize_t, section: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Describe a message between clique `other` and its parent along the axes of c, which is one of the two."""
    stride: cython.Py_ssize_t = 1
    table_rows.clear(case.strides, tree.first[c + 1] - tree.first[c])
    for j in range(tree.n_shared[other] - 1, -1, -1):
        at = j if other == c else tree.places[tree.first[other] + j]
        case.strides[at] = stride
        stride *= case.length[tree.variables[tree.first[other] + j]]
    return add_slot(tree, case, c, section + tree.offset[other])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_up(tree: Tree, case: Case, c: cython.Py_ssize_t, best: cython.bint) -> cython.void:
    """Prepare the message of clique c to its parent: operands are tables, messages of children, and the message."""
    open_clique(tree, case, c)
    add_own_slots(tree, case, c)
    for j in range(tree.first_child[c], tree.first_child[c + 1]):
        if best or not case.unit[tree.child[j]]:
            add_message_slot(tree, case, c, tree.child[j], case.ups)
    case.n_own = case.n_slots
    case.n_ups = 0
    add_message_slot(tree, case, c, c, case.ups)
    # Maxima start below zero, so that the first cell replaces them even where all cells are zero.
    table_rows.fill(case.work, case.ups + tree.offset[c], case.size[c], -1.0 if best else 0.0)
    case.chunks = 1 if best else case.chunks


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_down(tree: Tree, case: Case, c: cython.Py_ssize_t) -> cython.void:
    """Prepare the messages of clique c to its children, and the marginals that are read from c.

    The operands are, in this order: tables and the message from above, messages of children that are not one
    everywhere, the messages to these children, the messages to the other children, marginals.
    """
    open_clique(tree, case, c)
    add_own_slots(tree, case, c)
    if tree.parent[c] >= 0:
        add_message_slot(tree, case, c, c, case.downs)
    case.n_own = case.n_slots
    for k in range(tree.first_child[c], tree.first_child[c + 1]):
        if not case.unit[tree.child[k]]:
            add_message_slot(tree, case, c, tree.child[k], case.ups)
    case.n_ups = case.n_slots - case.n_own
    for k in range(tree.first_child[c], tree.first_child[c + 1]):
        table_rows.fill(case.work, case.downs + tree.offset[tree.child[k]], case.size[tree.child[k]], 0.0)
        if not case.unit[tree.child[k]]:
            add_message_slot(tree, case, c, tree.child[k], case.downs)
    for k in range(tree.first_child[c], tree.first_child[c + 1]):
        if case.unit[tree.child[k]]:
            add_message_slot(tree, case, c, tree.child[k], case.downs)
    for k in range(tree.first_home[c], tree.first_home[c + 1]):
        v = tree.home[k]
        table_rows.fill(case.work, case.marginals + tree.first_state[v], tree.card[v], 0.0)
        table_rows.clear(case.strides, tree.first[c + 1] - tree.first[c])
        case.strides[tree.home_place[v]] = 1
        add_slot(tree, case, c, case.marginals + tree.first_state[v] + max(case.code[v], 0))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_rows(case: Case, chunk: cython.Py_ssize_t) -> cython.void:
    """Add the rows of one chunk to the messages and marginals that were prepared."""
    slots: cython.Py_ssize_t[:, ::1] = case.slots if case.chunks == 1 else case.copies[chunk]
    block: cython.Py_ssize_t = case.outer // case.states
    low: cython.Py_ssize_t = block * (case.states * chunk // case.chunks)
    for number in range(low, block * (case.states * (chunk + 1) // case.chunks)):
        clique_axes.pass_down(
            slots, case.n_own, case.n_ups, case.n_slots, case.work, case.maps, number, case.rows[chunk], case.inner
        )


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def close_pass(tree: Tree, case: Case, c: cython.Py_ssize_t, down: cython.bint) -> cython.void:
    """Add up what the chunks summed by themselves, and scale the messages."""
    if case.chunks > 1:
        clique_chunks.add_chunks(case.slots, case.n_own + case.n_ups, case.n_slots, case.copies, case.chunks, case.work)
    if not down:
        case.scale[c] = table_rows.divide_by_largest(case.work, case.ups + tree.offset[c], case.size[c])
        return
    for k in range(tree.first_child[c], tree.first_child[c + 1]):
        table_rows.divide_by_largest(case.work, case.downs + tree.offset[tree.child[k]], case.size[tree.child[k]])


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def open_pass(tree: Tree, case: Case, c: cython.Py_ssize_t, down: cython.bint) -> cython.Py_ssize_t:
    """Prepare the messages of clique c to its children or its parent; return the number of chunks for `run_chunk`."""
    if down:
        open_down(tree, case, c)
    else:
        open_up(tree, case, c, False)
    if case.chunks > 1:
        clique_chunks.share_slots(
            case.slots, case.n_own + case.n_ups, case.n_slots, case.copies, case.chunks, case.work, case.sums
        )
    return case.chunks


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pass_messages(tree: Tree, case: Case, c: cython.Py_ssize_t, down: cython.bint) -> cython.void:
    """Compute the message of clique c to its parent, or those to its children, in one thread."""
    open_pass(tree, case, c, down)
    for chunk in range(case.chunks):
        add_rows(case, chunk)
    close_pass(tree, case, c, down)


def run_chunk(case: Case, chunk: cython.Py_ssize_t):
    """Add the rows of one chunk of the clique that `open_pass` prepared."""
    with cython.nogil:
        add_rows(case, chunk)


def collect(tree: Tree, case: Case, stale: cython.Py_ssize_t[::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t):
    """Compute the messages to parents of the stale cliques from `low` to `high`; stop where one is zero."""
    with cython.nogil:
        for c in range(low, high):
            if stale[c]:
                case.scale[c] = 1.0
                if not case.unit[c]:
                    pass_messages(tree, case, c, False)
                if case.scale[c] == 0.0:
                    break


def distribute(tree: Tree, case: Case, chosen: cython.Py_ssize_t[::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t):
    """Compute the messages to children, and the marginals, of the chosen cliques from `high` down to `low`."""
    with cython.nogil:
        for c in range(high - 1, low - 1, -1):
            if chosen[c]:
                pass_messages(tree, case, c, True)


def measure_evidence(case: Case) -> cython.double:
    """Return the log-probability of the evidence whose messages have been collected."""
    return clique_axes.add_logs(case.scale, case.counts)


def write_marginals(tree: Tree, case: Case, target: cython.double[::1]):
    """Write the marginals of all variables divided by their sums; those of stale cliques mean nothing."""
    with cython.nogil:
        table_rows.normalise(case.work, case.marginals, tree.first_state, target)


def write_belief(tree: Tree, case: Case, c: cython.Py_ssize_t, belief: cython.double[::1]):
    """Write the table of clique c, all messages multiplied in, over the states left by the evidence."""
    with cython.nogil:
        open_clique(tree, case, c)
        add_own_slots(tree, case, c)
        if tree.parent[c] >= 0:
            add_message_slot(tree, case, c, c, case.downs)
        for k in range(tree.first_child[c], tree.first_child[c + 1]):
            if not case.unit[tree.child[k]]:
                add_message_slot(tree, case, c, tree.child[k], case.ups)
        for number in range(case.outer):
            clique_axes.multiply(
                case.slots, 0, case.n_slots, case.work, case.maps, number,
                belief[number * case.inner : number * case.inner + case.inner], case.inner, True,
            )  # fmt: skip


def explain(tree: Tree, case: Case, states: cython.Py_ssize_t[::1]):
    """Write the most probable states of all variables, given the evidence, to `states`."""
    with cython.nogil:
        for c in range(tree.parent.shape[0]):
            case.counts[c] = 1
            open_up(tree, case, c, True)
            for number in range(case.outer):
                clique_axes.maximise(
                    case.slots,
                    case.n_own,
                    case.work,
                    case.maps,
                    number,
                    case.rows[0, 0],
                    case.inner,
                    case.best,
                    case.ups,
                )
            close_pass(tree, case, c, False)
            if case.scale[c] == 0.0:
                break
        findings.trace_back(
            tree.first, tree.n_shared, tree.variables, tree.offset, case.length, case.code, case.best, states
        )


def run_cases(
    tree: Tree,
    case: Case,
    codes: cython.const[cython.Py_ssize_t][:, ::1],
    marginals: cython.double[:, ::1],
    logs: cython.double[::1],
):
    """Write the marginals of all variables (m, states) and the log-probability of the evidence (m,) of many cases."""
    with cython.nogil:
        for m in range(codes.shape[0]):
            for v in range(codes.shape[1]):
                case.code[v] = codes[m, v]
            lay_out(tree, case)
            for c in range(tree.parent.shape[0]):
                case.scale[c] = 1.0
                if not case.unit[c]:
                    pass_messages(tree, case, c, False)
                    if case.scale[c] == 0.0:
                        break
            logs[m] = clique_axes.add_logs(case.scale, case.counts)
            if logs[m] > -INFINITY:
                for c in range(tree.parent.shape[0] - 1, -1, -1):
                    pass_messages(tree, case, c, True)
                table_rows.normalise(case.work, case.marginals, tree.first_state, marginals[m])
