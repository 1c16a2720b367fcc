"""Moves of whole clusters of sites: all clusters at once (Swendsen and Wang), or one grown from a seed (Wolff).

A bond whose two sites agree with the sign of its coupling is closed with probability 1 - exp(-beta |K|); sites that
closed bonds join turn together, a -> (a + turn) mod q. Sites of a cluster all have one state where K > 0; where q = 2,
bonds of K < 0 join opposite states, and a common turn keeps them opposite. The caller draws all random numbers.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.graph import draws
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.graph import draws
    from mercer._native.shared import inline


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_root(roots: cython.longlong[::1], site: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the representative of a site's cluster, and halve the path to it."""
    while roots[site] != site:
        roots[site] = roots[roots[site]]
        site = roots[site]
    return site


def turn_clusters(
    states: cython.short[::1],
    edges: cython.const[cython.longlong][:, ::1],
    closing: cython.const[cython.double][::1],
    fields: cython.const[cython.double][:, ::1],
    bond_chances: cython.const[cython.double][::1],
    site_chances: cython.const[cython.double][::1],
    roots: cython.longlong[::1],
    sums: cython.double[:, ::1],
) -> int:
    """Make one move of Swendsen and Wang; return the number of clusters.

    Parameters
    ----------
    states : (n,), changed
    edges : (m, 2)
    closing : (m,): 1 - exp(-beta |K|), negative where K < 0
    fields : (n, q): beta times g
    bond_chances, site_chances : (m,), (n,): uniform in [0, 1); a cluster uses the number of its root
    roots, sums : (n,), (n, q): scratch
    """
    n_clusters: cython.Py_ssize_t = 0
    q: cython.Py_ssize_t = fields.shape[1]
    agree: cython.bint
    with cython.nogil:
        for i in range(states.shape[0]):
            roots[i] = i
            for a in range(q):
                sums[i, a] = 0.0
        for i in range(edges.shape[0]):
            agree = states[edges[i, 0]] == states[edges[i, 1]]
            # `closing` has the sign of K, so one comparison tells for either sign whether this bond can close.
            if (agree and bond_chances[i] < closing[i]) or (not agree and bond_chances[i] < -closing[i]):
                first = _find_root(roots, edges[i, 0])
                second = _find_root(roots, edges[i, 1])
                # The smaller number becomes the root: the clusters do not depend on the order of unions.
                if first < second:
                    roots[second] = first
                else:
                    roots[first] = second
        for i in range(states.shape[0]):
            first = _find_root(roots, i)
            n_clusters += 1 if first == i else 0
            # What a turn by a would give the cluster: the fields of its sites at their turned states.
            for a in range(q):
                sums[first, a] += fields[i, (states[i] + a) % q]
        for i in range(states.shape[0]):
            if roots[i] == i:
                # The root's row of sums is no longer needed: its first entry becomes the turn.
                # The turns are drawn with probabilities proportional to exp(sum of fields).
                sums[i, 0] = draws.draw_state(sums[i], q, site_chances[i])
        for i in range(states.shape[0]):
            first = _find_root(roots, i)
            states[i] = cython.cast(cython.short, (states[i] + cython.cast(cython.Py_ssize_t, sums[first, 0])) % q)
    return n_clusters


def grow_clusters(
    states: cython.short[::1],
    starts: cython.const[cython.longlong][::1],
    neighbours: cython.const[cython.longlong][::1],
    closing: cython.const[cython.double][::1],
    fields: cython.const[cython.double][:, ::1],
    pool: cython.const[cython.double][::1],
    stack: cython.longlong[::1],
    inside: cython.longlong[::1],
    counts: cython.longlong[::1],
) -> None:
    """Make moves of Wolff until `counts[0]` clusters are done or the pool of random numbers might not last.

    Parameters
    ----------
    states : (n,), changed
    starts, neighbours, closing : (n + 1,), (2 m,), (2 m,)
    fields : (n, q): beta times g; a turn is accepted with min(1, exp(gain of the fields))
    pool : uniform in [0, 1); a cluster takes at most 3 + 2 m of them
    stack : (n,): scratch
    inside : (n,): below the number of any cluster to come; which cluster last took a site
    counts : (4,): clusters still to do, random numbers used, sites turned, clusters ever done; updated
    """
    k: cython.Py_ssize_t
    site: cython.Py_ssize_t
    other: cython.Py_ssize_t
    q: cython.Py_ssize_t = fields.shape[1]
    used: cython.Py_ssize_t = 0
    gain: cython.double
    agree: cython.bint
    with cython.nogil:
        # At most one number for each end of a bond, two for seed and turn, one for acceptance: the pool must hold them.
        while counts[0] > 0 and used + 3 + neighbours.shape[0] <= pool.shape[0]:
            counts[0] -= 1
            counts[3] += 1
            site = cython.cast(cython.Py_ssize_t, pool[used] * states.shape[0])
            # A turn of 1 to q - 1, so that the cluster always changes.
            turn = 1 + cython.cast(cython.Py_ssize_t, pool[used + 1] * (q - 1))
            used += 2
            stack[0] = site
            inside[site] = counts[3]
            size = 1
            done = 0
            gain = 0.0
            # The list of the cluster's sites is also the queue of sites whose bonds are still to be tried.
            while done < size:
                site = stack[done]
                done += 1
                gain += fields[site, (states[site] + turn) % q] - fields[site, states[site]]
                for k in range(starts[site], starts[site + 1]):
                    other = neighbours[k]
                    if inside[other] == counts[3]:
                        continue
                    agree = states[other] == states[site]
                    if (agree and pool[used] < closing[k]) or (not agree and pool[used] < -closing[k]):
                        inside[other] = counts[3]
                        stack[size] = other
                        size += 1
                    used += 1
            # Bonds already account for the couplings; the fields enter by Metropolis' rule.
            if gain >= 0.0 or pool[used] < inline.exp(gain):
                counts[2] += size
                for t in range(size):
                    states[stack[t]] = cython.cast(cython.short, (states[stack[t]] + turn) % q)
            used += 1
    counts[1] = used
