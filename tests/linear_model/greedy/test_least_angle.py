"""Least angle regression: worked paths, equal angles, the lasso's optimality, choices, weights, places, errors."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

import mercer.linear_model
from mercer.errors import DataError, ParameterError
from mercer.linear_model import Lars, LarsCV, Lasso, LassoLars, LassoLarsCV, LassoLarsIC, lars_path, lars_path_gram

DIABETES = load_diabetes(return_X_y=True)


def draw(n=60, d=6, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) @ random.normal(size=(d, d))
    return X, X @ random.normal(size=d) + random.normal(size=n)


def centre(X, y):
    return X - X.mean(axis=0), y - y.mean()


def test_orthogonal_columns_join_at_their_own_products_and_end_there():
    X, y = np.diag([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])
    alphas, active, coefs = lars_path(X, y, method="lasso")
    # Products are 3, 4, 3; |x_j|^2 are 1, 4, 9; coefficients are (product - height) / |x_j|^2, divided by three rows.
    np.testing.assert_allclose(alphas, [4 / 3, 1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(coefs[:, 1], [0.0, 0.25, 0.0], atol=1e-15)
    np.testing.assert_allclose(coefs[:, -1], [3.0, 1.0, 1 / 3])
    assert sorted(active) == [0, 1, 2]


def test_columns_that_tie_join_together():
    X = np.array([[0.0, 0.0, 0.0, -1.0, 0.0], [0.0, -1.0, 0.0, 0.0, 0.0]])
    model = Lars(fit_intercept=False).fit(X, [-2.5, -2.5])
    np.testing.assert_allclose(model.coef_, [0.0, 2.5, 0.0, 2.5, 0.0])
    assert len(model.alphas_) == 2


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("fold", range(5))
def test_columns_in_use_have_equal_products_at_every_knot_and_no_other_a_larger_one(fold, scale):
    # Where a coefficient passes zero, in three of these tables, scikit-learn's path leaves this one.
    rows = np.delete(np.arange(442), np.arange(442)[fold * 89 : (fold + 1) * 89])
    X, y = centre(DIABETES[0][rows], DIABETES[1][rows] * scale)
    _, _, coefs = lars_path(X, y)
    for knot, coef in enumerate(coefs.T[1:], 1):
        sizes = np.abs(X.T @ (y - X @ coef))
        used = coef != 0
        assert used.sum() == knot
        np.testing.assert_allclose(sizes[used], sizes.max(), atol=1e-9 * scale * np.abs(X.T @ y / scale).max())


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("shape", [(60, 6), (30, 80)])
def test_every_knot_of_the_lassos_path_is_optimal(shape, positive):
    X, y = centre(*draw(*shape))
    alphas, _, coefs = lars_path(X, y, method="lasso", positive=positive)
    assert (np.diff(alphas) < 0).all()
    for alpha, coef in zip(alphas[:-1], coefs.T, strict=False):
        slopes, used = X.T @ (y - X @ coef) / len(X), coef != 0
        np.testing.assert_allclose(slopes[used], alpha * np.sign(coef[used]), rtol=1e-7, atol=1e-9 * alphas[0])
        assert (slopes if positive else np.abs(slopes)).max() <= alpha * (1 + 1e-7) + 1e-9 * alphas[0]
        assert coef.min() >= 0 or not positive


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_the_model_is_the_lasso(alpha, positive):
    X, y = draw(80, 12)
    path = LassoLars(alpha=alpha, positive=positive).fit(X, y)
    descent = Lasso(alpha=alpha, positive=positive, tol=1e-12, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(path.coef_, descent.coef_, atol=1e-7)
    assert path.intercept_ == pytest.approx(descent.intercept_, abs=1e-7)
    assert path.converged_
    assert path.certificate_.kind == "duality gap"


@pytest.mark.parametrize("settings", [{}, {"n_nonzero_coefs": 3}, {"fit_intercept": False}, {"precompute": False}])
def test_models_and_paths_are_those_of_scikit_learn(settings):
    ours, theirs = (library.linear_model.Lars(**settings).fit(*DIABETES) for library in (mercer, sklearn))
    np.testing.assert_allclose(ours.coef_path_, theirs.coef_path_, atol=1e-8)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, atol=1e-12)
    assert ours.active_ == theirs.active_
    assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("name", ["LassoLarsCV", "LassoLarsIC"])
def test_choices_are_those_of_scikit_learn(name):
    ours, theirs = (getattr(library.linear_model, name)().fit(*DIABETES) for library in (mercer, sklearn))
    assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    if name == "LassoLarsIC":
        np.testing.assert_allclose(ours.criterion_, theirs.criterion_, rtol=1e-10)
        assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-9)
    else:
        np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-9)
        np.testing.assert_allclose(ours.cv_alphas_, theirs.cv_alphas_, atol=1e-10)


@pytest.mark.parametrize("model", [LarsCV(cv=3), LassoLarsCV(cv=3, positive=True), LassoLarsCV(cv=4, precompute=True)])
def test_errors_between_knots_are_those_of_models_fitted_there(model):
    X, y = draw(70, 5, seed=3)
    model.fit(X, y)
    is_lasso, positive = isinstance(model, LassoLarsCV), getattr(model, "positive", False)
    bounds = np.linspace(0, 70, model.cv + 1).astype(int) if 70 % model.cv == 0 else None
    parts = np.array_split(np.arange(70), model.cv) if bounds is None else np.split(np.arange(70), bounds[1:-1])
    for number, test in enumerate(parts):
        train = np.setdiff1d(np.arange(70), test)
        mean, level = X[train].mean(axis=0), y[train].mean()
        method = "lasso" if is_lasso else "lar"
        alphas, _, coefs = lars_path(X[train] - mean, y[train] - level, method=method, positive=positive)
        for alpha, error in zip(model.cv_alphas_, model.mse_path_[:, number], strict=True):
            coef = [np.interp(alpha, alphas[::-1], one[::-1]) for one in coefs]
            expected = np.mean((y[test] - level - (X[test] - mean) @ coef) ** 2)
            assert error == pytest.approx(expected, rel=1e-7)


def test_wide_rows_are_multiplied_column_by_column_with_the_same_path():
    X, y = draw(40, 600, seed=1)
    by_columns = LassoLars(alpha=0.5).fit(X, y)
    by_products = LassoLars(alpha=0.5, precompute=True).fit(X, y)
    assert (by_columns.solver_used_, by_products.solver_used_) == ("columns", "gram")
    np.testing.assert_allclose(by_columns.coef_, by_products.coef_, atol=1e-7 * np.abs(by_products.coef_).max())
    sparse = LassoLars(alpha=0.5).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, by_products.coef_, atol=1e-7 * np.abs(by_products.coef_).max())


@pytest.mark.parametrize("model", [Lars(), LassoLars(alpha=0.1), LassoLarsCV(cv=[(np.arange(30, 60), np.arange(30))])])
def test_weights_are_repetitions(model):
    X, y = draw()
    weight = np.random.default_rng(1).integers(1, 4, 60)
    if hasattr(model, "cv"):
        [(train, test)] = model.cv
        starts = np.cumsum(weight) - weight
        expand = [np.concatenate([np.arange(starts[i], starts[i] + weight[i]) for i in part]) for part in (train, test)]
        repeated = LassoLarsCV(cv=[tuple(expand)]).fit(X.repeat(weight, axis=0), y.repeat(weight))
    else:
        repeated = type(model)(**model.get_params()).fit(X.repeat(weight, axis=0), y.repeat(weight))
    weighted = model.fit(X, y, sample_weight=weight.astype(float))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    np.testing.assert_allclose(weighted.alphas_, repeated.alphas_, atol=1e-9)


def test_several_targets_have_a_path_each():
    X, y = draw()
    both = LassoLars(alpha=0.1).fit(X, np.column_stack([y, y**2]))
    for number, target in enumerate((y, y**2)):
        one = LassoLars(alpha=0.1).fit(X, target)
        np.testing.assert_array_equal(both.coef_[number], one.coef_)
        np.testing.assert_array_equal(both.coef_path_[number], one.coef_path_)
        assert both.active_[number] == one.active_
    assert both.n_iter_ == [len(alphas) - 1 for alphas in both.alphas_]


def test_a_path_from_products_alone_is_that_of_the_rows():
    X, y = draw()
    for method in ("lar", "lasso"):
        by_rows = lars_path(X, y, method=method, alpha_min=0.01, return_n_iter=True)
        by_products = lars_path_gram(X.T @ y, X.T @ X, n_samples=60, method=method, alpha_min=0.01, return_n_iter=True)
        for one, other in zip(by_rows, by_products, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)


def test_without_the_path_the_last_knot_is_kept():
    X, y = draw()
    whole, last = (LassoLars(alpha=0.1, fit_path=fit_path).fit(X, y) for fit_path in (True, False))
    np.testing.assert_array_equal(last.coef_, whole.coef_)
    np.testing.assert_array_equal(last.alphas_, whole.alphas_[-1:])
    assert not hasattr(last, "coef_path_")
    assert not hasattr(last, "active_")


def test_columns_that_others_determine_do_not_join():
    X, y = draw()
    wide = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2]])
    model = Lars().fit(wide, y)
    assert model.converged_
    assert (model.coef_ != 0).sum() == 6
    np.testing.assert_allclose(model.predict(wide), Lars().fit(X, y).predict(X))


def test_a_path_that_was_cut_short_says_so():
    X, y = draw()
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter after 2 steps"):
        model = LassoLars(alpha=0.001, max_iter=2).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 2
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter"):
        assert not LassoLarsCV(max_iter=2).fit(X, y).converged_


def test_above_the_first_penalty_all_coefficients_are_zero():
    X, y = draw()
    model = LassoLars(alpha=1e6).fit(X, y)
    assert not model.coef_.any()
    assert model.alphas_.tolist() == [1e6]
    assert model.intercept_ == pytest.approx(y.mean())
    constant = LassoLars(alpha=0.0).fit(X, np.full(60, 3.0))
    assert not constant.coef_.any()


def test_what_is_asked_for_wrongly_is_refused_with_the_cure():
    X, y = draw()
    with pytest.raises(DataError, match=r"Lars: Xy must be X.T @ y"):
        Lars().fit(X, y, Xy=np.ones(6))
    with pytest.raises(DataError, match="did not pass validation"):
        Lars(precompute=np.eye(6), fit_intercept=False).fit(X, y)
    with pytest.raises(DataError, match=r"n_samples=6 and 6 columns. Give noise_variance"):
        LassoLarsIC().fit(X[:6], y[:6])
    with pytest.raises(ParameterError, match=r"Positive constraint not supported for 'lar' coding method. Set 'lasso'"):
        lars_path(X, y, positive=True)
    with pytest.raises(DataError, match=r"shapes of the inputs Gram and Xy do not match"):
        lars_path_gram(np.ones(3), np.eye(4), n_samples=5)
    with pytest.raises(DataError, match="LarsCV: For multi-task outputs"):
        LarsCV().fit(X, np.column_stack([y, y]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Lars(precompute=None).fit(X, y)
