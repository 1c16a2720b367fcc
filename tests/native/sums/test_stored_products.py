"""Products of sparse rows with dense columns, and their deviations from a mean, at every level and uncompiled."""

import importlib

import numpy
import pytest
import scipy.sparse


@pytest.fixture
def products(level):
    return importlib.import_module(f"mercer._native.{level}.stored_products")


def make_rows(dtype, places):
    """Return CSR rows, one of them empty, with places of the asked type."""
    X = scipy.sparse.random(23, 40, 0.2, format="csr", random_state=0, dtype=numpy.float64).astype(dtype)
    X = scipy.sparse.vstack([X, scipy.sparse.csr_matrix((1, 40), dtype=dtype), X[:3]], format="csr")
    return X, (X.indptr.astype(places), X.indices.astype(places), X.data)


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("places", [numpy.int32, numpy.int64])
@pytest.mark.parametrize("k", [4, 5, 8, 16, 19, 21, 30, 37])
def test_products_have_the_bits_of_scipys(products, dtype, places, k):
    X, arrays = make_rows(dtype, places)
    draw = numpy.random.default_rng(k)
    right, left = draw.normal(size=(40, k)), draw.normal(size=(27, k))
    out = numpy.empty((27, k))
    products.multiply_rows(*arrays, right, out)
    numpy.testing.assert_array_equal(out, X @ right)
    out = numpy.zeros((40, k))
    products.add_transposed_product(*arrays, left, out)
    numpy.testing.assert_array_equal(out, X.T @ left)


def test_a_transposed_product_adds_to_what_is_there(products):
    X, arrays = make_rows(numpy.float64, numpy.int32)
    left, out = numpy.ones((27, 6)), numpy.full((40, 6), 2.0)
    products.add_transposed_product(*arrays, left, out)
    numpy.testing.assert_allclose(out, 2.0 + (X.T @ left), rtol=1e-15)


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
def test_deviations_of_stored_entries_are_summed_by_column(products, dtype):
    X, arrays = make_rows(dtype, numpy.int32)
    draw = numpy.random.default_rng(1)
    weights, mean = draw.uniform(1.0, 2.0, 27), draw.normal(size=40)
    squares, counted = numpy.zeros(40), numpy.zeros(40)
    products.add_deviations(*arrays, weights, mean, squares, counted)
    stored = (X != 0).toarray()
    gaps = weights[:, None] * (X.toarray().astype(numpy.float64) - mean) ** 2
    numpy.testing.assert_allclose(squares, (gaps * stored).sum(axis=0), rtol=1e-14)
    numpy.testing.assert_allclose(counted, (weights[:, None] * stored).sum(axis=0), rtol=1e-14)
