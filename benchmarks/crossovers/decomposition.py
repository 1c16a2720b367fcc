"""The work of the crossovers of decompositions."""

from functools import partial

import numpy as np

from benchmarks.crossovers import at_sizes
from mercer.decomposition import PCA
from mercer.decomposition._iterative import _factorise


def _draw(n_rows, n_columns):
    return np.random.default_rng(0).normal(size=(n_rows, n_columns))


@at_sizes(8, 16, 24, 33, 48, 64, 128)
def chosen_driver(columns):
    """Find the principal axes of 500 rows from their covariance."""
    return partial(PCA(2, svd_solver="covariance_eigh").fit, _draw(500, columns))


@at_sizes(16, 24, 33, 48, 64, 128)
def narrow_subspace(columns):
    """Find four principal axes of 500 rows by random vectors."""
    return partial(PCA(4, svd_solver="randomized", random_state=0).fit, _draw(500, columns))


@at_sizes(2**11, 2**13, 2**14, 2**15, 2**16, 2**18)
def cholesky_basis(numbers):
    """Make 32 columns orthonormal."""
    return partial(_factorise, _draw(numbers // 32, 32))
