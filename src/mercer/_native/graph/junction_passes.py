"""Messages along a junction tree: from the leaves to the roots, and back.

The table of a clique is never stored. Its cells are visited row by row: the last axes of the clique, up to some hundred
cells, make a row, and the other axes number the rows. An operand (a conditional table, a likelihood, a message) is read
through maps from rows to offsets and from cells of a row to offsets (see ``table_rows``). Axes of observed variables
have length one, so evidence makes the tables smaller. No message is divided by another (Shafer and Shenoy's scheme), so
zeros do no harm, and a message that is one everywhere is neither computed nor multiplied.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.graph import clique_axes, table_rows
else:
    from mercer._native.graph import clique_axes, table_rows

__all__ = [
    "Case",
    "Tree",
    "collect",
    "distribute",
    "explain",
    "lay_out",
    "measure_evidence",
    "run_cases",
    "write_belief",
]

INFINITY = cython.declare(cython.double, float("inf"))


@cython.cclass
class Tree:
    """A rooted junction tree, children before parents, and where the tables of its variables belong.

    Parameters
    ----------
    card : (n,)
        Numbers of states.
    axes : first (K + 1,), variables, places
        Clique c has the variables from first[c] to first[c + 1], those of the separator to its parent first. `places`
        says where a variable of that separator stands among the variables of the parent.
    links : parent (K,), n_shared (K,), first_child (K + 1,), child, barren (K,), offset (K,)
        Parents (-1 for roots), numbers of variables in separators, children. barren[c] is 1 if the message of c to its
        parent is one everywhere as long as no variable whose table lies in or below c is observed. The messages of a
        separator have the place offset[c], room for them without evidence.
    families : first_table (K + 1,), table, first_member (n + 1,), member, stride, start (n + 1,)
        The variables whose tables belong to each clique; the positions of a table's axes in the clique, their strides
        in the table, and where its values start.
    homes : first_home (K + 1,), home, home_place (n,), first_state (n + 1,)
        The variables whose marginals are read from each clique, their positions there, and where their states start.
    """

    cython.declare(card=cython.Py_ssize_t[::1], first=cython.Py_ssize_t[::1], variables=cython.Py_ssize_t[::1])
    cython.declare(places=cython.Py_ssize_t[::1], parent=cython.Py_ssize_t[::1], n_shared=cython.Py_ssize_t[::1])
    cython.declare(
        first_child=cython.Py_ssize_t[::1],
        child=cython.Py_ssize_t[::1],
        barren=cython.Py_ssize_t[::1],
        offset=cython.Py_ssize_t[::1],
    )
    cython.declare(first_table=cython.Py_ssize_t[::1], table=cython.Py_ssize_t[::1])
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
    room : maps, slots (s, 5), strides, rows (r, cells)
        Scratch: the maps and descriptions of the current clique's operands, and rows of its table.
    sections : where likelihoods, marginals, messages up and messages down begin in `work`
    """

    cython.declare(code=cython.Py_ssize_t[::1], soft=cython.Py_ssize_t[::1], length=cython.Py_ssize_t[::1])
    cython.declare(size=cython.Py_ssize_t[::1], touched=cython.Py_ssize_t[::1], unit=cython.Py_ssize_t[::1])
    cython.declare(work=cython.double[::1], scale=cython.double[::1], best=cython.longlong[::1])
    cython.declare(maps=cython.int[::1], slots=cython.Py_ssize_t[:, ::1], strides=cython.Py_ssize_t[::1])
    cython.declare(rows=cython.double[:, ::1], counts=cython.Py_ssize_t[::1])
    cython.declare(likelihoods=cython.Py_ssize_t, marginals=cython.Py_ssize_t)
    cython.declare(ups=cython.Py_ssize_t, downs=cython.Py_ssize_t)
    # Of the current clique: its first axis within a row, its rows, the cells of a row, and scratch in use.
    cython.declare(split=cython.Py_ssize_t, outer=cython.Py_ssize_t, inner=cython.Py_ssize_t)
    cython.declare(filled=cython.Py_ssize_t, n_slots=cython.Py_ssize_t)

    def __init__(self, evidence, sizes, messages, room, sections):
        self.code, self.soft = evidence
        self.length, self.size, self.touched, self.unit, self.counts = sizes
        self.work, self.scale, self.best = messages
        self.maps, self.slots, self.strides, self.rows = room
        self.likelihoods, self.marginals, self.ups, self.downs = sections
        self.split = self.outer = self.inner = self.filled = self.n_slots = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure(tree: Tree, case: Case) -> cython.void:
    """Set the lengths, sizes and offsets that follow from the evidence, and which messages are one everywhere."""
    c: cython.Py_ssize_t
    j: cython.Py_ssize_t
    v: cython.Py_ssize_t
    size: cython.Py_ssize_t
    for v in range(tree.card.shape[0]):
        case.length[v] = 1 if case.code[v] >= 0 else tree.card[v]
    for c in range(tree.parent.shape[0]):
        size = 1
        for j in range(tree.first[c], tree.first[c] + tree.n_shared[c]):
            size *= case.length[tree.variables[j]]
        case.size[c] = size
        case.touched[c] = 0
        for j in range(tree.first_table[c], tree.first_table[c + 1]):
            v = tree.table[j]
            case.touched[c] |= case.code[v] >= 0 or case.soft[v] != 0
        for j in range(tree.first_child[c], tree.first_child[c + 1]):
            case.touched[c] |= case.touched[tree.child[j]]
        case.unit[c] = tree.barren[c] != 0 and case.touched[c] == 0
    # The tables below a message that is one everywhere sum to one: the scales of the messages there do not count.
    for c in range(tree.parent.shape[0] - 1, -1, -1):
        case.counts[c] = case.unit[c] == 0 and (tree.parent[c] < 0 or case.counts[tree.parent[c]] != 0)


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
        case.maps, case.filled,
    )  # fmt: skip
    case.n_slots += 1
    return case.n_slots - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_own_slots(tree: Tree, case: Case, c: cython.Py_ssize_t) -> cython.void:
    """Describe the conditional tables and the likelihoods that belong to clique c."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    v: cython.Py_ssize_t
    last: cython.Py_ssize_t
    seen: cython.Py_ssize_t
    base: cython.Py_ssize_t
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
    j: cython.Py_ssize_t
    at: cython.Py_ssize_t
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
def add_message_up(tree: Tree, case: Case, c: cython.Py_ssize_t, best: cython.bint) -> cython.void:
    """Compute the message of clique c to its parent: its table summed, or maximised, over what the parent lacks."""
    number: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n_factors: cython.Py_ssize_t
    start: cython.Py_ssize_t = case.ups + tree.offset[c]
    open_clique(tree, case, c)
    add_own_slots(tree, case, c)
    for j in range(tree.first_child[c], tree.first_child[c + 1]):
        if best or not case.unit[tree.child[j]]:
            add_message_slot(tree, case, c, tree.child[j], case.ups)
    n_factors = case.n_slots
    add_message_slot(tree, case, c, c, case.ups)
    # Maxima start below zero, so that the first cell replaces them even where all cells are zero.
    table_rows.fill(case.work, start, case.size[c], -1.0 if best else 0.0)
    for number in range(case.outer):
        clique_axes.multiply(case.slots, 0, n_factors, case.work, case.maps, number, case.rows[0], case.inner, True)
        if best:
            clique_axes.maximise(
                case.slots, n_factors, case.work, case.maps, number, case.rows[0], case.inner, case.best, case.ups
            )
        else:
            clique_axes.add(case.slots, n_factors, case.work, case.maps, number, case.rows[0], case.inner)
    case.scale[c] = table_rows.divide_by_largest(case.work, start, case.size[c])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_messages_down(tree: Tree, case: Case, c: cython.Py_ssize_t) -> cython.void:
    """Compute the messages of clique c to its children, and the marginals that are read from c.

    The operands are, in this order: tables and the message from above, messages of children that are not one
    everywhere, the messages to these children, the messages to the other children, marginals.
    """
    number: cython.Py_ssize_t
    k: cython.Py_ssize_t
    v: cython.Py_ssize_t
    n_own: cython.Py_ssize_t
    n_ups: cython.Py_ssize_t
    open_clique(tree, case, c)
    add_own_slots(tree, case, c)
    if tree.parent[c] >= 0:
        add_message_slot(tree, case, c, c, case.downs)
    n_own = case.n_slots
    for k in range(tree.first_child[c], tree.first_child[c + 1]):
        if not case.unit[tree.child[k]]:
            add_message_slot(tree, case, c, tree.child[k], case.ups)
    n_ups = case.n_slots - n_own
    for k in range(tree.first_child[c], tree.first_child[c + 1]):
        if not case.unit[tree.child[k]]:
            add_message_slot(tree, case, c, tree.child[k], case.downs)
            table_rows.fill(case.work, case.downs + tree.offset[tree.child[k]], case.size[tree.child[k]], 0.0)
    for k in range(tree.first_child[c], tree.first_child[c + 1]):
        if case.unit[tree.child[k]]:
            add_message_slot(tree, case, c, tree.child[k], case.downs)
            table_rows.fill(case.work, case.downs + tree.offset[tree.child[k]], case.size[tree.child[k]], 0.0)
    for k in range(tree.first_home[c], tree.first_home[c + 1]):
        v = tree.home[k]
        table_rows.fill(case.work, case.marginals + tree.first_state[v], tree.card[v], 0.0)
        table_rows.clear(case.strides, tree.first[c + 1] - tree.first[c])
        case.strides[tree.home_place[v]] = 1
        add_slot(tree, case, c, case.marginals + tree.first_state[v] + max(case.code[v], 0))
    for number in range(case.outer):
        clique_axes.pass_down(
            case.slots, n_own, n_ups, case.n_slots, case.work, case.maps, number, case.rows, case.inner
        )
    for k in range(tree.first_child[c], tree.first_child[c + 1]):
        table_rows.divide_by_largest(case.work, case.downs + tree.offset[tree.child[k]], case.size[tree.child[k]])


def collect(tree: Tree, case: Case, stale: cython.Py_ssize_t[::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t):
    """Compute the messages to parents of the stale cliques from `low` to `high`; stop where one is zero."""
    c: cython.Py_ssize_t
    with cython.nogil:
        for c in range(low, high):
            if stale[c]:
                case.scale[c] = 1.0
                if not case.unit[c]:
                    add_message_up(tree, case, c, False)
                if case.scale[c] == 0.0:
                    break


def distribute(tree: Tree, case: Case, chosen: cython.Py_ssize_t[::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t):
    """Compute the messages to children, and the marginals, of the chosen cliques from `high` down to `low`."""
    c: cython.Py_ssize_t
    with cython.nogil:
        for c in range(high - 1, low - 1, -1):
            if chosen[c]:
                add_messages_down(tree, case, c)


def lay_out(tree: Tree, case: Case):
    """Set sizes and offsets for the evidence in `code` and `soft`."""
    with cython.nogil:
        measure(tree, case)


def measure_evidence(case: Case) -> cython.double:
    """Return the log-probability of the evidence whose messages have been collected."""
    return clique_axes.add_logs(case.scale, case.counts)


def write_belief(tree: Tree, case: Case, c: cython.Py_ssize_t, belief: cython.double[::1]):
    """Write the table of clique c, all messages multiplied in, over the states left by the evidence."""
    number: cython.Py_ssize_t
    k: cython.Py_ssize_t
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
    c: cython.Py_ssize_t
    axis: cython.Py_ssize_t
    v: cython.Py_ssize_t
    entry: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    with cython.nogil:
        for c in range(tree.parent.shape[0]):
            case.counts[c] = 1
            add_message_up(tree, case, c, True)
            if case.scale[c] == 0.0:
                break
        for c in range(tree.parent.shape[0] - 1, -1, -1):
            # The separator's states are known from the parent; they number the entry whose best cell was noted.
            entry = 0
            for axis in range(tree.first[c], tree.first[c] + tree.n_shared[c]):
                v = tree.variables[axis]
                entry = entry * case.length[v] + (0 if case.length[v] == 1 else states[v])
            cell = case.best[tree.offset[c] + entry]
            for axis in range(tree.first[c + 1] - 1, tree.first[c] - 1, -1):
                v = tree.variables[axis]
                states[v] = cell % case.length[v] if case.code[v] < 0 else case.code[v]
                cell = cell // case.length[v]


def run_cases(
    tree: Tree,
    case: Case,
    codes: cython.const[cython.Py_ssize_t][:, ::1],
    marginals: cython.double[:, ::1],
    logs: cython.double[::1],
):
    """Write the marginals of all variables (m, states) and the log-probability of the evidence (m,) of many cases."""
    m: cython.Py_ssize_t
    c: cython.Py_ssize_t
    v: cython.Py_ssize_t
    with cython.nogil:
        for m in range(codes.shape[0]):
            for v in range(codes.shape[1]):
                case.code[v] = codes[m, v]
            measure(tree, case)
            for c in range(tree.parent.shape[0]):
                case.scale[c] = 1.0
                if not case.unit[c]:
                    add_message_up(tree, case, c, False)
                    if case.scale[c] == 0.0:
                        break
            logs[m] = clique_axes.add_logs(case.scale, case.counts)
            if logs[m] > -INFINITY:
                for c in range(tree.parent.shape[0] - 1, -1, -1):
                    add_messages_down(tree, case, c)
                table_rows.normalise(case.work, case.marginals, tree.first_state, marginals[m])
