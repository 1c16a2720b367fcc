"""The work of the crossovers of neighbours."""

from functools import partial

import numpy as np

from benchmarks.crossovers import at_sizes
from mercer.neighbors import NearestCentroid


@at_sizes(2**6, 2**8, 2**10, 2**11, 2**12, 2**13, 2**14, 2**16)
def centre_products(values):
    """Predict the nearest of as many classes as columns, for 1 000 rows."""
    side = int(values**0.5)
    random = np.random.default_rng(0)
    X = random.normal(size=(max(1000, 2 * side), side))
    model = NearestCentroid().fit(X, np.arange(len(X)) % side)
    return partial(model.predict, X[:1000])
