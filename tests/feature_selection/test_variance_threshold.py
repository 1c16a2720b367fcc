"""VarianceThreshold: columns that vary are kept, in any place."""

import numpy as np
import pytest
import scipy.sparse

from mercer.errors import DataError
from mercer.feature_selection import VarianceThreshold

ROWS = np.random.default_rng(0).normal(size=(3_000, 5)) * [1e-6, 1.0, 1e6, 0.0, 2.0] + [1e8, 0.0, 0.0, 7.1, 1e8]


def test_variances_are_those_of_numpy_and_constant_columns_go():
    rows = ROWS - ROWS.mean(axis=0)
    rows[:, 3] = 0.1
    selector = VarianceThreshold().fit(rows)
    np.testing.assert_allclose(selector.variances_[[1, 2, 4]], rows.var(axis=0)[[1, 2, 4]], rtol=1e-12)
    assert selector.variances_[3] == 0.0
    for size in (1e-250, 1.0, 1e100):
        selector = VarianceThreshold().fit(size * rows)
        assert selector.get_support().tolist() == [True, True, True, False, True]
    np.testing.assert_array_equal(selector.transform(rows), rows[:, [0, 1, 2, 4]])


def test_missing_entries_are_left_out_and_the_way_back_fills_zeros():
    rows = np.array([[1.0, np.nan, 2.0], [1.0, 5.0, np.nan], [1.0, 7.0, 3.0]])
    selector = VarianceThreshold().fit(rows)
    assert selector.variances_.tolist() == [0.0, 1.0, 0.25]
    assert selector.inverse_transform(selector.transform(rows[2:]))[0].tolist() == [0.0, 7.0, 3.0]


def test_sparse_rows_stay_sparse_and_give_the_variances_of_dense_ones():
    dense = np.where(np.random.default_rng(1).random((200, 4)) < 0.5, 0.0, ROWS[:200, 1:5])
    ours, sparse = VarianceThreshold(0.5).fit(dense), VarianceThreshold(0.5).fit(scipy.sparse.csr_array(dense))
    np.testing.assert_allclose(sparse.variances_, ours.variances_, rtol=1e-12)
    np.testing.assert_array_equal(sparse.transform(scipy.sparse.csr_array(dense)).toarray(), ours.transform(dense))


def test_no_column_above_the_threshold_is_told():
    with pytest.raises(DataError, match=r"No feature in X meets the variance threshold 0.00000 \(X contains only one"):
        VarianceThreshold().fit([[1.0, 2.0]])
    with pytest.raises(DataError, match=r"threshold 9.00000. Lower threshold; the largest variance is 0.25"):
        VarianceThreshold(9.0).fit([[1.0], [2.0]])
