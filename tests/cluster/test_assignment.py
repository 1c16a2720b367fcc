"""The statistics of k-means: definition against native code, bounds against full search, dense against sparse."""

import numpy as np
import pytest
import scipy.sparse

from mercer._solver.centres.assignment import Assignment, Farthest, Memory
from mercer._solver.centres.centres import Centres
from mercer._solver.centres.first_centres import Nearness, Potentials
from mercer._source import ArraySource, open_source
from mercer._source.block import DenseBlock

strict = pytest.importorskip("array_api_strict")


def make(n=3000, d=7, k=11, dtype=np.float64, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)).astype(dtype)
    return X, np.ascontiguousarray(X[random.choice(n, k, replace=False)]), random.random(n)


def assert_equal_sums(one, other, rtol):
    np.testing.assert_allclose(np.asarray(one.weights), np.asarray(other.weights), rtol=rtol)
    np.testing.assert_allclose(np.asarray(one.sums), np.asarray(other.sums), rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(np.asarray(one.costs), np.asarray(other.costs), rtol=max(rtol, 1e-5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_native_code_does_what_the_definition_says(dtype):
    X, centres, weight = make(dtype=dtype)
    block = DenseBlock(X, 0, weight=weight)
    statistic = Assignment(Centres(centres))
    assert_equal_sums(statistic.native(block), statistic.of(block), 1e-12)


def test_the_definition_runs_in_strict_array_operations():
    X, centres, weight = make(400)
    block = DenseBlock(strict.asarray(X), 0, weight=strict.asarray(weight), xp=strict)
    found = Assignment(Centres(strict.asarray(centres))).of(block)
    assert_equal_sums(found, Assignment(Centres(centres)).native(DenseBlock(X, 0, weight=weight)), 1e-12)
    expected = Potentials(Nearness(centres[:2]), centres[2:]).native(DenseBlock(X, 0, weight=weight)).table
    potentials = Potentials(Nearness(strict.asarray(centres[:2])), strict.asarray(centres[2:]))
    np.testing.assert_allclose(np.asarray(potentials.of(block).table), expected, rtol=1e-12)


def test_a_table_of_distances_saves_work_and_changes_no_bit():
    X, centres, weight = make()
    block, table = DenseBlock(X, 0, weight=weight), np.full(len(X), np.inf)
    for done in range(4):
        kept = Nearness(centres[: done + 1], table, done).of(block)
        assert kept.base is table
        np.testing.assert_array_equal(kept, Nearness(centres[: done + 1]).of(block))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_are_those_of_direct_distances_even_between_near_equals(dtype):
    # Rows on a coarse grid far from the origin: exact ties abound, and scores by products round them differently.
    random = np.random.default_rng(1)
    X = (random.integers(0, 4, size=(5000, 6)) + 1000).astype(dtype)
    centres = np.ascontiguousarray(X[:40] + dtype(0.5))
    labels, distances = np.empty(5000, np.int32), np.empty(5000)
    Centres(centres).search_by_products(X, labels, distances)
    # Squares of multiples of a half are summed without rounding.
    np.testing.assert_array_equal(labels, ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1))
    found, squared = Centres(centres).find_nearest(DenseBlock(X, 0))
    np.testing.assert_array_equal(found, labels)
    np.testing.assert_array_equal(squared, distances)
    one_by_one = [Centres(centres).find_nearest(DenseBlock(X[i : i + 1], 0))[0][0] for i in range(100)]
    np.testing.assert_array_equal(one_by_one, labels[:100])


# Few values of all centres are searched in lanes, more by products.
@pytest.mark.parametrize("n_features", [5, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_skip_rows_and_change_nothing(dtype, n_features):
    X, centres, weight = make(20_000, n_features, 30, dtype)
    source = ArraySource(X, weight=weight, threads=2)
    memory = Memory.of(source, always=True)
    skipped = 0
    for _ in range(12):
        full = source.reduce(Assignment(Centres(centres)))
        bounded = memory.learn(source.reduce(memory.assignment(centres)))
        for name in ("weights", "sums", "costs"):
            np.testing.assert_array_equal(getattr(bounded, name), getattr(full, name))
        skipped += len(X) - bounded.searched
        centres = full.means(centres)
    assert skipped > 0.2 * 12 * len(X)


def test_sparse_rows_have_the_sums_of_dense_ones():
    X, centres, weight = make()
    X[np.abs(X) < 1] = 0
    statistic = Assignment(Centres(centres))
    sparse = open_source(scipy.sparse.csr_array(X), weight=weight).reduce(statistic)
    assert_equal_sums(sparse, open_source(X, weight=weight).reduce(statistic), 1e-12)


def test_the_farthest_rows_come_in_order_and_have_weight():
    X, centres, weight = make()
    weight[::2] = 0
    distances = Centres(centres).find_nearest(DenseBlock(X, 0))[1]
    expected = np.argsort(-np.where(weight > 0, distances, -1), stable=True)[:5]
    found = ArraySource(X, weight=weight).reduce(Farthest(Centres(centres), 5))
    np.testing.assert_array_equal(found.numbers, expected)
    np.testing.assert_array_equal(found.rows, X[expected])
    np.testing.assert_array_equal(found.weights, weight[expected])


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 3, 1), (300, 1, 2), (257, 9, 33)])
def test_odd_shapes_are_searched_whole(shape):
    n, d, k = shape
    random = np.random.default_rng(0)
    X, centres = random.normal(size=(n, d)), random.normal(size=(k, d))
    labels, distances = np.empty(n, np.int32), np.empty(n)
    Centres(centres).search_by_products(X, labels, distances)
    np.testing.assert_array_equal(labels, ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1))
