"""Moments and totals by class: equal to NumPy's, additive over any cut, exact far from zero, in any library."""

import array_api_strict
import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer._source import ArraySource, SparseSource
from mercer._source.block import DenseBlock
from mercer._source.device.source import DeviceSource
from mercer._statistic.by_class import ClassMoments, number_labels
from mercer.naive_bayes._class_totals import CategoryCounts, ClassTotals

X = np.random.default_rng(0).normal(size=(9000, 7)) + np.random.default_rng(1).normal(size=7)
Y = np.array(["ash", "birch", "cedar"])[np.random.default_rng(2).integers(0, 3, 9000)]
WEIGHT = np.random.default_rng(3).integers(0, 3, 9000).astype(float)
KINDS = ["diagonal", "pooled", "own"]


def by_hand(X, y, weight, kind):
    classes, means, scatters = np.unique(y), [], []
    for label in classes:
        rows, w = X[y == label], weight[y == label]
        means.append(w @ rows / w.sum())
        gaps = rows - means[-1]
        scatters.append((gaps * w[:, None]).T @ gaps)
    whole = np.array(scatters)
    if kind == "diagonal":
        return np.array(means), np.array([np.diag(one) for one in whole])
    return np.array(means), whole.sum(axis=0) if kind == "pooled" else whole


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_means_and_scatters_are_those_of_numpy(kind, weight):
    sums = ArraySource(X, Y, weight, threads=2).reduce(ClassMoments(kind)).plainly()
    size = np.ones(len(X)) if weight is None else weight
    means, scatter = by_hand(X, Y, size, kind)
    assert sums.classes.tolist() == ["ash", "birch", "cedar"]
    np.testing.assert_array_equal(sums.weights, [size[label == Y].sum() for label in sums.classes])
    np.testing.assert_array_equal(sums.counts, [(size[label == Y] > 0).sum() for label in sums.classes])
    np.testing.assert_allclose(sums.means, means, rtol=1e-11)
    np.testing.assert_allclose(sums.scatter, scatter, rtol=1e-10, atol=1e-9)
    total = np.cov(X.T, ddof=0, aweights=size) * size.sum()
    spread = sums.within() + sums.between()
    np.testing.assert_allclose(spread, np.diag(total) if kind == "diagonal" else total, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_a_million_from_zero_keep_the_digits_of_their_scatter(kind):
    far = X + 1e6
    near = ArraySource(far - 1e6, Y).reduce(ClassMoments(kind)).plainly()
    sums = ArraySource(far, Y).reduce(ClassMoments(kind)).plainly()
    np.testing.assert_allclose(sums.scatter, near.scatter, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_compiled_twin_equals_the_definition(kind, weight):
    block = DenseBlock(X, 0, Y, weight)
    native, defined = ClassMoments(kind).native(block).plainly(), ClassMoments(kind).of(block)
    np.testing.assert_allclose(native.means, defined.means, rtol=1e-12, atol=1e-14 * np.abs(X).max())
    np.testing.assert_allclose(native.scatter, defined.scatter, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_parts_that_lack_classes_merge_to_the_sum_of_the_whole(kind):
    order = np.argsort(Y, kind="stable")
    parts = [ClassMoments(kind).of(DenseBlock(X[rows], 0, Y[rows])) for rows in np.array_split(order, 5)]
    merged, whole = parts[0], ClassMoments(kind).of(DenseBlock(X, 0, Y))
    for part in parts[1:]:
        merged = merged + part
    np.testing.assert_allclose(merged.weights, whole.weights)
    np.testing.assert_allclose(merged.means, whole.means, rtol=1e-10)
    np.testing.assert_allclose(merged.scatter, whole.scatter, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_change_a_bit(kind):
    one, many = (ArraySource(X, Y, WEIGHT, threads=count).reduce(ClassMoments(kind)).plainly() for count in (1, 5))
    assert np.array_equal(one.scatter, many.scatter)
    assert np.array_equal(one.means, many.means)


def test_a_constant_column_has_no_scatter_at_all():
    flat = np.c_[X, np.full(len(X), 0.1)]
    for kind in KINDS:
        sums = ArraySource(flat, Y).reduce(ClassMoments(kind)).plainly()
        assert not np.any((sums.within() + sums.between())[..., -1])


@pytest.mark.parametrize("statistic", [*map(ClassMoments, KINDS), ClassTotals(), ClassTotals(0.5), CategoryCounts(9)])
def test_the_definition_runs_on_arrays_of_the_standard(statistic):
    rows, labels = np.floor(np.abs(X[:500])), np.unique(Y[:500], return_inverse=True)[1]
    device = array_api_strict.Device("device1")
    put = [array_api_strict.asarray(one, device=device) for one in (rows, labels, WEIGHT[:500])]
    found = DeviceSource(*put).reduce(statistic).plainly()
    expected = ArraySource(rows, labels, WEIGHT[:500]).reduce(statistic).plainly()
    name = "scatter" if isinstance(statistic, ClassMoments) else "totals"
    np.testing.assert_array_equal(found.classes, expected.classes)
    np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("statistic", [ClassMoments("diagonal"), ClassTotals(), ClassTotals(0.5)])
def test_sparse_rows_have_the_sums_of_dense_ones(statistic):
    rows = np.where(np.abs(X) < 1, 0.0, X)
    dense = ArraySource(rows, Y, WEIGHT).reduce(statistic)
    sparse = SparseSource(csr_array(rows), Y, WEIGHT).reduce(statistic)
    name = "scatter" if isinstance(statistic, ClassMoments) else "totals"
    np.testing.assert_allclose(getattr(sparse, name), getattr(dense, name), rtol=1e-10, atol=1e-10)


def test_categories_are_counted_and_tables_grow_to_the_largest():
    rows = np.array([[0, 2], [1, 0], [1, 0], [5, 1]])
    counts = CategoryCounts(9)
    first = counts.of(DenseBlock(rows[:3].astype(float), 0, np.array([0, 0, 1])))
    second = counts.of(DenseBlock(rows[3:].astype(float), 3, np.array([1])))
    total = (first + second).totals
    assert total.shape == (2, 2, 6)
    assert total[1, 0].tolist() == [0, 1, 0, 0, 0, 1]
    assert total[0, 1].tolist() == [1, 0, 1, 0, 0, 0]


@pytest.mark.parametrize(
    "labels", [[3, -1, 3, 7], [2**60, 5, 2**60], [True, False, True], ["b", "a", "b"], [0.5, 1.5, 0.5]]
)
def test_labels_of_any_kind_are_numbered_in_rising_order(labels):
    classes, numbers = number_labels(np.array(labels))
    expected = np.unique(labels, return_inverse=True)
    assert classes.tolist() == expected[0].tolist()
    assert numbers.tolist() == expected[1].tolist()


@pytest.mark.parametrize(
    "labels",
    [np.array([-128, 127, 0, 127], dtype=np.int8), np.array([2**64 - 1, 2**64 - 5], dtype=np.uint64)],
)
def test_labels_at_the_ends_of_their_type_do_not_overflow(labels):
    classes, numbers = number_labels(labels)
    expected = np.unique(labels, return_inverse=True)
    assert classes.dtype == labels.dtype
    assert np.array_equal(classes, expected[0])
    assert numbers.tolist() == expected[1].tolist()
