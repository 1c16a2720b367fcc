"""A random sample of rows in one pass: the same rows on any number of threads, in any blocks and any storage."""

import numpy as np
import pytest
import scipy.sparse

from mercer._source import ArraySource, SparseSource
from mercer._source.block import DenseBlock
from mercer._statistic.row_sample import RowSample


@pytest.mark.parametrize("threads", [1, 3])
def test_a_sample_of_rows_does_not_depend_on_threads_nor_on_blocks(threads):
    rows = np.arange(80_000.0).reshape(40_000, 2)
    for share in (RowSample.of_source(500, 7, None), RowSample.of_source(500, 7, len(rows))):
        found = ArraySource(rows, threads=threads).reduce(share)
        assert (found.n_rows, len(found.rows)) == (40_000, 500)
        np.testing.assert_array_equal(found.in_order(), RowSample(500, 7).of(DenseBlock(rows, 0)).in_order())
    assert len(np.unique(found.rows[:, 0])) == 500
    # The mean of 500 drawn row numbers is within five of its deviations of the middle.
    assert abs(found.rows[:, 0].mean() - 40_000) < 5 * 80_000 / np.sqrt(12 * 500)
    sparse = SparseSource(scipy.sparse.csr_array(rows), threads=threads).reduce(RowSample(500, 7))
    np.testing.assert_array_equal(sparse.in_order().toarray(), found.in_order())
