"""Moments: one pass, as accurate as two, and additive."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer._source import ArraySource, SparseSource
from mercer._source.block import SparseBlock
from mercer._statistic import Moments


def test_mean_scatter_and_cross_are_those_of_numpy():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(9000, 40)), random.normal(size=(9000, 2))
    sums = ArraySource(X, y).reduce(Moments())
    joint = np.cov(np.c_[X, y].T, ddof=0) * 9000
    assert sums.weight == 9000
    np.testing.assert_allclose(sums.mean, X.mean(axis=0), atol=1e-13)
    np.testing.assert_allclose(sums.scatter, joint[:40, :40], rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(sums.cross, joint[:40, 40:], rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(sums.y_scatter, np.diag(joint)[40:], rtol=1e-12)


def test_a_large_mean_does_not_eat_the_digits_of_the_variance():
    X = np.random.default_rng(0).normal(size=(20_000, 3)) + 1e9
    exact = ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    np.testing.assert_allclose(np.diag(ArraySource(X).reduce(Moments()).scatter), exact, rtol=1e-7)
    naive = (X**2).sum(axis=0) - len(X) * X.mean(axis=0) ** 2
    assert np.abs(naive / exact - 1).max() > 1e-3


def test_weights_are_repetitions():
    random = np.random.default_rng(0)
    X, weight = random.normal(size=(5000, 8)), random.integers(0, 4, 5000)
    weighted = ArraySource(X, weight=weight.astype(float)).reduce(Moments())
    repeated = ArraySource(X.repeat(weight, axis=0)).reduce(Moments())
    assert weighted.weight == repeated.weight
    np.testing.assert_allclose(weighted.scatter, repeated.scatter, rtol=1e-10, atol=1e-9)


def test_the_diagonal_alone_is_the_diagonal():
    X = np.random.default_rng(0).normal(size=(5000, 8))
    full, diagonal = (ArraySource(X).reduce(Moments(diagonal=flag)) for flag in (False, True))
    np.testing.assert_allclose(np.diag(full.scatter), diagonal.scatter, rtol=1e-12)


def test_without_centring_the_scatter_is_the_raw_second_moment():
    X = np.random.default_rng(0).normal(size=(5000, 8)) + 3
    sums = ArraySource(X).reduce(Moments(centre=False))
    assert not sums.mean.any()
    np.testing.assert_allclose(sums.scatter, X.T @ X, rtol=1e-12)


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_do_not_change_a_bit(threads):
    X = np.random.default_rng(0).normal(size=(9000, 40))
    one, many = (ArraySource(X, threads=count).reduce(Moments()) for count in (1, threads))
    assert np.array_equal(one.scatter, many.scatter)


def test_float32_rows_are_summed_in_float64():
    X = (np.random.default_rng(0).normal(size=(50_000, 4)) + 100).astype(np.float32)
    sums = ArraySource(X).reduce(Moments())
    assert sums.scatter.dtype == np.float64
    np.testing.assert_allclose(sums.scatter, np.cov(X.T.astype(float), ddof=0) * 50_000, rtol=1e-5, atol=5)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_have_the_moments_of_dense_ones_and_stay_sparse(diagonal, weighted, monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(5000, 30)) * (random.random((5000, 30)) < 0.1) + 3 * (random.random((5000, 30)) < 0.05)
    weight = random.integers(0, 3, 5000).astype(float) if weighted else None
    dense = ArraySource(X, weight=weight).reduce(Moments(diagonal=diagonal))
    monkeypatch.setattr(SparseBlock, "centre", None)
    sparse = SparseSource(csr_array(X), weight=weight).reduce(Moments(diagonal=diagonal))
    np.testing.assert_allclose(sparse.mean, dense.mean, rtol=1e-12)
    np.testing.assert_allclose(sparse.scatter, dense.scatter, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("real", [np.float64, np.float32])
@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_compiled_twin_gives_the_definition(real, centre, weighted):
    random = np.random.default_rng(0)
    X, y = (random.normal(size=(700, 23)) + 5).astype(real), random.normal(size=(700, 2))
    block = ArraySource(X, y, weight=random.random(700) if weighted else None).block(0)
    statistic = Moments(centre=centre)
    expected, found = statistic.of(block), statistic.native(block)
    for name in ("weight", "mean", "scatter", "y_mean", "cross", "y_scatter"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-10, atol=1e-9, err_msg=name)
