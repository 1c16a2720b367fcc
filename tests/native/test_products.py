"""Matrix products, and the nearest of many centres found without storing the product."""

import numpy
import pytest

REALS = [numpy.float64, numpy.float32]
SHAPES = [(1, 1, 1), (5, 3, 1), (6, 2, 7), (47, 5, 16), (48, 8, 17), (50, 1, 33), (131, 33, 64), (97, 32, 100)]


def find_nearest(products, X, centres):
    offset = (centres.astype(float) ** 2).sum(axis=1).astype(X.dtype) / 2
    labels, least = numpy.full(len(X), -1, dtype=numpy.int32), numpy.full(len(X), numpy.nan, dtype=X.dtype)
    workspace = numpy.full(products.nearest_workspace(*centres.shape), numpy.nan, dtype=X.dtype)
    products.nearest(X, centres, offset.astype(X.dtype), labels, least, workspace)
    return labels, least


def draw(n, d, k, real, seed=0):
    generator = numpy.random.default_rng(seed)
    return generator.normal(size=(n, d)).astype(real), generator.normal(size=(k, d)).astype(real)


@pytest.mark.parametrize("real", REALS)
def test_the_nearest_of_two_points_on_a_line_is_the_one_on_the_same_side(products, real):
    X, centres = numpy.array([[-3], [0.9], [1.1], [9]], dtype=real), numpy.array([[0], [2]], dtype=real)
    labels, least = find_nearest(products, X, centres)
    numpy.testing.assert_array_equal(labels, [0, 0, 1, 1])
    squared_distances = 2 * least.astype(float) + X[:, 0].astype(float) ** 2
    numpy.testing.assert_allclose(squared_distances, [9, 0.81, 0.81, 49], rtol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("real", REALS)
def test_labels_and_values_agree_with_the_full_matrix_of_distances(products, real, shape):
    X, centres = draw(*shape, real)
    labels, least = find_nearest(products, X, centres)
    wide, far = X.astype(float), centres.astype(float)
    scores = (far**2).sum(axis=1) / 2 - wide @ far.T
    tolerance = 50 * numpy.finfo(real).eps * (1 + numpy.abs(scores).max())
    rows = numpy.arange(len(X))
    numpy.testing.assert_allclose(least, scores.min(axis=1), atol=tolerance)
    assert numpy.all(scores[rows, labels] <= scores.min(axis=1) + tolerance)


@pytest.mark.parametrize("k", [2, 16, 17, 40, 100])
@pytest.mark.parametrize("real", REALS)
def test_among_equal_centres_the_first_is_taken(products, real, k):
    X, _ = draw(60, 3, 1, real)
    labels, _ = find_nearest(products, X, numpy.ones((k, 3), dtype=real))
    numpy.testing.assert_array_equal(labels, 0)


@pytest.mark.parametrize("real", REALS)
def test_the_sign_of_zero_does_not_break_a_tie(products, real):
    X = numpy.array([[1.0], [-1.0]], dtype=real)
    labels, least = numpy.empty(2, dtype=numpy.int32), numpy.empty(2, dtype=real)
    workspace = numpy.empty(products.nearest_workspace(2, 1), dtype=real)
    products.nearest(X, numpy.zeros((2, 1), dtype=real), numpy.array([0.0, -0.0], dtype=real), labels, least, workspace)
    numpy.testing.assert_array_equal(labels, 0)


@pytest.mark.parametrize("real", REALS)
def test_a_row_has_the_same_answer_alone_and_in_any_company(products, level, real):
    if level == "interpreted":
        pytest.skip("the uncompiled twin sums by NumPy's BLAS, whose order depends on the shape")
    X, centres = draw(103, 37, 45, real)
    labels, least = find_nearest(products, X, centres)
    for start, stop in [(0, 1), (7, 8), (3, 50), (50, 103), (1, 103)]:
        some_labels, some_least = find_nearest(products, X[start:stop].copy(), centres)
        numpy.testing.assert_array_equal(some_labels, labels[start:stop])
        numpy.testing.assert_array_equal(some_least, least[start:stop])


def test_no_rows_and_no_features_are_answered_too(products):
    labels, _ = find_nearest(products, numpy.empty((0, 4)), numpy.ones((3, 4)))
    assert labels.shape == (0,)
    labels, least = find_nearest(products, numpy.empty((5, 0)), numpy.empty((3, 0)))
    numpy.testing.assert_array_equal(labels, 0)
    numpy.testing.assert_array_equal(least, 0)


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e150])
def test_rows_of_any_size_find_their_own_copy(products, size):
    centres = numpy.random.default_rng(4).choice([-1.0, 1.0], size=(20, 30)) * size
    labels, _ = find_nearest(products, centres.copy(), centres)
    if size == 1e-300:
        numpy.testing.assert_array_equal(labels, 0)  # every product underflows: all are equal, the first is taken
    else:
        numpy.testing.assert_array_equal(centres[labels], centres)


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 5), (256, 32, 100), (4, 0, 6)])
@pytest.mark.parametrize("real", REALS)
def test_products_fill_the_first_columns_and_nothing_else(products, real, shape):
    A, B = draw(*shape, real)
    out = numpy.full((len(A), len(B) + 3), 7, dtype=real)
    products.multiply_transposed(A, B, out)
    expected = A.astype(float) @ B.astype(float).T
    numpy.testing.assert_allclose(out[:, : len(B)], expected, atol=40 * numpy.finfo(real).eps * max(shape))
    numpy.testing.assert_array_equal(out[:, len(B) :], 7)
