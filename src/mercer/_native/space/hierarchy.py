"""From edges to the minimum spanning tree, from it to the tree of merges, and to the condensed tree of clusters."""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY
    from cython.cimports.mercer._native.space import joined_sets
else:
    from math import inf as INFINITY  # noqa: N812

    from mercer._native.space import joined_sets


def span_edges(
    ends: cython.const[cython.int][:, ::1],
    start: cython.Py_ssize_t,
    parents: cython.int[::1],
    kept: cython.Py_ssize_t[::1],
) -> cython.Py_ssize_t:
    """Write the indices of edges that join two trees, in their order (Kruskal); return their number.

    Parameters
    ----------
    ends : (m, 2), edges from the shortest to the longest
    start : the index of the first of them among all edges
    parents : (n,), of the trees so far; before the first call each node is its own
    kept : written; it ends when this is full
    """
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for edge in range(ends.shape[0]):
            if count == kept.shape[0]:
                break
            a: cython.int = joined_sets.root_of(parents, ends[edge, 0])
            b: cython.int = joined_sets.root_of(parents, ends[edge, 1])
            if a != b:
                parents[a] = b
                kept[count] = start + edge
                count += 1
    return count


def merge_edges(
    edges: cython.const[cython.int][:, ::1], parent: cython.int[::1], merges: cython.int[:, ::1], sizes: cython.int[::1]
):
    """Merge the two clusters that each edge connects, in the order of `edges` (Kruskal).

    Parameters
    ----------
    edges : (n - 1, 2)
    parent : (2 n - 1,) scratch
    merges : (n - 1, 2), written: the two nodes that merge i joins into node n + i
    sizes : (2 n - 1,), written: the rows of each node
    """
    n: cython.Py_ssize_t = edges.shape[0] + 1
    with cython.nogil:
        for i in range(parent.shape[0]):
            parent[i] = cython.cast(cython.int, i)
            sizes[i] = 1
        for i in range(edges.shape[0]):
            node = cython.cast(cython.int, n + i)
            # Roots by path compression; node n + i is the cluster that merge i makes.
            left = joined_sets.root_of(parent, edges[i, 0])
            right = joined_sets.root_of(parent, edges[i, 1])
            merges[i, 0] = left
            merges[i, 1] = right
            sizes[node] = sizes[left] + sizes[right]
            parent[left] = node
            parent[right] = node


def condense(
    merges: cython.const[cython.int][:, ::1],
    heights: cython.const[cython.double][::1],
    sizes: cython.const[cython.int][::1],
    least: cython.Py_ssize_t,
    queue: cython.int[::1],
    belongs: cython.int[::1],
    fallen: cython.double[::1],
    parents: cython.int[::1],
    births: cython.double[::1],
    counts: cython.int[::1],
) -> cython.Py_ssize_t:
    """Condense a tree of merges: a split into two parts of at least `least` rows makes two clusters, others lose rows.

    Parameters
    ----------
    merges, heights, sizes : (n - 1, 2), (n - 1,), (2 n - 1,): the tree of merges
    queue : (2 n - 1,) scratch
    belongs, fallen : (2 n - 1,), written: the last cluster of each node, and the level (one over the height) at which
        it left that cluster; only the entries of rows, the first n, are of use
    parents, births, counts : written for each cluster: its parent, the level of its birth, its number of rows

    Returns
    -------
    The number of clusters; 0 is the root, and the others are numbered breadth first from the top.
    """
    n: cython.Py_ssize_t = heights.shape[0] + 1
    head: cython.Py_ssize_t = 0
    tail: cython.Py_ssize_t = 1
    clusters: cython.Py_ssize_t = 1
    node: cython.Py_ssize_t
    splits: cython.bint
    with cython.nogil:
        queue[0] = cython.cast(cython.int, 2 * n - 2)
        belongs[2 * n - 2] = 0
        # Negative while a node is still in its cluster.
        fallen[2 * n - 2] = -1.0
        parents[0] = -1
        births[0] = 0.0
        counts[0] = cython.cast(cython.int, n)
        while head < tail:
            node = queue[head]
            head += 1
            # A single row has no children.
            if node < n:
                continue
            node -= n
            # Level lambda = 1 / distance; equal rows merge at distance zero.
            level = 1.0 / heights[node] if heights[node] > 0.0 else INFINITY
            splits = sizes[merges[node, 0]] >= least and sizes[merges[node, 1]] >= least
            for side in range(2):
                child = merges[node, side]
                queue[tail] = cython.cast(cython.int, child)
                tail += 1
                belongs[child] = belongs[node + n]
                fallen[child] = fallen[node + n]
                # Below a part that has left its cluster nothing can become a cluster again.
                if fallen[child] >= 0.0:
                    continue
                if splits:
                    parents[clusters] = belongs[node + n]
                    births[clusters] = level
                    counts[clusters] = sizes[child]
                    belongs[child] = cython.cast(cython.int, clusters)
                    clusters += 1
                # The small part leaves the cluster as noise at this level; the large one stays the same cluster.
                elif sizes[child] < least:
                    fallen[child] = level
    return clusters
