"""Linear machines on sparse rows: the intercept's column, and how many rows one call of native code visits."""

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack

from mercer._objective import find_loss
from mercer._solver.composite.dual_rows import PrepareDual
from mercer._source import open_source
from mercer.svm import LinearSVC
from mercer.svm._linear_machine import _append_stored


def draw(n: int, d: int) -> csr_array:
    random = np.random.default_rng(0)
    return csr_array(np.where(random.random((n, d)) < 0.2, random.normal(size=(n, d)), 0.0))


@pytest.mark.parametrize("shape", [(30, 7), (1, 1), (4, 0)])
def test_a_stored_column_is_appended_in_the_order_of_columns(shape):
    rows = draw(*shape)
    wide = _append_stored(rows, 0.5)
    expected = hstack([rows, csr_array(np.full((shape[0], 1), 0.5))], format="csr")
    np.testing.assert_array_equal(wide.toarray(), expected.toarray())
    assert wide.has_canonical_format
    assert csr_array((wide.data, wide.indices, wide.indptr), shape=wide.shape).has_canonical_format


def test_one_call_visits_as_many_rows_as_their_stored_values_allow():
    random = np.random.default_rng(0)
    places = (np.arange(400), random.integers(100_000, size=400))
    rows, y = csr_array((np.ones(400), places), shape=(400, 100_000)), np.arange(400) % 2
    prepare = PrepareDual(find_loss("hinge"), 1.0, 400.0, None, np.zeros(100_000))
    assert prepare.answer(open_source(rows, y)).n_visits > 1_000_000


def test_a_machine_on_sparse_rows_is_that_on_dense_ones():
    rows = draw(200, 40)
    y = (rows @ np.linspace(-1, 1, 40) > 0).astype(int)
    stored, dense = (LinearSVC(loss="hinge", tol=1e-10, max_iter=500).fit(X, y) for X in (rows, rows.toarray()))
    np.testing.assert_allclose(stored.coef_, dense.coef_, atol=1e-5)
    np.testing.assert_allclose(stored.intercept_, dense.intercept_, atol=1e-5)
