"""Partial least squares: scikit-learn's numbers, from moments and from rows."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.cross_decomposition
from sklearn.datasets import load_linnerud

from mercer.cross_decomposition import PLSSVD, PLSCanonical, PLSRegression
from mercer.linear_model import LinearRegression

NAMES = ("x_weights_", "y_weights_", "x_loadings_", "y_loadings_", "x_rotations_", "y_rotations_")


def tables(n, p, q, seed=0):
    random = np.random.default_rng(seed)
    hidden = random.normal(size=(n, 3))
    X = hidden @ random.normal(size=(3, p)) + random.normal(size=(n, p))
    return X, hidden @ random.normal(size=(3, q)) + random.normal(size=(n, q))


@pytest.mark.parametrize("shape", [(80, 6, 4), (15, 40, 4), (80, 6, 1), (12, 5, 30)])
@pytest.mark.parametrize("scale", [True, False])
def test_regression_has_scikit_learns_attributes_with_many_rows_and_with_few(shape, scale):
    X, Y = tables(*shape)
    theirs = sklearn.cross_decomposition.PLSRegression(3, scale=scale).fit(X, Y)
    ours = PLSRegression(3, scale=scale).fit(X, Y)
    for name in (*NAMES, "coef_", "intercept_", "x_scores_", "y_scores_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-9, err_msg=name)
    assert ours.n_iter_ == theirs.n_iter_
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)
    np.testing.assert_allclose(ours.transform(X, Y)[1], theirs.transform(X, Y)[1], atol=1e-8)


@pytest.mark.parametrize("algorithm", ["nipals", "svd"])
@pytest.mark.parametrize("shape", [(80, 6, 4), (15, 40, 4)])
def test_canonical_has_scikit_learns_attributes(algorithm, shape):
    X, Y = tables(*shape)
    theirs = sklearn.cross_decomposition.PLSCanonical(3, algorithm=algorithm).fit(X, Y)
    ours = PLSCanonical(3, algorithm=algorithm).fit(X, Y)
    for name in NAMES:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-9, err_msg=name)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-9)


def test_canonical_predicts_better_than_with_the_scores_of_the_other_table():
    X, Y = tables(80, 6, 4)
    theirs = sklearn.cross_decomposition.PLSCanonical(2, algorithm="svd").fit(X, Y)
    ours = PLSCanonical(2, algorithm="svd").fit(X, Y)
    scores = ours.x_scores_
    best = LinearRegression().fit(scores, Y).predict(scores)
    np.testing.assert_allclose(ours.predict(X), best, atol=1e-10)
    assert ours.score(X, Y) > theirs.score(X, Y)


def test_singular_vectors_are_scikit_learns_and_scores_have_their_covariances():
    X, Y = tables(50, 6, 4)
    theirs, ours = sklearn.cross_decomposition.PLSSVD(3).fit(X, Y), PLSSVD(3).fit(X, Y)
    np.testing.assert_allclose(ours.x_weights_, theirs.x_weights_, atol=1e-12)
    t, u = ours.transform(X, Y)
    np.testing.assert_allclose(t.T @ u / 49, np.diag(ours.covariances_), atol=1e-10)
    np.testing.assert_allclose(ours.measure_correlations(X, Y), ours.correlations_, atol=1e-12)


def test_all_components_are_least_squares_and_scores_are_orthogonal():
    X, Y = tables(60, 5, 2)
    model = PLSRegression(5).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, Y).predict(X), atol=1e-8)
    products = model.x_scores_.T @ model.x_scores_
    np.testing.assert_allclose(products, np.diag(np.diagonal(products)), atol=1e-9)
    explained = model.history_["objective"]
    Z, P = (Y - Y.mean(axis=0)) / model.y_scale_, (model.predict(X) - Y.mean(axis=0)) / model.y_scale_
    assert explained[-1] == pytest.approx((P**2).sum() / (Z**2).sum())
    assert np.all(np.diff(explained) > 0)


def test_sparse_rows_and_weights_give_the_dense_and_repeated_answer():
    X, Y = tables(60, 8, 2)
    X[np.abs(X) < 1] = 0
    dense, sparse = PLSRegression(2).fit(X, Y), PLSRegression(2).fit(scipy.sparse.csr_array(X), Y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-10)
    np.testing.assert_allclose(sparse.predict(scipy.sparse.csr_array(X)), dense.predict(X), atol=1e-10)
    for columns in (8, 4):
        weight = np.random.default_rng(0).integers(0, 3, 60) if columns == 8 else np.arange(60) % 15 // 12
        weighted = PLSRegression(2).fit(X[:, :columns], Y, sample_weight=weight)
        repeated = PLSRegression(2).fit(np.repeat(X[:, :columns], weight, axis=0), np.repeat(Y, weight, axis=0))
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)


def test_targets_that_are_constant_or_explained_leave_components_of_zeros():
    X, _ = tables(30, 5, 2)
    with pytest.warns(UserWarning, match="y residual is constant at iteration 0"):
        model = PLSRegression(2).fit(X, np.full(30, 0.1))
    np.testing.assert_allclose(model.predict(X), 0.1)
    orthogonal = np.linalg.qr(X - X.mean(axis=0))[0]
    with pytest.warns(UserWarning, match="y residual is constant at iteration 1"):
        model = PLSRegression(3, scale=False).fit(orthogonal, orthogonal[:, 0])
    np.testing.assert_allclose(model.predict(orthogonal), orthogonal[:, 0], atol=1e-12)
    np.testing.assert_array_equal(model.x_weights_[:, 1:], 0.0)


def test_a_large_mean_keeps_its_digits():
    X, Y = tables(100, 4, 2)
    np.testing.assert_allclose(PLSRegression(2).fit(X + 1e6, Y).coef_, PLSRegression(2).fit(X, Y).coef_, rtol=1e-6)


def test_the_exercise_data_give_the_weights_of_the_textbook_example():
    """Linnerud's tables: the values that scikit-learn's tests take from the R package plsdepot."""
    X, Y = load_linnerud(return_X_y=True)
    model = PLSRegression(3).fit(X, Y)
    expected = [0.61330704, 0.74697144, 0.25668686]
    np.testing.assert_allclose(np.abs(model.x_weights_[:, 0]), expected, atol=1e-6)


def test_few_iterations_are_warned_of():
    X, Y = tables(80, 6, 4)
    with pytest.warns(UserWarning, match="PLSCanonical: stopped by max_iter"):
        model = PLSCanonical(2, max_iter=1).fit(X, Y)
    assert not model.converged_
    assert not model.certificate_.satisfied


def test_wide_tables_are_offered_partial_least_squares():
    from mercer._base.candidate import Shape
    from mercer.cross_decomposition._candidates import CANDIDATES

    (candidate,) = CANDIDATES
    assert candidate.unfit(Shape(100, 5))
    assert not candidate.unfit(Shape(30, 200))
    assert candidate.settings(Shape(30, 200)) == {"n_components": [2, 5, 10]}
    assert candidate.settings(Shape(9, 200)) == {"n_components": [2, 3]}
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 200)) + 3 * rng.normal(size=(30, 1))
    model = candidate.make(Shape(30, 200)).fit(X, X.mean(axis=1))
    assert model.score(X, X.mean(axis=1)) > 0.9
    assert candidate.complexity(model)[0] >= 200
