"""Some of the distances between objects, drawn at random."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_array, csr_array

from mercer._types import Array


def draw_distances(
    measure: Callable[[slice], Array], n: int, share: float, generator: np.random.Generator, n_rows: int
) -> tuple[csr_array, csr_array]:
    """Draw pairs of objects and return their distances, symmetric and sparse, and a matrix of ones where they are.

    Parameters
    ----------
    measure : callable
        From a slice of objects to their distances to all objects, (m, n); NaN where a distance is missing.
    n : int
        Objects.
    share : float in (0, 1]
        The probability of a pair; each object is a pair with itself with the same probability, so that means over the
        drawn distances estimate those over all.
    generator : Generator
    n_rows : int
        Objects measured at a time, which bounds temporary arrays.
    """
    # A ring through all objects in random order is always kept: every object has two distances at least.
    ring = generator.permutation(n)
    after = np.empty(n, dtype=np.intp)
    after[ring] = np.roll(ring, -1)
    firsts, seconds, values = [], [], []
    for start in range(0, n, n_rows):
        part = slice(start, min(start + n_rows, n))
        chosen = generator.random((part.stop - start, n)) < share
        # Each pair is decided once, in the row of the smaller index.
        chosen &= np.arange(n)[None, :] >= np.arange(start, part.stop)[:, None]
        for here, there in ((np.arange(start, part.stop), after[part]), (after[part], np.arange(start, part.stop))):
            inside = (here >= start) & (here < part.stop) & (there >= here)
            chosen[here[inside] - start, there[inside]] = True
        distances = measure(part)
        chosen &= ~np.isnan(distances)
        rows, columns = np.nonzero(chosen)
        firsts.append(rows + start)
        seconds.append(columns)
        values.append(distances[rows, columns])
    first, second, value = (np.concatenate(parts) for parts in (firsts, seconds, values))
    # The pairs are those of the upper triangle; their mirror images complete the matrix.
    off = first != second
    first, second, value = (
        np.concatenate([first, second[off]]),
        np.concatenate([second, first[off]]),
        np.concatenate([value, value[off]]),
    )
    present = coo_array((np.ones(len(value)), (first, second)), shape=(n, n)).tocsr()
    return coo_array((value, (first, second)), shape=(n, n)).tocsr(), present
