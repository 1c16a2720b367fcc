"""Products with matrices of zeros and ones: sums of the rows that the ones select.

States of binary units are zeros and ones, so that v W is the sum of the rows of W whose units are on: half of the
additions of a matrix product if half of the units are on, and no multiplications. V^T H of few rows n takes the rows of
H in groups of four and tabulates the 16 sums that a group can have (the method of the four Russians: Arlazarov, Dinic,
Kronrod, Faradzev 1970); row j of the product is then one addition for each group.

Arrays are flat. The order of additions depends on the values alone, and values side by side are never added up.
"""

import cython

real = cython.fused_type(cython.float, cython.double)


def list_ones(
    values: real[::1],
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    first: cython.int,
    listed: cython.int[::1],
    place: cython.Py_ssize_t,
) -> cython.int:
    """List the places, counted from `first`, of values that are one, the others being zero; return their number."""
    count: cython.int = 0
    # Written at every place and kept at those of ones: no branch that half of the units would mispredict.
    for j in range(size):
        listed[place + count] = first + cython.cast(cython.int, j)
        count += values[at + j] > 0
    return count


def list_panels(
    values: real[::1],
    state: cython.Py_ssize_t,
    d: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    listed: cython.int[::1],
    counts: cython.int[::1],
) -> cython.void:
    """List the units from `begin` to `end` that are on in one state of d units, panel by panel of `high` units.

    The units of a panel are listed from its own place on, state d + first, and the number of them is in `counts`, so
    that threads may list panels side by side.
    """
    first: cython.Py_ssize_t = begin
    n_panels: cython.Py_ssize_t = (d + high - 1) // high
    while first < end:
        counts[state * n_panels + first // high] = list_ones(
            values, state * d + first, min(high, end - first), cython.cast(cython.int, first), listed, state * d + first
        )
        first += high


def add_four(
    rows: real[::1],
    first: cython.Py_ssize_t,
    second: cython.Py_ssize_t,
    third: cython.Py_ssize_t,
    fourth: cython.Py_ssize_t,
    out: real[::1],
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.void:
    """Add four rows, given by where they begin, to `out`."""
    for c in range(size):
        out[at + c] += (rows[first + c] + rows[second + c]) + (rows[third + c] + rows[fourth + c])


def add_listed(
    rows: real[::1],
    begin: cython.Py_ssize_t,
    step: cython.Py_ssize_t,
    listed: cython.int[::1],
    place: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    apart: cython.Py_ssize_t,
    out: real[::1],
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.void:
    """Add the rows listed in `count` entries, `apart` values from each other, to `out`; row i begins at
    begin + i step.
    """
    place_of = cython.declare(cython.Py_ssize_t[8])
    stop: cython.Py_ssize_t = place + count * apart
    t = place
    # Eight rows, then four rows at a time: `out` is read and written once for all of them.
    while t + 8 * apart <= stop:
        for c in range(8):
            place_of[c] = begin + listed[t + c * apart] * step
        for c in range(size):
            out[at + c] += (
                (rows[place_of[0] + c] + rows[place_of[1] + c]) + (rows[place_of[2] + c] + rows[place_of[3] + c])
            ) + ((rows[place_of[4] + c] + rows[place_of[5] + c]) + (rows[place_of[6] + c] + rows[place_of[7] + c]))
        t += 8 * apart
    while t + 4 * apart <= stop:
        add_four(
            rows, begin + listed[t] * step, begin + listed[t + apart] * step, begin + listed[t + 2 * apart] * step,
            begin + listed[t + 3 * apart] * step, out, at, size,
        )  # fmt: skip
        t += 4 * apart
    while t < stop:
        one = begin + listed[t] * step
        for c in range(size):
            out[at + c] += rows[one + c]
        t += apart


def add_selected(
    weights: real[::1],
    begin: cython.Py_ssize_t,
    k: cython.Py_ssize_t,
    listed: cython.int[::1],
    counts: cython.int[::1],
    state: cython.Py_ssize_t,
    d: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    scores: real[::1],
    size: cython.Py_ssize_t,
) -> cython.void:
    """Write `size` scores of one state, from `begin` on: the sums of the weights, (d, k), of its units that are on."""
    n_panels: cython.Py_ssize_t = (d + high - 1) // high
    at: cython.Py_ssize_t = state * k + begin
    for c in range(size):
        scores[at + c] = 0
    for panel in range(n_panels):
        add_listed(
            weights, begin, k, listed, state * d + panel * high, counts[state * n_panels + panel], 1, scores, at, size
        )


def tabulate_sums(
    values: real[::1],
    begin: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    k: cython.Py_ssize_t,
    factor: real,
    tables: real[::1],
) -> cython.void:
    """Write the sums of every choice of rows 4 g to 4 g + 3, times `factor`, for some columns of n rows of k values.

    Bit b of the place of a sum in its table says whether row 4 g + b is part of it; tables are (groups, 16, k).
    """
    for group in range((n + 3) // 4):
        for c in range(size):
            tables[group * 16 * k + begin + c] = 0
        for bit in range(4):
            row = 4 * group + bit
            # A choice whose highest bit is this one is a choice without it, plus the row. No choice has rows beyond n.
            if row < n:
                for choice in range(1 << bit):
                    source = row * k + begin
                    rest = (group * 16 + choice) * k + begin
                    to = (group * 16 + choice + (1 << bit)) * k + begin
                    for c in range(size):
                        tables[to + c] = tables[rest + c] + factor * values[source + c]


def code_rows(
    values: real[::1],
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    d: cython.Py_ssize_t,
    codes: cython.int[::1],
) -> cython.void:
    """Write where the table of each group of four rows holds the sum of those with a one, for columns from `at` on.

    The place of group g for column j is codes[g d + j], counted in rows of all tables.
    """
    for group in range((n + 3) // 4):
        for j in range(at, at + size):
            codes[group * d + j] = cython.cast(cython.int, 16 * group)
        for i in range(4 * group, min(4 * group + 4, n)):
            bit = 1 << (i - 4 * group)
            for j in range(at, at + size):
                codes[group * d + j] += bit if values[i * d + j] > 0 else 0


def add_tabulated(
    values: real[::1],
    n: cython.Py_ssize_t,
    d: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    tables: real[::1],
    codes: cython.int[::1],
    weights: real[::1],
    k: cython.Py_ssize_t,
    keep: real,
) -> cython.void:
    """Replace rows of the weights W, (d, k), by keep W + V^T H, where V, (n, d), is binary and `tables` hold sums of H.

    Rows `begin` to `end` are replaced; `codes` has room for a place of each group and column, see `code_rows`.
    """
    code_rows(values, begin, end - begin, n, d, codes)
    for j in range(begin, end):
        if keep != 1:
            for c in range(k):
                weights[j * k + c] *= keep
        add_listed(tables, 0, k, codes, j, (n + 3) // 4, d, weights, j * k, k)
