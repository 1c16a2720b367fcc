"""Power iteration on any symmetric matrix, and matrices that whiten."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.decomposition import PCA, power_iteration, whitening_matrix
from mercer.errors import DataError, ParameterError


@pytest.mark.catalogue("PM-04")
@pytest.mark.parametrize("values", [[3.0, 2.0, 1.0], [-5.0, 2.0, 1.0], [3e-200, 1e-200, 0.0], [4e150, -1e150, 1e140]])
def test_the_error_shrinks_by_the_ratio_of_absolute_eigenvalues(values):
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    A = (rotation * values) @ rotation.T
    # All eigenvectors have the same share of the start.
    found = power_iteration((A + A.T) / 2, start=rotation.sum(axis=1))
    assert found.converged
    assert found.values[0] == pytest.approx(values[0], rel=1e-12)
    assert abs(found.vectors[0] @ rotation[:, 0]) == pytest.approx(1.0)
    # The Rayleigh quotient errs by the square of the vector's error: it shrinks by the squared ratio at each step.
    errors = np.abs(found.estimates[0] - values[0]) / abs(values[0])
    kept = np.flatnonzero((errors < 1e-5) & (errors > 1e-11))
    ratios = errors[kept[1:]] / errors[kept[:-1]]
    assert ratios[-1] == pytest.approx((values[1] / values[0]) ** 2, rel=0.02)


@pytest.mark.catalogue("PM-04")
def test_deflated_vectors_are_those_of_eigh_without_forming_the_matrix():
    X = np.random.default_rng(0).normal(size=(50, 6)) * [6, 5, 4, 3, 2, 1] + 100.0
    X -= X.mean(axis=0)
    found = power_iteration(lambda v: X.T @ (X @ v), 6, n_features=6, random_state=0)
    values, vectors = np.linalg.eigh(X.T @ X)
    np.testing.assert_allclose(found.values, values[::-1], rtol=1e-9)
    np.testing.assert_allclose(np.abs(found.vectors @ vectors[:, ::-1]), np.eye(6), atol=1e-6)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, np.eye(6), atol=1e-12)
    model = PCA(6, svd_solver="full").fit(X)
    np.testing.assert_allclose(found.values / 49, model.explained_variance_, rtol=1e-9)


@pytest.mark.catalogue("PM-04")
def test_a_start_at_right_angles_never_finds_the_first_and_a_repeated_value_gives_its_space():
    missed = power_iteration(np.diag([3.0, 2.0, 1.0]), start=[0.0, 1.0, 1.0])
    assert missed.values[0] == pytest.approx(2.0)
    assert missed.vectors[0, 0] == 0.0
    space = power_iteration(np.diag([-3.0, -3.0, 1.0]), 2, random_state=0)
    np.testing.assert_allclose(space.values, -3.0)
    np.testing.assert_allclose(space.vectors[:, 2], 0.0, atol=1e-9)
    one = power_iteration([[7.0]], random_state=0)
    assert one.values.tolist() == [7.0]
    assert power_iteration(np.zeros((2, 2)), 2, random_state=0).values.tolist() == [0.0, 0.0]


@pytest.mark.catalogue("PM-04")
def test_two_values_of_one_size_and_opposite_signs_do_not_converge():
    with pytest.warns(ConvergenceWarning, match=r"power_iteration: not converged; residual .* after 50 products"):
        found = power_iteration(np.diag([2.0, -2.0]), start=[1.0, 1.0], max_iter=50)
    assert not found.converged


@pytest.mark.catalogue("PM-04", "PM-07")
@pytest.mark.parametrize("kind", ["pca", "zca", "cholesky"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_whitened_rows_have_the_identity_as_covariance_and_any_rotation_keeps_it(kind, scale):
    random = np.random.default_rng(0)
    X = scale * random.normal(size=(400, 4)) @ random.normal(size=(4, 4)) + 7.0
    C = np.cov(X.T)
    W = whitening_matrix(C, kind=kind)
    white = (X - X.mean(axis=0)) @ W.T
    np.testing.assert_allclose(np.cov(white.T), np.eye(4), atol=1e-8)
    turn = np.linalg.qr(random.normal(size=(4, 4)))[0]
    np.testing.assert_allclose(np.cov((white @ turn).T), np.eye(4), atol=1e-8)
    np.testing.assert_allclose(white @ np.linalg.inv(W).T + X.mean(axis=0), X, rtol=1e-8, atol=1e-8 * scale)
    if kind == "zca":
        np.testing.assert_allclose(W, W.T, rtol=1e-8)
        np.testing.assert_allclose(white, PCA(whiten="zca").fit_transform(X), atol=1e-6)
    if kind == "pca":
        np.testing.assert_allclose(np.abs(white), np.abs(PCA(whiten=True).fit_transform(X)), atol=1e-6)
    if kind == "cholesky":
        np.testing.assert_array_equal(W, np.tril(W))


@pytest.mark.catalogue("PM-07")
def test_a_floor_limits_what_is_enlarged():
    W = whitening_matrix(np.diag([100.0, 1.0, 0.0]), floor=0.04)
    np.testing.assert_allclose(np.sort(np.abs(np.linalg.eigvals(W))), [0.1, 0.5, 0.5])
    with pytest.raises(DataError, match="must have full rank to be whitened; got rank 2 of 3"):
        whitening_matrix(np.diag([100.0, 1.0, 0.0]))


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda: power_iteration(np.ones((2, 3))), DataError, "matrix must be symmetric; got shape (2, 3). For rows X"),
        (lambda: power_iteration([[1.0, 2.0], [0.0, 1.0]]), DataError, "matrix must be symmetric"),
        (lambda: power_iteration(lambda v: v), ParameterError, "n_features must be given with a callable"),
        (lambda: power_iteration(np.eye(2), 3), ParameterError, "at most the size of the matrix, 2; got 3"),
        (lambda: power_iteration(np.eye(2), tol=-1), ParameterError, "tol must be a number in [0, inf); got -1"),
        (lambda: whitening_matrix(np.eye(2), kind="ica"), ParameterError, "one of 'pca', 'zca', 'cholesky'; got 'ica'"),
        (lambda: whitening_matrix([1.0, 2.0]), DataError, "covariance must be a symmetric matrix; got shape (2,)"),
    ],
)
def test_wrong_input_is_answered_with_a_cure(act, error, words):
    with pytest.raises(error, match=re.escape(words)):
        act()
