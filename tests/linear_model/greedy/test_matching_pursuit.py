"""Orthogonal matching pursuit: worked steps, orthogonal residuals, scikit-learn's answers, choices, weights, errors."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model

import mercer.linear_model
from mercer.errors import DataError, ParameterError
from mercer.linear_model import (
    LinearRegression,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    orthogonal_mp,
    orthogonal_mp_gram,
)


def draw(n=80, d=20, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) + 3.0
    coef = np.zeros(d)
    coef[: min(d, 6)] = random.normal(size=min(d, 6)) * 5
    return X, X @ coef + random.normal(size=n)


def test_the_column_with_the_largest_product_joins_first_whatever_its_length():
    X = np.diag([1.0, 2.0, 5.0])
    coef, steps = orthogonal_mp(X, [3.0, 2.0, 0.1], n_nonzero_coefs=2, return_n_iter=True)
    # Products are 3, 4 and 0.5.
    np.testing.assert_allclose(coef, [3.0, 1.0, 0.0])
    assert steps == 2
    assert orthogonal_mp(X, [3.0, 2.0, 0.1], n_nonzero_coefs=1).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_after_each_column_the_residual_is_orthogonal_to_those_in_use(scale):
    X, y = draw()
    path = orthogonal_mp(X * scale, y, n_nonzero_coefs=8, return_path=True)
    for number, coef in enumerate(path.T, 1):
        used = coef != 0
        assert used.sum() == number
        np.testing.assert_allclose(
            coef[used], LinearRegression(fit_intercept=False).fit(X[:, used] * scale, y).coef_, rtol=1e-6
        )


@pytest.mark.parametrize("settings", [{}, {"n_nonzero_coefs": 7}, {"tol": 200.0}, {"fit_intercept": False}])
@pytest.mark.filterwarnings("ignore:OrthogonalMatchingPursuit:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:Orthogonal matching pursuit:RuntimeWarning")
def test_models_are_those_of_scikit_learn(settings):
    X, y = draw()
    Y = np.column_stack([y, y**2 / 10])
    for targets in (y, Y):
        ours, theirs = (
            library.linear_model.OrthogonalMatchingPursuit(**settings).fit(X, targets) for library in (mercer, sklearn)
        )
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
        assert ours.n_iter_ == theirs.n_iter_
        assert ours.n_nonzero_coefs_ == theirs.n_nonzero_coefs_
        # The squared residual of the second target stays above the tolerance.
        assert ours.converged_ or (targets is Y and "tol" in settings)


def test_the_number_of_columns_is_that_of_scikit_learn():
    X, y = draw()
    ours, theirs = (
        library.linear_model.OrthogonalMatchingPursuitCV(max_iter=15, cv=4).fit(X, y) for library in (mercer, sklearn)
    )
    assert ours.n_nonzero_coefs_ == theirs.n_nonzero_coefs_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    train, test = np.arange(20, 80), np.arange(20)
    sizes = range(1, 16)
    models = [OrthogonalMatchingPursuit(n_nonzero_coefs=size).fit(X[train], y[train]) for size in sizes]
    expected = [np.mean((y[test] - model.predict(X[test])) ** 2) for model in models]
    np.testing.assert_allclose(ours.mse_path_[:, 0], expected)


def test_wide_and_sparse_rows_are_multiplied_column_by_column():
    random = np.random.default_rng(0)
    X = np.where(random.random((60, 700)) < 0.2, random.normal(size=(60, 700)), 0.0)
    y = X[:, :5] @ [5.0, 4.0, 3.0, 2.0, 1.0]
    model = OrthogonalMatchingPursuit(n_nonzero_coefs=5).fit(X, y)
    assert model.solver_used_ == "columns"
    whole = OrthogonalMatchingPursuit(n_nonzero_coefs=5, precompute=True).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-9)
    sparse = OrthogonalMatchingPursuit(n_nonzero_coefs=5).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, atol=1e-9)


def test_weights_are_repetitions():
    X, y = draw()
    weight = np.random.default_rng(1).integers(1, 4, 80)
    weighted = OrthogonalMatchingPursuit(n_nonzero_coefs=5).fit(X, y, sample_weight=weight)
    repeated = OrthogonalMatchingPursuit(n_nonzero_coefs=5).fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)


def test_products_alone_give_the_same_coefficients():
    X, y = draw()
    Y = np.column_stack([y, y**2])
    by_rows = orthogonal_mp(X, Y, tol=500.0)
    by_products = orthogonal_mp_gram(X.T @ X, X.T @ Y, tol=500.0, norms_squared=(Y**2).sum(axis=0))
    np.testing.assert_allclose(by_rows, by_products, atol=1e-7 * np.abs(by_rows).max())


def test_a_residual_that_no_columns_reach_is_reported():
    X, y = draw(30, 4)
    model = OrthogonalMatchingPursuit(tol=0.0)
    with pytest.warns(Warning, match="not converged"):
        model.fit(X, y)
    assert not model.converged_
    twice = np.column_stack([X[:, 0], X[:, 0]])
    with pytest.warns(RuntimeWarning, match="ended prematurely due to linear dependence"):
        orthogonal_mp(twice, y, n_nonzero_coefs=2)


def test_what_is_asked_for_wrongly_is_refused_with_the_cure():
    X, y = draw(30, 4)
    with pytest.raises(ParameterError, match=r"cannot be more than the number of features: .* at most 4; got 5"):
        OrthogonalMatchingPursuit(n_nonzero_coefs=5).fit(X, y)
    with pytest.raises(DataError, match="Gram must have the shape"):
        orthogonal_mp_gram(np.eye(3), np.ones(4))
    with pytest.raises(DataError, match="norms_squared must hold those of the targets"):
        orthogonal_mp_gram(np.eye(4), np.ones(4), tol=1.0)
    with pytest.raises(DataError, match="a minimum of 2 is required"):
        OrthogonalMatchingPursuitCV().fit(X[:, :1], y)
