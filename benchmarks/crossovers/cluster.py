"""The work of the crossovers of clustering."""

from functools import partial

import numpy as np

from benchmarks.crossovers import at_sizes
from mercer.cluster._hierarchy.linkage import measure_wide


@at_sizes(2**14, 2**16, 2**18, 2**20, 2**22)
def product_values(values):
    """Measure the distances between 32 rows of so many values, 32 for each."""
    X = np.random.default_rng(0).normal(size=(32, values // 1024))
    return partial(measure_wide, "rows", X, 1)
