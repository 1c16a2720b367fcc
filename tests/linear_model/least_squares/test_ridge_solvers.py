"""Every solver of ridge reaches the one optimum, on dense and sparse rows, and says what it did."""

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge as Reference

from mercer.errors import DataError
from mercer.linear_model import Ridge

SOLVERS = ["svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"]
STORES = [np.asarray, scipy.sparse.csr_array]
# The singular value decomposition takes dense rows only.
PAIRS = [(solver, store) for solver in SOLVERS for store in STORES if solver != "svd" or store is np.asarray]


def problem(shape, mean=0.0):
    random = np.random.default_rng(1)
    X = np.where(random.uniform(size=shape) < 0.5, 0.0, random.normal(size=shape) + mean)
    weight = random.uniform(size=shape[0])
    weight[:3] = 0.0
    return X, random.normal(size=(shape[0], 2)), weight


def optimum(X, y, weight, alpha, fit_intercept):
    """Solve the normal equations with an unpenalised column of ones, by a general solver."""
    rows = np.c_[X, np.ones(len(X))] if fit_intercept else X
    penalty = np.diag([alpha] * X.shape[1] + [0.0] * int(fit_intercept))
    solution = np.linalg.solve(rows.T @ (weight[:, None] * rows) + penalty, rows.T @ (weight[:, None] * y))
    return (solution[:-1], solution[-1]) if fit_intercept else (solution, 0.0)


@pytest.mark.catalogue("LM-04")
@pytest.mark.parametrize(("solver", "store"), PAIRS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(200, 7), (30, 50)])
def test_all_solvers_reach_the_optimum(solver, store, fit_intercept, shape):
    X, y, weight = problem(shape)
    model = Ridge(alpha=2.0, solver=solver, fit_intercept=fit_intercept, tol=1e-11, max_iter=5000, random_state=0)
    model.fit(store(X), y, sample_weight=weight)
    coef, intercept = optimum(X, y, weight, 2.0, fit_intercept)
    np.testing.assert_allclose(model.coef_.T, coef, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, intercept, atol=1e-8)
    assert model.converged_
    assert model.solver_ == model.solver_used_ == solver
    assert model.certificate_.satisfied
    rows = (X - np.average(X, axis=0, weights=weight)) if fit_intercept else X
    targets = (y - np.average(y, axis=0, weights=weight)) if fit_intercept else y
    smooth = np.sum(weight[:, None] * (targets - rows @ model.coef_.T) ** 2) + 2.0 * np.sum(model.coef_**2)
    assert model.history_["objective"][-1] == pytest.approx(smooth, rel=1e-8)


@pytest.mark.parametrize("solver", ["lsqr", "sparse_cg", "sag", "saga"])
def test_dense_and_sparse_rows_take_the_same_steps(solver):
    X, y, weight = problem((150, 6), mean=3.0)
    settings = {"solver": solver, "tol": 1e-6, "random_state": 3}
    dense, sparse = (Ridge(**settings).fit(store(X), y, sample_weight=weight) for store in STORES)
    assert dense.n_iter_.tolist() == sparse.n_iter_.tolist()
    np.testing.assert_allclose(dense.history_["objective"], sparse.history_["objective"], rtol=1e-9)


@pytest.mark.parametrize("solver", ["lsqr", "sparse_cg"])
def test_krylov_solvers_end_within_the_rank_and_never_rise(solver):
    X, y, _ = problem((500, 12))
    model = Ridge(solver=solver, tol=1e-12).fit(X, y)
    assert model.n_iter_.max() <= 13
    assert np.all(np.diff(model.history_["objective"]) <= 1e-12)


def test_conjugate_gradients_do_not_mind_badly_scaled_columns():
    X, y, _ = problem((500, 8))
    X = X * np.logspace(-4, 4, 8)
    model = Ridge(alpha=1e-9, solver="sparse_cg", tol=1e-12).fit(X, y)
    assert model.n_iter_.max() < 30
    exact = Ridge(alpha=1e-9, solver="svd").fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-6)


@pytest.mark.parametrize("solver", ["lsqr", "sparse_cg", "sag", "saga"])
def test_a_fit_cut_short_warns_and_counts(solver):
    X, y, _ = problem((500, 12))
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter after 2 steps"):
        model = Ridge(solver=solver, tol=1e-14, max_iter=2, random_state=0).fit(X, y)
    assert model.n_iter_.tolist() == [2, 2]
    assert not model.converged_


@pytest.mark.parametrize("shape", [(300, 20), (30, 60)])
@pytest.mark.parametrize("store", STORES)
def test_nonnegative_ridge_satisfies_the_optimality_conditions(shape, store):
    X, y, _ = problem(shape)
    model = Ridge(alpha=0.5, positive=True).fit(store(X), y)
    assert model.solver_used_ == "active set"
    assert model.coef_.min() == 0.0
    gradient = (X - X.mean(0)).T @ (y - model.predict(X)) - 0.5 * model.coef_.T
    positive = model.coef_.T > 0
    assert np.abs(gradient[positive]).max() < 1e-9
    assert gradient[~positive].max() < 1e-9
    reference = Reference(alpha=0.5, positive=True, tol=1e-10).fit(X, y)
    mine, theirs = (np.sum((y - m.predict(X)) ** 2) + 0.5 * np.sum(m.coef_**2) for m in (model, reference))
    assert mine <= theirs * (1 + 1e-12)


def test_sag_visits_other_rows_with_another_seed():
    X, y, _ = problem((100, 5))
    coefs = [Ridge(solver="sag", random_state=seed, tol=0.1).fit(X, y).coef_ for seed in (0, 0, 1)]
    assert np.array_equal(coefs[0], coefs[1])
    assert not np.array_equal(coefs[0], coefs[2])


def test_auto_on_large_sparse_rows_is_conjugate_gradients():
    random = np.random.default_rng(0)
    X = scipy.sparse.random(2500, 2200, density=0.002, random_state=0, format="csr")
    assert Ridge().fit(X, random.normal(size=2500)).solver_used_ == "sparse_cg"
    assert Ridge().fit(X[:, :50], random.normal(size=2500)).solver_used_ == "cholesky"


@pytest.mark.parametrize("solver", ["lsqr", "sparse_cg", "sag", "saga", "svd", "cholesky"])
def test_constant_targets_need_no_steps(solver):
    X, _, _ = problem((50, 4))
    model = Ridge(solver=solver).fit(X, np.full(50, 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0)


@pytest.mark.parametrize("shape", [(50, 4), (4, 50)])
def test_a_closed_form_is_complete_however_short_the_time(shape):
    X, y, _ = problem(shape)
    limited = Ridge(max_time=0.0).fit(X, y)
    assert limited.converged_
    assert np.array_equal(limited.coef_, Ridge().fit(X, y).coef_)


@pytest.mark.parametrize("size", [1e155, 1e300])
def test_conjugate_gradients_refuse_rows_whose_squares_overflow(size):
    rows = scipy.sparse.csr_array(np.random.default_rng(0).normal(size=(40, 5)) * size)
    with pytest.raises(DataError, match=r"Ridge: .*overflows.*Scale the columns"):
        Ridge(solver="sparse_cg").fit(rows, np.arange(40.0))


def test_many_columns_on_a_device_are_factored_there():
    random = np.random.default_rng(5)
    X, y = random.normal(size=(900, 450)), random.normal(size=900)
    here, there = Ridge(2.0).fit(X, y), Ridge(2.0).fit(torch.asarray(X), torch.asarray(y))
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9, atol=1e-12)
    assert there.converged_
    # Columns that are equal, without a penalty: no factor exists there either, and the shortest solution is found.
    X[:, 1] = X[:, 0]
    found = Ridge(0.0).fit(torch.asarray(X), torch.asarray(y))
    assert float(found.coef_[0]) == pytest.approx(float(found.coef_[1]), rel=1e-6)
