"""Sources: fixed blocks, the four verbs, dense and sparse."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from mercer._source import ArraySource, SparseSource, open_source
from mercer._source.block import SparseBlock, rows_per_block, rows_per_sparse_block
from mercer._source.namespace import find_row_largest, multiply_within_rows, sum_rows
from mercer._source.source import SumTree
from mercer._statistic import Moments


def sources(n=5000, d=64, **columns):
    random = np.random.default_rng(1)
    X = random.normal(size=(n, d)) * (random.random((n, d)) < 0.2)
    return X, [ArraySource(X, **columns), SparseSource(scipy.sparse.csr_array(X), **columns)]


@given(st.integers(1, 100_000))
def test_block_heights_are_powers_of_two_within_bounds(width):
    rows = rows_per_block(width)
    assert rows & (rows - 1) == 0
    assert 256 <= rows <= 16384
    assert rows * width <= max(2**21, 256 * width)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=200))
def test_a_sum_tree_adds_everything_once(numbers):
    tree = SumTree()
    for number in numbers:
        tree.add(number)
    assert len(tree.stack) <= len(numbers).bit_length()
    assert tree.total() == sum(numbers)


def test_a_sum_tree_is_more_accurate_than_a_running_sum():
    values = np.full(2**20, np.float32(0.1))
    tree, running = SumTree(), np.float32(0)
    for value in values[: 2**16]:
        tree.add(value)
        running += value
    truth = 2**16 * np.float64(np.float32(0.1))
    assert abs(tree.total() - truth) < abs(running - truth) / 100


def test_rows_in_fortran_order_give_the_blocks_of_c_order():
    X = np.random.default_rng(0).normal(size=(5000, 64))
    source = ArraySource(np.asfortranarray(X))
    assert all(block.X.flags.c_contiguous for block in source.blocks())
    assert np.array_equal(np.concatenate([block.X for block in source.blocks()]), X)
    assert source.whole().flags.c_contiguous
    assert np.array_equal(source.take([4999, 3]), X[[4999, 3]])


@pytest.mark.parametrize("threads", [1, 3])
def test_values_of_all_blocks_are_joined(threads):
    X = np.random.default_rng(0).normal(size=(5000, 64))
    source = ArraySource(X, threads=threads)
    assert np.array_equal(source.map(lambda block: block.X[:, 3]), X[:, 3])
    first, second = source.map(lambda block: (block.X[:, :2], block.X[:, 0] > 0))
    assert np.array_equal(first, X[:, :2])
    assert second.dtype == bool
    assert np.array_equal(second, X[:, 0] > 0)


def test_values_whose_type_differs_by_block_are_promoted():
    X = np.random.default_rng(0).normal(size=(5000, 64))
    values = ArraySource(X).map(lambda block: block.X[:, 0].astype("f" if block.start == 0 else "d"))
    assert values.dtype == np.float64
    assert np.array_equal(values[2048:], X[2048:, 0])


def test_blocks_cover_every_row_once_with_its_target_and_weight():
    y, weight = np.arange(5000.0), np.ones(5000)
    X, both = sources(y=y, weight=weight)
    for source in both:
        blocks = [source.block(number) for number in range(source.n_blocks)]
        assert np.array_equal(np.concatenate([block.dense() for block in blocks]), X)
        assert np.array_equal(np.concatenate([block.y for block in blocks]), y)
        assert [block.start for block in blocks] == [i * source.block_rows for i in range(source.n_blocks)]
        assert source.total_weight() == 5000


def test_map_joins_the_blocks_in_order_also_in_place_and_for_tuples():
    X, both = sources()
    for source in both:
        source.threads = 3
        expected = (X**2).sum(axis=1)
        np.testing.assert_allclose(source.map(lambda block: block.sum_squares()), expected)
        out = np.empty(len(X))
        assert source.map(lambda block: block.sum_squares(), out) is out
        np.testing.assert_allclose(out, expected)
        first, second = source.map(lambda block: (block.sum_squares(), np.full(block.n, block.start)))
        np.testing.assert_allclose(first, expected)
        assert np.array_equal(second // source.block_rows, np.arange(5000) // source.block_rows)


def test_take_returns_dense_rows_in_the_order_asked():
    X, both = sources()
    for source in both:
        assert np.array_equal(source.take([4999, 0, 17]), X[[4999, 0, 17]])


def test_tiles_fill_a_symmetric_matrix_on_any_number_of_threads():
    X, (dense, _) = sources()
    results = []
    for threads in (1, 4):
        dense.threads = threads
        results.append(dense.tiles(lambda a, b: a.X @ b.X.T, np.empty((5000, 5000))))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[0].T)
    np.testing.assert_allclose(results[0], X @ X.T, atol=1e-10)


def test_weighted_verbs_agree_between_dense_sparse_and_a_strict_array_library():
    weight = np.random.default_rng(0).random(5000)
    X, (dense, sparse) = sources(weight=weight)
    strict = ArraySource(
        array_api_strict.asarray(X), weight=array_api_strict.asarray(weight), xp=array_api_strict
    ).reduce(Moments())
    for found in (dense.reduce(Moments()), sparse.reduce(Moments()), strict):
        np.testing.assert_allclose(np.asarray(found.mean), np.average(X, axis=0, weights=weight), atol=1e-12)
        np.testing.assert_allclose(
            np.asarray(found.scatter), np.cov(X.T, aweights=weight, ddof=0) * weight.sum(), atol=1e-9
        )


def test_cutting_sparse_blocks_copies_no_values():
    X = scipy.sparse.random(50_000, 20, 0.1, "csr", random_state=0)
    block = SparseSource(X).block(0)
    assert np.shares_memory(block.X.data, X.data)


def test_sparse_blocks_grow_with_sparsity():
    assert rows_per_sparse_block(10**6, 10**9, 100) == 1024
    assert rows_per_sparse_block(10**6, 10**6, 100) == 65536
    assert rows_per_sparse_block(10**6, 10**8, 100) == 1024
    assert rows_per_sparse_block(10**6, 10**8, 50_000) == 16384
    assert rows_per_sparse_block(50_000, 4 * 10**6, 50_000) == 25_000


@pytest.mark.parametrize("store", [scipy.sparse.csr_array, scipy.sparse.csr_matrix, np.asarray])
def test_open_source_chooses_by_storage(store):
    X = store(np.eye(3))
    expected = ArraySource if store is np.asarray else SparseSource
    assert type(open_source(X)) is expected


def test_squares_of_places_that_are_stored_twice_are_those_of_their_sum():
    twice = scipy.sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    block = SparseBlock(twice, 0)
    np.testing.assert_array_equal(block.sum_squares(), [9.0, 9.0])


@pytest.mark.parametrize("k", [1, 2, 5, 7, 8, 30])
@pytest.mark.parametrize("dtype", ["f", "d"])
def test_rows_of_few_values_are_reduced_to_numpys_bits(k, dtype):
    values = np.random.default_rng(0).normal(size=(40, k)).astype(dtype)
    values[3, 0] = -np.inf
    assert np.array_equal(find_row_largest(values, np), values.max(axis=1, keepdims=True))
    assert np.array_equal(sum_rows(values, np), values.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(multiply_within_rows(values[5:], values[5:], np), (values[5:] ** 2).sum(axis=1), 1e-5)
