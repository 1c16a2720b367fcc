"""Simulated annealing of a pairwise clustering: one object after another may change to a random other cluster."""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.shared import inline
else:
    from mercer._native.shared import inline


def offer_clusters(
    distances: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    objects: cython.const[cython.longlong][::1],
    offers: cython.const[cython.longlong][::1],
    chances: cython.const[cython.double][::1],
    beta: cython.double,
    labels: cython.longlong[::1],
    sums: cython.double[:, ::1],
    sizes: cython.double[::1],
    within: cython.double[::1],
) -> int:
    """Offer each object a cluster, accepted with probability 1 / (1 + exp(beta dE)); return how many moved.

    E = (1 / M) sum_q within_q / sizes_q. A move of an object of weight w costs O(M) to judge and O(n) to make.

    Parameters
    ----------
    distances : (n, n), symmetric with a zero diagonal
    weight : (n,)
    objects, offers, chances : (m,): the objects, the clusters offered, and uniform random values in [0, 1)
    labels : (n,), changed
    sums : (M, n): the weighted sum of distances from each object to each cluster, updated
    sizes, within : (M,): the weight of each cluster, and its weighted double sum of distances, updated
    """
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    moved: cython.Py_ssize_t = 0
    w: cython.double
    left: cython.double
    within_p: cython.double
    within_q: cython.double
    change: cython.double
    with cython.nogil:
        for t in range(objects.shape[0]):
            i = objects[t]
            p = labels[i]
            q = offers[t]
            w = weight[i]
            if p == q or w <= 0.0:
                continue
            # An object is in `within` twice, as first and as second of a pair.
            left = sizes[p] - w
            within_p = within[p] - 2.0 * w * sums[p, i]
            within_q = within[q] + 2.0 * w * sums[q, i]
            # A cluster that lost its only object keeps nothing but rounding errors, below 1e-12 of its size.
            if left <= 1e-12 * sizes[p]:
                left = 0.0
                within_p = 0.0
            # The change of sum_q within_q / sizes_q: new terms of both clusters less the old ones.
            change = within_q / (sizes[q] + w)
            if left > 0.0:
                change += within_p / left
            change -= within[p] / sizes[p]
            if sizes[q] > 0.0:
                change -= within[q] / sizes[q]
            # Heat bath: 1 / (1 + exp(beta dE)), with E divided by the number of clusters.
            if chances[t] < inline.expit(-beta * change / sizes.shape[0]):
                labels[i] = q
                sizes[p] = left
                sizes[q] += w
                within[p] = within_p
                within[q] = within_q
                moved += 1
                # The sums of distances to both clusters change for all objects.
                for j in range(distances.shape[0]):
                    sums[p, j] -= w * distances[i, j]
                    sums[q, j] += w * distances[i, j]
    return moved
