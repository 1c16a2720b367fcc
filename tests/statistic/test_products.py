"""Products with centred rows: one definition for dense, sparse and array-API rows."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse

from mercer._source import ArraySource, SparseSource
from mercer._statistic import Moments
from mercer._statistic.products import Bidiagonal, NormalProduct, Residual, TransposeProduct
from mercer._statistic.triangle import Triangle

N = 3000
X = np.where(
    np.random.default_rng(0).uniform(size=(N, 6)) < 0.5, 0.0, np.random.default_rng(1).normal(size=(N, 6)) + 2.0
)
Y, WEIGHT = np.random.default_rng(2).normal(size=(N, 2)), np.random.default_rng(3).uniform(size=N)
MEAN = np.average(X, axis=0, weights=WEIGHT)
CENTRED = X - MEAN
V, U = np.random.default_rng(4).normal(size=(6, 2)), np.random.default_rng(5).normal(size=(N, 2))


def strict_source():
    xp = array_api_strict
    return ArraySource(xp.asarray(X), xp.asarray(Y), xp.asarray(WEIGHT), 1, xp), xp.asarray


def sources():
    sparse = SparseSource(scipy.sparse.csr_array(X), Y, WEIGHT, 2)
    return {
        "dense": (ArraySource(X, Y, WEIGHT, 2), np.asarray),
        "sparse": (sparse, np.asarray),
        "strict": strict_source(),
    }


@pytest.mark.parametrize("place", ["dense", "sparse", "strict"])
def test_products_are_those_of_centred_weighted_rows(place):
    source, put = sources()[place]
    heavy = WEIGHT[:, None] * CENTRED
    found = source.reduce(NormalProduct(put(V), put(MEAN)))
    np.testing.assert_allclose(np.asarray(found.product), heavy.T @ (CENTRED @ V), rtol=1e-10)
    residual = Y - 0.5 - CENTRED @ V
    found = source.reduce(Residual(put(V), put(MEAN), put(np.full(2, 0.5))))
    np.testing.assert_allclose(np.asarray(found.product), heavy.T @ residual, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.asarray(found.squares), WEIGHT @ residual**2, rtol=1e-11)
    found = source.reduce(TransposeProduct(put(U), put(MEAN)))
    np.testing.assert_allclose(np.asarray(found), CENTRED.T @ U, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("place", ["dense", "sparse"])
def test_half_a_bidiagonal_step_writes_its_vector_and_sums_it(place):
    source, _ = sources()[place]
    out, scale = np.empty((N, 2)), np.array([0.5, 2.0])
    found = source.reduce(Bidiagonal(V, MEAN, U, scale, out))
    expected = CENTRED @ V - scale * U
    np.testing.assert_allclose(out, expected, atol=1e-12)
    np.testing.assert_allclose(found.product, CENTRED.T @ (WEIGHT[:, None] * expected), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.squares, WEIGHT @ expected**2, rtol=1e-12)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("centre", [False, True])
def test_moments_of_sparse_rows_are_the_dense_ones(diagonal, centre):
    dense, sparse = (sources()[place][0] for place in ("dense", "sparse"))
    expected, found = dense.reduce(Moments(centre, diagonal)), sparse.reduce(Moments(centre, diagonal))
    for name in ("weight", "mean", "scatter", "y_mean", "cross", "y_scatter"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("place", ["dense", "sparse", "strict"])
@pytest.mark.parametrize("centre", [False, True])
def test_the_triangle_has_the_gram_matrix_of_the_rows(place, centre):
    source, _ = sources()[place]
    sums = source.reduce(Triangle(centre))
    factor = np.asarray(sums.factor)
    mean = np.average(np.c_[X, Y], axis=0, weights=WEIGHT) if centre else np.zeros(X.shape[1] + Y.shape[1])
    np.testing.assert_allclose(np.asarray(sums.mean), mean, rtol=1e-12)
    columns = np.c_[X, Y] - mean
    np.testing.assert_allclose(factor.T @ factor, columns.T @ (WEIGHT[:, None] * columns), rtol=1e-9, atol=1e-9)
    assert np.array_equal(factor, np.triu(factor))
