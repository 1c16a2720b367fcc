"""Promise 6, never "Killed": a fit takes little more than its input, and says so when it would need more."""

import tracemalloc
import warnings

import numpy as np
import pytest

from tests.laws.subjects import subjects

SUBJECTS = subjects()
# In forty dimensions every row is a neighbour of every other: fewer rows tell as much.
PAIRWISE = {"DENCLUE", "HDBSCAN"}


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_a_fit_never_makes_a_copy_of_its_rows(subject):
    """Measured by the allocator: X has 16 MB, and half of that is more than any block-wise fit takes."""
    reason = subject.exempt("memory")
    X, y = subject.data(5_000 if subject.name in PAIRWISE else 50_000, 40)
    X = np.ascontiguousarray(X)
    model = subject.make(max_iter=2)
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (peak > X.nbytes / 2) == bool(reason), (peak / X.nbytes, reason)
