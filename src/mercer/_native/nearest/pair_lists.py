"""Lists of the rows near each query, from pairs in the order in which they were found."""

import cython


def place_pairs(
    pairs: cython.const[cython.Py_ssize_t][:, ::1],
    distances: cython.const[cython.double][::1],
    places: cython.Py_ssize_t[::1],
    indices: cython.Py_ssize_t[::1],
    out: cython.double[::1],
) -> cython.bint:
    """Write the row and the distance of each pair (query, row) to the list of its query; return whether rows rise.

    `places` (m,) holds where the list of each query begins, and afterwards where it ends. Pairs keep their order within
    a list; the answer tells whether all lists are in the order of their rows.
    """
    i: cython.Py_ssize_t
    query: cython.Py_ssize_t
    at: cython.Py_ssize_t
    rising: cython.bint = True
    with cython.nogil:
        for i in range(distances.shape[0]):
            query = pairs[i, 0]
            at = places[query]
            indices[at] = pairs[i, 1]
            out[at] = distances[i]
            places[query] = at + 1
        # A list that ends where the next begins: a fall between two lists is no fall within one.
        at = 0
        for query in range(places.shape[0]):
            for i in range(at + 1, places[query]):
                if indices[i] < indices[i - 1]:
                    rising = False
            at = places[query]
    return rising
