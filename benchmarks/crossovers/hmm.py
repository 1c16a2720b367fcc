"""The work of the crossovers of chains."""

from functools import partial

import numpy as np

from benchmarks.crossovers import at_sizes
from mercer.hmm import GaussianHMM


def _draw(n_rows, n_columns):
    return np.random.default_rng(0).normal(size=(n_rows, n_columns))


@at_sizes(3, 6, 9, 13, 18, 26, 40)
def state_products(columns):
    """Take three steps of expectation maximisation with full covariances over 2 000 steps."""
    model = GaussianHMM(4, covariance_type="full", n_iter=3, tol=0.0, random_state=0)
    return partial(model.fit, _draw(2000, columns))
