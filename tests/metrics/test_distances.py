"""Distances and norms: definitions, inequalities, axioms, and what is none."""

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from mercer import kernels
from mercer.errors import DataError, ParameterError
from mercer.metrics import check_metric, lp_norm, pairwise_distances

X = np.random.default_rng(0).normal(size=(12, 3)) * [1.0, 10.0, 0.1]
Y = np.random.default_rng(1).normal(size=(7, 3)) + 2.0


@pytest.mark.catalogue("CL-19")
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 7.0, np.inf])
def test_distances_are_the_norms_of_differences(p):
    expected = np.array([[lp_norm(x - y, p) for y in Y] for x in X])
    np.testing.assert_allclose(pairwise_distances(X, Y, "minkowski", p=p), expected, rtol=1e-12)
    direct = (
        np.abs(X[:, None] - Y[None]).max(axis=2) if np.isinf(p) else (np.abs(X[:, None] - Y[None]) ** p).sum(axis=2)
    )
    np.testing.assert_allclose(expected, direct if np.isinf(p) else direct ** (1 / p), rtol=1e-12)
    names = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}
    if p in names:
        np.testing.assert_allclose(pairwise_distances(X, Y, names[p]), expected, rtol=1e-12)
    assert check_metric(pairwise_distances(X, metric="minkowski", p=p)).is_metric


@pytest.mark.catalogue("CL-19")
@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, 5, elements=st.floats(-1e6, 1e6)), st.floats(1, 50), st.floats(0, 50))
def test_norms_do_not_rise_with_p(x, p, more):
    assert lp_norm(x, p + more) <= lp_norm(x, p) * (1 + 1e-12)
    assert lp_norm(x, np.inf) <= lp_norm(x, p) * (1 + 1e-12)
    # In five dimensions it does not fall by more than the factor 5^(1/p).
    assert lp_norm(x, p) <= 5 ** (1 / p) * lp_norm(x, np.inf) * (1 + 1e-12)


def test_norms_of_extreme_numbers_neither_overflow_nor_vanish():
    assert lp_norm([3e200, 4e200]) == pytest.approx(5e200)
    assert lp_norm([3e-200, 4e-200], 3.0) == pytest.approx(91 ** (1 / 3) * 1e-200)
    np.testing.assert_array_equal(lp_norm(np.zeros((2, 3)), 1.0), 0.0)


@pytest.mark.catalogue("CL-19")
def test_mahalanobis_distances_are_those_of_the_inverse_covariance():
    S = np.array([[2.0, 0.5, 0.0], [0.5, 3.0, 1.0], [0.0, 1.0, 1.5]])
    inverse = np.linalg.inv(S)
    expected = np.sqrt([[(x - y) @ inverse @ (x - y) for y in Y] for x in X])
    np.testing.assert_allclose(pairwise_distances(X, Y, "mahalanobis", covariance=S), expected, rtol=1e-10)
    own = pairwise_distances(X, metric="mahalanobis")
    inverse = np.linalg.inv(np.cov(X.T))
    np.testing.assert_allclose(own, pairwise_distances(X, metric="mahalanobis", VI=inverse), rtol=1e-8, atol=1e-7)
    np.testing.assert_allclose(own, sklearn.metrics.pairwise_distances(X, metric="mahalanobis"), rtol=1e-8, atol=1e-7)
    both = np.cov(np.concatenate([X, Y]).T)
    expected = pairwise_distances(X, Y, "mahalanobis", covariance=both)
    np.testing.assert_allclose(pairwise_distances(X, Y, "mahalanobis"), expected, rtol=1e-12)
    # No invertible map of the columns changes it; the mean square over all pairs is twice the number of columns.
    turned = X @ np.random.default_rng(2).normal(size=(3, 3)) + 100.0
    np.testing.assert_allclose(pairwise_distances(turned, metric="mahalanobis"), own, rtol=1e-6)
    assert (own**2).sum() / (12 * 11) == pytest.approx(2 * 3)
    np.testing.assert_allclose(pairwise_distances(X, Y, "mahalanobis", covariance=np.eye(3)), pairwise_distances(X, Y))
    assert check_metric(own).is_metric


@pytest.mark.catalogue("CL-19")
def test_a_kernel_gives_the_distance_of_features():
    np.testing.assert_allclose(pairwise_distances(X, Y, kernels.Linear()), pairwise_distances(X, Y), rtol=1e-6)
    # Features of (x . y)^2 in two columns: x1^2, sqrt(2) x1 x2, x2^2.
    A, B = X[:, :2], Y[:, :2]
    lift = [np.column_stack([Z[:, 0] ** 2, np.sqrt(2) * Z[:, 0] * Z[:, 1], Z[:, 1] ** 2]) for Z in (A, B)]
    np.testing.assert_allclose(
        pairwise_distances(A, B, kernels.Polynomial(2, 1.0, 0.0)), pairwise_distances(*lift), rtol=1e-6
    )
    assert check_metric(pairwise_distances(X, metric=kernels.RBF(2.0))).is_metric


@pytest.mark.catalogue("CL-19")
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine", "l1", "cityblock"])
def test_names_mean_what_they_mean_in_scikit_learn(metric):
    expected = sklearn.metrics.pairwise_distances(X, Y, metric=metric)
    np.testing.assert_allclose(pairwise_distances(X, Y, metric), expected, rtol=1e-9)
    own = pairwise_distances(X, metric=metric)
    np.testing.assert_array_equal(np.diag(own), 0.0)
    np.testing.assert_allclose(own, sklearn.metrics.pairwise_distances(X, metric=metric), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("metric", ["canberra", "braycurtis", "correlation", lambda x, y: float(np.abs(x - y).max())])
def test_other_names_functions_and_sparse_rows_are_passed_on(metric):
    expected = sklearn.metrics.pairwise_distances(X, Y, metric=metric)
    np.testing.assert_allclose(pairwise_distances(X, Y, metric, n_jobs=1), expected, rtol=1e-12)
    np.testing.assert_allclose(pairwise_distances(csr_array(X)), pairwise_distances(X), rtol=1e-6, atol=1e-6)


@pytest.mark.catalogue("CL-19")
def test_the_axioms_are_told_apart():
    points = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    squared = check_metric(pairwise_distances([[0.0], [1.0], [3.0]], metric="sqeuclidean"))
    assert (squared.has_triangles, squared.is_symmetric, squared.is_metric) == (False, True, False)
    assert (squared.excess, squared.worst) == (4.0, (0, 1, 2))
    cosine = check_metric(pairwise_distances(points, metric="cosine"))
    assert not cosine.has_triangles
    assert cosine.excess == pytest.approx(1 - 2 * (1 - np.sqrt(0.5)))
    assert not check_metric(pairwise_distances([[1.0, 1.0], [2.0, 2.0], [0.0, 1.0]], metric="cosine")).separates
    assert not check_metric(pairwise_distances([[1.0], [1.0], [2.0]])).separates
    lopsided = check_metric([[0.0, 1.0], [2.0, 0.0]])
    assert (lopsided.is_symmetric, lopsided.is_nonnegative, lopsided.is_zero_on_diagonal) == (False, True, True)
    assert not check_metric([[0.0, -1.0], [-1.0, 0.0]]).is_nonnegative
    assert not check_metric([[0.5, 1.0], [1.0, 0.0]]).is_zero_on_diagonal


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lp_norm(X, 0.5), ParameterError, r"lp_norm: p must be a number in \[1, inf\]; got 0.5"),
        (lambda: pairwise_distances(X, metric="minkowski", p=0), ParameterError, "the triangle inequality fails"),
        (lambda: pairwise_distances(X, metric="long"), ParameterError, "metric must be a kernel, a function or one of"),
        (lambda: pairwise_distances(X, Y[:, :2]), DataError, "Y must have 3 columns, as X has; got 2"),
        (lambda: pairwise_distances([[0.0, 0.0]], metric="cosine"), DataError, "got a row of zeros"),
        (lambda: pairwise_distances(-np.eye(2), metric="precomputed"), DataError, "must be non-negative"),
        (lambda: pairwise_distances(np.eye(2), metric="precomputed"), DataError, "zero on the diagonal"),
        (
            lambda: pairwise_distances(np.ones((4, 2)), metric="mahalanobis"),
            ParameterError,
            "covariance must be positive definite; got rank 0 of 2",
        ),
        (lambda: check_metric(np.ones((2, 3))), DataError, r"must be a square table; got shape \(2, 3\)"),
    ],
)
def test_what_is_no_distance_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
    np.testing.assert_array_equal(pairwise_distances([[0.0, 2.0], [2.0, 0.0]], metric="precomputed")[0], [0.0, 2.0])
