"""The work of the crossovers of what estimators share."""

from functools import partial

import numpy as np

from benchmarks.crossovers import at_sizes
from mercer._base.joint_scores import choose_classes


@at_sizes(2, 3, 4, 6, 8, 12, 16, 32)
def numpy_classes(classes):
    """Find the largest of so many scores in each of 2 000 rows."""
    return partial(choose_classes, np.random.default_rng(0).normal(size=(2000, classes)))
