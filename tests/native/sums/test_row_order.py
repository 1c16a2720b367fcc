"""Copies from Fortran order to C order, at every level and uncompiled."""

import importlib

import numpy
import pytest


@pytest.fixture
def row_order(level):
    return importlib.import_module(f"mercer._native.{level}.row_order")


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("shape", [(1, 1), (8, 4), (21, 3), (40, 10), (9, 8)])
@pytest.mark.parametrize("first", [0, 5])
def test_rows_are_copied_to_c_order(row_order, dtype, shape, first):
    n, d = shape
    X = numpy.arange((n + first + 2) * d, dtype=dtype).reshape(n + first + 2, d, order="F")
    rows = numpy.full((n, d), -1, dtype)
    row_order.copy_rows(X.T, first, rows)
    numpy.testing.assert_array_equal(rows, X[first : first + n])
