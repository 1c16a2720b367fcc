"""Draw a sample of rows for each of many trees.

All random numbers of a tree are values of a hash of the tree's two seeds and a counter, so that its rows depend neither
on the other trees nor on the thread that draws them.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import code_order
else:
    from mercer._native.tree import code_order

# 2^32 over the golden ratio: its multiples are spread evenly over the numbers below 2^32.
GOLDEN = cython.declare(cython.longlong, 0x9E3779B9)
# An odd number without pattern that tells the second hash from the first.
OTHER = cython.declare(cython.longlong, 0x85EBCA6B)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def draw(first: cython.longlong, second: cython.longlong, counter: cython.longlong) -> cython.double:
    """Return number `counter` of the stream of two seeds below 2^32: uniform on [0, 1), with 53 bits."""
    high: cython.longlong = code_order.mix(code_order.mix(first + GOLDEN * (counter + 1)) ^ second)
    low: cython.longlong = code_order.mix(high + OTHER + second)
    return cython.cast(cython.double, ((high << 21) | (low >> 11))) * (1.0 / 9007199254740992.0)


def draw_rows(
    n: cython.Py_ssize_t,
    seeds: cython.const[cython.uint][:, ::1],
    repeated: cython.bint,
    table: cython.longlong[::1],
    rows: cython.longlong[:, ::1],
):
    """Write to ``rows[t]`` rows below `n` for tree t: with repetitions if `repeated`, else without.

    Without repetitions by Floyd's method: for j = n - m, ..., n - 1 a row below j + 1 is drawn, and j itself is taken
    where that row was drawn before. `table` is a hash table, a power of two of entries, at least twice the number of
    rows drawn.
    """
    m: cython.Py_ssize_t = rows.shape[1]
    mask: cython.longlong = table.shape[0] - 1
    with cython.nogil:
        for t in range(rows.shape[0]):
            first = cython.cast(cython.longlong, seeds[t, 0])
            second = cython.cast(cython.longlong, seeds[t, 1])
            if repeated:
                for k in range(m):
                    rows[t, k] = cython.cast(cython.longlong, draw(first, second, k) * n)
                continue
            for k in range(table.shape[0]):
                table[k] = -1
            for k in range(m):
                # With j = n - m + k: a row in [0, j].
                row = cython.cast(cython.longlong, draw(first, second, k) * (n - m + k + 1))
                # Open addressing with linear probing; the table is at most half full, so that probes are short.
                place = row & mask
                while table[place] >= 0 and table[place] != row:
                    place = (place + 1) & mask
                if table[place] == row:
                    # j is larger than every row drawn before it, so it is not in the table yet.
                    row = n - m + k
                    place = row & mask
                    while table[place] >= 0:
                        place = (place + 1) & mask
                table[place] = row
                rows[t, k] = row
