"""Sweeps over the columns of a covariance: each column solves its lasso, and the log determinant never falls."""

import importlib

import numpy as np
import pytest


@pytest.fixture
def native(level):
    return importlib.import_module(f"mercer._native.{level}.graphical_descent")


def test_each_column_solves_its_lasso_and_the_dual_rises(native):
    random = np.random.default_rng(0)
    S = np.cov(random.normal(size=(6, 30)) + random.normal(size=(1, 30)))
    # One pair of columns is related by less than alpha, so that some coefficients are zero.
    alpha, W, B = 0.2, 0.95 * S, np.zeros((6, 6))
    np.fill_diagonal(W, np.diagonal(S))
    values = []
    for _ in range(40):
        native.sweep_columns(S, alpha, 1e-12, 1000, 0, 3, W, B, np.empty(6))
        change = native.sweep_columns(S, alpha, 1e-12, 1000, 3, 6, W, B, np.empty(6))
        values.append(np.linalg.slogdet(W)[1])
    assert change < 1e-10
    # Each lasso ends within 1e-12 of its optimum, and six of them make a sweep.
    assert (np.diff(values) >= -6e-12).all()
    np.testing.assert_array_equal(W, W.T)
    np.testing.assert_array_equal(np.diagonal(W), np.diagonal(S))
    np.testing.assert_array_equal(np.diagonal(B), 0.0)
    assert np.count_nonzero(B)
    for c in range(6):
        others = np.arange(6) != c
        slopes = S[c, others] - W[np.ix_(others, others)] @ B[c, others]
        np.testing.assert_allclose(W[c, others], S[c, others] - slopes, atol=1e-10)
        used = B[c, others] != 0
        np.testing.assert_allclose(slopes[used], alpha * np.sign(B[c, others][used]), atol=1e-9)
        assert (np.abs(slopes[~used]) <= alpha + 1e-9).all()
