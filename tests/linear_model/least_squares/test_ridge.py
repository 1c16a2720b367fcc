"""Ridge: its closed forms, its limits, its penalties and its errors."""

import numpy as np
import pytest
import scipy.sparse
from scipy.linalg import LinAlgWarning
from sklearn.linear_model import Ridge as Reference

import mercer
from mercer.errors import MemoryForecastError, ParameterError
from mercer.linear_model import (
    LinearRegression,
    Ridge,
    alpha_for_norm,
    alpha_from_variances,
    alpha_per_sample,
    penalised_condition_number,
    ridge_degrees_of_freedom,
    ridge_path,
)

X = np.random.default_rng(0).normal(size=(80, 6)) + 1.0
Y = np.random.default_rng(1).normal(size=(80, 2))


@pytest.mark.catalogue("LM-04")
def test_orthonormal_columns_shrink_least_squares_by_one_plus_alpha():
    Q, _ = np.linalg.qr(X)
    ridge = Ridge(alpha=3.0, fit_intercept=False).fit(Q, Y[:, 0])
    np.testing.assert_allclose(ridge.coef_, Q.T @ Y[:, 0] / 4.0, rtol=1e-13)


@pytest.mark.catalogue("LM-04")
@pytest.mark.parametrize("shape", [(80, 6), (6, 80)])
def test_the_gradient_vanishes_and_the_intercept_is_not_penalised(shape):
    random = np.random.default_rng(2)
    X, y = random.normal(size=shape) + 5.0, random.normal(size=shape[0]) + 100.0
    model = Ridge(alpha=0.7).fit(X, y)
    residual = model.residuals(X, y)
    np.testing.assert_allclose(2 * X.T @ residual - 2 * 0.7 * model.coef_, 0.0, atol=1e-9)
    assert residual.sum() == pytest.approx(0.0, abs=1e-9)
    dual = np.linalg.solve((X - X.mean(0)) @ (X - X.mean(0)).T + 0.7 * np.eye(shape[0]), y - y.mean())
    np.testing.assert_allclose(model.coef_, (X - X.mean(0)).T @ dual, atol=1e-11)


@pytest.mark.catalogue("LM-04")
@pytest.mark.parametrize("shape", [(80, 6), (6, 80)])
def test_the_path_matches_single_fits_shrinks_by_singular_values_and_ends_in_least_squares(shape):
    random = np.random.default_rng(2)
    X, y = random.normal(size=shape), random.normal(size=shape[0])
    alphas = np.r_[0.0, np.logspace(-8, 6, 30)]
    coefs, intercepts = ridge_path(X, y, alphas)
    for alpha, coef, intercept in zip(alphas[8::7], coefs[8::7], intercepts[8::7]):
        model = Ridge(alpha=alpha).fit(X, y)
        np.testing.assert_allclose(model.coef_, coef, rtol=1e-9, atol=1e-12)
        assert model.intercept_ == pytest.approx(intercept)
    centred = X - X.mean(axis=0)
    U, d, _ = np.linalg.svd(centred, full_matrices=False)
    kept = d > 1e-10
    fits = U[:, kept].T @ (centred @ coefs.T)
    shrinkage = d[kept, None] ** 2 / (d[kept, None] ** 2 + alphas)
    np.testing.assert_allclose(fits, shrinkage * (U[:, kept].T @ y)[:, None], atol=1e-10)
    assert np.all(np.diff(np.linalg.norm(coefs, axis=1)) <= 1e-12)
    assert np.all(np.diff(np.linalg.norm(centred @ coefs.T, axis=0)) <= 1e-12)
    np.testing.assert_allclose(coefs[0], np.linalg.pinv(centred) @ (y - y.mean()), atol=1e-11)


@pytest.mark.catalogue("LM-04")
@pytest.mark.parametrize("budget", [1e-6, 0.01, 1e9])
def test_the_budget_form_is_ridge_with_the_right_price(budget):
    y = X @ np.arange(6.0) + Y[:, 0]
    alpha = alpha_for_norm(X, y, budget)
    coef = Ridge(alpha=alpha).fit(X, y).coef_ if alpha else LinearRegression().fit(X, y).coef_
    if budget == 1e9:
        assert alpha == 0.0
        assert coef @ coef < budget
    else:
        assert coef @ coef == pytest.approx(budget, rel=1e-9)


@pytest.mark.catalogue("LM-04")
def test_penalties_per_sample_and_by_variances_are_the_same_problem():
    y, n = Y[:, 0], len(Y)
    coef = Ridge(alpha=alpha_per_sample(0.1, n), fit_intercept=False).fit(X, y).coef_
    np.testing.assert_allclose(np.linalg.solve(X.T @ X / n + 0.1 * np.eye(6), X.T @ y / n), coef, rtol=1e-11)
    noise, prior = 2.0, 0.25
    posterior = np.linalg.solve(X.T @ X / noise + np.eye(6) / prior, X.T @ y / noise)
    mode = Ridge(alpha=alpha_from_variances(noise, prior), fit_intercept=False).fit(X, y).coef_
    np.testing.assert_allclose(mode, posterior, rtol=1e-11)


@pytest.mark.catalogue("LM-04")
def test_ridge_degrees_of_freedom_fall_from_the_rank_to_zero():
    d = np.linalg.svd(X - X.mean(0), compute_uv=False)
    assert ridge_degrees_of_freedom(X, 0.0) == pytest.approx(6)
    assert ridge_degrees_of_freedom(X, 5.0) == pytest.approx(np.sum(d**2 / (d**2 + 5.0)))
    assert ridge_degrees_of_freedom(X, 1e12) < 1e-8


@pytest.mark.catalogue("LM-05")
@pytest.mark.parametrize("power", [1, 3, 6])
def test_a_unit_penalty_takes_the_root_of_the_condition_number(power):
    largest, smallest = 10.0**power, 10.0**-power
    assert penalised_condition_number(largest, smallest) == pytest.approx(10.0 ** (2 * power))
    assert penalised_condition_number(largest, smallest, alpha=1.0) == pytest.approx(10.0**power, rel=1e-12)
    X = np.diag(np.sqrt([largest, smallest]))
    assert np.linalg.cond(X.T @ X + np.eye(2)) == pytest.approx(10.0**power, rel=1e-12)


def test_each_target_may_have_its_own_penalty():
    both = Ridge(alpha=[0.5, 50.0]).fit(X, Y)
    for target, alpha in enumerate((0.5, 50.0)):
        np.testing.assert_allclose(both.coef_[target], Ridge(alpha=alpha).fit(X, Y[:, target]).coef_, rtol=1e-12)


def test_singular_equations_are_solved_otherwise_and_it_is_said():
    doubled = np.c_[X, X]
    with pytest.warns(LinAlgWarning, match="solver='svd' was used instead of 'cholesky'"):
        model = Ridge(alpha=0.0).fit(doubled, Y[:, 0])
    assert model.solver_used_ == model.solver_ == "svd"
    np.testing.assert_allclose(model.coef_, np.tile(LinearRegression().fit(X, Y[:, 0]).coef_ / 2, 2), rtol=1e-9)


@pytest.mark.parametrize("shape", [(300, 40), (40, 300)])
def test_large_means_and_tiny_penalties_cost_no_digits(shape):
    random = np.random.default_rng(2)
    X = random.normal(size=shape) + 1e5
    y = random.normal(size=shape[0])
    centred = X - X.mean(axis=0)
    U, d, Vt = np.linalg.svd(centred, full_matrices=False)
    for alpha in (1.0, 1e-6):
        expected = Vt.T @ (d / (d**2 + alpha) * (U.T @ (y - y.mean())))
        np.testing.assert_allclose(Ridge(alpha=alpha).fit(X, y).coef_, expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(500, 20), (20, 500)])
def test_objectives_are_no_worse_than_the_references(shape, dtype):
    random = np.random.default_rng(2)
    X, y = random.normal(size=shape).astype(dtype), random.normal(size=shape[0])
    model, reference = Ridge().fit(X, y), Reference().fit(X, y)
    assert model.coef_.dtype == dtype
    mine, theirs = (np.sum((y - m.predict(X)) ** 2) + m.coef_ @ m.coef_ for m in (model, reference))
    assert mine <= theirs * (1 + (1e-5 if dtype == np.float32 else 1e-12))


def test_errors_name_the_rule_and_the_cure():
    with pytest.raises(ParameterError, match="do not correspond: 3 != 2; give one alpha, or one for each target"):
        Ridge(alpha=[1.0, 2.0, 3.0]).fit(X, Y)
    with pytest.raises(ParameterError, match=r"every alpha must be a number in \[0, inf\)"):
        Ridge(alpha=[1.0, -2.0]).fit(X, Y)
    with pytest.raises(ParameterError, match="only when positive=True"):
        Ridge(solver="lbfgs").fit(X, Y)
    with pytest.raises(ParameterError, match="solver='sag' does not support positive fitting"):
        Ridge(solver="sag", positive=True).fit(X, Y)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        Ridge(solver="svd").fit(scipy.sparse.csr_array(X), Y)
    with pytest.raises(ParameterError, match="squared_norm must be a number"):
        alpha_for_norm(X, Y[:, 0], -1.0)
    with pytest.raises(ParameterError, match="ridge_path: every alpha"):
        ridge_path(X, Y, [-1.0])


def test_a_gram_matrix_that_would_not_fit_is_refused_with_the_alternative():
    wide = np.random.default_rng(2).normal(size=(300, 400))
    with (
        mercer.config_context(max_memory="1 MB"),
        pytest.raises(MemoryForecastError, match="use solver='lsqr' or 'sparse_cg'"),
    ):
        Ridge().fit(wide, wide[:, 0])
    with mercer.config_context(max_memory="1 MB"):
        assert Ridge(solver="lsqr").fit(wide, wide[:, 0]).converged_
