"""The passes over the rows: products, lifted vectors, triangular factors."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer._source import ArraySource, open_source
from mercer._statistic.triangle import Triangle
from mercer.decomposition._axes import complete
from mercer.decomposition._statistics import Lift, ScatterProduct

X = np.random.default_rng(3).normal(size=(20_000, 7)) @ np.random.default_rng(4).normal(size=(7, 7)) + 10
WEIGHT = np.random.default_rng(5).integers(0, 3, 20_000).astype(float)


def centred(weight):
    return (X - np.average(X, axis=0, weights=weight)) * np.sqrt(1.0 if weight is None else weight[:, None])


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_factor_has_the_scatter_of_the_rows(weight):
    sums = open_source(X, weight=weight, threads=2).reduce(Triangle())
    assert sums.factor.shape == (7, 7)
    np.testing.assert_array_equal(sums.factor, np.triu(sums.factor))
    np.testing.assert_allclose(sums.factor.T @ sums.factor, centred(weight).T @ centred(weight), rtol=1e-11)
    np.testing.assert_allclose(sums.mean, np.average(X, axis=0, weights=weight), rtol=1e-13)


@pytest.mark.catalogue("PM-03")
def test_the_factor_keeps_singular_values_that_the_scatter_matrix_loses():
    columns = np.random.default_rng(6).normal(size=(20_000, 2))
    rows = np.c_[columns[:, 0], columns[:, 0] + 1e-9 * columns[:, 1]]
    exact = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    sums = ArraySource(rows).reduce(Triangle())
    np.testing.assert_allclose(np.linalg.svd(sums.factor, compute_uv=False), exact, rtol=1e-6)


def test_fewer_rows_than_columns_are_kept_until_they_are_enough():
    rows = np.random.default_rng(6).normal(size=(700, 300))
    source = ArraySource(rows)
    source.block_rows = 128
    factor = source.reduce(Triangle()).factor
    gaps = rows - rows.mean(axis=0)
    np.testing.assert_allclose(factor.T @ factor, gaps.T @ gaps, atol=1e-10)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_products_with_the_scatter_need_no_scatter(weight):
    basis, mean = np.random.default_rng(6).normal(size=(7, 3)), np.average(X, axis=0, weights=weight)
    expected = centred(weight).T @ (centred(weight) @ basis)
    for rows in (X, csr_array(X)):
        product = open_source(rows, weight=weight).reduce(ScatterProduct(mean, basis))
        np.testing.assert_allclose(product, expected, rtol=1e-9, atol=1e-7)


def test_definitions_run_in_any_array_library():
    random = np.random.default_rng(6)
    strict = pytest.importorskip("array_api_strict", reason="the strict array API is an extra of the tests")
    rows, weight = X[:5000], WEIGHT[:5000]
    mean, basis, vectors = rows.mean(axis=0), random.normal(size=(7, 2)), random.normal(size=(5000, 2))
    there = ArraySource(strict.asarray(rows), weight=strict.asarray(weight), xp=strict)
    here = ArraySource(rows, weight=weight)
    product = there.reduce(ScatterProduct(strict.asarray(mean), strict.asarray(basis)))
    np.testing.assert_allclose(np.asarray(product), here.reduce(ScatterProduct(mean, basis)), rtol=1e-9)
    lifted = there.reduce(Lift(strict.asarray(mean), strict.asarray(vectors)))
    np.testing.assert_allclose(np.asarray(lifted), here.reduce(Lift(mean, vectors)), rtol=1e-9, atol=1e-9)
    factor = np.asarray(there.reduce(Triangle()).factor)
    expected = here.reduce(Triangle()).factor
    np.testing.assert_allclose(factor.T @ factor, expected.T @ expected, rtol=1e-9)


def test_a_completed_basis_is_orthonormal_and_depends_on_the_space_alone():
    random = np.random.default_rng(6)
    axes = np.linalg.qr(random.normal(size=(9, 4)))[0].T
    turned = np.linalg.qr(random.normal(size=(4, 4)))[0] @ axes
    whole = complete(axes, 9)
    np.testing.assert_allclose(whole @ whole.T, np.eye(9), atol=1e-13)
    np.testing.assert_allclose(complete(turned, 9)[4:], whole[4:], atol=1e-12)
