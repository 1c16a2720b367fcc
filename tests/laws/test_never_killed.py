"""Promise 6, never "Killed": a fit takes little more than its input, and says so when it would need more."""

import tracemalloc
import warnings

import numpy as np
import pytest

from tests.laws.subjects import subjects

SUBJECTS = subjects()
# These hold 4 to 7 MB of blocks and tables however many rows there are: twice the rows tell that from a copy of them.
MANY_ROWS = (
    *("CategoricalNB", "GaussianConditionalRegressor", "Hopfield", "LogisticRegressionCV", "NMF", "NearestCentroid"),
    *("PolynomialBasis", "QuantileRegressor", "QuantileTransformer", "VotingClassifier"),
)


def choose_rows(subject):
    """Return the number of rows of 40 columns that tell a copy of them from blocks."""
    if subject.is_cubic:
        return 600  # the matrix of all pairs is 15 times as large as the rows
    many = subject.name in MANY_ROWS or subject.name.endswith("HMM")
    return min(subject.most_rows, 50_000 if many else 25_000)


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_a_fit_never_makes_a_copy_of_its_rows(subject):
    """Measured by the allocator: most have 8 MB of rows, and half of that is more than any block-wise fit takes."""
    reason = subject.exempt("memory")
    X, y = subject.data(choose_rows(subject), 40)
    X = np.ascontiguousarray(X)
    peak = measure_peak(subject, X, y)
    if not reason and peak > X.nbytes / 2:
        # The first fit of a process loads modules, up to 10 MB of them; a copy of the rows is made again.
        peak = measure_peak(subject, X, y)
    assert (peak > X.nbytes / 2) == bool(reason), (peak / X.nbytes, reason)


def measure_peak(subject, X, y):
    """Return the bytes that a fit holds at once."""
    # Each thread holds blocks of its own, and how many at once depends on their scheduling: one makes it repeatable.
    model = subject.make(max_iter=2, n_jobs=1)
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
