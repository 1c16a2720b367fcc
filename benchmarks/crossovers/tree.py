"""The work of the crossovers of decision trees."""

import numpy as np

from benchmarks.crossovers import at_sizes
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor


@at_sizes(2**11, 2**13, 2**14, 2**15, 2**16, 2**17, 2**18)
def large_table(values):
    """Fit a classification tree and a regression tree to a table of 16 columns."""
    random = np.random.default_rng(0)
    X = random.normal(size=(values // 16, 16))
    y = X[:, 0] + 0.5 * random.normal(size=len(X))
    classifier, regressor = DecisionTreeClassifier(n_jobs=1), DecisionTreeRegressor(n_jobs=1)

    def work():
        classifier.fit(X, y > 0)
        regressor.fit(X, y)

    return work
