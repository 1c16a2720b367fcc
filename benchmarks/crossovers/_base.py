"""The work of the crossovers of what estimators share."""

from functools import partial

import numpy as np

from benchmarks.crossovers import at_sizes
from mercer._base.joint_scores import choose_classes
from mercer.discriminant_analysis import QuadraticDiscriminantAnalysis
from mercer.neighbors import KNeighborsClassifier


@at_sizes(2, 3, 4, 6, 8, 12, 16, 32)
def numpy_classes(classes):
    """Find the largest of so many scores in each of 2 000 rows."""
    return partial(choose_classes, np.random.default_rng(0).normal(size=(2000, classes)))


@at_sizes(2**8, 2**10, 2**12, 2**14, 2**16, 2**18)
def split_scores(values):
    """Predict rows of eight columns in one of four classes with a covariance each."""
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 8))
    model = QuadraticDiscriminantAnalysis().fit(X, np.arange(400) % 4)
    return partial(model.predict, random.normal(size=(values // 32, 8)))


@at_sizes(1, 2, 4, 8, 16, 32, 64)
def threaded_queries(queries):
    """Predict the class of so many rows by their neighbours among 2 000 rows."""
    random = np.random.default_rng(0)
    model = KNeighborsClassifier().fit(random.normal(size=(2000, 4)), np.arange(2000) % 3)
    return partial(model.predict, random.normal(size=(queries, 4)))
