"""Tiles of a Cholesky factor and of its inverse, in place."""

import numpy
import pytest

REALS = [numpy.float64, numpy.float32]


def positive(n, real, seed=0):
    root = numpy.random.default_rng(seed).normal(size=(n, n))
    return (root @ root.T + n * numpy.eye(n)).astype(real)


def close(real):
    return {"rtol": 1e-10, "atol": 1e-10} if real is numpy.float64 else {"rtol": 1e-3, "atol": 1e-3}


@pytest.mark.parametrize("real", REALS)
def test_a_corner_is_factored_in_its_place_and_nothing_else_is_touched(triangles, real):
    A = positive(9, real)
    found = A.copy()
    assert triangles.factor_corner(found, 2, 7) == 0
    lower = numpy.tri(5, dtype=bool)
    expected = numpy.linalg.cholesky(A[2:7, 2:7].astype(float))
    numpy.testing.assert_allclose(found[2:7, 2:7][lower], expected[lower], **close(real))
    changed = numpy.zeros((9, 9), dtype=bool)
    changed[2:7, 2:7] = lower
    numpy.testing.assert_array_equal(found[~changed], A[~changed])


@pytest.mark.parametrize("real", REALS)
def test_the_minor_that_fails_is_told(triangles, real):
    A = numpy.eye(6, dtype=real)
    A[4, 4] = -1
    assert triangles.factor_corner(A, 2, 6) == 3
    assert triangles.factor_corner(A, 0, 0) == 0


@pytest.mark.parametrize("real", REALS)
def test_steps_over_tiles_give_the_factor_and_keep_what_is_above(triangles, real):
    A = positive(11, real)
    found, scratch = A.copy(), numpy.empty(triangles.count_scratch())
    for start, stop in ((0, 4), (4, 8), (8, 11)):
        assert triangles.factor_corner(found, start, stop) == 0
        cuts = [(at, min(at + 3, 11)) for at in range(stop, 11, 3)]
        for cut in cuts:
            triangles.divide_rows(found, start, stop, *cut)
        for i, here in enumerate(cuts):
            for there in cuts[: i + 1]:
                triangles.subtract_products(found, start, stop, *here, *there, scratch)
    numpy.testing.assert_allclose(numpy.tril(found), numpy.linalg.cholesky(A.astype(float)), **close(real))
    numpy.testing.assert_array_equal(numpy.triu(found, 1), numpy.triu(A, 1))


@pytest.mark.parametrize("real", REALS)
def test_columns_of_an_inverse_grow_by_portions_of_rows(triangles, real):
    L = numpy.linalg.cholesky(positive(10, real).astype(float)).astype(real)
    V = numpy.eye(10, dtype=real)
    stained = L + numpy.triu(numpy.full((10, 10), 7, dtype=real), 1)
    for column, column_stop in ((0, 3), (3, 6), (6, 10)):
        for row in range(column, 10, 4):
            triangles.invert_columns(stained, V, column, column_stop, row, min(row + 4, 10))
    numpy.testing.assert_allclose(V, numpy.linalg.inv(L.astype(float)), **close(real))
