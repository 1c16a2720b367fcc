"""Messages along the edges of a forest of sites with q states: exact sums, marginals, samples and best states.

Sites are listed with parents before children. The energy is E = -sum K_i [a_i = a_parent(i)] - sum g_i[a_i]. The table
of a site has five channels for each state: the log of the summed weights of its subtree, mean and variance of the
subtree's energy, and mean and variance of its magnetisation.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline

INFINITY = cython.declare(cython.double, float("inf"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _send(
    tables: cython.double[:, :, ::1],
    site: cython.Py_ssize_t,
    b: cython.Py_ssize_t,
    pull: cython.double,
    gain: cython.double,
    out: cython.double[::1],
) -> cython.void:
    """Write the five channels of the message of a site to its parent's state `b`."""
    q: cython.Py_ssize_t = tables.shape[1]
    share: cython.double
    energy: cython.double
    total: cython.double = 0.0
    most: cython.double = -INFINITY
    # Log-sum-exp over the states of the site: the largest term first.
    for a in range(q):
        log_weight = tables[site, a, 0] + (pull if a == b else 0.0)
        most = log_weight if log_weight > most else most
    for a in range(q):
        total += inline.exp(tables[site, a, 0] + (pull if a == b else 0.0) - most)
    out[0] = most + inline.log(total)
    for channel in range(1, 5):
        out[channel] = 0.0
    for a in range(q):
        share = inline.exp(tables[site, a, 0] + (pull if a == b else 0.0) - out[0])
        # Mean energy of the mixture; the bond to the parent adds -K where both agree.
        out[1] += share * (tables[site, a, 1] - (gain if a == b else 0.0))
        out[3] += share * tables[site, a, 3]
    # The variance of a mixture: the variances within plus the variance of the means.
    for a in range(q):
        share = inline.exp(tables[site, a, 0] + (pull if a == b else 0.0) - out[0])
        energy = tables[site, a, 1] - (gain if a == b else 0.0) - out[1]
        out[2] += share * (tables[site, a, 2] + energy * energy)
        out[4] += share * (tables[site, a, 4] + (tables[site, a, 3] - out[3]) * (tables[site, a, 3] - out[3]))


def collect_sums(
    order: cython.const[cython.longlong][::1],
    parent: cython.const[cython.longlong][::1],
    couplings: cython.const[cython.double][::1],
    beta: cython.double,
    tables: cython.double[:, :, ::1],
    messages: cython.double[:, ::1],
    scratch: cython.double[::1],
) -> float:
    """Send messages from the leaves to the roots; return the sum of what was taken off the log weights.

    The message to state 0 is taken off the messages to all states, so that the log weights of a site stay near 0 and
    keep their digits, however large the subtree is.

    Parameters
    ----------
    order, parent, couplings : (n,): sites with parents first; the parent of each site or -1; K to the parent
    tables : (n, q, 5), filled with the sites' own fields, updated
    messages : (n, q), written: the log message of each site to each state of its parent
    scratch : (5,)
    """
    total: cython.double = 0.0
    with cython.nogil:
        # Children before parents: the order is walked backwards.
        for t in range(order.shape[0] - 1, -1, -1):
            site = order[t]
            above = parent[site]
            if above < 0:
                continue
            for b in range(tables.shape[1]):
                # The first argument pulls the log weights (beta K), the second enters the energy (K).
                _send(tables, site, b, beta * couplings[site], couplings[site], scratch)
                messages[site, b] = scratch[0]
                tables[above, b, 0] += scratch[0] - messages[site, 0]
                for channel in range(1, 5):
                    # Means and variances of independent subtrees add up.
                    tables[above, b, channel] += scratch[channel]
            total += messages[site, 0]
    return total


def distribute_sums(
    order: cython.const[cython.longlong][::1],
    parent: cython.const[cython.longlong][::1],
    pulls: cython.const[cython.double][::1],
    weights: cython.const[cython.double][:, ::1],
    messages: cython.const[cython.double][:, ::1],
    marginals: cython.double[:, ::1],
    pairs: cython.double[:, :, ::1],
) -> None:
    """Compute marginals from the roots to the leaves, and the joint probabilities with the parents.

    Parameters
    ----------
    pulls : (n,): beta times the couplings to the parents
    weights, messages : (n, q), from :func:`collect_sums`
    marginals : (n, q), written
    pairs : (n, q, q), written: state of the parent, state of the site
    """
    q: cython.Py_ssize_t = weights.shape[1]
    with cython.nogil:
        for t in range(order.shape[0]):
            site = order[t]
            above = parent[site]
            # A root's marginal is its normalised weight; others are drawn from the parent's.
            if above < 0:
                total = inline.logsumexp(weights[site])
                for a in range(q):
                    marginals[site, a] = inline.exp(weights[site, a] - total)
                continue
            for a in range(q):
                marginals[site, a] = 0.0
            for b in range(q):
                for a in range(q):
                    # P(a | b) = exp(weight of the subtree with a, pulled by b, over the message to b).
                    pairs[site, b, a] = marginals[above, b] * inline.exp(
                        weights[site, a] + (pulls[site] if a == b else 0.0) - messages[site, b]
                    )
                    # Summing the joint over the parent's state gives the marginal.
                    marginals[site, a] += pairs[site, b, a]


def draw_forest(
    order: cython.const[cython.longlong][::1],
    parent: cython.const[cython.longlong][::1],
    pulls: cython.const[cython.double][::1],
    weights: cython.const[cython.double][:, ::1],
    chances: cython.const[cython.double][:, ::1],
    states: cython.short[:, ::1],
) -> None:
    """Draw independent states, each site given its parent; `chances` are uniform in [0, 1), one per drawn state."""
    q: cython.Py_ssize_t = weights.shape[1]
    site: cython.Py_ssize_t
    most: cython.double
    total: cython.double
    level: cython.double
    log_weight: cython.double
    with cython.nogil:
        for row in range(states.shape[0]):
            for t in range(order.shape[0]):
                site = order[t]
                b = states[row, parent[site]] if parent[site] >= 0 else -1
                # The largest log weight is taken off, so that the exponentials cannot overflow.
                most = -INFINITY
                for a in range(q):
                    log_weight = weights[site, a] + (pulls[site] if a == b else 0.0)
                    most = log_weight if log_weight > most else most
                total = 0.0
                for a in range(q):
                    total += inline.exp(weights[site, a] + (pulls[site] if a == b else 0.0) - most)
                # Inverse of the cumulative weights: the first state at which their sum exceeds the level.
                level = chances[row, site] * total
                total = 0.0
                # The last state takes what rounding leaves over.
                states[row, site] = cython.cast(cython.short, q - 1)
                for a in range(q - 1):
                    total += inline.exp(weights[site, a] + (pulls[site] if a == b else 0.0) - most)
                    if level < total:
                        states[row, site] = cython.cast(cython.short, a)
                        break


def collect_best(
    order: cython.const[cython.longlong][::1],
    parent: cython.const[cython.longlong][::1],
    couplings: cython.const[cython.double][::1],
    gains: cython.double[:, ::1],
    choices: cython.short[:, ::1],
    states: cython.short[::1],
) -> float:
    """Find a state of least energy; return its -E.

    Parameters
    ----------
    gains : (n, q), filled with the fields g, updated
    choices : (n, q), written: the best state of a site for each state of its parent
    states : (n,), written
    """
    q: cython.Py_ssize_t = gains.shape[1]
    total: cython.double = 0.0
    with cython.nogil:
        for t in range(order.shape[0] - 1, -1, -1):
            site = order[t]
            for b in range(q):
                best = 0
                most = -INFINITY
                for a in range(q):
                    # Max-sum: the message of a site is its best -E for each state of the parent.
                    gain = gains[site, a] + (couplings[site] if a == b and parent[site] >= 0 else 0.0)
                    if gain > most:
                        best = a
                        most = gain
                choices[site, b] = cython.cast(cython.short, best)
                if parent[site] >= 0:
                    gains[parent[site], b] += most
                # A root has no parent state: its choice is the same for every b, so b = 0 stands for all.
                elif b == 0:
                    total += most
        # Back from the roots: each site looks up its best state given the parent's.
        for t in range(order.shape[0]):
            site = order[t]
            states[site] = choices[site, states[parent[site]] if parent[site] >= 0 else 0]
    return total
