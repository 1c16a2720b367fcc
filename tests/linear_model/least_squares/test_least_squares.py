"""Least squares: normal equations, minimum norm, accuracy, noise and standard errors."""

import numpy as np
import pytest
import scipy.sparse
from scipy.linalg import LinAlgWarning, lstsq
from sklearn.linear_model import LinearRegression as Reference

from mercer.errors import DataError
from mercer.linear_model import LinearRegression


def with_condition(n, d, condition, mean=0.0):
    """Draw rows of a given condition number, far from zero if asked, and noisy targets."""
    random = np.random.default_rng(0)
    left, _ = np.linalg.qr(random.normal(size=(n, d)))
    right, _ = np.linalg.qr(random.normal(size=(d, d)))
    X = np.sqrt(n) * (left * np.logspace(0, -np.log10(condition), d)) @ right + mean
    return X, X @ random.normal(size=d) + 0.1 * random.normal(size=n)


def exact_coefficients(X, y):
    """Solve in extended precision, by correcting a double-precision answer until it no longer changes."""
    X, y = X.astype(np.longdouble), y.astype(np.longdouble)
    X, y = X - X.mean(axis=0), y - y.mean()
    inverse = np.linalg.pinv(X.astype(np.float64))
    coef = np.zeros(X.shape[1], dtype=np.longdouble)
    for _ in range(12):
        coef = coef + inverse @ (y - X @ coef).astype(np.float64)
    return coef


@pytest.mark.catalogue("LM-01")
def test_a_line_through_three_points_is_found():
    model = LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 5.0])
    assert model.coef_ == pytest.approx([2.5])
    assert model.intercept_ == pytest.approx(-0.5)
    assert model.residual_variance_ == pytest.approx(1.5)
    np.testing.assert_allclose(model.residuals([[0.0], [1.0], [2.0]], [0.0, 1.0, 5.0]), [0.5, -1.0, 0.5], atol=1e-14)


@pytest.mark.catalogue("LM-01")
def test_the_residual_is_orthogonal_to_the_columns():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 6)) + 3.0, random.normal(size=(200, 2))
    model = LinearRegression().fit(X, y)
    residual = y - model.predict(X)
    np.testing.assert_allclose(np.c_[np.ones(200), X].T @ residual, 0.0, atol=1e-11)
    raw = LinearRegression(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(raw.coef_.T, np.linalg.inv(X.T @ X) @ X.T @ y, atol=1e-12)


@pytest.mark.catalogue("LM-01")
def test_the_estimate_is_unbiased_and_no_linear_rival_has_less_variance():
    random = np.random.default_rng(0)
    X, truth = random.normal(size=(30, 3)), np.array([1.0, -2.0, 3.0])
    draws = X @ truth + random.normal(size=(4000, 30))
    coefs = LinearRegression(fit_intercept=False).fit(X, draws.T).coef_
    np.testing.assert_allclose(coefs.mean(axis=0), truth, atol=0.02)
    # A rival: least squares on the first twenty rows is linear and unbiased too.
    rival = LinearRegression(fit_intercept=False).fit(X[:20], draws[:, :20].T).coef_
    assert np.all(coefs.var(axis=0) < rival.var(axis=0))


@pytest.mark.parametrize(("condition", "mean"), [(1, 0), (1e2, 1e3), (1e3, 0), (1e3, 100), (1e5, 0), (1e5, 10)])
def test_accuracy_is_that_of_an_orthogonal_method_at_every_condition(condition, mean):
    X, y = with_condition(500, 12, condition, mean)
    exact = exact_coefficients(X, y)
    model = LinearRegression(tol=0).fit(X, y)
    centred = X - X.mean(axis=0)
    reference = lstsq(centred, y - y.mean())[0]
    scale = np.linalg.norm(exact)
    error, theirs = (float(np.linalg.norm(coef - exact) / scale) for coef in (model.coef_, reference))
    assert error <= 10 * theirs + 1e-14 * condition
    assert model.solver_used_ == ("cholesky" if condition <= 1e3 else "svd")
    np.testing.assert_allclose(model.singular_, np.linalg.svd(centred, compute_uv=False), rtol=1e-6)


@pytest.mark.catalogue("LM-01")
@pytest.mark.parametrize("shape", [(40, 10), (10, 40)])
def test_rank_deficient_rows_get_the_shortest_solution_and_a_warning(shape):
    random = np.random.default_rng(0)
    X = random.normal(size=(shape[0], 4)) @ random.normal(size=(4, shape[1]))
    y = random.normal(size=shape[0])
    with pytest.warns(LinAlgWarning, match=f"{shape[1]} columns have rank 4"):
        model = LinearRegression().fit(X, y)
    assert model.rank_ == 4
    expected = np.linalg.pinv(X - X.mean(axis=0), rcond=1e-10) @ (y - y.mean())
    np.testing.assert_allclose(model.coef_, expected, atol=1e-12)


def test_standard_errors_are_the_spread_over_fresh_noise():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3)) + 2.0
    draws = X @ [1.0, 2.0, 3.0] + 0.5 * random.normal(size=(3000, 60))
    models = LinearRegression().fit(X, draws.T)
    errors, intercept_errors = models.standard_errors(X)
    np.testing.assert_allclose(np.median(errors, axis=0), models.coef_.std(axis=0), rtol=0.05)
    np.testing.assert_allclose(np.median(intercept_errors), models.intercept_.std(), rtol=0.05)
    assert np.mean(models.residual_variance_) == pytest.approx(0.25, rel=0.02)


def test_standard_errors_of_dependent_columns_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))[:, [0, 1, 1]]
    with pytest.warns(LinAlgWarning):
        model = LinearRegression().fit(X, X[:, 0])
    with pytest.raises(DataError, match="need columns of full rank"):
        model.standard_errors(X)


def test_positive_coefficients_satisfy_the_optimality_conditions():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 30)), random.normal(size=300)
    model = LinearRegression(positive=True).fit(X, y)
    expected = Reference(positive=True).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-12)
    gradient = (X - X.mean(axis=0)).T @ model.residuals(X, y)
    assert np.abs(gradient[model.coef_ > 0]).max() < 1e-10
    assert gradient[model.coef_ == 0].max() < 1e-10
    assert np.all(np.diff(model.history_["objective"]) <= 0)


# Sweeps over a thousand columns, as with positive coefficients, would take seconds.
@pytest.mark.parametrize(("positive", "shape"), [(False, (400, 8)), (False, (4200, 1010)), (True, (400, 8))])
def test_sparse_rows_give_the_dense_answer_without_being_made_dense(positive, shape):
    X = scipy.sparse.random(*shape, density=0.05, random_state=0, format="csr") * 3.0
    y = np.random.default_rng(0).normal(size=(shape[0], 2))
    settings = {"positive": positive, "tol": 1e-12}
    sparse, dense = LinearRegression(**settings).fit(X, y), LinearRegression(**settings).fit(X.toarray(), y)
    assert sparse.solver_used_ == ("lsqr" if shape[1] > 1000 else dense.solver_used_)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)
    np.testing.assert_allclose(sparse.intercept_, dense.intercept_, atol=1e-8)


def test_weights_scale_out_and_zero_weights_leave():
    random = np.random.default_rng(0)
    X, y, weight = random.normal(size=(50, 4)), random.normal(size=50), random.uniform(size=50)
    weight[::5] = 0.0
    y[::5] = 1e6
    kept = weight > 0
    weighted = LinearRegression().fit(X, y, sample_weight=weight)
    without = LinearRegression().fit(X[kept], y[kept], sample_weight=7.0 * weight[kept])
    np.testing.assert_allclose(weighted.coef_, without.coef_, rtol=1e-11)


def test_one_row_and_no_variation_fit_the_mean():
    with pytest.warns(LinAlgWarning):
        model = LinearRegression().fit([[1.0, 2.0]], [3.0])
    assert model.predict([[5.0, 5.0]]) == pytest.approx([3.0])
    assert np.isnan(model.residual_variance_)


@pytest.mark.catalogue("LM-01")
@pytest.mark.parametrize("place", ["dense", "sparse", "sums"])
@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e6, 1e12])
def test_a_column_in_another_unit_is_no_reason_to_drop_the_others(unit, place):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0] + 0.1 * rng.normal(size=80)
    truth = LinearRegression().fit(X, y)
    scaled = X * [1.0, unit, 1.0, 1.0]
    if place == "sums":
        model = LinearRegression().partial_fit(scaled[:40], y[:40]).partial_fit(scaled[40:], y[40:])
    else:
        model = LinearRegression().fit(scipy.sparse.csr_array(scaled) if place == "sparse" else scaled, y)
    assert model.converged_
    np.testing.assert_allclose(model.coef_ * [1.0, unit, 1.0, 1.0], truth.coef_, rtol=1e-9)
    if place != "sparse":
        assert model.rank_ == 4
        centred = scaled - scaled.mean(axis=0)
        np.testing.assert_allclose(model.singular_[0], np.linalg.svd(centred, compute_uv=False)[0], rtol=1e-9)


def test_columns_that_others_determine_are_found_beside_one_in_a_large_unit():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 3))
    X = np.c_[1e6 * X[:, 0], X[:, 1:], X[:, 2]]
    y = X @ [1e-6, 2.0, 1.5, 1.5]
    with pytest.warns(LinAlgWarning, match="4 columns have rank 3"):
        model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, [1e-6, 2.0, 1.5, 1.5], rtol=1e-8)
