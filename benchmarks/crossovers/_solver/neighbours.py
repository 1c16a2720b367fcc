"""The work of the crossovers of neighbours in memory."""

from functools import partial

import numpy as np

from benchmarks.crossovers import at_sizes
from mercer._solver.neighbours.search import RowSearch


@at_sizes(2**18, 2**20, 2**22, 2**23, 2**24, 2**26)
def byte_pairs(pairs):
    """Find the five nearest of 4 096 rows of 60 columns for as many queries as make so many pairs."""
    random = np.random.default_rng(0)
    search = RowSearch(random.normal(size=(4096, 60)).astype(np.float32), method="brute", threads=1)
    return partial(search.nearest, random.normal(size=(pairs // 4096, 60)).astype(np.float32), 5)
