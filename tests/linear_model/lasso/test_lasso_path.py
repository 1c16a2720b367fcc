"""Paths of the lasso, the choice of a penalty by cross-validation, and the budget |w|_1 <= t."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNetCV as TheirElasticNetCV
from sklearn.linear_model import LassoCV as TheirLassoCV
from sklearn.linear_model import lasso_path as their_path
from sklearn.model_selection import KFold, ShuffleSplit

from mercer.errors import DataError, ParameterError
from mercer.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    alpha_for_l1_norm,
    enet_path,
    lasso_path,
)

TIGHT = {"tol": 1e-11, "max_iter": 100_000}
# Descent on the scatter of all columns, and on working sets.
SIZES = [(120, 10), (60, 600)]


def example(n=120, d=10):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d)) + random.normal(size=d)
    X[:, 1:] += 0.7 * X[:, :-1]
    y = X[:, :6] @ random.normal(size=6) * 2 + 3.0 + random.normal(size=n)
    return X, y


@pytest.mark.catalogue("LM-06")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [np.asarray, csr_array])
def test_a_path_is_the_fits_at_its_penalties(size, rows):
    X, y = example(*size)
    alphas, coefs, gaps = enet_path(rows(X), y, l1_ratio=0.8, alphas=12, eps=1e-2, **TIGHT)
    # At the first penalty a coefficient is zero but for the rounding of x . y, n eps |x| |y|, over x . x.
    assert (np.abs(coefs[:, 0]) <= len(y) * 2.3e-16 * np.linalg.norm(y) / np.linalg.norm(X, axis=0)).all()
    assert alphas[-1] == pytest.approx(alphas[0] * 1e-2)
    for alpha, coef, gap in zip(alphas[::4], coefs.T[::4], gaps[::4], strict=True):
        single = ElasticNet(alpha=alpha, l1_ratio=0.8, fit_intercept=False, **TIGHT).fit(X, y)
        assert coef == pytest.approx(single.coef_, abs=1e-6)
        assert gap <= 1e-11 * np.mean(y**2)


@pytest.mark.parametrize("size", SIZES)
def test_a_path_is_scikit_learns_with_its_penalties(size):
    X, y = example(*size)
    (alphas, coefs, _), (theirs, expected, _) = (
        path(X, y, alphas=10, eps=0.05, tol=1e-9) for path in (lasso_path, their_path)
    )
    assert alphas == pytest.approx(theirs)
    assert X @ coefs == pytest.approx(X @ expected, abs=1e-3)


@pytest.mark.parametrize("size", SIZES)
def test_the_gaps_of_a_path_are_those_of_its_coefficients(size):
    X, y = example(*size)
    alphas, coefs, gaps = lasso_path(X, y, alphas=15, eps=1e-2)
    for alpha, w, gap in zip(alphas, coefs.T, gaps, strict=True):
        residual, n = y - X @ w, len(y)
        feasible = residual * min(1.0, n * alpha / np.abs(X.T @ residual).max())
        primal = residual @ residual / (2 * n) + alpha * np.abs(w).sum()
        dual = (y @ y - (y - feasible) @ (y - feasible)) / (2 * n)
        assert 0 <= gap <= primal - dual + 1e-12 * primal
        assert gap <= 1e-4 * (y @ y) / n


def test_between_two_corners_of_the_path_coefficients_are_straight_lines():
    X, y = example()
    _, coefs, _ = lasso_path(X, y, alphas=np.linspace(2.0, 0.01, 101), **TIGHT)
    signs = np.sign(coefs)
    # Between corners no coefficient becomes zero or leaves it.
    calm = [k for k in range(1, 100) if (signs[:, k - 1 : k + 2] == signs[:, [k]]).all()]
    assert len(calm) > 20
    assert coefs[:, calm] == pytest.approx((coefs[:, np.array(calm) - 1] + coefs[:, np.array(calm) + 1]) / 2, abs=1e-7)


def test_a_path_of_weighted_rows_is_that_of_repeated_ones():
    X, y = example(60, 600)
    weight = np.random.default_rng(1).integers(0, 3, size=len(y))
    alphas, weighted, _ = lasso_path(X, y, alphas=5, eps=0.1, sample_weight=weight, **TIGHT)
    again, repeated, _ = lasso_path(np.repeat(X, weight, axis=0), np.repeat(y, weight), alphas=5, eps=0.1, **TIGHT)
    assert alphas == pytest.approx(again)
    assert weighted == pytest.approx(repeated, abs=1e-6)


def test_paths_refuse_what_they_do_not_know_and_say_where_they_stopped_short():
    X, y = example()
    with pytest.raises(ParameterError, match="enet_path: Unexpected parameters in params: color"):
        lasso_path(X, y, color="red")
    with pytest.raises(DataError, match=r"Xy must be X\.T @ y"):
        lasso_path(X, y, Xy=2 * X.T @ y)
    with pytest.raises(DataError, match="y must have one dimension"):
        lasso_path(X, np.column_stack([y, y]))
    with pytest.warns(ConvergenceWarning, match=r"of 5 penalties stopped by max_iter, not converged"):
        lasso_path(X, y, alphas=5, max_iter=1, tol=1e-12)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [np.asarray, csr_array])
def test_cross_validation_finds_scikit_learns_errors_and_penalty(size, rows):
    X, y = example(*size)
    given = {"l1_ratio": [0.5, 0.9], "alphas": 8, "eps": 0.05, "cv": 4, "tol": 1e-8, "max_iter": 50_000}
    ours, theirs = ElasticNetCV(**given).fit(rows(X), y), TheirElasticNetCV(**given).fit(X, y)
    assert ours.alphas_ == pytest.approx(theirs.alphas_)
    assert ours.mse_path_ == pytest.approx(theirs.mse_path_, rel=1e-3)
    assert (ours.alpha_, ours.l1_ratio_) == pytest.approx((theirs.alpha_, theirs.l1_ratio_))
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=1e-2)


@pytest.mark.parametrize("cv", [KFold(3, shuffle=True, random_state=0), ShuffleSplit(3, random_state=0)])
def test_folds_may_be_any_splitter_whether_or_not_they_cover_the_rows(cv):
    X, y = example()
    ours, theirs = (kind(alphas=6, eps=0.05, cv=cv, tol=1e-9).fit(X, y) for kind in (LassoCV, TheirLassoCV))
    assert ours.mse_path_ == pytest.approx(theirs.mse_path_, rel=1e-5)
    assert ours.converged_


def test_the_chosen_model_is_the_fit_of_all_rows_at_its_penalty():
    X, y = example(60, 600)
    chosen = LassoCV(alphas=20, cv=3, **TIGHT).fit(X, y)
    single = Lasso(alpha=chosen.alpha_, **TIGHT).fit(X, y)
    assert chosen.coef_ == pytest.approx(single.coef_, abs=1e-6)
    assert chosen.mse_path_.mean(axis=1).argmin() == list(chosen.alphas_).index(chosen.alpha_)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_the_grid_of_penalties_follows_the_units_of_the_data(scale):
    X, y = example()
    plain, scaled = (LassoCV(alphas=6, tol=1e-13).fit(unit * X, unit * y) for unit in (1.0, scale))
    assert scaled.alphas_ / scale**2 == pytest.approx(plain.alphas_)
    # Fits end within a relative gap g of the minimum, so that coefficients err by sqrt(2 g var(y) / least eigenvalue).
    least = np.linalg.eigvalsh(np.cov(X.T))[0]
    assert scaled.coef_ == pytest.approx(plain.coef_, abs=2 * np.sqrt(2e-13 * y.var() / least))
    still = LassoCV(alphas=3).fit(X, np.full(len(y), 0.1))
    assert (still.coef_ == 0).all()


@pytest.mark.catalogue("LM-06")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("positive", [False, True])
def test_a_budget_is_spent_by_the_penalty_that_is_found(size, positive):
    X, y = example(*size)
    weight = np.random.default_rng(1).uniform(size=len(y))
    for budget in (0.01, 0.1, 0.35):
        alpha = alpha_for_l1_norm(X, y, budget, positive=positive, sample_weight=weight)
        model = Lasso(alpha=alpha, positive=positive, **TIGHT).fit(X, y, weight)
        spent = np.abs(model.coef_).sum()
        # Without a penalty, positive coefficients may spend less than the budget.
        assert spent == pytest.approx(budget, rel=1e-6) if alpha > 0 else spent <= budget


@pytest.mark.catalogue("LM-06")
def test_the_constraint_form_has_the_same_minimum():
    X, y = example()
    X, y = X[:, :3] - X[:, :3].mean(axis=0), y - y.mean()
    budget = 0.5 * np.abs(LinearRegression(fit_intercept=False).fit(X, y).coef_).sum()
    alpha = alpha_for_l1_norm(X, y, budget, fit_intercept=False)
    assert alpha > 0
    model = Lasso(alpha=alpha, fit_intercept=False, **TIGHT).fit(X, y)
    # w = p - m with p, m >= 0 makes the budget linear.
    found = minimize(
        lambda v: np.sum((y - X @ (v[:3] - v[3:])) ** 2), np.full(6, 0.1), bounds=[(0, None)] * 6,
        constraints={"type": "ineq", "fun": lambda v: budget - v.sum()}, options={"ftol": 1e-12},
    )  # fmt: skip
    assert np.sum((y - X @ model.coef_) ** 2) == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.catalogue("LM-06")
def test_a_budget_that_least_squares_keeps_needs_no_penalty():
    X, y = example()
    free = np.abs(LinearRegression().fit(X, y).coef_).sum()
    assert alpha_for_l1_norm(X, y, 1.01 * free) == 0.0
    assert 0 < alpha_for_l1_norm(X, y, 0.99 * free) < 0.1
    assert alpha_for_l1_norm(X, np.ones(len(y)), 1.0) == 0.0
    with pytest.raises(ParameterError, match=r"alpha_for_l1_norm: l1_norm must be a number in \(0, inf\); got 0"):
        alpha_for_l1_norm(X, y, 0)
