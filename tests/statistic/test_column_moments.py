"""Moments of columns with missing entries: compiled, by definition and sparse, the same and additive."""

import array_api_strict
import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer._source import ArraySource, SparseSource
from mercer._source.block import DenseBlock, SparseBlock
from mercer._statistic.column_moments import ColumnMoments

ROWS = np.random.default_rng(0).normal(size=(9000, 6)) * [1, 10, 1e-3, 1, 1, 1] + [0, 100, 1e6, 0, 0, 5]
GAPS = np.where(np.random.default_rng(1).random(ROWS.shape) < 0.2, np.nan, ROWS)
WEIGHT = np.random.default_rng(2).random(9000)
PARTS = ("weights", "mean", "scatter")


def assert_equal(found, expected, rtol=1e-9):
    for name in PARTS:
        np.testing.assert_allclose(np.asarray(getattr(found, name)), getattr(expected, name), rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_entries_that_are_there_give_the_moments_of_numpy(weight):
    sums = ArraySource(GAPS, weight=weight).reduce(ColumnMoments())
    for j, column in enumerate(GAPS.T):
        there = ~np.isnan(column)
        w = np.ones(there.sum()) if weight is None else weight[there]
        mean = np.average(column[there], weights=w)
        assert sums.weights[j] == pytest.approx(w.sum())
        assert sums.mean[j] == pytest.approx(mean, rel=1e-14, abs=1e-12)
        assert sums.scatter[j] == pytest.approx(w @ (column[there] - mean) ** 2)


@pytest.mark.parametrize("rows", [ROWS, GAPS, ROWS.astype(np.float32)], ids=["full", "gaps", "float32"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_compiled_code_gives_what_the_definition_gives(rows, weight):
    block = DenseBlock(rows, 0, weight=weight)
    assert_equal(ColumnMoments().native_run(block, 1024), ColumnMoments().of(block))


def test_the_definition_is_written_in_operations_of_the_standard():
    rows, weight = (array_api_strict.asarray(one[:500]) for one in (GAPS, WEIGHT))
    block = DenseBlock(rows, 0, None, weight, array_api_strict)
    assert_equal(ColumnMoments().of(block), ColumnMoments().of(DenseBlock(GAPS[:500], 0, weight=WEIGHT[:500])))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_sparse_rows_give_the_sums_of_dense_ones(weight):
    rows = np.where(np.random.default_rng(3).random(GAPS.shape) < 0.6, 0.0, GAPS)
    rows[:, 5] = 7.25  # a constant column without a zero
    found = SparseSource(csr_array(rows), weight=weight).reduce(ColumnMoments())
    assert_equal(found, ColumnMoments().of(DenseBlock(rows, 0, weight=weight)))
    assert found.scatter[5] == 0


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 5, 7, 8])
def test_a_run_of_blocks_has_the_bits_of_their_sum_one_by_one(n_blocks):
    rows = GAPS[: n_blocks * 100 - 30]
    run = ColumnMoments().native_run(DenseBlock(rows, 0), 100)
    apart = ColumnMoments()._by_parts(DenseBlock(rows, 0), 100, ColumnMoments().on)
    for name in PARTS:
        np.testing.assert_array_equal(getattr(run, name), getattr(apart, name))


def test_a_column_without_entries_adds_nothing_and_infinities_are_counted():
    empty = np.array([[np.nan, 1.0], [np.nan, 3.0]])
    sums = ArraySource(empty).reduce(ColumnMoments()) + ArraySource(np.array([[4.0, 2.0]])).reduce(ColumnMoments())
    assert (sums.weights.tolist(), sums.mean.tolist(), sums.scatter.tolist()) == ([1, 3], [4, 2], [0, 2])
    infinite = np.array([[np.inf, 1.0], [-np.inf, np.nan]])
    assert ArraySource(infinite).reduce(ColumnMoments()).infinite == 2
    assert ColumnMoments().of(SparseBlock(csr_array(infinite), 0)).infinite == 2
