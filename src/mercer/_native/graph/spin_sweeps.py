"""Sweeps over the sites of a graph that change one site at a time, by heat bath or by Metropolis' rule.

Sites have q states; the energy is E = -sum K_ij [a_i = a_j] - sum g_i[a_i]. Neighbours lie in the form of a sparse
matrix: those of site i at `starts[i]` to `starts[i + 1]`. The caller draws all random numbers, one for each visit.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.graph import draws
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.graph import draws
    from mercer._native.shared import inline


def sweep_heat_bath(
    states: cython.short[::1],
    order: cython.const[cython.longlong][::1],
    starts: cython.const[cython.longlong][::1],
    neighbours: cython.const[cython.longlong][::1],
    pulls: cython.const[cython.double][::1],
    fields: cython.const[cython.double][:, ::1],
    chances: cython.const[cython.double][:, ::1],
    scratch: cython.double[::1],
) -> None:
    """Draw each site in turn from its distribution given its neighbours, sweep after sweep.

    Parameters
    ----------
    states : (n,), changed
    order : (n,): the sites as they are visited
    starts, neighbours, pulls : (n + 1,), (2 m,), (2 m,): neighbours, and beta times the couplings
    fields : (n, q): beta times g
    chances : (sweeps, n): uniform in [0, 1)
    scratch : (q,)
    """
    sweep: cython.Py_ssize_t
    t: cython.Py_ssize_t
    k: cython.Py_ssize_t
    site: cython.Py_ssize_t
    q: cython.Py_ssize_t = fields.shape[1]
    logit: cython.double
    with cython.nogil:
        for sweep in range(chances.shape[0]):
            for t in range(order.shape[0]):
                site = order[t]
                if q == 2:
                    # Two states: one logit in place of a table of weights.
                    logit = fields[site, 1] - fields[site, 0]
                    for k in range(starts[site], starts[site + 1]):
                        # log P(1) / P(0): each neighbour adds beta K to the state that it has.
                        logit += pulls[k] if states[neighbours[k]] == 1 else -pulls[k]
                    states[site] = 1 if chances[sweep, t] < inline.expit(logit) else 0
                    continue
                for a in range(q):
                    scratch[a] = fields[site, a]
                for k in range(starts[site], starts[site + 1]):
                    # The log weight of state a is beta (g_a + sum of K over neighbours in state a).
                    scratch[states[neighbours[k]]] += pulls[k]
                states[site] = cython.cast(cython.short, draws.draw_state(scratch, q, chances[sweep, t]))


def sweep_metropolis(
    states: cython.short[::1],
    visits: cython.const[cython.longlong][:, ::1],
    starts: cython.const[cython.longlong][::1],
    neighbours: cython.const[cython.longlong][::1],
    pulls: cython.const[cython.double][::1],
    fields: cython.const[cython.double][:, ::1],
    chances: cython.const[cython.double][:, ::1],
    offers: cython.const[cython.short][:, ::1],
) -> int:
    """Offer sites another state, taken with probability min(1, exp(-beta dE)); return how many moved.

    Parameters
    ----------
    visits : (sweeps, n): the sites
    offers : (sweeps, n): what is added to the state, 1 to q - 1, modulo q
    """
    sweep: cython.Py_ssize_t
    t: cython.Py_ssize_t
    k: cython.Py_ssize_t
    site: cython.Py_ssize_t
    q: cython.Py_ssize_t = fields.shape[1]
    old: cython.Py_ssize_t
    new: cython.Py_ssize_t
    moved: cython.Py_ssize_t = 0
    gain: cython.double
    with cython.nogil:
        for sweep in range(chances.shape[0]):
            for t in range(visits.shape[1]):
                site = visits[sweep, t]
                old = states[site]
                new = (old + offers[sweep, t]) % q
                # beta times the fall of the energy.
                gain = fields[site, new] - fields[site, old]
                for k in range(starts[site], starts[site + 1]):
                    if states[neighbours[k]] == new:
                        gain += pulls[k]
                    elif states[neighbours[k]] == old:
                        gain -= pulls[k]
                if gain >= 0.0 or chances[sweep, t] < inline.exp(gain):
                    states[site] = cython.cast(cython.short, new)
                    moved += 1
    return moved
