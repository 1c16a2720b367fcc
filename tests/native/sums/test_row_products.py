"""Inner products of rows in packed panels: every edge of a panel, and the lower triangle alone."""

import importlib

import numpy
import pytest

# Rows, other rows, columns: below, at and beyond a panel (8 x 24), a packed part (96 x 240) and its depth (192).
SHAPES = [(1, 1, 1), (7, 23, 5), (8, 24, 192), (9, 25, 193), (97, 241, 200), (250, 17, 385), (3, 4, 0)]


@pytest.fixture
def row_products(level):
    return importlib.import_module(f"mercer._native.{level}.row_products")


@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_rows_are_added_to_what_was_there(row_products, shape):
    m, n, k = shape
    random = numpy.random.default_rng(0)
    A, B, start = random.normal(size=(m, k)), random.normal(size=(n, k)), random.normal(size=(m, n))
    found = start.copy()
    row_products.add_products(A, B, False, found, numpy.full(row_products.count_scratch(), numpy.nan))
    numpy.testing.assert_allclose(found, start + A @ B.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 8, 25, 96, 97, 250, 500])
def test_the_lower_triangle_alone_changes_where_it_alone_is_wanted(row_products, n):
    A = numpy.random.default_rng(1).normal(size=(n, 200))
    found = numpy.full((n, n), 7.0)
    row_products.add_products(A, A, True, found, numpy.full(row_products.count_scratch(), numpy.nan))
    lower = numpy.tri(n, dtype=bool)
    numpy.testing.assert_allclose(found[lower], (7.0 + A @ A.T)[lower], rtol=1e-12, atol=1e-12)
    numpy.testing.assert_array_equal(found[~lower], 7.0)
