"""The work of the crossovers of growing trees."""

from functools import partial

import numpy as np

from benchmarks.crossovers import at_sizes
from mercer._solver.tree.columns import encode_columns


@at_sizes(2**10, 2**12, 2**14, 2**15, 2**16, 2**17, 2**18)
def separate_columns(values):
    """Rank 16 columns of as many normal values, in one call of NumPy each or column by column."""
    X = np.random.default_rng(0).normal(size=(values // 16, 16))
    return partial(encode_columns, X, 1, "benchmark")
