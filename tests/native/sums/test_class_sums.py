"""Sums over the rows of each class of a block, against the definition, at every level."""

import importlib

import numpy
import pytest
import scipy.sparse

REALS = [numpy.float64, numpy.float32]
SHAPES = [(1, 1, 1), (5, 2, 3), (128, 4, 2), (129, 16, 4), (300, 17, 5), (257, 33, 3)]
EMPTY = numpy.empty(0)


@pytest.fixture
def class_sums(level):
    return importlib.import_module(f"mercer._native.{level}.class_sums")


def draw(n, d, k, real):
    generator = numpy.random.default_rng(n + d + k)
    X = generator.normal(3, 1, size=(n, d)).astype(real)
    return X, generator.integers(0, k, n), generator.random(n)


def scatters(X, labels, weight, means, groups):
    gaps = (X.astype(float) - means[labels]) * numpy.sqrt(weight)[:, None]
    return numpy.array([gaps[rows].T @ gaps[rows] for rows in groups])


def products(class_sums, X, labels, weight, means, own):
    """Return the scatters that native code finds, as full matrices."""
    n, d = X.shape
    k = len(means)
    order = numpy.argsort(labels, kind="stable") if own else numpy.arange(n)
    counts = numpy.bincount(labels, minlength=k)
    starts = numpy.concatenate([[0], numpy.cumsum(counts)]) if own else numpy.array([0, n])
    width = class_sums.pad_width(d)
    out = numpy.zeros((len(starts) - 1, width, width))
    scratch = numpy.full(class_sums.count_packed(d), numpy.nan)
    class_sums.add_products(X, order, starts, labels, numpy.sqrt(weight), means, scratch, out)
    upper = numpy.triu(out[:, :d, :d])
    return upper + numpy.triu(upper, 1).transpose(0, 2, 1), out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_squares_and_counts_are_those_of_the_definition(class_sums, real, shape, weighted):
    X, labels, weight = draw(*shape, real)
    size = weight if weighted else numpy.ones(len(X))
    given, k = weight if weighted else EMPTY, shape[2]
    one = numpy.eye(k)[labels] * size[:, None]
    point, rows = X[0].astype(float), X.astype(float)
    sums, squares = (numpy.zeros((k, shape[1])) for _ in range(2))
    class_sums.add_rows(X, labels, given, point, sums)
    numpy.testing.assert_allclose(sums, one.T @ (rows - point), rtol=1e-10, atol=1e-10)
    means = numpy.random.default_rng(0).normal(3, 1, size=(k, shape[1]))
    class_sums.add_squares(X, labels, given, means, squares)
    expected = numpy.array([one[:, j] @ (rows - means[j]) ** 2 for j in range(k)])
    numpy.testing.assert_allclose(squares, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_added_up_part_by_part(class_sums, real, shape, weighted):
    X, labels, weight = draw(*shape, real)
    (n, d, k), unit = shape, 100
    given, size = (weight, weight) if weighted else (EMPTY, numpy.ones(n))
    one, rows, parts = numpy.eye(k)[labels] * size[:, None], X.astype(float), -(-n // unit)
    least, weights, heavy = numpy.full(d, numpy.inf), numpy.zeros((parts, k)), numpy.zeros((parts, k))
    sums, above = numpy.zeros((parts, k, d)), numpy.zeros((parts, k, d))
    class_sums.add_counts(X, labels, given, unit, least, weights, sums)
    class_sums.add_exceeding(X, labels, given, unit, 3.0, heavy, above)
    numpy.testing.assert_array_equal(least, rows.min(axis=0))
    for part in range(parts):
        at = slice(part * unit, (part + 1) * unit)
        numpy.testing.assert_allclose(sums[part], one[at].T @ rows[at], rtol=1e-10, atol=1e-10)
        numpy.testing.assert_allclose(above[part], one[at].T @ (rows[at] > 3.0), rtol=1e-12, atol=1e-12)
        numpy.testing.assert_allclose(weights[part], one[at].sum(axis=0), rtol=1e-12)
        numpy.testing.assert_allclose(heavy[part], one[at].sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("own", [False, True])
def test_products_of_columns_are_taken_about_the_means_of_classes(class_sums, real, shape, own):
    X, labels, weight = draw(*shape, real)
    means = numpy.random.default_rng(0).normal(3, 1, size=(shape[2], shape[1]))
    groups = [labels == j for j in range(shape[2])] if own else [numpy.ones(len(X), dtype=bool)]
    found, _ = products(class_sums, X, labels, weight, means, own)
    numpy.testing.assert_allclose(found, scatters(X, labels, weight, means, groups), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("own", [False, True])
def test_merging_two_halves_gives_the_moments_of_the_whole(class_sums, own):
    X, labels, weight = draw(300, 7, 3, numpy.float64)
    weight[labels == 2] = numpy.where(numpy.arange(300) < 150, 0.0, weight)[labels == 2]
    parts = []
    for rows in (slice(0, 150), slice(150, 300), slice(0, 300)):
        totals = numpy.bincount(labels[rows], weight[rows], 3)
        one = numpy.eye(3)[labels[rows]] * weight[rows][:, None]
        means = one.T @ X[rows] / numpy.where(totals > 0, totals, 1.0)[:, None]
        parts.append((totals, means, *products(class_sums, X[rows].copy(), labels[rows], weight[rows], means, own)))
    (first, means, _, packed), (second, steps, _, others), (_, expected, scatter, _) = parts
    class_sums.merge(packed, others, means, steps, first, second)
    upper = numpy.triu(packed[:, :7, :7])
    numpy.testing.assert_allclose(means, expected, rtol=1e-12)
    numpy.testing.assert_allclose(upper + numpy.triu(upper, 1).transpose(0, 2, 1), scatter, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("index", [numpy.int32, numpy.int64])
@pytest.mark.parametrize("weighted", [False, True])
def test_stored_values_of_sparse_rows_are_added_by_class(class_sums, real, index, weighted):
    X, labels, weight = draw(37, 11, 3, real)
    X[numpy.random.default_rng(1).random(X.shape) < 0.7] = 0
    stored = scipy.sparse.csr_array(X)
    out = numpy.zeros((3, 11))
    columns, bounds = stored.indices.astype(index), stored.indptr.astype(index)
    class_sums.add_stored(stored.data, columns, bounds, labels, weight if weighted else EMPTY, out)
    size = weight if weighted else numpy.ones(len(X))
    numpy.testing.assert_allclose(out, (numpy.eye(3)[labels] * size[:, None]).T @ X, rtol=1e-5)
