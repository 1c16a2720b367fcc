"""The work of the crossovers of sources."""

from functools import partial

import numpy as np
import scipy.sparse

from benchmarks.crossovers import at_sizes
from mercer._source.block import SparseBlock


@at_sizes(1, 2, 3, 4, 6, 8, 16)
def compiled_columns(columns):
    """Multiply 20 000 sparse rows of some ten entries with a matrix of so many columns."""
    rng = np.random.default_rng(0)
    rows = scipy.sparse.random(20_000, 500, density=0.02, format="csr", rng=rng)
    return partial(SparseBlock(rows, 0).matmul, rng.normal(size=(500, columns)))
