"""The work of the crossovers of embeddings."""

from functools import partial

import numpy as np
from scipy.sparse.csgraph import laplacian

from benchmarks.crossovers import at_sizes
from mercer.manifold._embedding import largest_eigenvectors, smallest_eigenvectors
from mercer.neighbors import kneighbors_graph


def _draw(n_rows, n_columns):
    return np.random.default_rng(0).normal(size=(n_rows, n_columns))


@at_sizes(100, 200, 301, 450, 700, 1000)
def sparse_factors(rows):
    """Find the three smallest eigenvalues of the Laplacian of a graph of ten neighbours."""
    graph = kneighbors_graph(_draw(rows, 3), 10)
    return partial(smallest_eigenvectors, laplacian(0.5 * (graph + graph.T)).tocsr(), 3, shift=-1e-5)


@at_sizes(50, 100, 151, 250, 400, 800)
def products(rows):
    """Find the two largest eigenvalues of a matrix of inner products."""
    X = _draw(rows, 20)
    return partial(largest_eigenvectors, X @ X.T, 2)
