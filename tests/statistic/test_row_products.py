"""Tiles of a Gram matrix."""

import numpy as np
import pytest

from mercer._native.sums import row_products
from mercer._statistic.products import multiply_rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_of_rows_are_those_of_numpy(dtype):
    random = np.random.default_rng(0)
    A, B = random.normal(size=(130, 70)).astype(dtype), random.normal(size=(41, 70)).astype(dtype)
    np.testing.assert_allclose(multiply_rows(A, B), A @ B.T, rtol=0, atol=1e-12 if dtype == np.float64 else 1e-4)
    np.testing.assert_allclose(multiply_rows(A[:, ::2], B[:, ::2]), A[:, ::2] @ B[:, ::2].T, atol=1e-4)
    square = multiply_rows(A, A)
    np.testing.assert_array_equal(square, square.T)


def test_the_blas_multiplies_where_it_is_as_fast(monkeypatch):
    A = np.random.default_rng(0).normal(size=(30, 20))
    monkeypatch.setattr(row_products, "gains", lambda: False)
    np.testing.assert_array_equal(multiply_rows(A, A), A @ A.T)
