"""The work of the crossovers of mixtures."""

from functools import partial

import numpy as np

from benchmarks.crossovers import at_sizes
from mercer.mixture import GaussianMixture


def _draw(n_rows, n_columns):
    return np.random.default_rng(0).normal(size=(n_rows, n_columns))


@at_sizes(300, 1200, 2500, 4097, 8000, 16000)
def component_products(features):
    """Take three steps of expectation maximisation with full covariances over 2 000 rows."""
    # A row of d columns has their products of two as features, about d * d / 2.
    model = GaussianMixture(4, max_iter=3, tol=0.0, init_params="random", random_state=0)
    return partial(model.fit, _draw(2000, int((2 * features) ** 0.5)))
