"""PCA: every solver finds the eigenvectors of the covariance."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

from mercer.decomposition import PCA
from mercer.errors import DataError, ParameterError

SOLVERS = ("full", "covariance_eigh", "gram", "arpack", "randomized", "power")
EXACT = ("full", "covariance_eigh", "gram")
# Variances 16, 8, 4, 2, 1, ... along random orthonormal axes: every eigenvalue is simple and half the one before.
AXES = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))[0].T
X = (
    np.random.default_rng(1).normal(size=(300, 12)) * np.sqrt(16 * 0.5 ** np.arange(12)) @ AXES
    + np.random.default_rng(2).normal(size=12) * 5
)


def fit(solver, k=3, rows=X, **settings):
    settings = {"iterated_power": 60} | settings if solver == "randomized" else settings
    return PCA(k, svd_solver=solver, random_state=0, **settings).fit(rows)


def truth(rows=X, ddof=1):
    values, vectors = np.linalg.eigh(np.cov(rows, rowvar=False, ddof=ddof))
    vectors = vectors[:, ::-1].T
    largest = vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)]
    return values[::-1], vectors * np.sign(largest)[:, None]


@pytest.mark.catalogue("PM-01", "PM-02")
@pytest.mark.parametrize("solver", SOLVERS)
def test_components_are_the_eigenvectors_of_the_covariance(solver):
    values, vectors = truth()
    model = fit(solver)
    np.testing.assert_allclose(model.components_, vectors[:3], atol=1e-8)
    np.testing.assert_allclose(model.explained_variance_, values[:3], rtol=1e-11)
    np.testing.assert_allclose(model.singular_values_, np.linalg.svd(X - X.mean(axis=0))[1][:3], rtol=1e-11)
    np.testing.assert_allclose(model.explained_variance_ratio_, values[:3] / values.sum(), rtol=1e-11)
    np.testing.assert_allclose(model.noise_variance_, values[3:].mean(), rtol=1e-10)
    assert model.solver_used_ == solver


@pytest.mark.catalogue("PM-01")
def test_scores_restore_the_rows_up_to_the_variance_left_out():
    values, _ = truth(ddof=0)
    for k in (1, 4, 12):
        model = PCA(k, ddof=0).fit(X)
        scores = model.transform(X)
        np.testing.assert_allclose(np.cov(scores, rowvar=False, ddof=0), np.diag(values[:k]).squeeze(), atol=1e-12)
        error = ((X - model.inverse_transform(scores)) ** 2).sum(axis=1).mean()
        assert error == pytest.approx(values[k:].sum(), abs=1e-12)


@pytest.mark.catalogue("PM-01")
def test_no_other_direction_has_more_variance_or_less_residual():
    model = PCA(1).fit(X)
    others = np.random.default_rng(3).normal(size=(200, 12))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    centred = X - X.mean(axis=0)
    variances = (centred @ others.T).var(axis=0, ddof=1)
    residuals = ((centred[:, None, :] - (centred @ others.T)[:, :, None] * others) ** 2).sum(axis=(0, 2))
    assert (variances < model.explained_variance_[0]).all()
    assert (residuals > ((X - model.inverse_transform(model.transform(X))) ** 2).sum()).all()
    np.testing.assert_allclose(variances, np.einsum("ij,jk,ik->i", others, np.cov(X.T), others), rtol=1e-12)


@pytest.mark.catalogue("PM-03")
def test_the_full_solver_keeps_the_small_singular_values_of_the_lauchli_matrix():
    small = 1e-8
    lauchli = np.c_[np.ones(3), small * np.eye(3)]
    mirrored = np.r_[lauchli, -lauchli]  # mean zero, and every singular value times the root of two
    expected = np.sqrt(2) * np.array([np.sqrt(3 + small**2), small, small])
    np.testing.assert_allclose(PCA(3, svd_solver="full").fit(mirrored).singular_values_, expected, rtol=1e-7)
    # Units that differ are taken apart; the same rows turned have columns of like spread, whose covariance loses it.
    squared = PCA(3, svd_solver="covariance_eigh")
    np.testing.assert_allclose(squared.fit(mirrored).singular_values_, expected, rtol=1e-7)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    assert np.abs(squared.fit(mirrored @ turn).singular_values_[1:] / expected[1:] - 1).max() > 0.1
    assert PCA(3).fit(mirrored).solver_used_ == "full"


@pytest.mark.catalogue("PM-01")
@pytest.mark.parametrize("solver", SOLVERS)
def test_scaled_components_are_those_of_the_correlation_matrix(solver):
    values, vectors = np.linalg.eigh(np.corrcoef(X, rowvar=False))
    model = fit(solver, 2, scale=True)
    np.testing.assert_allclose(model.explained_variance_, values[::-1][:2], rtol=1e-10)
    np.testing.assert_allclose(np.abs(model.components_ @ vectors[:, ::-1][:, :2]), np.eye(2), atol=1e-7)
    np.testing.assert_allclose(model.scale_, X.std(axis=0, ddof=1))
    whole = PCA(scale=True).fit(X)
    np.testing.assert_allclose(whole.inverse_transform(whole.transform(X)), X, atol=1e-12)
    np.testing.assert_allclose(whole.get_covariance(), np.cov(X, rowvar=False), atol=1e-12)


@pytest.mark.parametrize("whiten", [False, True])
def test_the_model_is_a_gaussian_with_the_covariance_of_the_data(whiten):
    from scipy.stats import multivariate_normal

    model = PCA(whiten=whiten).fit(X)
    covariance = np.cov(X, rowvar=False)
    np.testing.assert_allclose(model.get_covariance(), covariance, atol=1e-12)
    np.testing.assert_allclose(model.get_precision() @ covariance, np.eye(12), atol=1e-9)
    np.testing.assert_allclose(model.score_samples(X), multivariate_normal(X.mean(axis=0), covariance).logpdf(X))
    few = PCA(3, whiten=whiten).fit(X)
    density = multivariate_normal(X.mean(axis=0), few.get_covariance())
    np.testing.assert_allclose(few.score_samples(X), density.logpdf(X))
    np.testing.assert_allclose(few.get_precision() @ few.get_covariance(), np.eye(12), atol=1e-12)


@pytest.mark.catalogue("PM-07")
@pytest.mark.parametrize("whiten", [True, "zca"])
def test_white_scores_have_the_identity_as_covariance_and_can_be_undone(whiten):
    model = PCA(whiten=whiten).fit(X)
    scores = model.transform(X)
    np.testing.assert_allclose(np.cov(scores, rowvar=False), np.eye(12), atol=1e-10)
    turned = scores @ np.linalg.qr(np.random.default_rng(3).normal(size=(12, 12)))[0]
    np.testing.assert_allclose(np.cov(turned, rowvar=False), np.eye(12), atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(scores), X, atol=1e-10)


@pytest.mark.catalogue("PM-07")
def test_zca_is_the_symmetric_whitening_and_the_floor_limits_what_it_enlarges():
    centred = X - X.mean(axis=0)
    values, vectors = truth()
    root = vectors.T @ np.diag(values**-0.5) @ vectors
    model = PCA(whiten="zca").fit(X)
    np.testing.assert_allclose(model.transform(X), centred @ root, atol=1e-10)
    assert model.get_feature_names_out().shape == (12,)
    floored = PCA(whiten=True, whiten_floor=0.1).fit(X)
    scale = np.sqrt(np.maximum(values, 0.1 * values[0]))
    np.testing.assert_allclose(np.abs(floored.transform(X)), np.abs(centred @ vectors.T / scale), atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_are_repetitions_down_to_the_axes_without_variance(solver):
    rows = np.random.default_rng(3).normal(size=(9, 20))
    weight = np.array([1, 2, 0, 3, 1, 0, 1, 2, 4])
    k = 10 if solver not in ("randomized", "power") else 6
    weighted = PCA(k, svd_solver=solver, random_state=0).fit(rows, sample_weight=weight)
    repeated = PCA(k, svd_solver=solver, random_state=0).fit(rows.repeat(weight, axis=0))
    for name in ("mean_", "explained_variance_", "components_", "n_samples_", "noise_variance_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-9, err_msg=name)


@pytest.mark.parametrize("solver", ["covariance_eigh", "arpack", "randomized", "power"])
def test_sparse_rows_give_the_components_of_dense_ones(solver):
    random = np.random.default_rng(3)
    rows = random.normal(size=(400, 15)) * (random.random((400, 15)) < 0.2)
    rows[:, 1::4] = rows[:, ::4] * [1.0, 0.7, 0.5, 0.3] + 0.2 * rows[:, 1::4]
    dense, sparse = fit(solver, 3, rows, scale=True), fit(solver, 3, csr_array(rows), scale=True)
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-6)
    np.testing.assert_allclose(sparse.explained_variance_, dense.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(sparse.transform(csr_array(rows)), dense.transform(rows), atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_rows_give_float32_answers_summed_in_float64(solver):
    rows = (X + 1000).astype(np.float32)
    single, double = fit(solver, rows=rows), fit(solver, rows=rows.astype(np.float64))
    for name in ("components_", "explained_variance_", "mean_", "singular_values_"):
        assert getattr(single, name).dtype == np.float32
        np.testing.assert_allclose(getattr(single, name), getattr(double, name), rtol=1e-6, atol=1e-6)
    assert single.transform(rows).dtype == single.inverse_transform(single.transform(rows)).dtype == np.float32


def test_one_outlier_turns_the_first_component():
    outlier = np.r_[X, 1e4 * np.eye(12)[:1]]
    assert abs(PCA(1).fit(outlier).components_[0, 0]) > 0.99


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_without_variance_give_axes_and_zeros(solver):
    model = fit(solver, 2, np.full((30, 5), 0.1))
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    assert (model.explained_variance_ < 1e-30).all()
    assert np.isfinite(model.transform(np.zeros((1, 5)))).all()


@pytest.mark.parametrize("solver", EXACT)
def test_tiny_and_huge_rows_are_scaled_alike(solver):
    values = fit(solver).singular_values_
    np.testing.assert_allclose(fit(solver, rows=X * 1e-140).singular_values_, values * 1e-140, rtol=1e-10)
    np.testing.assert_allclose(fit(solver, rows=X * 1e140).singular_values_, values * 1e140, rtol=1e-10)
    with pytest.raises(DataError, match="the squares of the rows overflow float64; divide the rows by a constant"):
        fit("covariance_eigh", rows=X * 1e300)


def test_auto_chooses_by_shape_and_says_what_it_chose():
    random = np.random.default_rng(3)
    shapes = {
        (10, 50, 5): "full",
        (1000, 50, 50): "covariance_eigh",
        (1000, 500, 400): "full",
        (1000, 500, 10): "randomized",
        (1000, 500, 0.5): "full",
        (60, 700, 5): "gram",
    }
    for (n, d, k), expected in shapes.items():
        assert PCA(k, random_state=0).fit(random.random((n, d))).solver_used_ == expected
    assert PCA(2).fit(csr_array(load_iris().data)).solver_used_ == "arpack"


def test_errors_name_the_rule_the_value_and_the_cure():
    with pytest.raises(
        DataError, match=r"n_components=13 must be between 0 and min\(n_samples, n_features\)=12 .*lower"
    ):
        PCA(13).fit(X)
    with pytest.raises(
        ParameterError, match="n_components='mle' cannot be a string with svd_solver='power'; use svd_s"
    ):
        PCA("mle", svd_solver="power").fit(X)
    with pytest.raises(DataError, match=r"a total weight above ddof=1; got n_samples=1. Give more rows, or set ddof=0"):
        PCA().fit(X[:1])
    with pytest.raises(
        TypeError, match=r"sparse rows need svd_solver to be one of .*; got 'full', which would make them"
    ):
        PCA(svd_solver="full").fit(csr_array(X))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        PCA().fit(np.where(X.max() == X, np.nan, X))
