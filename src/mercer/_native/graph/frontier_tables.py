"""Tables over the states of a frontier of sites: add a site, sum one out, and find the best state of one.

A model of q states per site has the energy E = -sum K_ij [a_i = a_j] - sum g_i[a_i]. Sites are added one after another
and summed out as soon as all their neighbours are there: the transfer matrix method, for any graph. The entry of a
table is numbered by the states of the frontier as digits of base q; the newest site is the last digit.

Channel 0 of a table is the log of the summed weights exp(-beta E). The other four, where present, are the mean and the
variance of the energy, and the mean and the variance of the magnetisation, given the states of the frontier.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

INFINITY = cython.declare(cython.double, float("inf"))


def add_site(
    tables: cython.const[cython.double][:, ::1],
    strides: cython.const[cython.longlong][::1],
    couplings: cython.const[cython.double][::1],
    field: cython.const[cython.double][::1],
    values: cython.const[cython.double][::1],
    beta: cython.double,
    out: cython.double[:, ::1],
) -> None:
    """Add a site of q states, coupled to the sites of the frontier whose digits have `strides`.

    Parameters
    ----------
    tables : (channels, size): 1 or 5 channels
    strides, couplings : (k,): the neighbours in the frontier
    field, values : (q,): g of the new site, and the magnetisation of each state
    out : (channels, size * q)
    """
    q: cython.Py_ssize_t = field.shape[0]
    whole: cython.bint = tables.shape[0] > 1
    with cython.nogil:
        for x in range(tables.shape[1]):
            for a in range(q):
                gain = field[a]
                for k in range(strides.shape[0]):
                    # The state of a neighbour is the digit with its stride in the number x, in base q.
                    digit = (x // strides[k]) % q
                    gain += couplings[k] if digit == a else 0.0
                place = x * q + a
                # The Boltzmann factor exp(-beta E) grows by exp(beta gain); channels 1 and 3 are mean energy and
                # magnetisation.
                out[0, place] = tables[0, x] + beta * gain
                if whole:
                    out[1, place] = tables[1, x] - gain
                    # A constant shift leaves the variances, channels 2 and 4, as they are.
                    out[2, place] = tables[2, x]
                    out[3, place] = tables[3, x] + values[a]
                    out[4, place] = tables[4, x]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mix_moments(
    tables: cython.const[cython.double][:, ::1],
    first: cython.Py_ssize_t,
    stride: cython.Py_ssize_t,
    q: cython.Py_ssize_t,
    total: cython.double,
    out: cython.double[:, ::1],
    place: cython.Py_ssize_t,
) -> cython.void:
    """Write mean and variance of a mixture: the variances within plus the variance of the means."""
    share: cython.double
    mean: cython.double
    spread: cython.double
    for channel in range(1, 5, 2):
        mean = 0.0
        for a in range(q):
            at = first + a * stride
            # The weight of a state within the mixture, exp(log weight - log of their sum).
            mean += inline.exp(tables[0, at] - total) * tables[channel, at]
        spread = 0.0
        for a in range(q):
            at = first + a * stride
            share = inline.exp(tables[0, at] - total)
            # Means are subtracted before they are squared: energies of a million sites lose no digits.
            spread += share * (tables[channel + 1, at] + (tables[channel, at] - mean) * (tables[channel, at] - mean))
        out[channel, place] = mean
        out[channel + 1, place] = spread


def sum_site(
    tables: cython.const[cython.double][:, ::1],
    stride: cython.Py_ssize_t,
    q: cython.Py_ssize_t,
    out: cython.double[:, ::1],
) -> None:
    """Sum the site whose digit has `stride` out of a table; `out` has 1 / q of its size."""
    most: cython.double
    total: cython.double
    with cython.nogil:
        for high in range(tables.shape[1] // (stride * q)):
            for low in range(stride):
                # Entries that differ only in the digit of this site lie `stride` apart, in groups of q * stride.
                first = high * q * stride + low
                place = high * stride + low
                # Log-sum-exp with the largest term taken off.
                most = tables[0, first]
                for a in range(1, q):
                    most = tables[0, first + a * stride] if tables[0, first + a * stride] > most else most
                if most == -INFINITY:
                    # No state is possible here: evidence excludes all of them.
                    out[0, place] = most
                    continue
                total = 0.0
                for a in range(q):
                    total += inline.exp(tables[0, first + a * stride] - most)
                out[0, place] = most + inline.log(total)
                if tables.shape[0] > 1:
                    _mix_moments(tables, first, stride, q, out[0, place], out, place)


def choose_states(
    table: cython.const[cython.double][::1],
    stride: cython.Py_ssize_t,
    q: cython.Py_ssize_t,
    out: cython.double[::1],
    choices: cython.short[::1],
) -> None:
    """Replace a sum over the site at `stride` by its largest term, and note which state gave it."""
    with cython.nogil:
        for high in range(table.shape[0] // (stride * q)):
            for low in range(stride):
                first = high * q * stride + low
                best = 0
                # Ties go to the lowest state.
                for a in range(1, q):
                    if table[first + a * stride] > table[first + best * stride]:
                        best = a
                out[high * stride + low] = table[first + best * stride]
                choices[high * stride + low] = cython.cast(cython.short, best)


def sum_pairs(
    posterior: cython.const[cython.double][::1],
    strides: cython.const[cython.longlong][::1],
    q: cython.Py_ssize_t,
    out: cython.double[:, :, ::1],
) -> None:
    """Add up the probabilities of the pairs (state of a neighbour, state of the newest site), per neighbour."""
    with cython.nogil:
        for x in range(posterior.shape[0] // q):
            for k in range(strides.shape[0]):
                digit = (x // strides[k]) % q
                for a in range(q):
                    out[k, digit, a] += posterior[x * q + a]
