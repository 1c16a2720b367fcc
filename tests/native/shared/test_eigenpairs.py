"""Eigenvectors of a symmetric matrix by LAPACK."""

import importlib

import numpy
import pytest


@pytest.fixture
def eigenpairs(level):
    return importlib.import_module(f"mercer._native.{level}.eigenpairs")


@pytest.mark.parametrize("real", [numpy.float64, numpy.float32])
def test_pairs_satisfy_the_equation_and_come_in_rising_order(eigenpairs, real):
    n, first, last = 12, 3, 7
    root = numpy.random.default_rng(1).normal(size=(n, n))
    A = (root + root.T).astype(real)
    values, vectors = numpy.empty(n, real), numpy.empty((last - first + 1, n), real)
    work, counters = numpy.empty(50 * n, real), numpy.empty(20 * n, numpy.intc)
    support = numpy.empty(2 * n, numpy.intc)
    assert eigenpairs.decompose_some(A.copy(), first, last, values, vectors, support, work, counters) == 0
    expected = numpy.linalg.eigvalsh(A.astype(float))
    close = {"rtol": 1e-10, "atol": 1e-10} if real is numpy.float64 else {"rtol": 1e-3, "atol": 1e-3}
    numpy.testing.assert_allclose(values[: last - first + 1], expected[first : last + 1], **close)
    numpy.testing.assert_allclose(vectors @ A, values[: last - first + 1, None] * vectors, **close)
    # Divide and conquer overwrites the matrix by all vectors; its workspace is 1 + 6 n + 2 n^2 and 3 + 5 n.
    found = A.copy()
    work, counters = numpy.empty(1 + 6 * n + 2 * n * n, real), numpy.empty(3 + 5 * n, numpy.intc)
    assert eigenpairs.decompose_whole(found, values, work, counters) == 0
    numpy.testing.assert_allclose(values, expected, **close)
    numpy.testing.assert_allclose(found @ A, values[:, None] * found, **close)
