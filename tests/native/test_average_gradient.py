"""Average-gradient visits, against the recurrence written out with whole vectors."""

import importlib

import numpy
import pytest
import scipy.sparse


@pytest.fixture
def average_gradient(level):
    return importlib.import_module(f"mercer._native.{level}.average_gradient")


def visit_plainly(X, mean, y, weight, order, table, total, coef, rate, decay, unbiased):
    for i in order:
        row = X[i] - mean
        slope = weight[i] * (row @ coef - y[i])
        delta, table[i] = slope - table[i], slope
        if unbiased:
            coef -= decay * coef + rate * (delta * row + total / len(X))
            total += delta * row
        else:
            total += delta * row
            coef -= decay * coef + rate * total / len(X)


@pytest.mark.parametrize("real", [numpy.float64, numpy.float32])
@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("decay", [0.0, 1e-3, 0.4])
def test_dense_and_sparse_visits_follow_the_recurrence(average_gradient, real, unbiased, decay):
    draw = numpy.random.default_rng(0)
    X = numpy.where(draw.uniform(size=(20, 9)) < 0.6, 0, draw.normal(size=(20, 9)) + 1).astype(real)
    mean, y, weight = draw.normal(size=9), draw.normal(size=20), draw.uniform(size=20)
    order = draw.integers(0, 20, size=60)
    table, coef = draw.normal(size=20), draw.normal(size=9)
    total = (X - mean).T @ table
    expected = table.copy(), total.copy(), coef.copy()
    visit_plainly(X.astype(float), mean, y, weight, order, *expected, 0.05, decay, unbiased)
    scratch = numpy.full((2, 9), numpy.nan)
    dense = table.copy(), total.copy(), coef.copy()
    average_gradient.visit_dense(X, mean, y, weight, order, *dense, 0.05, decay, unbiased, scratch)
    for found, wanted in zip(dense, expected):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    rows = scipy.sparse.csr_array(X)
    sparse = table.copy(), X.T.astype(float) @ table, coef.copy()
    average_gradient.visit_sparse(
        rows.data, rows.indices, rows.indptr, mean, y, weight, order, *sparse, 0.05, decay, unbiased, scratch
    )
    numpy.testing.assert_allclose(sparse[0], expected[0], rtol=1e-9, atol=1e-10)
    numpy.testing.assert_allclose(sparse[1] - mean * sparse[0].sum(), expected[1], rtol=1e-9, atol=1e-10)
    numpy.testing.assert_allclose(sparse[2], expected[2], rtol=1e-9, atol=1e-10)
