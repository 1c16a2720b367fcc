"""The work of the crossovers of nearest centres."""

from functools import partial

import numpy as np

from benchmarks.crossovers import at_sizes
from mercer.cluster import KMeans


@at_sizes(2**5, 2**6, 2**7, 2**8, 2**9, 2**10)
def bounded_values(values):
    """Move so many values of centres, four columns each, ten times among 20 000 rows in as many loose groups."""
    random = np.random.default_rng(0)
    groups = random.normal(scale=3.0, size=(values // 4, 4))
    X = groups[random.integers(0, len(groups), 20_000)] + random.normal(size=(20_000, 4))
    start = X[: values // 4]
    return partial(KMeans(values // 4, init=start, n_init=1, max_iter=10, tol=0.0, n_jobs=1).fit, X)


@at_sizes(2**6, 2**8, 2**9, 2**10, 2**11, 2**12, 2**14)
def product_values(values):
    """Find the nearest of as many centres as columns for 20 000 rows.

    The best size depends on the CPU level: 512 at v2, 8192 at v4. 1024 loses least over both.
    """
    side = int(values**0.5)
    X = np.random.default_rng(0).normal(size=(20_000, side))
    return partial(KMeans(side, init=X[:side], n_init=1, max_iter=1, n_jobs=1).fit(X).predict, X)
